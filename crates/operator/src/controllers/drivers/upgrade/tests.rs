//! The transition table, and whole upgrades folded over a simulated cluster.

use std::time::Duration;

use jiff::Timestamp;
use rstest::rstest;
use semver::Version;
use slipway_api::slipway::vdo_status::DriverStatus;
use slipway_config::matrix::Driver;

use super::{Next, Observed, Plan, next};
use crate::controllers::drivers::health::{Workload, places};

const UPGRADE_TIMEOUT: Duration = Duration::from_mins(10);

fn version(text: &str) -> Version {
    text.parse().unwrap()
}

/// A cluster in which pods of some versions never become ready.
struct World {
    status: DriverStatus,
    workloads: Vec<Workload>,
    wanted: &'static str,
    asked: bool,
    obstacles: Vec<String>,
    bad: Option<&'static str>,
    generation: i64,
    minutes: i64,
}

impl World {
    fn new(wanted: &'static str) -> Self {
        World {
            status: DriverStatus::default(),
            workloads: Vec::new(),
            wanted,
            asked: false,
            obstacles: Vec::new(),
            bad: None,
            generation: 1,
            minutes: 0,
        }
    }

    /// Decides, writes the status as the controller does, and applies the plan.
    fn pass(&mut self) -> Next {
        let wanted = version(self.wanted);
        let next = next(&Observed {
            wanted: Some(&wanted),
            asked: self.asked,
            obstacles: &self.obstacles,
            before: &self.status,
            places: places(Driver::StorageProvider),
            workloads: &self.workloads,
            silent: 0,
            generation: Some(self.generation),
            now: Timestamp::from_second(self.minutes * 60).unwrap(),
            patience: UPGRADE_TIMEOUT,
        });
        self.status = DriverStatus {
            deployed_version: next.deployed.as_ref().map(ToString::to_string),
            last_good_version: next.last_good.as_ref().map(ToString::to_string),
            upgrade: next.upgrade.clone(),
            rollback: next.rollback.clone(),
            ..DriverStatus::default()
        };
        let (target, upto) = match &next.plan {
            Plan::Nothing => return next,
            Plan::All(target) => (target.clone(), usize::MAX),
            Plan::Upto(target, step) => (target.clone(), *step),
        };
        for (step, (kind, namespace, name)) in places(Driver::StorageProvider).iter().enumerate() {
            let found = self.workloads.iter().position(|workload| workload.name == *name);
            if step > upto && found.is_some() {
                continue;
            }
            let well = self.bad.is_none_or(|bad| version(bad) != target);
            // The old pods serve until new ones do.
            let available = if well { 3 } else { 2 };
            let new = Workload {
                kind,
                namespace: (*namespace).to_owned(),
                name: (*name).to_owned(),
                ours: true,
                version: Some(target.clone()),
                observed: true,
                desired: 3,
                updated: if well { 3 } else { 1 },
                available,
                redeployed: None,
            };
            match found {
                Some(index) => self.workloads[index] = new,
                None => self.workloads.push(new),
            }
        }
        next
    }

    fn settle(&mut self) -> Next {
        for _ in 0..10 {
            self.pass();
        }
        self.pass()
    }
}

#[test]
fn nothing_there_is_an_installation() {
    let mut world = World::new("3.6.0");
    assert_eq!(world.pass().plan, Plan::All(version("3.6.0")));
    let end = world.settle();
    assert_eq!((end.deployed, end.last_good), (Some(version("3.6.0")), Some(version("3.6.0"))));
}

/// One workload after the other, and the operator may be another one at any time: all it has is the status.
#[test]
fn an_upgrade_goes_step_by_step() {
    let mut world = World::new("3.6.0");
    world.settle();
    world.wanted = "3.7.0";
    let mut steps = Vec::new();
    loop {
        let next = world.pass();
        match next.upgrade {
            Some(upgrade) => steps.push(upgrade.step),
            None => break,
        }
    }
    assert_eq!(steps, ["vsphere-csi-controller", "vsphere-csi-node", "vsphere-csi-webhook"]);
    assert_eq!(world.status.deployed_version.as_deref(), Some("3.7.0"));
}

#[test]
fn what_never_gets_well_is_taken_back_and_not_tried_again() {
    let mut world = World::new("3.6.0");
    world.settle();
    (world.wanted, world.bad) = ("3.7.0", Some("3.7.0"));
    world.pass();
    assert_eq!(world.workloads[1].version, Some(version("3.6.0")), "the nodes wait for the controller");
    world.minutes = 9;
    assert!(world.pass().upgrade.is_some());
    world.minutes = 11;
    let back = world.pass();
    let rollback = back.rollback.unwrap();
    assert_eq!((back.plan, rollback.to.as_str()), (Plan::All(version("3.6.0")), "3.6.0"));
    assert!(rollback.message.contains("vsphere-csi-controller"), "{}", rollback.message);
    let end = world.settle();
    assert!(end.waits && end.rollback.is_some() && end.upgrade.is_none());
    assert_eq!(end.plan, Plan::All(version("3.6.0")));
    // Another version is another matter, and so is a change of the VDOConfig.
    world.bad = None;
    world.generation = 2;
    assert!(world.pass().upgrade.is_some());
    assert_eq!(world.settle().deployed, Some(version("3.7.0")));
    assert!(world.status.rollback.is_none());
}

#[test]
fn a_new_wish_takes_effect_in_the_middle() {
    let mut world = World::new("3.5.0");
    world.settle();
    world.wanted = "3.6.0";
    world.pass();
    world.wanted = "3.7.0";
    let upgrade = world.pass().upgrade.unwrap();
    assert_eq!((upgrade.from.as_str(), upgrade.to.as_str()), ("3.5.0", "3.7.0"));
    world.wanted = "3.5.0";
    let back = world.pass();
    assert_eq!((back.plan, back.rollback), (Plan::All(version("3.5.0")), None));
}

#[rstest]
#[case::well(vec![], false, false, true)]
#[case::obstacle(vec!["a connection is not ready".to_owned()], false, false, false)]
#[case::asked(vec!["a connection is not ready".to_owned()], true, false, true)]
#[case::sick(vec![], false, true, false)]
fn an_upgrade_waits_for_health(
    #[case] obstacles: Vec<String>,
    #[case] asked: bool,
    #[case] sick: bool,
    #[case] starts: bool,
) {
    let mut world = World::new("3.6.0");
    world.settle();
    (world.wanted, world.obstacles, world.asked) = ("3.7.0", obstacles, asked);
    if sick {
        world.workloads[1].available = 1;
    }
    let next = world.pass();
    assert_eq!((next.upgrade.is_some(), next.waits), (starts, !starts));
}

/// The status was lost: labels say what is there.
#[test]
fn labels_are_enough() {
    let mut world = World::new("3.6.0");
    world.settle();
    world.status = DriverStatus::default();
    assert_eq!(world.pass().deployed, Some(version("3.6.0")));
}
