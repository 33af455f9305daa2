//! What is said, and the line it is said of.

use rstest::rstest;
use slipway_config::findings::{Finding, Rule, Severity};
use slipway_config::install_config::load;

use crate::judge::{NONE, VSPHERE, edit};

/// Line, message and hint of every finding that is not a note.
fn told(text: &str) -> String {
    let told = |finding: &Finding| {
        let related = finding
            .related
            .iter()
            .map(|related| format!(" ({} in line {})", related.label, related.position.line));
        let hint = finding.hint.as_deref().unwrap_or("-");
        format!("{}: {}{}\n  {hint}", finding.position.line, finding.message, related.collect::<String>())
    };
    let report = load(text).report;
    let findings = report.findings.iter().filter(|finding| finding.severity != Severity::Note);
    findings.map(told).collect::<Vec<_>>().join("\n")
}

/// The example without platform, with a few lines before all others.
fn none_with(lines: &str) -> String {
    format!("{lines}\n{NONE}")
}

#[rstest]
#[case("- server: vcenter-north.example.com", "- server: ''")]
#[case("user: slipway@vsphere.local", "user:")]
#[case("region: europe", "region: ~")]
#[case("datacenter: north", "datacenter: null")]
#[case("computeCluster: /north/host/compute", "computeCluster: \"\"")]
#[case("datastore: /north/datastore/vsan", "datastore:")]
#[case("networks: [cluster-net]", "networks: []")]
fn nothing_behind_a_key_is_told_at_the_key(#[case] from: &str, #[case] to: &str) {
    let text = edit(VSPHERE, &[(from, to)]);
    let line = text.lines().position(|line| line.trim_end().ends_with(to)).unwrap() + 1;
    let report = load(&text).report;
    let required: Vec<_> = report.findings.iter().filter(|finding| finding.rule == Rule::Required).collect();
    assert_eq!(required.iter().map(|finding| finding.position.line).collect::<Vec<_>>(), [line]);
}

#[test]
fn tabs_are_told_where_they_are() {
    insta::assert_snapshot!(told("apiVersion: v1\nmetadata:\n\n\tname: a\n"), @r"
    4: this line is indented with a tab
      indent with spaces; YAML does not allow tabs
    ");
    insta::assert_snapshot!(told("metadata:\n  name: a\n \tlabels: {}\n"), @r"
    3: this line is indented with a tab
      indent with spaces; YAML does not allow tabs
    ");
}

#[test]
fn capabilities_that_do_not_exist() {
    let capabilities =
        "capabilities:\n  baselineCapabilitySet: v4.19\n  additionalEnabledCapabilities:\n  - console";
    insta::assert_snapshot!(told(&none_with(capabilities)), @r"
    2: `v4.19`: there is no such set of capabilities
      write vCurrent, None, or v4.11 to v4.18; later versions have no sets of their own
    4: OpenShift has no capability `console`
      did you mean `Console`?
    ");
    let old = "capabilities: {baselineCapabilitySet: v4.11}";
    insta::assert_snapshot!(told(&none_with(old)), @r"
    1: this set leaves out what the cluster needs: Ingress
      add to `additionalEnabledCapabilities`: Ingress
    1: marketplace does not work without OperatorLifecycleManager
      add OperatorLifecycleManager to `additionalEnabledCapabilities`
    ");
}

#[test]
fn networks_of_the_plugin() {
    let small = "networking:\n  clusterNetwork:\n  - {cidr: 10.128.0.0/14, hostPrefix: 23}\n  - {cidr: 10.64.0.0/14, hostPrefix: 24}\n  \
                 ovnKubernetesConfig:\n    ipv4:\n      internalJoinSubnet: 10.129.0.0/24";
    insta::assert_snapshot!(told(&none_with(small)), @r"
    4: hostPrefix 24 differs from 23 of the first network (the first network's in line 3)
      all IPv4 cluster networks have the same hostPrefix
    7: 10.129.0.0/24 has too few addresses for the 1536 nodes of the cluster networks
      use a prefix length of 21 or less, or a smaller cluster network
    7: the join subnet 10.129.0.0/24 overlaps with the cluster network 10.128.0.0/14 (the other one in line 3)
      choose networks that have no address in common
    ");
}

#[test]
fn exceptions_from_the_proxy() {
    let proxy = "proxy: {httpProxy: 'http://proxy:3128', noProxy: 'a.com:8080,B.com,*.c.com,'}";
    insta::assert_snapshot!(told(&none_with(proxy)), @r"
    1: `a.com:8080` is not an address, a network or a domain
      write `a.com`: an exception is for all ports
    1: `B.com` is not an address, a network or a domain
      write `b.com`
    1: `*.c.com` is not an address, a network or a domain
      write `.example.com` for a domain and everything below it; there are no wildcards
    1: `noProxy` has an empty entry
      remove the comma that is too many
    ");
}

/// A slash parts folders, unless it is part of a name: then it has to be written as its code.
#[rstest]
#[case(
    "a/b",
    "/c/host/compute",
    "write `/a/b/host/compute` for a datacenter in folders; if the slash is part of its name, `/a%2fb/host/compute`, and `a%2fb` for the datacenter"
)]
#[case(
    "D/C 100%",
    "/D%2fC 100%25/host/compute",
    "write `D%2fC 100%25` for the datacenter too, here and in `datacenters`"
)]
#[case("north2", "/north/host/compute", "write `/north2/host/compute`, or change the datacenter")]
fn datacenters_with_slashes(#[case] datacenter: &str, #[case] path: &str, #[case] hint: &str) {
    let text = edit(
        VSPHERE,
        &[
            ("datacenters: [north]", &format!("datacenters: ['{datacenter}']")),
            ("datacenter: north", &format!("datacenter: '{datacenter}'")),
            ("/north/host/compute", path),
            ("/north/datastore/vsan", &format!("/{datacenter}/datastore/vsan")),
        ],
    );
    let report = load(&text).report;
    let hints: Vec<_> =
        report.findings.iter().filter(|finding| finding.rule == Rule::PathDatacenter).collect();
    assert_eq!(hints.iter().filter_map(|finding| finding.hint.as_deref()).collect::<Vec<_>>(), [hint]);
}

#[rstest]
#[case("https://vc.example.com/sdk", "write `vc.example.com`")]
#[case("https://vc.example.com:443", "write `vc.example.com`")]
#[case("https://admin@127.0.0.1:8443/sdk", "write `127.0.0.1`, and 8443 as its port")]
#[case("https://[fd00::1]:8443", "write `fd00::1`, and 8443 as its port")]
fn a_url_keeps_its_port(#[case] url: &str, #[case] hint: &str) {
    let text = edit(VSPHERE, &[("- server: vcenter-north.example.com", &format!("- server: {url}"))]);
    let report = load(&text).report;
    let found = report.findings.iter().find(|finding| finding.rule == Rule::ServerName).unwrap();
    assert_eq!(found.hint.as_deref(), Some(hint));
}

/// However many there are, the count is right.
#[test]
fn findings_beyond_the_limit_are_counted() {
    let many: String = (0..6000).map(|index| format!("nonsense{index}: 1\n")).collect();
    let report = load(&(many + NONE)).report;
    assert_eq!((report.count(Severity::Error), report.left_out()), (6000, 5000));
    assert_eq!(report.only(Severity::Warning).left_out(), 0);
}
