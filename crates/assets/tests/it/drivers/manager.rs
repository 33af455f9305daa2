//! The real cloud controller manager, with the configuration and the rights that we give it.

use std::time::Duration;

use serde_json::{Value, json};
use slipway_api::slipway::vdo_config::CloudProvider;
use slipway_assets::drivers::Connection;
use slipway_config::install_config::vsphere::Tls;
use slipway_testkit::ccm;
use slipway_testkit::control_plane::{ControlPlane, Options};
use slipway_testkit::process::eventually;
use slipway_testkit::vcenter::{ADMINISTRATOR, VCenter};

use super::estate::{Estate, find};

const NORTH: &str = "42166f45-6f10-6d46-4b2d-7f7e4f5b7a01";
const SOUTH: &str = "42166f45-6f10-6d46-4b2d-7f7e4f5b7a02";
const METAL: &str = "5d0c1f00-0000-4000-8000-3cecef112233";

fn inventory(name: &str, uuid: &str, address: &str) -> Value {
    json!({
        "vcenter": {"version": "8.0.3"},
        "datacenters": [{
            "name": name,
            "clusters": [{"name": "compute", "hosts": [{"name": "esx"}]}],
            "datastores": [{"name": "fast"}],
            "networks": [{"name": "net"}],
            "vms": [{"name": name, "cluster": "compute", "datastore": "fast", "power": "on", "hostname": name,
                     "ips": [address], "uuid": uuid, "networks": ["net"]}],
        }],
    })
}

fn connection(name: &str, server: &str, vcenter: &VCenter) -> Connection {
    let thumbprint = vcenter.thumbprint_sha1().split(':').map(|byte| u8::from_str_radix(byte, 16).unwrap());
    Connection {
        name: name.to_owned(),
        server: server.to_owned(),
        port: vcenter.port(),
        datacenters: vec![name.to_owned()],
        tls: Tls::Thumbprint(thumbprint.collect()),
        user: ADMINISTRATOR.0.to_owned(),
        password: ADMINISTRATOR.1.into(),
    }
}

/// A node as its kubelet registers it. One that is not of a vCenter has been initialised by another cloud provider.
fn node(name: &str, uuid: &str, provider_id: Option<&str>) -> Value {
    let taint = json!({
        "key": "node.cloudprovider.kubernetes.io/uninitialized", "value": "true", "effect": "NoSchedule",
    });
    let taints = if provider_id.is_none() { vec![taint] } else { Vec::new() };
    json!({
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": name},
        "spec": {"taints": taints, "providerID": provider_id},
        "status": {
            "conditions": [{"type": "Ready", "status": "Unknown", "reason": "Silent", "message": ""}],
            "nodeInfo": {
                "systemUUID": uuid, "machineID": "", "bootID": "", "kernelVersion": "", "osImage": "",
                "containerRuntimeVersion": "", "kubeletVersion": "v1.34.4", "kubeProxyVersion": "",
                "operatingSystem": "linux", "architecture": "amd64",
            },
        },
    })
}

/// Nodes of two vCenters are initialised; a machine that neither knows is left alone although it does not answer.
#[test]
fn it_works_with_what_we_make() {
    let mut plane = ControlPlane::start(Options::default()).unwrap();
    let north = VCenter::start_beside(&inventory("north", NORTH, "10.0.0.5"), &plane).unwrap();
    let south = VCenter::start_beside(&inventory("south", SOUTH, "10.0.1.5"), &plane).unwrap();
    let mut estate = Estate::new();
    estate.connections =
        vec![connection("north", "127.0.0.1", &north), connection("south", "localhost", &south)];
    let objects = estate.cloud("1.34.0", &CloudProvider::default()).unwrap();
    for object in &objects {
        plane.kubectl().apply_value(&object.value).unwrap();
    }
    for (name, uuid, provider) in
        [("north", NORTH, None), ("south", SOUTH, None), ("metal", METAL, Some("metal://rack-7"))]
    {
        let file =
            plane.scratch().write(&format!("{name}.json"), node(name, uuid, provider).to_string()).unwrap();
        plane.kubectl().run(&["create", "--filename", file.to_str().unwrap()]).unwrap();
    }

    let config = &find(&objects, "ConfigMap", "vsphere-cloud-config").value["data"]["vsphere.conf"];
    let account = "system:serviceaccount:kube-system:cloud-controller-manager";
    let kubeconfig = plane.kubeconfig_for(account, Some("system:serviceaccounts")).unwrap();
    let environment = [("SKIP_NODE_DELETION", "true")];
    ccm::start_as(&mut plane, config.as_str().unwrap(), &kubeconfig, &environment).unwrap();

    let get = |name: &str| plane.kubectl().json(&["get", "node", name]);
    for (name, uuid, address) in [("north", NORTH, "10.0.0.5"), ("south", SOUTH, "10.0.1.5")] {
        let node = eventually(&format!("{name} is initialised"), Duration::from_secs(90), || {
            let node = get(name)?;
            let complete = node["spec"]["providerID"].is_string() && node["status"]["addresses"].is_array();
            Ok(complete.then_some(node))
        })
        .unwrap();
        assert_eq!(node["spec"]["providerID"], format!("vsphere://{uuid}"));
        assert!(node["metadata"]["labels"]["node.kubernetes.io/instance-type"].is_string(), "{node}");
        assert!(node["status"]["addresses"].to_string().contains(address), "{node}");
    }
    // It looks for the machine again and again. With the rights of the driver's own manifests, and without the
    // variable, it deletes the node after the first time.
    let log = plane.scratch().join("cloud-controller-manager.log");
    eventually("the machine without a vCenter was looked for", Duration::from_secs(90), || {
        let text = fs_err::read_to_string(&log)?;
        let times = text.matches("Did not find node metal://rack-7 in vc=localhost").count();
        Ok((times >= 6).then_some(()))
    })
    .unwrap();
    let metal = get("metal").unwrap();
    assert_eq!(metal["spec"]["providerID"], "metal://rack-7");
    assert!(metal["metadata"]["labels"]["node.kubernetes.io/instance-type"].is_null(), "{metal}");
    let text = fs_err::read_to_string(&log).unwrap();
    let denied: Vec<&str> = text.lines().filter(|line| line.contains("orbidden")).collect();
    assert!(denied.is_empty(), "rights are missing:\n{}", denied.join("\n"));
}
