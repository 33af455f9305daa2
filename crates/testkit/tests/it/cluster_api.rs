use std::time::Duration;

use serde_json::{Value, json};
use slipway_testkit::cluster_api;
use slipway_testkit::control_plane::{ControlPlane, Network, Options};
use slipway_testkit::network::Hosts;
use slipway_testkit::process::eventually;
use slipway_testkit::vcenter::{ADMINISTRATOR, VCenter};

const INFRASTRUCTURE: &str = "infrastructure.cluster.x-k8s.io/v1beta1";

fn estate() -> Value {
    json!({
        "datacenters": [{
            "name": "dc1",
            "clusters": [{"name": "compute", "hosts": [{"name": "esx", "count": 2}]}],
            "datastores": [{"name": "fast", "capacity_gb": 1000, "free_gb": 400}],
            "networks": [{"name": "cluster-net"}],
            "vms": [{"name": "template", "template": true, "cluster": "compute", "datastore": "fast", "disks_gb": [10], "networks": ["cluster-net"]}],
        }],
    })
}

fn manifests(vcenter: &VCenter) -> Vec<Value> {
    let labels = json!({"cluster.x-k8s.io/cluster-name": "c1", "cluster.x-k8s.io/control-plane": ""});
    let reference = |kind: &str, name: &str| json!({"apiVersion": INFRASTRUCTURE, "kind": kind, "name": name, "namespace": "default"});
    let endpoint = json!({"host": "127.0.0.1", "port": 6443});
    let secret = |name: &str, data: Value| json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": "default"}, "stringData": data});
    let object = |api: &str, kind: &str, name: &str, spec: Value| json!({"apiVersion": api, "kind": kind, "metadata": {"name": name, "namespace": "default", "labels": labels}, "spec": spec});
    vec![
        secret("creds", json!({"username": ADMINISTRATOR.0, "password": ADMINISTRATOR.1})),
        secret("ignition", json!({"value": "{}", "format": "ignition"})),
        object(
            "cluster.x-k8s.io/v1beta1",
            "Cluster",
            "c1",
            json!({"controlPlaneEndpoint": endpoint, "infrastructureRef": reference("VSphereCluster", "c1")}),
        ),
        object(
            INFRASTRUCTURE,
            "VSphereCluster",
            "c1",
            json!({
                "server": vcenter.address(), "thumbprint": vcenter.thumbprint_sha1(), "controlPlaneEndpoint": endpoint,
                "identityRef": {"kind": "Secret", "name": "creds"},
            }),
        ),
        object(
            "cluster.x-k8s.io/v1beta1",
            "Machine",
            "m1",
            json!({
                "clusterName": "c1", "bootstrap": {"dataSecretName": "ignition"}, "infrastructureRef": reference("VSphereMachine", "m1"),
            }),
        ),
        object(
            INFRASTRUCTURE,
            "VSphereMachine",
            "m1",
            json!({
                "server": vcenter.address(), "thumbprint": vcenter.thumbprint_sha1(), "datacenter": "dc1", "datastore": "fast",
                "template": "template", "folder": "/dc1/vm", "resourcePool": "/dc1/host/compute/Resources",
                "numCPUs": 2, "memoryMiB": 512, "diskGiB": 20, "network": {"devices": [{"networkName": "cluster-net", "dhcp4": true}]},
            }),
        ),
    ]
}

/// The real controllers clone a VM and switch it on.
#[test]
fn capv_makes_a_vm() {
    let mut plane =
        ControlPlane::start(Options { network: Network::Private(Hosts::new()), ..Options::default() })
            .unwrap();
    let vcenter = VCenter::start_beside(&estate(), &plane).unwrap();
    cluster_api::start(&mut plane).unwrap();
    for manifest in manifests(&vcenter) {
        plane.kubectl().apply_value(&manifest).unwrap();
    }
    let vm = eventually("the VM runs", Duration::from_secs(90), || {
        let vm = vcenter.object("/dc1/vm/m1")?;
        Ok(vm.filter(|vm| vm.to_string().contains("poweredOn")))
    })
    .unwrap();
    assert!(vm.to_string().contains("guestinfo.ignition.config.data"), "{vm}");
}
