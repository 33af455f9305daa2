use std::collections::BTreeSet;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use slipway_testkit::control_plane::{ControlPlane, Options};
use slipway_testkit::process::eventually;
use slipway_testkit::vcenter::{ADMINISTRATOR, VCenter};
use slipway_testkit::{ccm, python};

const READBACK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../peers/vcsim/testdata/readback.py");

fn estate() -> Value {
    json!({
        "vcenter": {"version": "8.0.3"},
        "datacenters": [{
            "name": "dc1",
            "clusters": [{"name": "compute", "hosts": [{"name": "esx", "count": 2}], "pools": [{"name": "prod"}]}],
            "datastores": [{"name": "fast", "capacity_gb": 1000, "free_gb": 400}],
            "networks": [{"name": "cluster-net"}],
            "vms": [{"name": "node-0", "cluster": "compute", "datastore": "fast", "power": "on", "hostname": "node-0",
                     "ips": ["10.0.0.5"], "uuid": "42166f45-6f10-6d46-4b2d-7f7e4f5b7a01", "networks": ["cluster-net"]}],
        }],
    })
}

/// What the official client sees.
fn read_back(vcenter: &VCenter) -> Value {
    let url = format!("https://{}", vcenter.address());
    let output = Command::new(python::find().unwrap())
        .args([READBACK, &url, ADMINISTRATOR.0, ADMINISTRATOR.1])
        .arg(vcenter.ca_file())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn the_inventory_is_what_an_independent_client_reads() {
    let vcenter = VCenter::start(&estate()).unwrap();
    let seen = read_back(&vcenter).to_string();
    for name in [
        "dc1",
        "compute",
        "esx-0",
        "esx-1",
        "fast",
        "cluster-net",
        "prod",
        "node-0",
        "42166f45-6f10-6d46-4b2d-7f7e4f5b7a01",
    ] {
        assert!(seen.contains(&format!("{name}\"")), "{name} is not in {seen}");
    }
    let calls = vcenter.calls().unwrap();
    assert!(calls["Login"].as_u64().is_some_and(|count| count >= 1), "{calls}");
}

/// Each has its own port and its own inventory.
#[test]
fn several_start_at_once() {
    let names = ["north", "south", "west"];
    let vcenters: Vec<VCenter> = std::thread::scope(|scope| {
        let starting = names.map(|name| {
            scope.spawn(move || {
                let mut estate = estate();
                estate["datacenters"][0]["name"] = name.into();
                VCenter::start(&estate).unwrap()
            })
        });
        starting.map(|thread| thread.join().unwrap()).into_iter().collect()
    });
    let ports: BTreeSet<u16> = vcenters.iter().map(VCenter::port).collect();
    assert_eq!(ports.len(), names.len());
    for (vcenter, own) in vcenters.iter().zip(names) {
        for name in names {
            let found = vcenter.object(&format!("/{name}")).unwrap().is_some();
            assert_eq!(found, name == own, "/{name} on the vCenter of {own}");
        }
    }
}

#[test]
fn logs_are_kept_when_a_test_fails_and_removed_when_it_passes() {
    let vcenter = VCenter::start(&estate()).unwrap();
    let passed = vcenter.scratch().path().to_owned();
    assert!(passed.join("vcsim.log").is_file());
    drop(vcenter);
    assert!(!passed.exists(), "{}", passed.display());

    let (sender, receiver) = std::sync::mpsc::channel();
    let failing = std::thread::spawn(move || {
        let vcenter = VCenter::start(&estate()).unwrap();
        sender.send(vcenter.scratch().path().to_owned()).unwrap();
        panic!("as a test that fails does");
    });
    assert!(failing.join().is_err());
    let failed = receiver.recv().unwrap();
    assert!(failed.join("vcsim.log").is_file() && failed.join("inventory.json").is_file());
    std::fs::remove_dir_all(failed).unwrap();
}

#[test]
fn faults_come_when_told() {
    let vcenter = VCenter::start(&estate()).unwrap();
    let rule =
        json!({"on": {"kind": "soap", "method": "Login"}, "count": 1, "fault": {"type": "InvalidLogin"}});
    vcenter.control("POST", "/faults", &rule).unwrap();
    let url = format!("https://{}", vcenter.address());
    let read = || {
        Command::new(python::find().unwrap())
            .args([READBACK, &url, ADMINISTRATOR.0, ADMINISTRATOR.1])
            .arg(vcenter.ca_file())
            .output()
            .unwrap()
    };
    let refused = read();
    assert!(!refused.status.success());
    assert!(String::from_utf8_lossy(&refused.stderr).contains("InvalidLogin"));
    assert!(read().status.success(), "only the first login fails");
}

/// API server, vCenter and the real cloud controller manager, which reads a config of ours.
#[test]
fn a_node_is_initialised_by_the_cloud_controller_manager() {
    let vcenter = VCenter::start(&estate()).unwrap();
    let mut plane = ControlPlane::start(Options::default()).unwrap();
    let config = format!(
        "global:\n  user: {}\n  password: {}\n  caFile: {}\nvcenter:\n  here:\n    server: {}\n    port: {}\n    datacenters: [dc1]\n",
        ADMINISTRATOR.0,
        ADMINISTRATOR.1,
        vcenter.ca_file().display(),
        vcenter.host(),
        vcenter.port(),
    );
    ccm::start(&mut plane, &config).unwrap();
    let node = json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "node-0"},
        "spec": {"taints": [{"key": "node.cloudprovider.kubernetes.io/uninitialized", "value": "true", "effect": "NoSchedule"}]},
        "status": {"nodeInfo": {
            "systemUUID": "42166f45-6f10-6d46-4b2d-7f7e4f5b7a01", "machineID": "", "bootID": "", "kernelVersion": "",
            "osImage": "", "containerRuntimeVersion": "", "kubeletVersion": "v1.34.4", "kubeProxyVersion": "",
            "operatingSystem": "linux", "architecture": "amd64",
        }},
    });
    let file = plane.scratch().write("node.json", node.to_string()).unwrap();
    let kubectl = plane.kubectl();
    // The manager wants the UUID to be there from the start, so the node is created whole.
    kubectl.run(&["create", "--filename", file.to_str().unwrap()]).unwrap();
    let seen = eventually("the node is initialised", Duration::from_mins(1), || {
        let node = kubectl.json(&["get", "node", "node-0"])?;
        // Addresses come with a call of their own, after the rest.
        let complete = node["spec"]["providerID"].is_string() && node["status"]["addresses"].is_array();
        Ok(complete.then_some(node))
    })
    .unwrap();
    assert_eq!(seen["spec"]["providerID"], "vsphere://42166f45-6f10-6d46-4b2d-7f7e4f5b7a01");
    assert!(seen["metadata"]["labels"]["node.kubernetes.io/instance-type"].is_string(), "{seen}");
    assert!(seen["status"]["addresses"].to_string().contains("10.0.0.5"), "{seen}");
}
