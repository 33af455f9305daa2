//! A Machine's life: it comes, is changed by hand, and goes; and what keeps it from that.

use serde_json::{Value, json};
use slipway_config::install_config::vsphere::Tls;
use slipway_providers::vsphere::machines::{ConfigSpec, DeviceChange, Provisioning};
use slipway_providers::vsphere::{Client, Endpoint, Login, Reference};
use slipway_testkit::vcenter::{ADMINISTRATOR, VCenter};

use super::world::{MACHINES, TIMEOUT, World, addresses, calls, condition, inventory, virtual_machines};

#[test]
fn machines_come_and_go() {
    let mut world = World::new();
    world.start();
    three_at_once_on_two_vcenters(&world);
    settled_machines_cost_nothing(&world);
    static_addresses_come_from_claims(&world);
    super::shape::has_disks_tags_and_a_group(&world);
    one_goes_and_leaves_what_is_not_its_own(&world);
    one_that_was_removed_by_hand_is_not_made_again(&world);
    a_spec_that_cannot_be_used_is_final(&world);
    a_missing_template_is_waited_for(&world);
    a_wrong_password_is_tried_once(&world);
    nothing_is_done_beside_another_owner(&world);
    nothing_is_gone_that_cannot_be_seen(&mut world);
    world.stop();
    let sessions = world.north.control("GET", "/stats", &Value::Null).unwrap();
    assert_eq!(
        (&sessions["soap_sessions"], &sessions["rest_sessions"]),
        (&json!(0), &json!(0)),
        "logged out"
    );
}

fn three_at_once_on_two_vcenters(world: &World) {
    for (name, server, site) in
        [("a", "127.0.0.1", "north"), ("b", "127.0.0.1", "north"), ("c", "localhost", "south")]
    {
        world.machine(name, server, site);
    }
    for name in ["a", "b", "c"] {
        let machine = world.wait_until_made(name);
        let all = addresses(&machine);
        assert_eq!(
            all[..2],
            [("Hostname".to_owned(), name.to_owned()), ("InternalDNS".to_owned(), name.to_owned())]
        );
        assert_eq!(condition(&machine, "InstanceExists")["status"], "True");
        assert_eq!(machine["metadata"]["annotations"]["machine.openshift.io/instance-state"], "poweredOn");
        let id = machine["spec"]["providerID"].as_str().unwrap();
        assert_eq!(id.strip_prefix("vsphere://"), machine["status"]["providerStatus"]["instanceId"].as_str());
        assert!(machine["status"]["errorMessage"].is_null(), "{machine:#}");
        let zone = if name == "c" { "south" } else { "north" };
        assert_eq!(machine["metadata"]["labels"]["machine.openshift.io/zone"], zone);
        assert_eq!(machine["metadata"]["labels"]["machine.openshift.io/region"], "europe");
    }
    let south = world.south.as_ref().unwrap();
    for (vcenter, site, names) in [(&world.north, "north", &["a", "b"][..]), (south, "south", &["c"])] {
        let found = virtual_machines(vcenter, site);
        assert_eq!(found.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), names);
        for (name, machine) in &found {
            assert_eq!(machine["props"]["instanceUuid"], world.get(name)["metadata"]["uid"]);
            let config = &machine["props"]["extraConfig"];
            assert_eq!(config["guestinfo.hostname"], name.as_str(), "{config:#}");
            assert_eq!(config["guestinfo.ignition.config.data.encoding"], "base64");
        }
        assert_eq!((calls(vcenter, "Login"), calls(vcenter, "CloneVM_Task")), (1, names.len() as u64));
    }
}

/// Changes of a Machine that mean nothing to its virtual machine are not worth a call.
fn settled_machines_cost_nothing(world: &World) {
    world.north.control("DELETE", "/requests", &Value::Null).unwrap();
    let label = ["label", "machine", "a", "b", "--namespace", MACHINES, "team=blue"];
    world.plane.kubectl().run(&label).unwrap();
    // What is asked for another machine afterwards shows that the labels were seen.
    world.machine("d", "127.0.0.1", "north");
    world.wait_until_made("d");
    let asked = world.north.control("GET", "/requests", &Value::Null).unwrap();
    let about: Vec<&str> =
        asked["requests"].as_array().unwrap().iter().filter_map(|one| one["method"].as_str()).collect();
    println!("{} calls for one machine: {about:?}", about.len());
    assert_eq!(calls(&world.north, "CloneVM_Task"), 1);
    assert_eq!(calls(&world.north, "Login"), 0, "the session is kept");
    assert!(about.len() <= 16, "{about:?}");
}

fn static_addresses_come_from_claims(world: &World) {
    let pool = json!({"group": "ipam.example.com", "resource": "Pool", "name": "blue"});
    let device =
        json!({"networkName": "cluster-net", "addressesFromPools": [pool], "nameservers": ["10.0.0.1"]});
    world.machine_with("e", "127.0.0.1", "north", &json!({"network": {"devices": [device]}}));
    let waiting = world.wait_until("e", "waits for its address", |machine| {
        machine["status"]["errorMessage"].as_str().is_some_and(|message| message.contains("e-claim-0-0"))
    });
    assert_eq!(waiting["status"]["phase"], "Provisioning");
    let kubectl = world.plane.kubectl();
    let claim = kubectl.json(&["get", "ipaddressclaim", "e-claim-0-0", "--namespace", MACHINES]).unwrap();
    assert_eq!(claim["spec"]["poolRef"]["name"], "blue");
    assert_eq!(claim["metadata"]["ownerReferences"][0]["uid"], waiting["metadata"]["uid"]);
    let address = json!({
        "apiVersion": "ipam.cluster.x-k8s.io/v1beta1", "kind": "IPAddress", "metadata": {"name": "e-0", "namespace": MACHINES},
        "spec": {
            "address": "10.0.0.77", "prefix": 24, "gateway": "10.0.0.1", "claimRef": {"name": "e-claim-0-0"},
            "poolRef": {"apiGroup": "ipam.example.com", "kind": "Pool", "name": "blue"},
        },
    });
    kubectl.apply_value(&address).unwrap();
    let given = json!({"status": {"addressRef": {"name": "e-0"}}}).to_string();
    let patch = [
        "patch",
        "ipaddressclaim",
        "e-claim-0-0",
        "--namespace",
        MACHINES,
        "--subresource=status",
        "--type=merge",
        "--patch",
        &given,
    ];
    kubectl.run(&patch).unwrap();
    world.wait_until_made("e");
    let found = virtual_machines(&world.north, "north");
    let (_, machine) = found.iter().find(|(name, _)| name == "e").unwrap();
    assert_eq!(
        machine["props"]["extraConfig"]["guestinfo.afterburn.initrd.network-kargs"],
        "ip=10.0.0.77::10.0.0.1:255.255.255.0:::none nameserver=10.0.0.1"
    );
    world.delete("e");
    world.wait_until_gone("e");
    let claim = kubectl.json(&["get", "ipaddressclaim", "e-claim-0-0", "--namespace", MACHINES]).unwrap();
    assert!(claim["metadata"]["finalizers"].is_null(), "the address may be given again: {claim:#}");
}

/// An administrator attached a disk. It is detached and kept.
fn one_goes_and_leaves_what_is_not_its_own(world: &World) {
    let found = virtual_machines(&world.north, "north");
    let (_, machine) = found.iter().find(|(name, _)| name == "a").unwrap();
    let moref = machine["moref"].as_str().unwrap().to_owned();
    world.runtime.block_on(attach_disk(&world.north, &moref));
    let files = world.north.files("/north/datastore/vsan").unwrap();
    let disks = |files: &std::collections::BTreeSet<String>| {
        files
            .iter()
            .filter(|file| file.starts_with("a/") && file.contains(".vmdk") && !file.contains("-flat"))
            .count()
    };
    assert_eq!(disks(&files), 2, "{files:?}");
    let hook =
        json!({"spec": {"lifecycleHooks": {"preTerminate": [{"name": "backup", "owner": "team-blue"}]}}});
    patch(world, "a", &hook);
    let asked = calls(&world.north, "ShutdownGuest");
    world.delete("a");
    let held = world.wait_until("a", "held by its hook", |machine| {
        condition(machine, "Terminable")["reason"] == "HookPresent"
    });
    assert_eq!(held["status"]["phase"], "Deleting");
    assert!(virtual_machines(&world.north, "north").iter().any(|(name, _)| name == "a"));
    patch(world, "a", &json!({"spec": {"lifecycleHooks": null}}));
    world.wait_until_gone("a");
    assert!(virtual_machines(&world.north, "north").iter().all(|(name, _)| name != "a"));
    let files = world.north.files("/north/datastore/vsan").unwrap();
    assert_eq!(disks(&files), 1, "its own is gone, the other is there: {files:?}");
    assert_eq!(calls(&world.north, "ShutdownGuest"), asked + 1, "guests are asked");
}

pub(super) fn client(vcenter: &VCenter) -> Client {
    let tls = Tls::CaBundle(fs_err::read_to_string(vcenter.ca_file()).unwrap());
    let login = Login { user: ADMINISTRATOR.0.to_owned(), password: ADMINISTRATOR.1.into() };
    Client::new(Endpoint::new(vcenter.host(), vcenter.port(), &tls), login).unwrap()
}

async fn attach_disk(vcenter: &VCenter, moref: &str) {
    let client = client(vcenter);
    let (kind, id) = moref.split_once(':').unwrap_or(("VirtualMachine", moref));
    let machine = client.moref(Reference::new(kind, id));
    let hardware = client.hardware(std::slice::from_ref(&machine)).await.unwrap().remove(&machine).unwrap();
    let disk = DeviceChange::AddDisk {
        controller: hardware.disks[0].controller,
        unit: hardware.disks[0].unit + 3,
        capacity_kib: 1 << 20,
        provisioning: Provisioning::Thin,
    };
    let spec = ConfigSpec { devices: vec![disk], ..ConfigSpec::default() };
    let task = client.reconfigure(&machine, &spec).await.unwrap();
    client.finish(&task, TIMEOUT).await.unwrap();
    client.logout().await.unwrap();
}

fn one_that_was_removed_by_hand_is_not_made_again(world: &World) {
    let clones = calls(&world.north, "CloneVM_Task");
    let path = "/vms/north/vm/harbour-x7k2p/b";
    world.north.control("POST", &format!("{path}/power"), &json!({"state": "off"})).unwrap();
    world.north.control("POST", &format!("{path}/destroy"), &json!({})).unwrap();
    let failed = world.wait_until("b", "failed", |machine| machine["status"]["phase"] == "Failed");
    let exists = condition(&failed, "InstanceExists");
    assert_eq!(
        (&exists["status"], &exists["reason"]),
        (&json!("False"), &json!("InstanceMissing")),
        "{failed:#}"
    );
    assert!(failed["status"]["errorMessage"].as_str().unwrap().contains("is gone"), "{failed:#}");
    assert_eq!(calls(&world.north, "CloneVM_Task"), clones);
    world.delete("b");
    world.wait_until_gone("b");
}

fn a_spec_that_cannot_be_used_is_final(world: &World) {
    let device = json!({"networkName": "cluster-net", "ipAddrs": ["10.0.0.5"]});
    world.machine_with("f", "127.0.0.1", "north", &json!({"network": {"devices": [device]}}));
    let failed = world.wait_until("f", "failed", |machine| machine["status"]["phase"] == "Failed");
    assert_eq!(failed["status"]["errorReason"], "InvalidConfiguration");
    assert!(
        failed["status"]["errorMessage"].as_str().unwrap().contains("network.devices[0].ipAddrs"),
        "{failed:#}"
    );
    world.delete("f");
    world.wait_until_gone("f");
}

/// What is not there may come.
fn a_missing_template_is_waited_for(world: &World) {
    world.machine_with("h", "127.0.0.1", "north", &json!({"template": "golden"}));
    let waiting = world.wait_until("h", "has no template", |machine| {
        machine["status"]["errorMessage"].as_str().is_some_and(|message| message.contains("golden"))
    });
    assert_eq!(waiting["status"]["phase"], "Provisioning");
    assert!(waiting["status"]["errorReason"].is_null(), "{waiting:#}");
    let site = slipway_testkit::estate::Site::new("north");
    let golden = site.machine(
        &json!({"name": "golden", "template": true, "disks_gb": [16], "hardware_version": "vmx-19"}),
    );
    let more = json!({"datacenters": [{"name": "north", "vms": [golden]}]});
    world.north.control("POST", "/inventory/apply", &more).unwrap();
    let made = world.wait_until_made("h");
    assert!(made["status"]["errorMessage"].is_null(), "{made:#}");
}

/// vCenters lock accounts after some refused logins.
fn a_wrong_password_is_tried_once(world: &World) {
    world.login("north", "127.0.0.1", "wrong");
    world.north.control("DELETE", "/requests", &Value::Null).unwrap();
    for name in ["i", "j"] {
        world.machine(name, "127.0.0.1", "north");
    }
    for name in ["i", "j"] {
        let refused = world.wait_until(name, "refused", |machine| {
            condition(machine, "InstanceExists")["reason"] == "ErrorCheckingProvider"
        });
        assert!(refused["status"]["errorMessage"].as_str().unwrap().contains("user"), "{refused:#}");
    }
    // More of the same, and a change of a Machine that asks for another try.
    world.machine("k", "127.0.0.1", "north");
    patch(world, "i", &json!({"metadata": {"annotations": {"try": "again"}}}));
    world.wait_until("k", "refused", |machine| condition(machine, "InstanceExists")["status"] == "Unknown");
    assert_eq!(calls(&world.north, "Login"), 1);
    world.login("north", "127.0.0.1", ADMINISTRATOR.1);
    for name in ["i", "j", "k"] {
        world.wait_until_made(name);
    }
    // Whether the right password needs a login of its own depends on whether a session of it is there still.
    let (refused, accepted) = logins(&world.north);
    assert_eq!(refused, 1, "the wrong password was tried again");
    assert!(accepted <= 1, "{accepted} logins with the right password");
}

/// Logins that were refused, and those that were not.
fn logins(vcenter: &VCenter) -> (usize, usize) {
    let listed = vcenter.control("GET", "/requests", &Value::Null).unwrap();
    let requests = listed["requests"].as_array().unwrap();
    let logins = requests.iter().filter(|request| request["method"] == "Login");
    let (refused, accepted): (Vec<&Value>, Vec<&Value>) =
        logins.partition(|login| login["fault"].as_str().is_some_and(|fault| !fault.is_empty()));
    (refused.len(), accepted.len())
}

fn owner() -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "machine-api-controllers", "namespace": MACHINES},
        "spec": {
            "replicas": 0, "selector": {"matchLabels": {"a": "b"}},
            "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "a", "image": "a"}]}},
        },
    })
}

fn nothing_is_done_beside_another_owner(world: &World) {
    let kubectl = world.plane.kubectl();
    kubectl.apply_value(&owner()).unwrap();
    world.wait_until_observing(true);
    world.delete("k");
    world.machine("l", "127.0.0.1", "north");
    assert!(!world.get("k")["metadata"]["deletionTimestamp"].is_null());
    let l = world.get("l");
    assert!(l["status"].is_null() && l["metadata"]["finalizers"].is_null(), "{l:#}");
    assert!(virtual_machines(&world.north, "north").iter().any(|(name, _)| name == "k"));
    kubectl.run(&["delete", "deployment", "machine-api-controllers", "--namespace", MACHINES]).unwrap();
    world.wait_until_observing(false);
    world.wait_until_made("l");
    world.wait_until_gone("k");
}

/// A vCenter that is away, and another one at its address, do not have the machine: that proves nothing.
fn nothing_is_gone_that_cannot_be_seen(world: &mut World) {
    drop(world.south.take());
    world.delete("c");
    let stays = world.wait_until("c", "cannot be seen", |machine| {
        condition(machine, "InstanceExists")["status"] == "Unknown"
    });
    assert_eq!(stays["status"]["phase"], "Deleting");
    assert_eq!(condition(&stays, "Terminable")["status"], "False");
    let other = inventory("south", "33333333-0000-4000-8000-000000000003", "10.0.1.0/24");
    let other = VCenter::start(&other).unwrap();
    world.connect("south", "localhost", &other);
    let stays = world.wait_until("c", "on another vCenter", |machine| {
        condition(machine, "Terminable")["reason"] == "AnotherVCenter"
    });
    assert!(!stays["metadata"]["finalizers"].as_array().unwrap().is_empty(), "{stays:#}");
    world.south = Some(other);
}

fn patch(world: &World, name: &str, change: &Value) {
    let change = change.to_string();
    let patch = ["patch", "machine", name, "--namespace", MACHINES, "--type=merge", "--patch", &change];
    world.plane.kubectl().run(&patch).unwrap();
}
