//! The samples of the multi-vCenter design, field by field. What may differ is spelt out here.

use rstest::rstest;
use serde_json::Value;
use slipway_assets::drivers::{cloud_config, csi_config};
use slipway_config::driver_config::csi;

use crate::fixtures::{self, SEED, cluster, manifests, value};

/// The random end of the name differs.
const SAMPLE_ID: &str = "ngirard-multi-8tpnt";

/// Where two values differ, as `field: theirs -> ours`. Go writes an absent time as null.
fn differences(theirs: &Value, ours: &Value) -> Vec<String> {
    fn walk(path: &str, theirs: &Value, ours: &Value, found: &mut Vec<String>) {
        match (theirs, ours) {
            (Value::Object(left), Value::Object(right)) => {
                let keys = left.keys().chain(right.keys().filter(|key| !left.contains_key(*key)));
                for key in keys {
                    let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                    walk(&path, &theirs[key], &ours[key], found);
                }
            }
            (Value::Array(left), Value::Array(right)) if left.len() == right.len() => {
                for (index, (theirs, ours)) in left.iter().zip(right).enumerate() {
                    walk(&format!("{path}[{index}]"), theirs, ours, found);
                }
            }
            _ if theirs == ours => {}
            _ => found.push(format!("{path}: {theirs} -> {ours}")),
        }
    }
    let mut found = Vec::new();
    walk("", theirs, ours, &mut found);
    found
}

fn sample(text: &str, infra_id: &str) -> Value {
    fixtures::yaml(&text.replace(SAMPLE_ID, infra_id))
}

/// The samples lose `coresPerSocket`, which their install-config sets; here it reaches the machine.
#[rstest]
#[case(include_str!("../configs/seed/01_capi-cluster-0.yaml"), "cluster-api/01_capi-cluster-0.yaml", &[])]
#[case(include_str!("../configs/seed/01_capi-cluster-1.yaml"), "cluster-api/01_capi-cluster-1.yaml", &[])]
#[case(include_str!("../configs/seed/01_vsphere-cluster-0.yaml"), "cluster-api/01_vsphere-cluster-0.yaml", &[])]
#[case(include_str!("../configs/seed/01_vsphere-cluster-1.yaml"), "cluster-api/01_vsphere-cluster-1.yaml", &[])]
#[case(
    include_str!("../configs/seed/machines/10_inframachine_master-0.yaml"),
    "cluster-api/machines/10_inframachine_ID-master-0.yaml",
    &["spec.numCoresPerSocket: null -> 2"],
)]
#[case(
    include_str!("../configs/seed/machines/10_inframachine_master-1.yaml"),
    "cluster-api/machines/10_inframachine_ID-master-1.yaml",
    &["spec.numCoresPerSocket: null -> 2"],
)]
fn cluster_api_files_are_the_samples(#[case] text: &str, #[case] path: &str, #[case] expected: &[&str]) {
    let infra_id = cluster(SEED).identity.infra_id.to_string();
    let ours = value(&manifests(SEED), &path.replace("ID", &infra_id));
    assert_eq!(differences(&sample(text, &infra_id), &ours), expected);
}

/// The directory has the files of the sample's listing, and no others.
#[test]
fn cluster_api_has_the_listed_files() {
    let tree = manifests(SEED);
    let infra_id = cluster(SEED).identity.infra_id.to_string();
    let found: Vec<String> =
        tree.below("cluster-api/").map(|(path, _)| path.replace(&infra_id, "ID")).collect();
    assert_eq!(
        found,
        [
            "cluster-api/000_capi-namespace.yaml",
            "cluster-api/01_capi-cluster-0.yaml",
            "cluster-api/01_capi-cluster-1.yaml",
            "cluster-api/01_vsphere-cluster-0.yaml",
            "cluster-api/01_vsphere-cluster-1.yaml",
            "cluster-api/01_vsphere-creds-0.yaml",
            "cluster-api/01_vsphere-creds-1.yaml",
            "cluster-api/machines/10_inframachine_ID-bootstrap.yaml",
            "cluster-api/machines/10_inframachine_ID-master-0.yaml",
            "cluster-api/machines/10_inframachine_ID-master-1.yaml",
            "cluster-api/machines/10_inframachine_ID-master-2.yaml",
            "cluster-api/machines/10_machine_ID-bootstrap.yaml",
            "cluster-api/machines/10_machine_ID-master-0.yaml",
            "cluster-api/machines/10_machine_ID-master-1.yaml",
            "cluster-api/machines/10_machine_ID-master-2.yaml",
        ]
    );
}

/// The sample writes out what is empty and zero, which drivers read like nothing; and this install-config does not ask for
/// unverified certificates.
#[test]
fn cloud_config_is_the_sample() {
    let theirs = fixtures::yaml(include_str!("../configs/seed/cloud-config.yaml"));
    let ours = fixtures::yaml(&cloud_config(&cluster(SEED)).unwrap().to_yaml());
    let real: Vec<String> = differences(&theirs, &ours)
        .into_iter()
        .filter(|line| {
            ![": \"\" -> null", ": 0 -> null", ": [] -> null", ": false -> null"]
                .iter()
                .any(|zero| line.ends_with(zero))
        })
        .collect();
    assert_eq!(
        real,
        [
            "global.insecureFlag: true -> null",
            "vcenter.vcenter.ci.ibmc.devcluster.openshift.com.insecureFlag: true -> null",
            "vcenter.vcs8e-vc.ocp2.dev.cluster.com.insecureFlag: true -> null",
        ]
    );
    let map = value(&manifests(SEED), "manifests/cloud-provider-config.yaml");
    assert_eq!(map["metadata"]["namespace"], "openshift-config");
    assert_eq!(map["data"]["config"], cloud_config(&cluster(SEED)).unwrap().to_yaml());
}

/// The sample's users have no domain, which the driver refuses; where volumes migrate to is only known live.
#[test]
fn csi_config_is_the_sample() {
    let text = include_str!("../configs/seed/csi.conf")
        .replace("= user2\n", "= user@vsphere.local\n")
        .replace("= user\n", "= user@vsphere.local\n");
    let cluster = cluster(SEED);
    let mut theirs = csi::read(&text).config.unwrap();
    theirs.global.cluster_id = cluster.identity.infra_id.to_string();
    for vcenter in theirs.vcenters.values_mut() {
        assert!(vcenter.insecure_flag && !vcenter.migration_datastore_url.is_empty());
        vcenter.insecure_flag = false;
        vcenter.migration_datastore_url.clear();
        vcenter.password = fixtures::PASSWORD.into();
    }
    let ours = csi::read(&csi_config(&cluster).unwrap().to_ini().unwrap()).config.unwrap();
    assert_eq!(theirs, ours);
}
