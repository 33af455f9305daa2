//! Days later: restarts, sessions that end, machines that others made, and nodes.

use serde_json::{Value, json};
use slipway_testkit::estate::Site;

use super::world::{INFRA_ID, MACHINES, World, addresses, calls, condition, virtual_machines};

const MARK: &str = "9c1b7a2e-1111-4000-8000-000000000009";
const BIOS: &str = "42166f45-6f10-6d46-4b2d-7f7e4f5b7a09";

#[test]
fn machines_live_on() {
    let mut world = World::new();
    world.start();
    for name in ["a", "b"] {
        world.machine(name, "127.0.0.1", "north");
    }
    for name in ["a", "b"] {
        world.wait_until_made(name);
    }
    what_happened_meanwhile_is_noticed(&mut world);
    a_session_that_ends_is_replaced(&world);
    what_the_installer_made_is_adopted(&world);
    a_node_goes_after_its_machine(&world);
    world.stop();
}

fn what_happened_meanwhile_is_noticed(world: &mut World) {
    world.stop();
    let path = format!("/vms/north/vm/{INFRA_ID}/b");
    world.north.control("POST", &format!("{path}/power"), &json!({"state": "off"})).unwrap();
    world.north.control("POST", &format!("{path}/destroy"), &json!({})).unwrap();
    world.north.control("DELETE", "/requests", &Value::Null).unwrap();
    let settled = world.get("a");
    world.start();
    world.wait_until("b", "failed", |machine| machine["status"]["phase"] == "Failed");
    assert_eq!(
        world.get("a")["metadata"]["resourceVersion"],
        settled["metadata"]["resourceVersion"],
        "nothing is written"
    );
    assert_eq!((calls(&world.north, "Login"), calls(&world.north, "CloneVM_Task")), (1, 0));
    world.delete("b");
    world.wait_until_gone("b");
}

fn a_session_that_ends_is_replaced(world: &World) {
    world.north.control("POST", "/sessions/expire", &json!({})).unwrap();
    let path = format!("/vms/north/vm/{INFRA_ID}/a");
    world.north.control("POST", &format!("{path}/power"), &json!({"state": "off"})).unwrap();
    let off = world.wait_until("a", "off", |machine| {
        machine["metadata"]["annotations"]["machine.openshift.io/instance-state"] == "poweredOff"
    });
    assert_eq!(addresses(&off).len(), 2, "its address may be another's by now");
    assert_eq!(off["status"]["phase"], "Provisioned", "it is not powered on again");
    world.north.control("POST", &format!("{path}/power"), &json!({"state": "on"})).unwrap();
    world.wait_until_made("a");
}

fn what_the_installer_made_is_adopted(world: &World) {
    let vm = Site::new("north").machine(&json!({
        "name": "elsewhere", "power": "on", "uuid": BIOS, "instance_uuid": MARK, "hostname": "master-0", "ips": ["10.0.0.50", "10.0.0.2"],
    }));
    let more = json!({"datacenters": [{"name": "north", "vms": [vm]}]});
    world.north.control("POST", "/inventory/apply", &more).unwrap();
    let clones = calls(&world.north, "CloneVM_Task");
    for (name, mark) in [("master-0", MARK), ("master-1", "9c1b7a2e-1111-4000-8000-00000000000a")] {
        world.marked_machine(name, "127.0.0.1", "north", mark);
    }
    let adopted = world.wait_until_made("master-0");
    assert_eq!(adopted["spec"]["providerID"], format!("vsphere://{BIOS}"));
    let expected = [("Hostname", "master-0"), ("InternalDNS", "master-0"), ("InternalIP", "10.0.0.50")];
    assert_eq!(
        addresses(&adopted),
        expected.map(|(kind, address)| (kind.to_owned(), address.to_owned())),
        "no virtual address"
    );
    // Its name is that of no virtual machine, and it carries another mark than any: it is not made here.
    let waiting = world.wait_until("master-1", "not found", |machine| {
        machine["status"]["errorMessage"].as_str().is_some_and(|message| message.contains("carries the mark"))
    });
    assert_eq!(waiting["status"]["phase"], "Provisioning");
    assert_eq!(calls(&world.north, "CloneVM_Task"), clones);
}

/// Drained, its volumes detached, its machine gone: then the node.
fn a_node_goes_after_its_machine(world: &World) {
    let kubectl = world.plane.kubectl();
    let id = world.get("a")["spec"]["providerID"].clone();
    let node =
        json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}, "spec": {"providerID": id}});
    kubectl.apply_value(&node).unwrap();
    let volume = |names: &[&str]| {
        let names: Vec<Value> = names.iter().map(|name| json!({"name": name, "devicePath": ""})).collect();
        status(world, "node", "a", &json!({"status": {"volumesAttached": names}}));
    };
    volume(&["kubernetes.io/csi/csi.vsphere.vmware.com^v1", "kubernetes.io/nfs/other"]);
    status(world, "machine", "a", &json!({"status": {"nodeRef": {"kind": "Node", "name": "a"}}}));
    world.wait_until("a", "running", |machine| machine["status"]["phase"] == "Running");
    world.delete("a");
    world
        .wait_until("a", "not drained", |machine| condition(machine, "Terminable")["reason"] == "NotDrained");
    let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let mut conditions = world.get("a")["status"]["conditions"].as_array().unwrap().clone();
    conditions.push(json!({"type": "Drained", "status": "True", "lastTransitionTime": now}));
    status(world, "machine", "a", &json!({"status": {"conditions": conditions}}));
    world.wait_until("a", "has volumes", |machine| {
        condition(machine, "Terminable")["reason"] == "VolumesAttached"
    });
    assert!(
        virtual_machines(&world.north, "north")
            .iter()
            .any(|(name, vm)| name == "a" && vm["props"]["powerState"] == "poweredOn")
    );
    volume(&["kubernetes.io/nfs/other"]);
    world.wait_until_gone("a");
    let gone = kubectl.run(&["get", "node", "a", "--ignore-not-found", "--output=name"]).unwrap();
    assert_eq!(gone.trim(), "");
    assert!(virtual_machines(&world.north, "north").iter().all(|(name, _)| name != "a"));
}

fn status(world: &World, kind: &str, name: &str, change: &Value) {
    let change = change.to_string();
    let patch = [
        "patch",
        kind,
        name,
        "--namespace",
        MACHINES,
        "--subresource=status",
        "--type=merge",
        "--patch",
        &change,
    ];
    world.plane.kubectl().run(&patch).unwrap();
}
