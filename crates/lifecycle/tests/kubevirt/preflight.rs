//! What is said before anything is made.

use serde_json::json;
use slipway_lifecycle::install::{Error, Purpose};
use slipway_lifecycle::preflight::report::{Check, Finding, Outcome};

use crate::bench::{Bench, Tenancy, plane};
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
    let [limits, namespaces, quotas, secrets, volumes, networks, instances, machines] =
        &privileges.details[..]
    else {
        panic!("{:#?}", privileges.details)
    };
    assert!(limits.starts_with("limitranges ") && quotas.starts_with("resourcequotas "), "{limits} {quotas}");
    assert!(networks.starts_with("network-attachment-definitions.k8s.cni.cncf.io"), "{networks}");
    assert!(namespaces.starts_with("namespaces ") && namespaces.contains(" get "), "{namespaces}");
    assert!(secrets.contains("create, delete, get, list, patch, watch"), "{secrets}");
    assert!(volumes.starts_with("datavolumes.cdi.kubevirt.io"), "{volumes}");
    assert!(instances.contains("delete, get, list, watch"), "{instances}");
    assert!(machines.contains("create, delete, patch, watch"), "{machines}");
    let twice = of(&report.findings, Check::Objects);
    assert!(twice.is_empty(), "what may not be created is not told twice: {twice:#?}");
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

/// What is asked is what is made: the cluster judges the same objects, and nothing comes of it.
#[test]
fn the_cluster_is_asked_about_every_object() {
    let bench = Bench::new("harbour");
    let report = bench.preflight();
    let [objects] = of(&report.findings, Check::Objects)[..] else { panic!("{:#?}", report.findings) };
    assert_eq!(objects.outcome, Outcome::Pass);
    // The image, and of each of four machines its Secret and itself.
    assert!(objects.message.contains("all 9 objects"), "{}", objects.message);
    assert!(bench.tenancy.contents().is_empty());
    let [version] = of(&report.findings, Check::InfraVersion)[..] else { panic!("{:#?}", report.findings) };
    assert!(version.message.contains(slipway_testkit::kubevirt::VERSION), "{}", version.message);
    let [network] = of(&report.findings, Check::Network)[..] else { panic!("{:#?}", report.findings) };
    assert_eq!((network.outcome, network.object.as_str()), (Outcome::Pass, "lan"));
}

#[test]
fn before_there_are_files_the_same_is_asked() {
    let bench = Bench::new("harbour");
    for part in [".slipway", "openshift", "manifests", "bootstrap.ign", "master.ign", "worker.ign"] {
        let path = bench.path(part);
        if path.is_dir() { fs_err::remove_dir_all(path).unwrap() } else { fs_err::remove_file(path).unwrap() }
    }
    let report = bench.preflight();
    let [objects] = of(&report.findings, Check::Objects)[..] else { panic!("{:#?}", report.findings) };
    // What machines boot from is not there yet.
    assert!(objects.message.contains("all 5 objects"), "{}", objects.message);
}

#[test]
fn an_object_that_would_be_refused_is_named_beforehand() {
    let bench = Bench::new("harbour");
    let file = bench.path("openshift/99_openshift-cluster-api_master-machines-1.yaml");
    let text = fs_err::read_to_string(&file).unwrap();
    fs_err::write(&file, text.replace("requestedMemory: 16G", "requestedMemory: sixteen")).unwrap();
    let report = bench.preflight();
    let [objects] = of(&report.findings, Check::Objects)[..] else { panic!("{:#?}", report.findings) };
    assert_eq!(objects.outcome, Outcome::Failure);
    assert!(objects.message.contains(&bench.name("master-1")), "{}", objects.message);
    assert!(bench.tenancy.contents().is_empty());
}

#[test]
fn a_quota_that_is_too_small_is_told_with_what_is_short() {
    let bench = Bench::new("harbour");
    let quota = json!({
        "apiVersion": "v1", "kind": "ResourceQuota",
        "metadata": {"name": "tenant", "namespace": bench.tenancy.namespace},
        "spec": {"hard": {"requests.memory": "64Gi", "requests.storage": "2Ti"}},
    });
    plane().kubectl().apply_value(&quota).unwrap();
    let limits = json!({
        "apiVersion": "v1", "kind": "LimitRange",
        "metadata": {"name": "small", "namespace": bench.tenancy.namespace},
        "spec": {"limits": [{"type": "PersistentVolumeClaim", "max": {"storage": "50Gi"}}]},
    });
    plane().kubectl().apply_value(&limits).unwrap();
    let report = bench.preflight();
    let found = of(&report.findings, Check::Quota);
    let [limits, quota] = found[..] else { panic!("{:#?}", report.findings) };
    assert_eq!((quota.object.as_str(), quota.outcome), ("tenant", Outcome::Failure));
    let [short] = &quota.details[..] else { panic!("{:#?}", quota.details) };
    assert!(short.starts_with("requests.memory: at least "), "{short}");
    assert_eq!((limits.object.as_str(), limits.details.len()), ("small", 5), "{limits:#?}");
}

#[test]
fn storage_and_networks_are_looked_up_as_the_user() {
    let edit = |text: String| {
        let local = "networkName: wan\n    storageClass: local";
        text.replace("networkName: lan", local)
    };
    let bench = Bench::edited(Tenancy::new(), "harbour", edit).unwrap();
    let report = bench.preflight();
    let storage = of(&report.findings, Check::Storage);
    assert!(storage.iter().any(|one| one.message.contains("only ReadWriteOnce")), "{storage:#?}");
    let [network] = of(&report.findings, Check::Network)[..] else { panic!("{:#?}", report.findings) };
    assert!(network.message.contains("there is `lan`"), "{}", network.message);
}

#[test]
fn the_namespace_of_another_tenant_is_closed() {
    let (tenancy, other) = (Tenancy::new(), Tenancy::new());
    let (own, others) = (tenancy.namespace.clone(), other.namespace.clone());
    let bench = Bench::edited(tenancy, "harbour", |text| text.replace(&own, &others)).unwrap();
    let report = bench.preflight();
    let [privileges] = of(&report.findings, Check::Privileges)[..] else { panic!("{:#?}", report.findings) };
    assert_eq!((privileges.outcome, privileges.details.len()), (Outcome::Failure, 8), "{privileges:#?}");
    assert!(bench.plan(Purpose::Create).unwrap().plan.steps.is_empty());
    assert!(other.contents().is_empty());
}
