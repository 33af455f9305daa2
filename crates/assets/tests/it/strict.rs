//! Every object is accepted by a real API server with the real definitions, and no field is unknown to it.

use std::sync::LazyLock;

use serde_json::{Value, json};
use slipway_assets::kubevirt::infra_objects;
use slipway_config::install_config::Platform;
use slipway_testkit::control_plane::{ControlPlane, Options};
use slipway_testkit::kubectl::stream;

use crate::fixtures::{self, ALL};

const DEFINITIONS: [&str; 26] = [
    "openshift/infrastructures.config.openshift.io",
    "openshift/dnses.config.openshift.io",
    "openshift/ingresses.config.openshift.io",
    "openshift/networks.config.openshift.io",
    "openshift/networks.operator.openshift.io",
    "openshift/proxies.config.openshift.io",
    "openshift/schedulers.config.openshift.io",
    "openshift/clusterversions.config.openshift.io",
    "openshift/featuregates.config.openshift.io",
    "openshift/imagedigestmirrorsets.config.openshift.io",
    "openshift/machineconfigs.machineconfiguration.openshift.io",
    "openshift/osimagestreams.machineconfiguration.openshift.io",
    "openshift/machineconfigurations.operator.openshift.io",
    "openshift/machines.machine.openshift.io",
    "openshift/machinesets.machine.openshift.io",
    "openshift/controlplanemachinesets.machine.openshift.io",
    "cluster-api/clusters.cluster.x-k8s.io",
    "cluster-api/machines.cluster.x-k8s.io",
    "cluster-api/ipaddressclaims.ipam.cluster.x-k8s.io",
    "cluster-api/ipaddresses.ipam.cluster.x-k8s.io",
    "cluster-api-provider-vsphere/vsphereclusters.infrastructure.cluster.x-k8s.io",
    "cluster-api-provider-vsphere/vspheremachines.infrastructure.cluster.x-k8s.io",
    "cluster-api-provider-vsphere/vspherefailuredomains.infrastructure.cluster.x-k8s.io",
    "cluster-api-provider-vsphere/vspheredeploymentzones.infrastructure.cluster.x-k8s.io",
    "containerized-data-importer/datavolumes.cdi.kubevirt.io",
    "kubevirt/virtualmachines.kubevirt.io",
];

const DEFINITION: &str = "CustomResourceDefinition";

/// Namespaces that the release brings.
const NAMESPACES: [&str; 4] =
    ["openshift-config", "openshift-machine-api", "openshift-machine-config-operator", "tenant-raft"];

/// One API server with the definitions of all projects.
fn defined() -> &'static ControlPlane {
    static PLANE: LazyLock<ControlPlane> = LazyLock::new(|| {
        let plane = ControlPlane::start(Options::default()).unwrap();
        plane.install_definitions(&DEFINITIONS).unwrap();
        plane
    });
    &PLANE
}

#[test]
fn every_object_is_accepted() {
    let plane = defined();
    for name in NAMESPACES {
        plane.kubectl().run(&["create", "namespace", name]).unwrap();
    }
    for (name, config) in ALL {
        let (definitions, objects): (Vec<Value>, Vec<Value>) =
            objects(config).into_iter().partition(|object| object["kind"] == DEFINITION);
        // Those of others are there already, as their owners write them.
        let ours = |definition: &&Value| definition["spec"]["group"] == "slipway.dev";
        install(plane, definitions.iter().filter(ours));
        let applied = plane.kubectl().apply_all(&objects).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(applied.lines().count(), objects.len(), "{name}: {applied}");
        clean(plane, &objects);
    }
}

/// A cluster without those definitions is given ours, and they take the same objects.
#[test]
fn our_definitions_take_our_objects() {
    let plane = ControlPlane::start(Options::default()).unwrap();
    let mut objects = objects(fixtures::KUBERNETES);
    objects.retain(|object| {
        let version = object["apiVersion"].as_str().unwrap();
        !version.starts_with("cluster.x-k8s.io/") && !version.starts_with("infrastructure.")
    });
    let (definitions, others): (Vec<Value>, Vec<Value>) =
        objects.into_iter().partition(|object| object["kind"] == DEFINITION);
    install(&plane, &definitions);
    let applied = plane.kubectl().apply_all(&others).unwrap();
    assert_eq!(applied.lines().count(), others.len(), "{applied}");
}

/// The API server does refuse what it does not know: the test above can fail.
#[test]
fn unknown_fields_are_refused() {
    let tree = fixtures::manifests(fixtures::VSPHERE);
    let mut dns = fixtures::value(&tree, "manifests/cluster-dns-02-config.yml");
    dns["spec"]["baseDomian"] = json!("example.com");
    let error = defined().kubectl().apply_value(&dns).unwrap_err().to_string();
    assert!(error.contains("baseDomian"), "{error}");
}

fn install<'a>(plane: &ControlPlane, definitions: impl IntoIterator<Item = &'a Value>) {
    let definitions: Vec<&Value> = definitions.into_iter().collect();
    if definitions.is_empty() {
        return;
    }
    plane.kubectl().apply_all(definitions).unwrap();
    plane.wait_for_definitions().unwrap();
}

fn objects(config: &str) -> Vec<Value> {
    let cluster = fixtures::cluster(config);
    let tree = slipway_assets::manifests(&cluster).unwrap();
    let mut objects: Vec<Value> = tree.iter().map(|(path, _)| fixtures::value(&tree, path)).collect();
    if let Platform::KubeVirt(platform) = &cluster.config.platform {
        let infra = infra_objects(&cluster, platform, "https://example.com/image.qcow2", b"{}", b"{}");
        objects.push(serde_json::to_value(&infra.image).unwrap());
        objects.extend(infra.secrets.iter().map(|secret| serde_json::to_value(secret).unwrap()));
        objects.extend(infra.machines.iter().map(|machine| serde_json::to_value(machine).unwrap()));
    }
    // Namespaces come before what is in them.
    objects.sort_by_key(|object| object["kind"] != "Namespace");
    objects
}

/// Makes room for the next cluster, which has objects of the same names and other, unchangeable values.
fn clean(plane: &ControlPlane, objects: &[Value]) {
    let kubectl = plane.kubectl();
    let claims = objects.iter().filter(|object| object["kind"] == "IPAddressClaim");
    let claims: Vec<&str> = claims.map(|claim| claim["metadata"]["name"].as_str().unwrap()).collect();
    if !claims.is_empty() {
        let patch = r#"{"metadata":{"finalizers":null}}"#;
        let arguments = ["patch", "ipaddressclaims.ipam.cluster.x-k8s.io", "--type=merge", "--patch", patch];
        let namespace = ["--namespace", "openshift-machine-api"];
        kubectl.run(&[&arguments[..], &namespace, &claims].concat()).unwrap();
    }
    let objects = objects.iter().filter(|object| object["kind"] != "Namespace");
    let file = plane.scratch().write("objects.yaml", stream(objects)).unwrap();
    // Nothing holds them back any more, so they are gone when the call returns.
    kubectl.run(&["delete", "--filename", file.to_str().unwrap(), "--wait=false"]).unwrap();
}
