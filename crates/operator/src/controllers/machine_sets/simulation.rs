//! Sets in a simulated cluster: crashes, calls whose answers are lost, writes that arrive late, machines that others take away. By seeds.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::json;
use slipway_api::openshift::{Machine, MachineSet};

use super::decide::{Members, decide, selector};
use super::intent::{chosen, to_write};

const SEEDS: u64 = 300;
const STEPS: usize = 120;

/// Numbers that look random, the same ones for a seed.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: u64) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }

    fn one_in(&mut self, bound: u64) -> bool {
        self.below(bound) == 0
    }
}

/// A write on its way.
#[derive(Debug, Clone)]
enum Write {
    Make(String),
    Delete(String),
}

/// What the API server has, and what is on its way to it.
struct World {
    set: MachineSet,
    machines: BTreeMap<String, Machine>,
    /// What is written on the set.
    making: Vec<String>,
    late: Vec<Write>,
    made: u64,
}

impl World {
    fn staying(&self) -> usize {
        self.machines.values().filter(|machine| machine.metadata.deletion_timestamp.is_none()).count()
    }

    fn wanted(&self) -> usize {
        usize::try_from(self.set.spec.replicas).unwrap()
    }

    /// As the API server does it: a name is given once, and what is gone cannot be deleted.
    fn write(&mut self, write: Write, seed: u64) {
        match write {
            Write::Make(name) => {
                if self.machines.contains_key(&name) {
                    return;
                }
                self.made += 1;
                let owner = json!({
                    "apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineSet", "name": "set", "uid": "set-uid",
                    "controller": true,
                });
                let machine = serde_json::from_value(json!({
                    "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine", "spec": {},
                    "metadata": {
                        "name": name, "uid": format!("uid-{}", self.made), "labels": {"set": "a"}, "ownerReferences": [owner],
                        "creationTimestamp": "2026-01-01T00:00:00Z",
                    },
                }));
                self.machines.insert(name, machine.unwrap());
                assert!(self.staying() <= self.wanted(), "seed {seed}: a machine too many");
            }
            Write::Delete(uid) => {
                let too_many = self.staying() > self.wanted();
                let found = self.machines.values_mut().find(|one| one.metadata.uid.as_ref() == Some(&uid));
                if let Some(machine) = found.filter(|one| one.metadata.deletion_timestamp.is_none()) {
                    assert!(too_many, "seed {seed}: one that was not too many");
                    machine.metadata.deletion_timestamp =
                        serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap();
                }
            }
        }
    }
}

/// One pass of a controller after its second look. A crash leaves the rest of it undone, or under way.
fn pass(world: &mut World, used: &mut BTreeSet<String>, chance: &mut Chance, seed: u64) -> bool {
    let set = world.set.clone();
    let machines: Vec<Machine> = world.machines.values().cloned().collect();
    used.extend(world.machines.keys().cloned());
    let members = Members::of(&set, &selector(&set).unwrap(), &machines);
    let plan = decide(&set, &members, Timestamp::UNIX_EPOCH).unwrap();
    let exists = |name: &str| world.machines.contains_key(name);
    let names = chosen(&world.making, ("set", "set-uid"), plan.create, exists, |name| used.contains(name));
    if let Some(text) = to_write(&world.making, &names, exists) {
        if chance.one_in(12) {
            return true;
        }
        world.making = text.split(',').map(str::to_owned).collect();
    } else if plan.create == 0 && world.making.iter().all(|name| exists(name)) {
        world.making.clear();
    }
    let makes = names.into_iter().map(Write::Make);
    let deletes = plan.delete.iter().map(|machine| Write::Delete(machine.metadata.uid.clone().unwrap()));
    for write in makes.chain(deletes) {
        match chance.below(12) {
            // It ends before the call, after it, or while the call is under way.
            0 => return true,
            1 => {
                world.write(write, seed);
                return true;
            }
            2 => {
                world.late.push(write);
                return true;
            }
            // The call fails, or its answer is lost.
            3 => {}
            4 => world.late.push(write),
            _ => world.write(write, seed),
        }
    }
    false
}

#[test]
fn a_set_never_has_a_machine_too_many_and_loses_none() {
    for seed in 0..SEEDS {
        let mut chance = Chance(seed);
        let set = serde_json::from_value(json!({
            "apiVersion": "machine.openshift.io/v1beta1", "kind": "MachineSet",
            "metadata": {"name": "set", "uid": "set-uid"},
            "spec": {
                "replicas": 3, "selector": {"matchLabels": {"set": "a"}},
                "template": {"metadata": {"labels": {"set": "a"}}},
            },
        }));
        let mut world = World {
            set: set.unwrap(),
            machines: BTreeMap::new(),
            making: Vec::new(),
            late: Vec::new(),
            made: 0,
        };
        let mut used = BTreeSet::new();
        for _ in 0..STEPS {
            if chance.one_in(10) && world.late.is_empty() {
                world.set.spec.replicas = u32::try_from(chance.below(6)).unwrap();
            }
            if chance.one_in(4) && !world.late.is_empty() {
                let write = world.late.remove(0);
                world.write(write, seed);
            }
            // What is going is gone at some time.
            if chance.one_in(3) {
                let gone = world.machines.values().find(|one| one.metadata.deletion_timestamp.is_some());
                if let Some(name) = gone.and_then(|machine| machine.metadata.name.clone()) {
                    world.machines.remove(&name);
                }
            }
            if pass(&mut world, &mut used, &mut chance, seed) {
                used.clear();
            }
        }
        for write in std::mem::take(&mut world.late) {
            world.write(write, seed);
        }
        // And when nothing goes wrong any more it is settled.
        let mut calm = Chance(u64::MAX);
        for _ in 0..20 {
            while pass(&mut world, &mut used, &mut calm, seed) {}
        }
        for write in std::mem::take(&mut world.late) {
            world.write(write, seed);
        }
        while world.staying() != world.wanted() {
            pass(&mut world, &mut used, &mut calm, seed);
            for write in std::mem::take(&mut world.late) {
                world.write(write, seed);
            }
        }
    }
}
