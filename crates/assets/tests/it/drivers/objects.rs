//! What the settings do to the objects.

use rstest::rstest;
use serde_json::{Value, json};
use slipway_api::slipway::vdo_config::{CloudProvider, StorageProvider};
use slipway_assets::drivers::object::HASH_ANNOTATION;
use slipway_assets::drivers::{NodeMark, Object, settings};
use slipway_config::driver_config::{cloud, csi};
use slipway_config::install_config::vsphere::Tls;
use slipway_config::matrix::Driver;
use slipway_testkit::reader::Reader;

use super::estate::{Estate, connection, find};

fn storage_spec(spec: Value) -> StorageProvider {
    serde_json::from_value(spec).unwrap()
}

/// The text of a key of a ConfigMap or a Secret.
fn file(object: &Object, key: &str) -> String {
    let text = object.value["data"][key].as_str().unwrap_or_else(|| panic!("no {key} in {object:?}"));
    if object.kind == "Secret" {
        use base64::Engine as _;
        String::from_utf8(base64::engine::general_purpose::STANDARD.decode(text).unwrap()).unwrap()
    } else {
        text.to_owned()
    }
}

fn two_vcenters() -> Estate {
    let mut estate = Estate::new();
    estate.connections = vec![
        connection("north", Tls::CaBundle("PEM".to_owned())),
        connection("south", Tls::Thumbprint(vec![0xab; 20])),
    ];
    estate.connections[1].port = 8443;
    estate
}

#[test]
fn the_cloud_provider_knows_every_vcenter() {
    let estate = two_vcenters();
    let spec =
        serde_json::from_value(json!({"topology": {"regionCategory": "region", "zoneCategory": "zone"}}));
    let objects = estate.cloud("1.34.0", &spec.unwrap()).unwrap();
    let config_map = find(&objects, "ConfigMap", "vsphere-cloud-config");
    let text = file(config_map, "vsphere.conf");
    insta::assert_snapshot!(text);
    assert!(cloud::read(&text).config.is_some_and(|config| config.effective().len() == 2));
    assert_eq!(file(config_map, "ca-north.crt"), "PEM");
    let secret = find(&objects, "Secret", "vsphere-cloud-secret");
    assert_eq!(file(secret, "north.example.com.username"), "north@vsphere.local");
    assert_eq!(file(secret, "south.example.com.password"), "hunter2 \"quoted\" \\ #");
}

#[test]
fn the_storage_driver_knows_every_vcenter() {
    let spec = storage_spec(json!({
        "topologyCategories": ["region", "zone"],
        "fileVolumes": {
            "clusters": [{"connection": "south", "clusters": ["domain-c8", "domain-c9"]}],
            "netPermissions": [{"ips": "10.0.0.0/8", "permissions": "ReadOnly", "rootSquash": true}],
        },
        "snapshots": {"maxPerVolume": 5},
    }));
    let objects = two_vcenters().storage("3.7.0", &spec).unwrap();
    let secret = find(&objects, "Secret", "vsphere-config-secret");
    let text = file(secret, "csi-vsphere.conf");
    let shown = text.lines().map(|line| if line.starts_with("password") { "password = …" } else { line });
    insta::assert_snapshot!(shown.collect::<Vec<_>>().join("\n"));
    let answers = Reader::start("csi-reader").unwrap().read_all("csi", std::slice::from_ref(&text)).unwrap();
    assert!(answers[0].ok, "the driver itself refuses it: {}", answers[0].error);
    let config = csi::read(&text).config.unwrap();
    assert_eq!(config.vcenters["north.example.com"].password.expose(), "hunter2 \"quoted\" \\ #");
    assert_eq!(file(secret, "ca-north.crt"), "PEM");
    let args = container(find(&objects, "Deployment", "vsphere-csi-controller"), "csi-provisioner")["args"]
        .to_string();
    assert!(args.contains("--strict-topology"), "{args}");
    assert!(!format!("{objects:?}").contains("hunter2"));
}

fn container<'o>(object: &'o Object, name: &str) -> &'o Value {
    let containers = object.value["spec"]["template"]["spec"]["containers"].as_array().unwrap();
    containers.iter().find(|container| container["name"] == name).unwrap()
}

/// Nodes of other kinds have neither label, and nothing of the storage driver runs there.
#[rstest]
#[case(NodeMark::InstanceType, "node.kubernetes.io/instance-type")]
#[case(NodeMark::Slipway, "slipway.dev/vsphere-node")]
fn machines_of_other_kinds_are_left_alone(#[case] mark: NodeMark, #[case] label: &str) {
    let mut estate = Estate::new();
    estate.node_mark = mark;
    let objects = estate.storage("3.7.0", &StorageProvider::default()).unwrap();
    let spec = &find(&objects, "DaemonSet", "vsphere-csi-node").value["spec"]["template"]["spec"];
    let required = &spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
    let expected = json!([{"matchExpressions": [{"key": label, "operator": "Exists"}]}]);
    assert_eq!(required["nodeSelectorTerms"], expected);
}

/// The cloud provider can delete no node, whatever it believes.
#[test]
fn no_node_is_deleted() {
    let objects = Estate::new().cloud("1.36.0", &CloudProvider::default()).unwrap();
    let rights = objects.iter().filter(|object| object.kind.ends_with("Role"));
    for rule in rights.flat_map(|role| role.value["rules"].as_array().unwrap()) {
        let has = |field: &str, word: &str| rule[field].as_array().unwrap().contains(&json!(word));
        assert!(!has("verbs", "*") && !has("resources", "*") && !has("apiGroups", "*"), "{rule}");
        assert!(
            !has("resources", "nodes") || !(has("verbs", "delete") || has("verbs", "deletecollection")),
            "{rule}"
        );
    }
    let manager = container(
        find(&objects, "DaemonSet", "vsphere-cloud-controller-manager"),
        "vsphere-cloud-controller-manager",
    );
    assert_eq!(manager["env"], json!([{"name": "SKIP_NODE_DELETION", "value": "true"}]));
}

/// No rule of a driver is wider than it says.
#[test]
fn there_are_no_wildcards() {
    let objects = Estate::new().storage("3.7.0", &StorageProvider::default()).unwrap();
    let rules = objects.iter().filter(|object| object.kind.ends_with("Role"));
    let text: String = rules.map(|role| role.value["rules"].to_string()).collect();
    assert!(!text.contains('*') && !text.contains("escalate") && !text.contains("\"bind\""), "{text}");
}

#[test]
fn the_kubelet_may_be_elsewhere() {
    let spec = storage_spec(json!({"kubeletPath": "/data/kubelet"}));
    let objects = Estate::new().storage("3.7.0", &spec).unwrap();
    let node = find(&objects, "DaemonSet", "vsphere-csi-node").value.to_string();
    assert!(node.contains("/data/kubelet/plugins_registry") && !node.contains("/var/lib/kubelet"), "{node}");
}

#[test]
fn without_snapshots_nobody_makes_them() {
    let objects =
        Estate::new().storage("3.7.0", &storage_spec(json!({"snapshots": {"enabled": false}}))).unwrap();
    let controller = find(&objects, "Deployment", "vsphere-csi-controller").value.to_string();
    let rights = find(&objects, "ClusterRole", "vsphere-csi-controller-role").value.to_string();
    assert!(!controller.contains("csi-snapshotter") && !rights.contains("snapshot.storage.k8s.io"));
}

#[test]
fn every_image_comes_from_the_mirror() {
    let mut estate = Estate::new();
    estate.registry = Some("mirror.example.com/vsphere");
    estate.pull_secrets = vec!["mirror".to_owned()];
    let mut objects = estate.cloud("1.36.0", &CloudProvider::default()).unwrap();
    objects.extend(estate.storage("3.3.1", &StorageProvider::default()).unwrap());
    let mut listed = settings::images(estate.row(Driver::CloudProvider, "1.36.0"), estate.registry);
    listed.extend(settings::images(estate.row(Driver::StorageProvider, "3.3.1"), estate.registry));
    let mut seen = 0;
    for object in &objects {
        let spec = &object.value["spec"]["template"]["spec"];
        for container in spec["containers"].as_array().into_iter().flatten() {
            let image = container["image"].as_str().unwrap().to_owned();
            assert!(image.starts_with("mirror.example.com/vsphere/"), "{image}");
            assert!(listed.contains(&image), "{image} would not be mirrored");
            assert_eq!(spec["imagePullSecrets"], json!([{"name": "mirror"}]));
            seen += 1;
        }
    }
    assert_eq!(seen, 1 + 7 + 3 + 1);
}

fn hashes(objects: &[Object]) -> Vec<String> {
    let annotations =
        objects.iter().map(|object| &object.value["spec"]["template"]["metadata"]["annotations"]);
    annotations.filter_map(|annotations| annotations[HASH_ANNOTATION].as_str().map(str::to_owned)).collect()
}

/// A new password rolls the pods, the same one does not, and the hash does not reveal it.
#[test]
fn pods_follow_their_configuration() {
    let all = |estate: &Estate| {
        let mut objects = estate.cloud("1.36.0", &CloudProvider::default()).unwrap();
        objects.extend(estate.storage("3.7.0", &StorageProvider::default()).unwrap());
        hashes(&objects)
    };
    let mut estate = Estate::new();
    let before = all(&estate);
    assert_eq!(before.len(), 4, "cloud provider, controller, nodes and webhook");
    assert_eq!(before, all(&estate));
    estate.connections[0].password = "new".into();
    let after = all(&estate);
    assert!(before.iter().zip(&after).take(3).all(|(a, b)| a != b), "{before:?} {after:?}");
    assert_eq!(before[3], after[3], "the webhook has no password");
    estate.hash_key = "another".into();
    assert!(after.iter().zip(all(&estate)).all(|(a, b)| *a != b));
}

#[rstest]
#[case(1, 1, 1)]
#[case(2, 2, 2)]
#[case(5, 3, 2)]
fn there_are_no_more_copies_than_machines(#[case] nodes: u32, #[case] controller: u32, #[case] webhook: u32) {
    let mut estate = Estate::new();
    estate.control_plane_nodes = nodes;
    let objects = estate.storage("3.7.0", &StorageProvider::default()).unwrap();
    let replicas = |name: &str| find(&objects, "Deployment", name).value["spec"]["replicas"].clone();
    assert_eq!(replicas("vsphere-csi-controller"), json!(controller));
    assert_eq!(replicas("vsphere-csi-webhook"), json!(webhook));
}

#[test]
fn what_the_driver_would_not_start_with_is_refused() {
    let mut estate = two_vcenters();
    estate.connections[0].user = "administrator".to_owned();
    let error = estate.storage("3.7.0", &StorageProvider::default()).unwrap_err().to_string();
    insta::assert_snapshot!(error);
    assert!(!error.contains("hunter2"));
}

#[test]
fn two_connections_to_one_server_are_refused() {
    let mut estate = two_vcenters();
    estate.connections[1].server = "north.example.com".to_owned();
    let error = estate.cloud("1.36.0", &CloudProvider::default()).unwrap_err().to_string();
    assert!(error.contains("`north` and `south`"), "{error}");
    estate.connections[1].server = "2001:db8::1".to_owned();
    let error = estate.cloud("1.36.0", &CloudProvider::default()).unwrap_err().to_string();
    assert!(error.contains("2001:db8::1"), "{error}");
}

/// The one StorageClass that is made has what was asked for.
#[test]
fn the_storage_class_is_as_asked() {
    let spec = storage_spec(
        json!({"storageClass": {"name": "gold", "default": false, "storagePolicy": "Gold", "fileSystem": "xfs"}}),
    );
    let objects = Estate::new().storage("3.7.0", &spec).unwrap();
    let class = &find(&objects, "StorageClass", "gold").value;
    assert_eq!(class["parameters"], json!({"csi.storage.k8s.io/fstype": "xfs", "storagepolicyname": "Gold"}));
    assert_eq!(class["metadata"]["annotations"]["storageclass.kubernetes.io/is-default-class"], "false");
    let without = Estate::new().storage("3.7.0", &StorageProvider::default()).unwrap();
    assert!(without.iter().all(|object| object.kind != "StorageClass"));
}
