//! Changed examples, and what is found in them.

use slipway_config::findings::{Finding, Report};
use slipway_config::install_config::load;

pub(crate) const VSPHERE: &str = include_str!("../../../../examples/vsphere-multi-vcenter.yaml");
pub(crate) const KUBERNETES: &str = include_str!("../../../../examples/vsphere-kubernetes.yaml");
pub(crate) const OVIRT: &str = include_str!("../../../../examples/ovirt.yaml");
pub(crate) const KUBEVIRT: &str = include_str!("../../../../examples/kubevirt.yaml");
pub(crate) const NONE: &str = include_str!("../../../../examples/none.yaml");
pub(crate) const SEED: &str = include_str!("../../../../examples/seed-multi-vcenter.yaml");

/// One vCenter, as it was written before there could be several.
pub(crate) const OLD_FORM: &str = r#"
apiVersion: v1
baseDomain: example.com
metadata: {name: old}
platform:
  vsphere:
    vCenter: vc.example.com
    username: me@vsphere.local
    password: pw
    datacenter: dc1
    cluster: compute
    defaultDatastore: fast
    network: net
    folder: clusters/old
    resourcePool: prod
    apiVIP: 10.0.0.5
    ingressVIP: 10.0.0.6
    clusterOSImage: https://images.example.com/rhcos.ova?sha256=0000000000000000000000000000000000000000000000000000000000000000
payload:
  releaseImage: registry.example.com/release:4.20.3
pullSecret: '{"auths":{"registry.example.com":{"auth":"dXNlcjpwYXNzd29yZA=="}}}'
"#;

/// Replaces the first occurrence of each text. A text that does not occur is a mistake in the test.
pub(crate) fn edit(base: &str, edits: &[(&str, &str)]) -> String {
    edits.iter().fold(base.to_owned(), |text, (from, to)| {
        assert!(text.contains(from), "the example has no {from:?}");
        text.replacen(from, to, 1)
    })
}

/// `severity rule path` of every finding in an install-config, in the order of the file.
pub(crate) fn judge(text: &str) -> Vec<String> {
    let loaded = load(text);
    assert_eq!(loaded.config.is_none(), loaded.report.has_errors(), "a usable config, or errors");
    lines(&loaded.report)
}

pub(crate) fn lines(report: &Report) -> Vec<String> {
    let line = |finding: &Finding| format!("{} {} {}", finding.severity, finding.rule.code(), finding.path);
    report.findings.iter().map(|finding| line(finding).trim_end().to_owned()).collect()
}
