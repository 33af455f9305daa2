//! `destroy` removes what is of the cluster, and nothing else.

use std::sync::Arc;

use serde_json::json;
use slipway_engine::apply::Moment;
use slipway_lifecycle::cluster::Purpose;

use crate::bench::{Bench, administrator, assert_done, assert_same, inventory, reasons, start};

/// One id begins with the other.
#[test]
fn a_similar_id_is_another_cluster() {
    let first = Bench::new(2);
    let second = Bench::on(Arc::clone(&first.vcenters), &first.infra_id);
    assert!(second.infra_id.starts_with(&first.infra_id) && second.infra_id != first.infra_id);
    let empty = first.snapshot();
    second.create();
    let only_second = first.snapshot();
    first.create();
    first.destroy();
    assert_same(&only_second, &first.snapshot(), "the longer id is left");
    assert!(second.plan(Purpose::Create).unwrap().plan.is_empty());
    first.create();
    second.destroy();
    assert!(first.plan(Purpose::Create).unwrap().plan.is_empty());
    assert_eq!(first.machines(0).len() + first.machines(1).len(), 4);
    first.destroy();
    assert_same(&empty, &first.snapshot(), "nothing is left");
}

#[test]
fn a_foreign_machine_in_our_folder_stays_and_is_named() {
    let bench = Bench::new(1);
    let before = bench.snapshot();
    bench.create();
    let guest = json!({"datacenters": [{"name": "north", "vms": [
        {"name": "guest", "folder": bench.infra_id, "cluster": "compute", "datastore": "vsan", "power": "on"},
    ]}]});
    bench.vcenters[0].control("POST", "/inventory/apply", &guest).unwrap();
    let path = format!("/north/vm/{}/guest", bench.infra_id);
    let plan = bench.plan(Purpose::Destroy).unwrap().plan;
    assert!(plan.stops.iter().any(|stop| stop.reason.contains(&path)), "{:?}", plan.stops);
    let outcome = bench.run(Purpose::Destroy).unwrap();
    let told = reasons(&outcome);
    assert!(told.iter().any(|line| line.contains(&path)), "{told:?}");
    assert_eq!(bench.machines(0), ["guest"], "ours are gone");
    let machine = bench.vcenters[0].object(&path).unwrap().unwrap();
    assert_eq!(machine["props"]["powerState"], "poweredOn");
    administrator(&bench.vcenters[0], &["destroy", &path]);
    bench.destroy();
    assert_same(&before, &bench.snapshot(), "after destroy");
}

/// A copy of a machine carries the marks of the original, but is somebody's.
#[test]
fn a_copy_of_a_machine_is_not_ours() {
    let bench = Bench::new(1);
    bench.create();
    administrator(&bench.vcenters[0], &["copy", &bench.machine_path("master-0"), "backup"]);
    let path = format!("/north/vm/{}/backup", bench.infra_id);
    let copy = bench.vcenters[0].object(&path).unwrap().unwrap();
    assert_eq!(copy["props"]["extraConfig"]["slipway.dev/cluster"], bench.infra_id);
    let told = reasons(&bench.run(Purpose::Destroy).unwrap());
    assert!(told.iter().any(|line| line.contains(&path)), "{told:?}");
    assert_eq!(bench.machines(0), ["backup"]);
}

/// Somebody has a machine of the same name in the same place.
#[test]
fn a_foreign_machine_of_the_same_name_is_left_alone() {
    let bench = Bench::new(1);
    let name = bench.name("master-1");
    let foreign = json!({"datacenters": [{
        "name": "north", "folders": {"vm": [bench.infra_id]},
        "vms": [{"name": name, "folder": bench.infra_id, "cluster": "compute", "datastore": "vsan"}],
    }]});
    bench.vcenters[0].control("POST", "/inventory/apply", &foreign).unwrap();
    let theirs = bench.vcenters[0].object(&bench.machine_path("master-1")).unwrap();
    let told = reasons(&bench.run(Purpose::Create).unwrap());
    assert!(told.iter().any(|line| line.contains("not of this cluster")), "{told:?}");
    assert_eq!(bench.machines(0).len(), 4, "the others were made");
    let told = reasons(&bench.run(Purpose::Destroy).unwrap());
    assert!(told.iter().any(|line| line.contains(&bench.machine_path("master-1"))), "{told:?}");
    assert_eq!(bench.vcenters[0].object(&bench.machine_path("master-1")).unwrap(), theirs);
    assert_eq!(bench.machines(0), [name]);
    administrator(&bench.vcenters[0], &["destroy", &bench.machine_path("master-1")]);
    assert_done(&bench.run(Purpose::Destroy).unwrap());
}

/// A folder cannot carry a mark from its first moment on. One that the user named, and that has no tag since the process
/// ended between making and tagging it, looks like the user's: it is used, and stays.
#[test]
fn a_folder_of_the_users_that_has_no_tag_stays() {
    let named = |text: String| {
        text.replace(
            "        networks: [cluster-net]\n",
            "        networks: [cluster-net]\n        folder: /north/vm/team\n",
        )
    };
    let vcenters = Arc::new(vec![start(0, &inventory(0), &[])]);
    let bench = Bench::edited(vcenters, "harbour", named);
    let steps = bench.plan(Purpose::Create).unwrap().plan.steps;
    let made = steps.iter().position(|planned| &*planned.step.resource.kind == "folder").unwrap();
    let cut = bench.die_at(Purpose::Create, (made, Moment::Intended));
    assert!(cut.cancelled);
    let half = json!({"datacenters": [{"name": "north", "folders": {"vm": ["team"]}}]});
    bench.vcenters[0].control("POST", "/inventory/apply", &half).unwrap();
    bench.create();
    assert_eq!(bench.machines(0).len(), 4);
    bench.destroy();
    assert_eq!(bench.machines(0), Vec::<String>::new());
    let folder = bench.vcenters[0].object("/north/vm/team").unwrap().unwrap();
    assert!(folder["tags"].is_null(), "{folder}");
}
