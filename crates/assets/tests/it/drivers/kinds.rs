//! Our own kinds, as a real API server serves them.

use serde_json::{Value, json};
use slipway_config::yaml::from_yaml;
use slipway_testkit::control_plane::{ControlPlane, Options};

const CONNECTION: &str = "apiVersion: slipway.dev/v1alpha1
kind: VSphereConnection
metadata: {name: north, namespace: default}
spec:
  server: vcenter.example.com
  credentialsSecret: {name: north}
";

/// As short as it gets.
const CONFIG: &str = "apiVersion: slipway.dev/v1alpha1
kind: VDOConfig
metadata: {name: cluster}
spec:
  {cloudProvider: {}, storageProvider: {}}
";

/// What is changed in one of the two, by path; and what the API server says to it.
const REFUSED: &[(&str, &str, &str, &str)] = &[
    (
        CONFIG,
        "metadata.name",
        "\"other\"",
        "metadata.name of a VDOConfig must be cluster, since only one may exist",
    ),
    (CONFIG, "spec", "{}", "give cloudProvider, storageProvider or both"),
    (
        CONFIG,
        "spec",
        r#"{"updatePolicy": "latest", "cloudProvider": {"version": "1.34.0"}, "storageProvider": {"version": "3.7.0"}}"#,
        "a pinned version switches automatic upgrades off",
    ),
    (
        CONFIG,
        "spec",
        r#"{"updatePolicy": "lts", "cloudProvider": {"version": "1.34.0"}}"#,
        "leave updatePolicy out, or write disabled",
    ),
    (CONFIG, "spec.updatePolicy", "\"newest\"", "Unsupported value: \"newest\""),
    (CONFIG, "spec.cloudProvider.version", "\"latest\"", "spec.cloudProvider.version"),
    (CONFIG, "spec.cloudProvider.connections", "[]", "should have at least 1 items"),
    (CONFIG, "spec.cloudProvider.topology", r#"{"zoneCategory": "zone"}"#, "regionCategory: Required value"),
    (
        CONFIG,
        "spec.cloudProvider.nodeAddresses",
        r#"{"internalSubnets": ["10.0.0.0"]}"#,
        "internalSubnets[0]",
    ),
    (
        CONFIG,
        "spec.storageProvider",
        r#"{"connections": ["a", "b"], "migration": {"datastoreURL": "ds:///vmfs/volumes/a/"}}"#,
        "can be migrated with a single vCenter only",
    ),
    (
        CONFIG,
        "spec.storageProvider",
        r#"{"connections": ["a"], "fileVolumes": {"clusters": [{"connection": "b", "clusters": ["domain-c8"]}]}}"#,
        "names a connection that is not among connections",
    ),
    (
        CONFIG,
        "spec.storageProvider.topologyCategories",
        r#"["a", "b", "c", "d", "e", "f"]"#,
        "must have at most 5 items",
    ),
    (CONFIG, "spec.storageProvider.kubeletPath", "\"var/lib/kubelet\"", "kubeletPath"),
    (
        CONFIG,
        "spec.storageProvider.storageClass",
        r#"{"storagePolicy": "gold", "datastoreURL": "ds:///vmfs/volumes/a/"}"#,
        "give storagePolicy or datastoreURL, not both",
    ),
    (CONFIG, "spec.storageProvider.snapshots.maxPerVolume", "33", "should be less than or equal to 32"),
    (CONFIG, "spec.images", r#"{"registry": "https://mirror.example.com"}"#, "spec.images.registry"),
    (CONFIG, "spec.storageProvider.topologyCategory", r#"["zone"]"#, "field not declared in schema"),
    (CONNECTION, "spec.server", "\"https://vcenter.example.com\"", "without scheme and port"),
    (CONNECTION, "spec.server", "\"VCenter.example.com\"", "in lower case"),
    (CONNECTION, "spec.port", "0", "greater than or equal to 1"),
    (CONNECTION, "spec.datacenters", r#"["one,two"]"#, "cannot handle a comma"),
    (CONNECTION, "spec.tls", "{}", "give exactly one of caBundle, thumbprint and insecure"),
    (
        CONNECTION,
        "spec.tls",
        r#"{"insecure": true, "caBundle": {"name": "ca"}}"#,
        "give exactly one of caBundle, thumbprint and insecure",
    ),
    (CONNECTION, "spec.tls", r#"{"insecure": false}"#, "insecure is true or not given"),
    (CONNECTION, "spec.tls", r#"{"thumbprint": "AA:BB"}"#, "spec.tls.thumbprint"),
    (CONNECTION, "spec.tls", r#"{"insecure": true, "thumbprint": null}"#, "must be of type string"),
    (CONNECTION, "spec.credentialsSecret", "{}", "credentialsSecret.name: Required value"),
    (
        CONNECTION,
        "spec.resources",
        r#"[{"kind": "Cluster", "path": "/DC0"}]"#,
        "Unsupported value: \"Cluster\"",
    ),
    (CONNECTION, "spec.resources", r#"[{"kind": "Folder", "path": "DC0"}]"#, "spec.resources[0].path"),
];

#[test]
fn the_api_server_serves_our_kinds() {
    let plane = ControlPlane::start(Options::default()).unwrap();
    install(&plane);
    // First, while there is nothing they could be merged with.
    mistakes_are_refused(&plane);
    defaults_are_filled_in(&plane);
    connections_keep_what_they_say(&plane);
    ids_do_not_change(&plane);
    status_is_its_own(&plane);
}

/// Installs the definitions as they are in the repository.
pub(super) fn install(plane: &ControlPlane) {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/crds");
    let mut found = 0;
    for entry in fs_err::read_dir(folder).unwrap() {
        plane.kubectl().apply(&fs_err::read_to_string(entry.unwrap().path()).unwrap()).unwrap();
        found += 1;
    }
    assert_eq!(found, slipway_api::slipway::definitions().len());
    plane.wait_for_definitions().unwrap();
}

fn defaults_are_filled_in(plane: &ControlPlane) {
    assert_eq!(CONFIG.lines().count(), 5);
    plane.kubectl().apply(CONFIG).unwrap();
    let config = plane.kubectl().json(&["get", "vdo", "cluster"]).unwrap();
    let expected = json!({
        "cloudProvider": {},
        "storageProvider": {
            "kubeletPath": "/var/lib/kubelet",
            "maxVolumesPerNode": 59,
            "snapshots": {"enabled": true, "maxPerVolume": 3},
        },
    });
    assert_eq!(config["spec"], expected);
    let read: slipway_api::slipway::VDOConfig = serde_json::from_value(config).unwrap();
    assert_eq!(
        read.spec.storage_provider,
        Some(slipway_api::slipway::vdo_config::StorageProvider::default())
    );

    let class =
        r#"{"spec": {"storageProvider": {"storageClass": {}, "fileVolumes": {"netPermissions": [{}]}}}}"#;
    plane.kubectl().run(&["patch", "vdo", "cluster", "--type=merge", "--patch", class]).unwrap();
    let config = plane.kubectl().json(&["get", "vdo", "cluster"]).unwrap();
    let storage = &config["spec"]["storageProvider"];
    assert_eq!(storage["storageClass"], json!({"name": "vsphere", "default": true, "fileSystem": "ext4"}));
    let permission = json!({"ips": "*", "permissions": "ReadWrite", "rootSquash": false});
    assert_eq!(storage["fileVolumes"]["netPermissions"], json!([permission]));
}

fn connections_keep_what_they_say(plane: &ControlPlane) {
    plane.kubectl().apply(CONNECTION).unwrap();
    let read = plane.kubectl().json(&["get", "vconn", "north"]).unwrap();
    assert_eq!(read["spec"]["port"], 443);
    for (name, tls) in [
        ("ca", json!({"caBundle": {"name": "ca"}})),
        ("sha1", json!({"thumbprint": vec!["AB"; 20].join(":")})),
        ("sha256", json!({"thumbprint": vec!["ab"; 32].join(":")})),
        ("insecure", json!({"insecure": true})),
    ] {
        let mut connection = from_yaml(CONNECTION).unwrap();
        connection["metadata"]["name"] = json!(name);
        connection["spec"]["tls"] = tls;
        connection["spec"]["resources"] = json!([{"kind": "Datastore", "path": "/DC0/datastore/fast"}]);
        plane.kubectl().apply_value(&connection).unwrap_or_else(|error| panic!("{name}: {error:#}"));
    }
    let other = r#"{"spec": {"server": "other.example.com"}}"#;
    let patch = ["patch", "vconn", "north", "--type=merge", "--patch", other];
    let error = plane.kubectl().run(&patch).unwrap_err().to_string();
    assert!(error.contains("the server of a connection cannot be changed"), "{error}");
    let table = plane.kubectl().run(&["get", "vconn"]).unwrap();
    assert!(table.starts_with("NAME       SERVER "), "{table}");
}

fn mistakes_are_refused(plane: &ControlPlane) {
    let mut wrong = Vec::new();
    for (base, path, value, expected) in REFUSED {
        let mut object = from_yaml(base).unwrap();
        let place = path.split('.').fold(&mut object, |value, key| &mut value[key]);
        *place = serde_json::from_str::<Value>(value).unwrap();
        match plane.kubectl().apply_value(&object) {
            Ok(_) => wrong.push(format!("{path}: {value} is accepted")),
            Err(error) if error.to_string().contains(expected) => {}
            Err(error) => wrong.push(format!("{path}: {value}: expected {expected:?}, found {error}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn ids_do_not_change(plane: &ControlPlane) {
    let patch = |id: &str| {
        let patch = format!(r#"{{"spec": {{"storageProvider": {{"clusterId": {id}}}}}}}"#);
        plane.kubectl().run(&["patch", "vdo", "cluster", "--type=merge", "--patch", &patch])
    };
    patch("\"harbour-hz2cc\"").unwrap();
    for id in ["\"other\"", "null"] {
        let error = patch(id).unwrap_err().to_string();
        assert!(error.contains("clusterId cannot change"), "{error}");
    }
}

/// Conditions are Kubernetes' own, one per type.
fn status_is_its_own(plane: &ControlPlane) {
    let status = |conditions: Value| {
        let patch = json!({"status": {"conditions": conditions}}).to_string();
        let arguments =
            ["patch", "vdo", "cluster", "--subresource=status", "--type=merge", "--patch", &patch];
        plane.kubectl().run(&arguments)
    };
    let condition = json!({
        "type": "Available", "status": "True", "reason": "AsWanted", "message": "", "observedGeneration": 3,
        "lastTransitionTime": "2026-11-16T02:00:00Z",
    });
    status(json!([condition])).unwrap();
    let shown = plane.kubectl().run(&["get", "vdo"]).unwrap();
    assert!(shown.contains("True"), "{shown}");
    assert!(status(json!([condition, condition])).unwrap_err().to_string().contains("Duplicate value"));
    assert!(status(json!([{"type": "Available", "status": "Yes"}])).is_err());
}
