//! What is said before anything is made.

use serde_json::json;
use slipway_lifecycle::install::{Error, Purpose};
use slipway_lifecycle::preflight::report::{Check, Finding, Outcome};

use crate::bench::{Bench, Tenancy};
use crate::directory::Subject;

fn of(findings: &[Finding], check: Check) -> Vec<&Finding> {
    findings.iter().filter(|finding| finding.check == check).collect()
}

#[test]
fn the_shipped_role_is_enough() {
    let bench = Bench::new("harbour");
    let report = bench.preflight();
    let bad: Vec<_> = report.findings.iter().filter(|finding| finding.outcome == Outcome::Failure).collect();
    assert!(bad.is_empty(), "{bad:#?}");
    let [privileges] = of(&report.findings, Check::Privileges)[..] else { panic!("{:#?}", report.findings) };
    assert_eq!(privileges.outcome, Outcome::Pass);
}

#[test]
fn all_missing_rules_are_told_at_once() {
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "slipway-tenant"},
        "rules": [{"apiGroups": ["kubevirt.io"], "resources": ["virtualmachines"], "verbs": ["get", "list"]}],
    });
    let bench = Bench::edited(Tenancy::with_role(&role.to_string()), "harbour", |text| text).unwrap();
    let report = bench.preflight();
    let [privileges] = of(&report.findings, Check::Privileges)[..] else { panic!("{:#?}", report.findings) };
    assert_eq!(privileges.outcome, Outcome::Failure);
    let [namespaces, secrets, volumes, instances, machines] = &privileges.details[..] else {
        panic!("{:#?}", privileges.details)
    };
    assert!(namespaces.starts_with("namespaces ") && namespaces.contains(" get "), "{namespaces}");
    assert!(secrets.contains("create, delete, get, list, patch, watch"), "{secrets}");
    assert!(volumes.starts_with("datavolumes.cdi.kubevirt.io"), "{volumes}");
    assert!(instances.contains("delete, get, list, watch"), "{instances}");
    assert!(machines.contains("create, delete, patch, watch"), "{machines}");
}

#[test]
fn the_pod_network_is_refused_with_its_reason() {
    let without = |text: String| {
        let dropped = ["networkName", "apiVIP", "ingressVIP"];
        let keeps = |line: &&str| !dropped.iter().any(|key| line.trim_start().starts_with(key));
        text.lines().filter(keeps).map(|line| format!("{line}\n")).collect()
    };
    let bench = Bench::edited(Tenancy::new(), "harbour", without).unwrap();
    let report = bench.preflight();
    let [network] = of(&report.findings, Check::Network)[..] else { panic!("{:#?}", report.findings) };
    assert!(network.message.contains("etcd"), "{}", network.message);
    let Err(Error::Files(broken)) = bench.plan(Purpose::Create) else { panic!("it was planned") };
    assert!(broken.iter().any(|file| file.message.contains("networkName")), "{broken:#?}");
}
