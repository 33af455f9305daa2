//! MachineSets: as many machines as they say, whatever happens in between.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};

use super::fuse::{Fuse, When};
use super::harness::{Place, machine, set, start};

const SETS: &str = "machine-sets";

impl Place {
    /// The machines of a set that stay.
    fn members(&self, set: &str) -> Vec<Value> {
        let all = self.list("machines.machine.openshift.io").into_iter();
        all.filter(|one| {
            let owners = one["metadata"]["ownerReferences"].as_array().cloned().unwrap_or_default();
            let is_owned = owners.iter().any(|owner| owner["name"] == set && owner["controller"] == true);
            is_owned && one["metadata"]["deletionTimestamp"].is_null()
        })
        .collect()
    }

    fn settled(&self, set: &str, count: usize) -> BTreeSet<String> {
        self.wait(&format!("{set} has {count} machines"), || {
            let (members, status) = (self.members(set), self.get("machineset", set)["status"].clone());
            let names = members.iter().map(|one| one["metadata"]["name"].as_str().unwrap().to_owned());
            let is_told = status["replicas"] == json!(count) && status["observedGeneration"].is_number();
            (members.len() == count && is_told).then(|| names.collect())
        })
    }

    fn scale(&self, set: &str, replicas: usize) {
        self.run(&["scale", "machineset", set, &format!("--replicas={replicas}")]);
    }
}

/// kubectl scales, an orphan is adopted, marked ones go first, one that is kept stays, and the status is what others read.
#[tokio::test(flavor = "multi_thread")]
async fn a_set_has_as_many_machines_as_it_says() {
    let place = Place::new();
    let running = place.start(SETS).await;
    tokio::task::block_in_place(|| {
        let mut orphan = machine("orphan", &json!({}));
        orphan["metadata"]["labels"] = json!({"set": "a"});
        place.apply(&[orphan, machine("stranger", &json!({})), set("a", 2)]);
        assert!(place.settled("a", 2).contains("orphan"));
        place.scale("a", 7);
        let seven = place.settled("a", 7);
        place.wait("the count", || {
            running.counts(r#"slipway_machine_set_machines{set="a",state="present"} 7"#)
        });
        // One was adopted.
        let created = r#"slipway_machine_set_changes_total{set="a",change="created"} 6"#;
        place.wait("the count", || running.counts(created));
        let status = place.get("machineset", "a")["status"].clone();
        assert_eq!(status["labelSelector"], "set=a");
        // The rest of what the autoscaler asks: the scale subresource, and what a node would have.
        let scale = place.run(&[
            "get",
            "machineset",
            "a",
            "--subresource=scale",
            "--output=jsonpath={.status.selector} {.spec.replicas}",
        ]);
        assert_eq!(scale, "set=a 7");
        let annotations = place.get("machineset", "a")["metadata"]["annotations"].clone();
        assert_eq!(annotations["machine.openshift.io/vCPU"], "4");
        assert_eq!(annotations["capacity.cluster-autoscaler.kubernetes.io/memory"], "8192Mi");

        let (marked, kept) = (seven.iter().next().unwrap(), seven.iter().nth(1).unwrap());
        let mark = json!({"metadata": {"annotations": {"machine.openshift.io/delete-machine": "true"}}});
        place.patch("machine", marked, &mark);
        place.scale("a", 6);
        assert!(!place.settled("a", 6).contains(marked), "the marked one went");
        let keep = json!({"metadata": {"annotations": {
            "machine.openshift.io/delete-machine": "true", "slipway.dev/delete-policy": "Retain",
        }}});
        place.patch("machine", kept, &keep);
        place.scale("a", 5);
        assert!(!place.settled("a", 5).contains(kept), "the kept one left the set");
        for change in ["deleted", "retained"] {
            let line = format!(r#"slipway_machine_set_changes_total{{set="a",change="{change}"}} 1"#);
            place.wait("the count", || running.counts(&line));
        }
        let still = place.get("machine", kept);
        assert!(
            still["metadata"]["annotations"]["slipway.dev/retained"].as_str().unwrap().starts_with("a since")
        );
        assert_eq!(still["metadata"]["deletionTimestamp"], Value::Null);
        place.scale("a", 0);
        place.settled("a", 0);
        assert_eq!(place.get("machine", "stranger")["metadata"]["deletionTimestamp"], Value::Null);
    });
    running.stop().await;
}

/// What another writer says about the capacity stays.
#[tokio::test(flavor = "multi_thread")]
async fn a_capacity_of_others_is_theirs() {
    let place = Place::new();
    tokio::task::block_in_place(|| {
        place.apply(&[set("a", 0)]);
        place.run(&["annotate", "machineset", "a", "machine.openshift.io/GPU=2"]);
    });
    let running = place.start(SETS).await;
    tokio::task::block_in_place(|| {
        place.wait("the other annotations", || {
            let annotations = place.get("machineset", "a")["metadata"]["annotations"].clone();
            (annotations["machine.openshift.io/vCPU"] == "4").then_some(())
        });
        assert_eq!(place.get("machineset", "a")["metadata"]["annotations"]["machine.openshift.io/GPU"], "2");
    });
    running.stop().await;
}

/// Machines that fail and are deleted one after the other: the set stops, says why, and begins anew with another template.
#[tokio::test(flavor = "multi_thread")]
async fn an_endless_row_of_failures_ends() {
    let place = Place::new();
    let running = place.start(SETS).await;
    tokio::task::block_in_place(|| {
        place.apply(&[set("a", 1)]);
        for _ in 0..3 {
            let name = place.settled("a", 1).pop_first().unwrap();
            let failed = json!({"phase": "Failed", "errorReason": "InvalidConfiguration", "errorMessage": "no such template"});
            place.status("machine", &name, &failed);
            // Not before it was seen: it counts once it has been.
            place.wait("the failure is written down", || {
                let uid = place.get("machine", &name)["metadata"]["uid"].as_str().unwrap().to_owned();
                let set = place.get("machineset", "a");
                let written =
                    set["metadata"]["annotations"]["slipway.dev/create-failures"].as_str()?.to_owned();
                written.contains(&uid).then_some(())
            });
            place.run(&["delete", "machine", &name]);
        }
        let told = place.condition("machineset", "a", "MachinesCreated", "FailureBudgetExhausted");
        assert!(
            told["message"].as_str().unwrap().starts_with("3 machines failed one after the other"),
            "{told}"
        );
        assert_eq!(place.get("machineset", "a")["status"]["errorReason"], "CreateError");
        assert!(place.members("a").is_empty());
        let template = json!({"template": {"spec": {"providerSpec": {"value": {"numCPUs": 8}}}}});
        place.patch("machineset", "a", &json!({"spec": template}));
        place.settled("a", 1);
        place.condition("machineset", "a", "MachinesCreated", "AsWanted");
        assert_eq!(place.get("machineset", "a")["status"]["errorReason"], Value::Null);
    });
    running.stop().await;
}

/// A crash before and after every write, and a start with nothing remembered: never more machines than wanted, and none deleted
/// that was not too many.
#[tokio::test(flavor = "multi_thread")]
async fn a_crash_at_any_write_makes_no_machine_too_many() {
    let place = Place::new();
    let client = place.account(SETS).await;
    for when in [When::Before, When::After] {
        let mut number = 0;
        loop {
            let name = format!("{}-{number}", if when == When::Before { "before" } else { "after" });
            tokio::task::block_in_place(|| place.apply(&[set(&name, 3)]));
            let is_up = drill(&place, &client, &name, &Fuse::new(number, when), 3).await;
            tokio::task::block_in_place(|| place.scale(&name, 1));
            let is_down = drill(&place, &client, &name, &Fuse::new(number, when), 1).await;
            if is_up && is_down {
                break;
            }
            number += 1;
        }
        assert!(number >= 4, "three machines and a status at least: {number}");
    }
}

/// One controller until it crashes, and the next until the set is settled. Whether there was no crash.
async fn drill(place: &Place, client: &kube::Client, name: &str, fuse: &Arc<Fuse>, count: usize) -> bool {
    let before = tokio::task::block_in_place(|| place.members(name).len());
    let first = start(fuse.client(client), &place.namespace, SETS);
    let is_settled = watched(place, name, fuse, count).await;
    first.kill().await;
    let next = start(client.clone(), &place.namespace, SETS);
    tokio::task::block_in_place(|| {
        let bounds = before.min(count)..=before.max(count);
        assert!(bounds.contains(&place.members(name).len()), "{name}: {bounds:?}");
        place.settled(name, count);
        assert!(bounds.contains(&place.members(name).len()), "{name}: {bounds:?}");
    });
    next.stop().await;
    is_settled
}

/// Waits until the set is settled, or the fuse has burnt through. Whether it is settled.
async fn watched(place: &Place, set: &str, fuse: &Fuse, count: usize) -> bool {
    let settled = async {
        loop {
            let there = tokio::task::block_in_place(|| {
                let status = place.get("machineset", set)["status"].clone();
                let annotations = place.get("machineset", set)["metadata"]["annotations"].clone();
                let is_foretold = annotations["machine.openshift.io/vCPU"].is_string();
                place.members(set).len() == count && status["replicas"] == json!(count) && is_foretold
            });
            if there {
                break;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        () = settled => true,
        () = fuse.blown() => false,
    }
}
