//! What is done is what the plan says, whatever was there before.

use std::collections::BTreeMap;

use serde_json::json;
use slipway_engine::Outcome;
use slipway_lifecycle::install::{Directly, Purpose};
use slipway_providers::vsphere::kinds::State;

use crate::bench::{Bench, Moment, VSpherePlannedRun, administrator, assert_done, assert_same};
use crate::dice::Dice;

const SEEDS: u64 = 16;
const ROLES: [&str; 4] = ["bootstrap", "master-0", "master-1", "master-2"];

/// Calls that change something, as a plan promises them.
fn promised(planned: &VSpherePlannedRun) -> BTreeMap<String, usize> {
    let mut calls: BTreeMap<String, usize> = BTreeMap::new();
    for planned in &planned.plan.steps {
        let call = match &*planned.step.verb {
            "create category" => "create category",
            "create tag" => "create tag",
            "delete tag" => "delete tag",
            "delete category" => "delete category",
            "create folder" => "CreateFolder",
            "clone" => "CloneVM_Task",
            "power on" => "PowerOnVM_Task",
            "power off" => "PowerOffVM_Task",
            "destroy" => "Destroy_Task",
            "remove folder" => "UnregisterAndDestroy_Task",
            "add rule" | "edit rule" | "remove rule" => "ReconfigureComputeResource_Task",
            // Several tags are one call, and waiting changes nothing.
            "tag" => continue,
            other => panic!("what does `{other}` call?"),
        };
        *calls.entry(call.to_owned()).or_default() += 1;
    }
    calls
}

/// Resources and verbs, in order.
fn planned_steps(planned: &VSpherePlannedRun) -> Vec<(String, String)> {
    let steps = planned.plan.steps.iter().map(|planned| &planned.step);
    let mut steps: Vec<_> = steps.map(|step| (step.resource.to_string(), step.verb.to_string())).collect();
    steps.sort();
    steps
}

fn performed_steps(outcome: &Outcome<State>) -> Vec<(String, String)> {
    let steps = outcome.performed.iter();
    let mut steps: Vec<_> = steps.map(|step| (step.resource.to_string(), step.verb.to_string())).collect();
    steps.sort();
    steps
}

/// Some of it is there, some of that is off, gone or untagged, and the files are edited.
fn disorder(bench: &Bench, dice: &mut Dice) -> Vec<String> {
    let steps = bench.plan(Purpose::Create).unwrap().plan.steps.len();
    let moment = *dice.pick(&[Moment::Intended, Moment::Performed]);
    bench.die_at(Purpose::Create, (dice.below(steps + 4), moment));
    let mut recreate = Vec::new();
    for role in ROLES {
        let path = ["north", "south"].iter().zip(&*bench.vcenters).find_map(|(zone, vcenter)| {
            let path = format!("/{zone}/vm/{}/{}", bench.infra_id, bench.name(role));
            vcenter
                .object(&path)
                .unwrap()
                .map(|machine| (vcenter, path, machine["props"]["powerState"].clone()))
        });
        let Some((vcenter, path, power)) = path else {
            edit(bench, role, dice);
            continue;
        };
        match dice.below(6) {
            0 if power == "poweredOn" => {
                vcenter.control("POST", &format!("/vms{path}/power"), &json!({"state": "off"})).unwrap();
            }
            1 => {
                administrator(vcenter, &["destroy", &path]);
                if dice.once_in(2) {
                    recreate.push(bench.name(role));
                }
            }
            2 => administrator(vcenter, &["rename", &path, &format!("renamed-{role}")]),
            _ => {}
        }
    }
    recreate
}

fn edit(bench: &Bench, role: &str, dice: &mut Dice) {
    let path = bench.path(&format!("cluster-api/machines/10_inframachine_{}.yaml", bench.name(role)));
    let text = fs_err::read_to_string(&path).unwrap();
    let (cpus, disk) = (*dice.pick(&[2, 4, 8]), *dice.pick(&[120, 130, 200]));
    let line = |line: &str| match line.trim_start().split(':').next() {
        Some("numCPUs") => format!("  numCPUs: {cpus}\n"),
        Some("numCoresPerSocket") => "  numCoresPerSocket: 1\n".to_owned(),
        Some("diskGiB") => format!("  diskGiB: {disk}\n"),
        _ => format!("{line}\n"),
    };
    fs_err::write(path, text.lines().map(line).collect::<String>()).unwrap();
}

#[test]
fn the_steps_are_those_of_the_plan() {
    let bench = Bench::new(2);
    let before = bench.snapshot();
    for seed in 0..SEEDS {
        let mut dice = Dice::new(seed);
        let recreate = disorder(&bench, &mut dice);
        for purpose in [Purpose::Create, Purpose::Destroy] {
            let recreate: &[String] = if purpose == Purpose::Create { &recreate } else { &[] };
            let planned = bench.plan_with(purpose, recreate).unwrap();
            bench.forget_requests();
            let outcome = bench.run_with(purpose, recreate, &Directly).unwrap();
            let context = format!("seed {seed}, {purpose:?}");
            assert_eq!(performed_steps(&outcome), planned_steps(&planned), "{context}");
            assert_eq!(outcome.is_done(), planned.plan.stops.is_empty(), "{context}: {:?}", outcome.ends);
            let mut changes = bench.changes();
            let tagged = changes.remove("attach").unwrap_or_default();
            assert_eq!(changes, promised(&planned), "{context}");
            let tags = planned.plan.steps.iter().filter(|planned| {
                let verb = &*planned.step.verb;
                verb == "tag" || verb == "create folder"
            });
            assert!(tagged <= tags.count(), "{context}");
            let missed: Vec<String> =
                planned.unseen.iter().map(|one| one.resource.name.to_string()).collect();
            if !missed.is_empty() {
                bench.destroy_forgetting(&missed);
            } else if purpose == Purpose::Destroy {
                assert_done(&outcome);
            }
        }
        assert_same(&before, &bench.snapshot(), &format!("seed {seed}"));
    }
}
