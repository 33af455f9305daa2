//! Calls that fail, and connections that are cut before and after the vCenter has acted: a Machine is made and removed all the same, once.

use serde_json::{Value, json};

use super::world::{World, virtual_machines};

/// What a machine's making calls, and its removal.
const MAKING: [&str; 4] = ["FindByUuid", "CloneVM_Task", "PowerOnVM_Task", "RetrievePropertiesEx"];
const REMOVING: [&str; 4] = ["ShutdownGuest", "Destroy_Task", "FindByUuid", "RetrievePropertiesEx"];

fn faults(method: &str) -> Vec<Value> {
    let mut faults = vec![json!({"drop": "before"}), json!({"drop": "after"}), json!({"http_status": 503})];
    if method.ends_with("_Task") {
        faults.push(json!({"task_fault": {"type": "GenericVmConfigFault"}}));
        faults.push(json!({"task_delay_ms": 300}));
    }
    faults
}

/// The next call of a method meets a fault.
fn arm(world: &World, method: &str, fault: &Value) {
    let rule = json!({"on": {"kind": "soap", "method": method}, "count": 1, "fault": fault});
    world.north.control("POST", "/faults", &rule).unwrap();
}

#[test]
fn what_fails_is_done_again_and_not_twice() {
    let mut world = World::new();
    world.start();
    // What all share is there: the faults are for the machines.
    world.machine("first", "127.0.0.1", "north");
    world.wait_until_made("first");
    let mut number = 0;
    let cases = |methods: [&'static str; 4]| {
        methods.into_iter().flat_map(|method| faults(method).into_iter().map(move |fault| (method, fault)))
    };
    for (method, fault) in cases(MAKING) {
        number += 1;
        let name = format!("m-{number}");
        arm(&world, method, &fault);
        world.machine(&name, "127.0.0.1", "north");
        let machine = world.wait_until_made(&name);
        let found = virtual_machines(&world.north, "north");
        let own = found.iter().filter(|(_, vm)| vm["props"]["instanceUuid"] == machine["metadata"]["uid"]);
        assert_eq!(own.count(), 1, "{method} {fault}: {found:?}");
        world.north.control("DELETE", "/faults", &Value::Null).unwrap();
    }
    assert_eq!(
        virtual_machines(&world.north, "north").len(),
        number + 1,
        "no virtual machine without a Machine"
    );
    for (case, (method, fault)) in cases(REMOVING).enumerate().take(number) {
        let name = format!("m-{}", case + 1);
        arm(&world, method, &fault);
        world.delete(&name);
        world.wait_until_gone(&name);
        let left = virtual_machines(&world.north, "north");
        assert!(left.iter().all(|(found, _)| *found != name), "{method} {fault}: {left:?}");
        world.north.control("DELETE", "/faults", &Value::Null).unwrap();
    }
    world.stop();
}
