//! A run that cannot see a living cluster neither removes it nor creates it again.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::json;
use slipway_lifecycle::install::{Directly, Error, Purpose};

use crate::bench::{Bench, administrator, assert_done, assert_same, inventory, reasons, start};

/// Nothing to do, and doing it changes nothing.
fn assert_untouched(bench: &Bench) {
    let before = bench.snapshot();
    let plan = bench.plan(Purpose::Create).unwrap().plan;
    assert!(plan.is_empty(), "{plan:?}");
    assert_done(&bench.run(Purpose::Create).unwrap());
    assert_same(&before, &bench.snapshot(), "after another create");
}

/// An address leads to another vCenter: what it does not have was not removed.
#[test]
fn another_vcenter_at_the_same_address() {
    let mut bench = Bench::new(2);
    bench.create();
    let vcenters = Arc::get_mut(&mut bench.vcenters).unwrap();
    let listen = vcenters.remove(0).address();
    let mut other = inventory(0);
    other["vcenter"] = json!({"name": "another"});
    vcenters.insert(0, start(0, &other, &["--listen", &listen]));
    bench.write_config("harbour", "administrator@vsphere.local", "PW");
    let before = bench.snapshot();
    let endpoint = bench.vcenters[0].address();
    assert_eq!(endpoint, listen);

    let plan = bench.plan(Purpose::Create).unwrap().plan;
    assert!(plan.steps.is_empty(), "{:?}", plan.steps);
    let unknown: Vec<_> =
        plan.unknown.iter().filter(|stop| stop.resource.endpoint.as_str() == endpoint).collect();
    assert!(!unknown.is_empty());
    assert!(
        unknown.iter().all(|stop| stop.cause.message.contains("another vCenter answers here")),
        "{unknown:?}"
    );
    let outcome = bench.run(Purpose::Create).unwrap();
    assert!(!outcome.is_done() && outcome.performed.is_empty());

    let Err(error @ Error::Unreadable { .. }) = bench.run(Purpose::Destroy) else { panic!("it was removed") };
    assert!(error.to_string().contains("another vCenter answers here"), "{error}");
    assert_same(&before, &bench.snapshot(), "afterwards");
}

/// The user may only look now.
#[test]
fn permission_lost() {
    let weak = |position: usize| {
        let mut estate = inventory(position);
        estate["users"] = json!([{"name": "weak", "password": "weak"}]);
        estate["permissions"] =
            json!([{"principal": "weak@vsphere.local", "role": "ReadOnly", "entity": "/"}]);
        estate["enforce"] = json!(true);
        start(position, &estate, &[])
    };
    let bench = Bench::on(Arc::new(vec![weak(0), weak(1)]), "harbour");
    bench.create();
    bench.write_config("harbour", "weak@vsphere.local", "WEAK");
    assert_untouched(&bench);
    let before = bench.snapshot();
    // Known before the first machine is powered off.
    bench.forget_requests();
    let Err(error @ Error::Lacking(_)) = bench.run(Purpose::Destroy) else { panic!("it was tried") };
    let told = error.details();
    for privilege in ["VirtualMachine.Interact.PowerOff", "VirtualMachine.Inventory.Delete", "Folder.Delete"]
    {
        assert!(told.iter().any(|line| line.contains(privilege)), "{privilege}: {told:#?}");
    }
    assert_eq!(bench.changes(), BTreeMap::new());
    assert_same(&before, &bench.snapshot(), "afterwards");
    bench.write_config("harbour", "administrator@vsphere.local", "PW");
    bench.destroy();
}

/// The files name another datacenter than the machines are in.
#[test]
fn the_wrong_datacenter() {
    let mut estate = inventory(0);
    let mut attic = estate["datacenters"][0].clone();
    attic["name"] = json!("attic");
    attic["clusters"][0]["hosts"][0]["name"] = json!("attic-esx");
    estate["datacenters"].as_array_mut().unwrap().push(attic);
    let bench = Bench::on(Arc::new(vec![start(0, &estate, &[])]), "harbour");
    let before = bench.snapshot();
    bench.create();
    for role in ["bootstrap", "master-0", "master-1", "master-2"] {
        let path = bench.path(&format!("cluster-api/machines/10_inframachine_{}.yaml", bench.name(role)));
        let text = fs_err::read_to_string(&path).unwrap();
        fs_err::write(
            path,
            text.replace("/north/", "/attic/").replace("datacenter: north", "datacenter: attic"),
        )
        .unwrap();
    }
    let machines = bench.machines(0);
    let plan = bench.plan(Purpose::Create).unwrap().plan;
    assert!(!plan.steps.iter().any(|planned| &*planned.step.verb == "clone"), "{:?}", plan.steps);
    bench.run(Purpose::Create).unwrap();
    assert_eq!(bench.machines(0), machines);
    // Wherever the files point: what is removed is what carries the cluster's marks.
    bench.destroy();
    assert_same(&before, &bench.snapshot(), "after destroy");
}

#[test]
fn an_administrator_moves_and_renames_machines() {
    let mut estate = inventory(0);
    estate["datacenters"][0]["folders"] = json!({"vm": ["elsewhere"]});
    let bench = Bench::on(Arc::new(vec![start(0, &estate, &[])]), "harbour");
    let before = bench.snapshot();
    bench.create();
    administrator(&bench.vcenters[0], &["move", &bench.machine_path("master-0"), "/north/vm/elsewhere"]);
    assert_untouched(&bench);
    administrator(&bench.vcenters[0], &["rename", &bench.machine_path("master-1"), "please-keep"]);
    assert_untouched(&bench);
    let moved = format!("/north/vm/elsewhere/{}", bench.name("master-0"));
    administrator(&bench.vcenters[0], &["rename", &moved, "both"]);
    assert_untouched(&bench);
    bench.destroy();
    assert_same(&before, &bench.snapshot(), "after destroy");
}

/// What was removed by another hand comes back only when asked for.
#[test]
fn a_machine_that_is_gone_is_not_made_again_unasked() {
    let bench = Bench::new(1);
    bench.create();
    administrator(&bench.vcenters[0], &["destroy", &bench.machine_path("master-1")]);
    let without = bench.snapshot();
    let plan = bench.plan(Purpose::Create).unwrap().plan;
    let hint = format!("--recreate {}", bench.name("master-1"));
    assert!(plan.stops.iter().any(|stop| stop.cause.message.contains(&hint)), "{:?}", plan.stops);
    let outcome = bench.run(Purpose::Create).unwrap();
    assert!(!outcome.is_done() && outcome.performed.is_empty(), "{:?}", outcome.performed);
    assert_same(&without, &bench.snapshot(), "unasked");
    let outcome = bench.run_with(Purpose::Create, &[bench.name("master-1")], &Directly).unwrap();
    assert_done(&outcome);
    assert_eq!(bench.machines(0).len(), 4);
    assert!(bench.plan(Purpose::Create).unwrap().plan.is_empty());
    bench.destroy();
}

/// After `destroy` the same directory makes the cluster again, also when machines were off or gone before.
#[test]
fn a_cluster_can_be_made_again() {
    let bench = Bench::new(1);
    let before = bench.snapshot();
    bench.create();
    administrator(&bench.vcenters[0], &["destroy", &bench.machine_path("master-1")]);
    let off = format!("/vms{}/power", bench.machine_path("master-0"));
    bench.vcenters[0].control("POST", &off, &json!({"state": "off"})).unwrap();
    // Removed by another hand, or unregistered, or out of observation: who asks for the tag and the volumes must be sure.
    let shown = bench.plan(Purpose::Destroy).unwrap();
    let unseen: Vec<&str> = shown.unseen.iter().map(|one| &*one.resource.name).collect();
    assert_eq!(unseen, [bench.name("master-1")]);
    let outcome = bench.run(Purpose::Destroy).unwrap();
    assert!(
        reasons(&outcome).iter().any(|line| line.contains("is not visible now")),
        "{:?}",
        reasons(&outcome)
    );
    assert_eq!(bench.machines(0), [] as [&str; 0], "what is seen goes");
    bench.destroy_forgetting(&[bench.name("master-1")]);
    assert_same(&before, &bench.snapshot(), "after destroy");
    bench.create();
    bench.destroy();
}
