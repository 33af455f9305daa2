//! `slipway status` of a cluster that makes machines itself: simulated vCenters, and a real API server.

use serde_json::{Value, json};
use slipway_testkit::control_plane::{ControlPlane, Options};

use crate::cluster::{CREATE, ZONES, command, directory, finish, vcenter};
use crate::machine::{define, get, machine, owner, set};

/// Nothing listens there.
const NO_CLUSTER: &str = r#"{"apiVersion": "v1", "kind": "Config", "current-context": "c",
"clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
"users": [{"name": "c", "user": {}}], "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}]}"#;

#[test]
fn machines_of_sets_are_shown_as_such() {
    let vcenters = [vcenter(ZONES[0])];
    let directory = directory(&vcenters);
    let path = directory.path();
    let created = finish(path, &[&CREATE[..], &["-o", "json"]].concat(), "create");
    let created: Value = serde_json::from_slice(&created.stdout).expect("JSON");
    let infra_id = created["infraID"].as_str().expect("a name");

    let plane = ControlPlane::start(Options::default()).expect("a control plane");
    define(&plane);
    plane.kubectl().apply_value(&set("workers", 1)).expect("a set");
    let mut member = machine("worker-a", "worker");
    member["metadata"]["ownerReferences"] = owner(&plane, "workers");
    plane.kubectl().apply_all(&[member, machine("single", "worker")]).expect("machines");
    let uid = |name: &str| get(&plane, "machine", name)["metadata"]["uid"].clone();
    let vm = |name: &str, more: Value| {
        let mut vm = json!({"name": name, "cluster": "compute", "datastore": "vsan"});
        vm.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        vm
    };
    let vms = [
        vm("worker-a", json!({"instance_uuid": uid("worker-a")})),
        vm("single", json!({"instance_uuid": uid("single")})),
        // It has the name of no Machine, and the UID of none.
        vm("by-hand", json!({})),
    ];
    let attach = ["worker-a", "single", "by-hand"].map(|name| format!("/north/vm/{name}"));
    let category = json!({"name": format!("openshift-{infra_id}"), "cardinality": "MULTIPLE",
        "tags": [{"name": infra_id, "attach": attach}]});
    let datacenters = json!({"datacenters": [{"name": "north", "vms": vms}]});
    for applied in [datacenters, json!({"categories": [category]})] {
        vcenters[0].control("POST", "/inventory/apply", &applied).expect("machines with the tag");
    }

    let status = |arguments: &[&str]| {
        let output = command(path, &[&["status"], arguments].concat()).output().expect("the command runs");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
        assert_eq!(output.status.code(), Some(0), "machines of the cluster's own are nothing to complain of");
        (text(output.stdout), text(output.stderr))
    };
    // A cluster that cannot be asked: that is said, and nothing is guessed from names.
    std::fs::write(path.join("auth/kubeconfig"), NO_CLUSTER).expect("a file");
    let (told, warned) = status(&[]);
    assert!(!told.contains("MachineSet"), "{told}");
    assert_eq!(rows(&told, "not in the files, with the cluster's tag"), ["by-hand", "single", "worker-a"]);
    let note =
        "the cluster could not be asked whether 3 machines with the cluster's tag belong to a MachineSet: ";
    assert!(warned.contains(note) && warned.contains("nothing listens at api."), "{warned}");

    std::fs::copy(plane.kubeconfig(), path.join("auth/kubeconfig")).expect("a file");
    let (told, warned) = status(&[]);
    assert!(told.starts_with("in sync"), "{told}");
    assert!(!warned.contains("could not be asked"), "{warned}");
    assert_eq!(rows(&told, "Machines of the running cluster"), ["single", "worker-a"]);
    assert_eq!(rows(&told, "not in the files, with the cluster's tag"), ["by-hand"]);
    let line = |name: &str| told.lines().find(|line| line.trim_start().starts_with(name)).unwrap_or_default();
    assert!(line("worker-a").contains(" MachineSet workers "), "{told}");
    assert!(line("single").contains(" no MachineSet "), "{told}");
    let (told, _) = status(&["-o", "json"]);
    let told: Value = serde_json::from_str(&told).expect("JSON");
    let surplus = told["surplus"].as_array().expect("a list");
    let owners: Vec<(&Value, &Value)> =
        surplus.iter().map(|one| (&one["machine"], &one["machineSet"])).collect();
    assert_eq!(
        owners,
        [
            (&Value::Null, &Value::Null),
            (&json!("single"), &Value::Null),
            (&json!("worker-a"), &json!("workers")),
        ]
    );
}

/// The names below a heading.
fn rows<'t>(told: &'t str, heading: &str) -> Vec<&'t str> {
    let lines = told.lines().skip_while(|line| *line != heading).skip(1);
    lines
        .take_while(|line| line.starts_with("  "))
        .filter_map(|line| line.split_whitespace().next())
        .collect()
}
