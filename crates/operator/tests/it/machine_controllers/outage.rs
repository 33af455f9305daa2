//! An API server that is away while a controller starts with nothing remembered: nothing is deleted, and nothing made twice. The story
//! is gardener/machine-controller-manager#657.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::Value;
use slipway_testkit::control_plane::{ControlPlane, Options};
use slipway_testkit::process::eventually;

use super::harness::{account, set, start};

const NAMESPACE: &str = "machines";

/// Ids of the machines, of which none is going.
fn machines(plane: &ControlPlane) -> Option<BTreeSet<String>> {
    let list =
        plane.kubectl().json(&["get", "machines.machine.openshift.io", "--namespace", NAMESPACE]).ok()?;
    let all: &Vec<Value> = list["items"].as_array()?;
    assert!(all.iter().all(|machine| machine["metadata"]["deletionTimestamp"].is_null()));
    Some(all.iter().map(|machine| machine["metadata"]["uid"].as_str().unwrap().to_owned()).collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_deleted_by_who_sees_nothing() {
    let mut plane = tokio::task::block_in_place(|| {
        let plane = ControlPlane::start(Options::default()).unwrap();
        plane
            .install_definitions(&[
                "openshift/machines.machine.openshift.io",
                "openshift/machinesets.machine.openshift.io",
                "openshift/machinehealthchecks.machine.openshift.io",
            ])
            .unwrap();
        plane.kubectl().run(&["create", "namespace", NAMESPACE]).unwrap();
        plane
    });
    let clients = [
        account(&plane, NAMESPACE, "machine-sets").await,
        account(&plane, NAMESPACE, "machine-health-checks").await,
    ];
    let before = {
        let running = start(clients[0].clone(), NAMESPACE, "machine-sets");
        let before = tokio::task::block_in_place(|| {
            let mut object = set("a", 3);
            object["metadata"]["namespace"] = NAMESPACE.into();
            plane.kubectl().apply_value(&object).unwrap();
            let there = || Ok(machines(&plane).filter(|machines| machines.len() == 3));
            eventually("three machines", Duration::from_mins(1), there).unwrap()
        });
        running.stop().await;
        before
    };
    // They start while it is away, and find it when it is back.
    let starting = [(0, "machine-sets"), (1, "machine-health-checks")]
        .map(|(at, name)| start(clients[at].clone(), NAMESPACE, name));
    tokio::task::block_in_place(|| plane.restart_api_server()).unwrap();
    tokio::task::block_in_place(|| {
        // That they see again what there is shows in what they do next.
        let scale = ["scale", "machineset", "a", "--replicas=4", "--namespace", NAMESPACE];
        eventually("the set is scaled", Duration::from_mins(1), || plane.kubectl().run(&scale).map(Some))
            .unwrap();
        let there = || Ok(machines(&plane).filter(|machines| machines.len() == 4));
        let after = eventually("four machines", Duration::from_mins(2), there).unwrap();
        assert!(after.is_superset(&before), "those that were there are the same");
    });
    for running in starting {
        running.stop().await;
    }
}
