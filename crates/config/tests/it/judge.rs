//! Changed examples, and what is found in them.

use slipway_config::install_config::load;

pub(crate) const VSPHERE: &str = include_str!("../../../../examples/vsphere-multi-vcenter.yaml");
pub(crate) const KUBERNETES: &str = include_str!("../../../../examples/vsphere-kubernetes.yaml");
pub(crate) const OVIRT: &str = include_str!("../../../../examples/ovirt.yaml");
pub(crate) const KUBEVIRT: &str = include_str!("../../../../examples/kubevirt.yaml");
pub(crate) const NONE: &str = include_str!("../../../../examples/none.yaml");
pub(crate) const SEED: &str = include_str!("../../../../examples/seed-multi-vcenter.yaml");

/// Replaces the first occurrence of each text. A text that does not occur is a mistake in the test.
pub(crate) fn edit(base: &str, edits: &[(&str, &str)]) -> String {
    edits.iter().fold(base.to_owned(), |text, (from, to)| {
        assert!(text.contains(from), "the example has no {from:?}");
        text.replacen(from, to, 1)
    })
}

/// `severity rule path` of every finding, in the order of the file.
pub(crate) fn judge(text: &str) -> Vec<String> {
    let loaded = load(text);
    assert_eq!(loaded.config.is_none(), loaded.report.has_errors(), "a usable config, or errors");
    let findings = loaded.report.findings.iter();
    findings.map(|finding| format!("{} {} {}", finding.severity, finding.rule.code(), finding.path)).collect()
}
