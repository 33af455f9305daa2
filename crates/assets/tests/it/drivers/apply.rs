//! Every object is accepted by a real API server, and no field is unknown to it.

use serde_json::json;
use slipway_api::slipway::vdo_config::{CloudProvider, StorageProvider};
use slipway_assets::drivers::Object;
use slipway_config::install_config::vsphere::Tls;
use slipway_config::matrix::Driver;
use slipway_testkit::control_plane::{ControlPlane, Options};

use super::estate::{Estate, connection};
use super::manifests::own_manifests;

/// Everything that can be set.
fn cloud() -> CloudProvider {
    let spec = json!({
        "topology": {"regionCategory": "k8s-region", "zoneCategory": "k8s-zone"},
        "nodeAddresses": {
            "families": ["ipv4", "ipv6"], "internalSubnets": ["10.0.0.0/16"], "excludedInternalSubnets": ["10.0.0.5/32"],
            "externalNetwork": "public",
        },
    });
    serde_json::from_value(spec).unwrap()
}

fn storage() -> StorageProvider {
    let spec = json!({
        "topologyCategories": ["k8s-region", "k8s-zone"],
        "kubeletPath": "/data/kubelet",
        "maxVolumesPerNode": 20,
        "fileVolumes": {
            "clusters": [{"connection": "north", "clusters": ["domain-c8", "domain-c9"]}],
            "netPermissions": [{"ips": "10.0.0.0/8", "permissions": "ReadOnly", "rootSquash": true}],
        },
        "snapshots": {"maxPerVolume": 5, "maxPerVsanVolume": 10},
        "storageClass": {"storagePolicy": "gold"},
    });
    serde_json::from_value(spec).unwrap()
}

#[test]
fn every_object_is_accepted() {
    let plane = ControlPlane::start(Options::default()).unwrap();
    let mut estate = Estate::new();
    let pem = "-----BEGIN CERTIFICATE-----\n".to_owned();
    estate.connections =
        vec![connection("north", Tls::CaBundle(pem)), connection("south", Tls::Thumbprint(vec![0xab; 20]))];
    estate.registry = Some("mirror.example.com/vsphere");
    estate.pull_secrets = vec!["mirror".to_owned()];
    estate.webhook.as_mut().unwrap().authority = plane.authority().certificate();
    // From the oldest to the newest, as in upgrades: what cannot be changed would show.
    for driver in Driver::ALL {
        for row in estate.matrix.rows(driver).iter().rev() {
            let version = row.version.to_string();
            let objects = match driver {
                Driver::CloudProvider => estate.cloud(&version, &cloud()).unwrap(),
                Driver::StorageProvider => estate.storage(&version, &storage()).unwrap(),
            };
            apply(&plane, &objects, &version);
        }
    }
    // The same versions from the drivers' own manifests, over ours.
    let own = own_manifests(&estate, Driver::CloudProvider, "1.36.0");
    apply(&plane, &estate.cloud_of(&own, &cloud()).unwrap(), "cloud manifests");
    let own = own_manifests(&estate, Driver::StorageProvider, "3.7.0");
    apply(&plane, &estate.storage_of(&own, &storage()).unwrap(), "storage manifests");
    // With everything left out, over what was there.
    estate.connections.truncate(1);
    apply(&plane, &estate.cloud("1.36.0", &CloudProvider::default()).unwrap(), "1.36.0");
    apply(&plane, &estate.storage("3.7.0", &StorageProvider::default()).unwrap(), "3.7.0");
}

fn apply(plane: &ControlPlane, objects: &[Object], version: &str) {
    // No webhook server runs here: its registration is validated, but not kept.
    let (hooks, others): (Vec<&Object>, Vec<&Object>) =
        objects.iter().partition(|object| object.kind == "ValidatingWebhookConfiguration");
    let applied = plane.kubectl().apply_all(others.iter().map(|object| &object.value));
    let applied = applied.unwrap_or_else(|error| panic!("{version}: {error:#}"));
    assert_eq!(applied.lines().count(), others.len(), "{version}: {applied}");
    for hook in hooks {
        let file = plane.scratch().write("webhook.json", hook.value.to_string()).unwrap();
        let arguments = [
            "apply",
            "--server-side",
            "--validate=strict",
            "--dry-run=server",
            "--filename",
            file.to_str().unwrap(),
        ];
        plane.kubectl().run(&arguments).unwrap_or_else(|error| panic!("{version}: {error:#}"));
    }
}
