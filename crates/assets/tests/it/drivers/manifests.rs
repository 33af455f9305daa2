//! Rows that carry their own manifests: the drivers' own are taken and patched, and what is not a driver's is refused.

use rstest::rstest;
use serde_json::{Value, json};
use slipway_api::slipway::vdo_config::{CloudProvider, StorageProvider};
use slipway_assets::drivers::Object;
use slipway_assets::drivers::settings::images;
use slipway_config::matrix::{Driver, Row, Source};
use slipway_testkit::peers;

use super::estate::Estate;

/// A row with the manifests that the driver's module has for this version.
pub(super) fn own_manifests(estate: &Estate, driver: Driver, version: &str) -> Row {
    let row = estate.row(driver, version).clone();
    let (prefix, files): (&str, &[&str]) = match driver {
        Driver::CloudProvider => ("cpi", &["manager"]),
        Driver::StorageProvider => ("csi", &["namespace", "driver"]),
    };
    let (major, minor) = row.line();
    let folder = peers::find("driver-manifest-files").unwrap().join(format!("{prefix}-{major}.{minor}"));
    let read = |file: &&str| fs_err::read_to_string(folder.join(format!("{file}.yaml"))).unwrap();
    let text: Vec<String> = files.iter().map(read).collect();
    Row { source: Source::Manifests(text.join("\n---\n")), ..row }
}

fn find<'o>(objects: &'o [Object], kind: &str, name: &str) -> &'o Value {
    let found = objects.iter().find(|object| object.kind == kind && object.name == name);
    &found.unwrap_or_else(|| panic!("no {kind} {name} among {objects:?}")).value
}

fn pod_images(object: &Value) -> Vec<&str> {
    let containers = object["spec"]["template"]["spec"]["containers"].as_array();
    containers.into_iter().flatten().map(|one| one["image"].as_str().unwrap()).collect()
}

#[test]
fn the_storage_drivers_own_manifests_are_patched() {
    let mut estate = Estate::new();
    estate.registry = Some("mirror.example.com/vsphere");
    estate.pull_secrets = vec!["mirror".to_owned()];
    let row = own_manifests(&estate, Driver::StorageProvider, "3.7.0");
    let spec: StorageProvider =
        serde_json::from_value(json!({"kubeletPath": "/data/kubelet", "maxVolumesPerNode": 20})).unwrap();
    let objects = estate.storage_of(&row, &spec).unwrap();
    for object in &objects {
        let place = object.value["metadata"]["namespace"].as_str();
        assert!(place.is_none_or(|place| place == "vmware-system-csi"), "{}", object.describe());
        let labels = &object.value["metadata"]["labels"];
        assert_eq!(labels["slipway.dev/driver"], "storage-provider", "{}", object.describe());
        for image in pod_images(&object.value) {
            assert!(image.starts_with("mirror.example.com/vsphere/"), "{image}");
        }
    }
    let (controller, node) = (
        find(&objects, "Deployment", "vsphere-csi-controller"),
        find(&objects, "DaemonSet", "vsphere-csi-node"),
    );
    for object in [controller, node] {
        let template = &object["spec"]["template"];
        assert!(template["metadata"]["annotations"]["slipway.dev/config-hash"].is_string(), "{template:#}");
        assert_eq!(template["spec"]["imagePullSecrets"], json!([{"name": "mirror"}]));
    }
    let pod = &node["spec"]["template"]["spec"];
    let terms = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
        .as_array()
        .unwrap();
    let needed = json!({"key": "node.kubernetes.io/instance-type", "operator": "Exists"});
    assert!(!terms.is_empty());
    for term in terms {
        assert!(term["matchExpressions"].as_array().unwrap().contains(&needed), "{term:#}");
    }
    let text = pod.to_string();
    assert!(text.contains("/data/kubelet") && !text.contains("/var/lib/kubelet"), "{pod:#}");
    assert!(text.contains(r#"{"name":"MAX_VOLUMES_PER_NODE","value":"20"}"#), "{pod:#}");
    // The configuration and the webhook are ours in any case.
    assert!(find(&objects, "Secret", "vsphere-config-secret")["data"]["csi-vsphere.conf"].is_string());
    let syncer = pod_images(find(&objects, "Deployment", "vsphere-csi-webhook"));
    assert!(pod_images(controller).contains(&syncer[0]), "{syncer:?}");
    let listed = images(&row, estate.registry);
    for image in pod_images(controller).into_iter().chain(pod_images(node)) {
        assert!(listed.iter().any(|one| one == image), "{image} has to be mirrored");
    }
    let kinds: Vec<&str> = objects.iter().map(|object| object.kind).collect();
    let at = |kind: &str| kinds.iter().position(|one| *one == kind).unwrap();
    assert!(at("ServiceAccount") < at("Deployment") && at("Deployment") < at("DaemonSet"), "{kinds:?}");
}

#[test]
fn the_cloud_provider_from_manifests_deletes_no_node() {
    let estate = Estate::new();
    let row = own_manifests(&estate, Driver::CloudProvider, "1.34.0");
    let objects = estate.cloud_of(&row, &CloudProvider::default()).unwrap();
    let set = find(&objects, "DaemonSet", "vsphere-cloud-controller-manager");
    let container = &set["spec"]["template"]["spec"]["containers"][0];
    let skip = json!({"name": "SKIP_NODE_DELETION", "value": "true"});
    assert!(container["env"].as_array().unwrap().contains(&skip), "{container:#}");
    let role = find(&objects, "ClusterRole", "system:cloud-controller-manager");
    for rule in role["rules"].as_array().unwrap() {
        let of_nodes = rule["resources"].as_array().unwrap().contains(&json!("nodes"));
        assert!(!of_nodes || !rule["verbs"].to_string().contains("delete"), "{rule}");
        assert!(!rule["resources"].to_string().contains("secrets"), "{rule}");
    }
    assert!(find(&objects, "ConfigMap", "vsphere-cloud-config")["data"]["vsphere.conf"].is_string());
}

#[rstest]
#[case::kind(
    "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: vsphere}\nvalue: 1",
    "a driver consists of"
)]
#[case::secret("apiVersion: v1\nkind: Secret\nmetadata: {name: vsphere}", "a driver consists of")]
#[case::place(
    "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: vsphere-csi-node, namespace: default}",
    "it is in namespace `default`"
)]
#[case::stranger(
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: coredns}",
    "none of the objects that the operator has the right to write"
)]
#[case::field(
    "apiVersion: v1\nkind: Service\nmetadata: {name: vsphere-csi-controller}\nspec: {prots: [{port: 1}]}",
    "there is no field `spec.prots`"
)]
#[case::wildcard(
    "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: vsphere-csi-node-cluster-role}\nrules: [{apiGroups: ['*'], resources: [pods], verbs: [get]}]",
    "by a wildcard"
)]
#[case::escalate(
    "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: vsphere-csi-node-cluster-role}\nrules: [{apiGroups: [rbac.authorization.k8s.io], resources: [roles], verbs: [escalate]}]",
    "the right to `escalate`"
)]
#[case::admin(
    "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: vsphere-csi-node-cluster-role-binding}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}",
    "binds ClusterRole cluster-admin"
)]
#[case::account(
    "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: vsphere-csi-node-cluster-role}\nrules: []\n---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: vsphere-csi-node-cluster-role-binding}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: vsphere-csi-node-cluster-role}\nsubjects: [{kind: User, name: me}]",
    "gives rights to User `me`"
)]
#[case::garbage("a: [", "cannot be used")]
fn what_no_driver_consists_of_is_refused(#[case] text: &str, #[case] expected: &str) {
    let estate = Estate::new();
    let row = estate.row(Driver::StorageProvider, "3.7.0").clone();
    let row = Row { source: Source::Manifests(text.to_owned()), ..row };
    let error = estate.storage_of(&row, &StorageProvider::default()).unwrap_err().to_string();
    assert!(error.contains(expected), "{error}");
    // All problems at once.
    assert!(error.contains("there is no DaemonSet `vsphere-csi-node`"), "{error}");
}
