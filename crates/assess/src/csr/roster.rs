//! What is known about machines beside what they say themselves.

use std::collections::{BTreeMap, BTreeSet};

use slipway_assets::names::Role;

use super::cluster::Machine;
use super::host::Host;

/// What the creator of the machines knows about them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Roster {
    /// Every machine was given its own name as host name when it was made, so its node has the same name. Then a Machine
    /// that has no status yet can be recognised as well.
    pub named_alike: bool,
    /// Machines there will be, before the cluster has objects for them.
    pub expected: Vec<Machine>,
    /// Machines that must wait, by name, and why.
    pub held: BTreeMap<String, String>,
    /// Why every machine of the control plane must wait, if it must.
    pub held_masters: Option<String>,
    /// Hosts that have no machine, as their administrator confirmed them.
    pub hosts: Vec<Host>,
}

impl Roster {
    /// Of a cluster whose machines were given their own names, and that has an object for each.
    pub fn named_alike() -> Self {
        Roster { named_alike: true, ..Roster::default() }
    }

    /// All machines: those of the cluster with what they do not say themselves, then those it does not know yet.
    pub fn complete(
        &self,
        machines: impl IntoIterator<Item = Machine>,
        nodes: &BTreeSet<String>,
    ) -> Vec<Machine> {
        let mut machines: Vec<Machine> = machines.into_iter().collect();
        let known: BTreeSet<String> = machines.iter().map(|machine| machine.name.clone()).collect();
        if self.named_alike {
            for machine in &mut machines {
                if machine.internal_names.is_empty() {
                    machine.internal_names.insert(machine.name.clone());
                }
                machine.names.insert(machine.name.clone());
            }
        }
        for expected in &self.expected {
            match machines.iter_mut().find(|machine| machine.name == expected.name) {
                // The installer knew of it before its object was made, and may know its addresses.
                Some(machine) => {
                    machine.made = machine.made.min(expected.made);
                    machine.role = expected.role.or(machine.role);
                    machine.addresses.extend(&expected.addresses);
                }
                None => machines.push(expected.clone()),
            }
        }
        for machine in &mut machines {
            let ours = self.named_alike || !known.contains(&machine.name);
            if ours && machine.node.is_none() && nodes.contains(&machine.name) {
                machine.node = Some(machine.name.clone());
            }
            let is_master = machine.role == Some(Role::Master);
            let held_masters = self.held_masters.as_ref().filter(|_| is_master);
            machine.held = self.held.get(&machine.name).or(held_masters).cloned();
        }
        for host in &self.hosts {
            let is_machine = machines.iter().any(|machine| machine.node.as_deref() == Some(&host.name));
            if nodes.contains(&host.name) && !is_machine {
                machines.push(host.member());
            }
        }
        machines
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use slipway_assets::names::Role;

    use super::{Host, Roster};
    use crate::csr::Machine;

    fn machine(name: &str, created: &str, addresses: &[&str]) -> Machine {
        Machine {
            name: name.to_owned(),
            made: Some(created.parse().unwrap()),
            addresses: addresses.iter().map(|address| address.parse().unwrap()).collect(),
            ..Machine::default()
        }
    }

    #[test]
    fn what_a_machine_does_not_say_is_known_by_its_maker() {
        let mut expected = machine("a-master-0", "2026-11-16T10:00:00Z", &[]);
        (expected.made, expected.role) = (None, Some(Role::Master));
        expected.internal_names.insert("a-master-0".to_owned());
        let roster = Roster {
            named_alike: true,
            expected: vec![expected.clone(), machine("a-bootstrap", "2026-11-16T10:00:00Z", &["10.0.0.9"])],
            held: [("a-master-1".to_owned(), "b".to_owned())].into(),
            ..Roster::default()
        };
        let objects = [
            machine("a-master-0", "2026-11-16T10:05:00Z", &["10.0.0.10"]),
            machine("a-master-1", "2026-11-16T10:05:00Z", &[]),
        ];
        let nodes: BTreeSet<String> = ["a-master-0", "a-bootstrap"].map(str::to_owned).into();
        let all = roster.complete(objects, &nodes);
        let names: Vec<&str> = all.iter().map(|machine| machine.name.as_str()).collect();
        assert_eq!(names, ["a-master-0", "a-master-1", "a-bootstrap"], "each once");
        assert_eq!(all[0].made, None, "who is waited for may come at any time");
        assert_eq!((all[0].role, all[1].role), (Some(Role::Master), None));
        assert!(all[0].internal_names.contains("a-master-0"));
        assert_eq!(all[0].node.as_deref(), Some("a-master-0"));
        assert_eq!(all[1].node, None);
        assert_eq!(all[1].held.as_deref(), Some("b"));
        assert_eq!(all[2].node.as_deref(), Some("a-bootstrap"));
    }

    #[test]
    fn the_control_plane_waits_and_workers_do_not() {
        let roster = Roster { held_masters: Some("not yet".to_owned()), ..Roster::named_alike() };
        let of = |name: &str, role| Machine { role, ..machine(name, "2026-11-16T10:05:00Z", &[]) };
        let machines =
            [of("a-master-1", Some(Role::Master)), of("a-worker-0", Some(Role::Worker)), of("a", None)];
        let held: Vec<Option<String>> =
            roster.complete(machines, &BTreeSet::new()).into_iter().map(|machine| machine.held).collect();
        assert_eq!(held, [Some("not yet".to_owned()), None, None]);
    }

    /// A confirmed host may renew what it has: nothing else, and only as long as it is a node without a machine.
    #[test]
    fn a_confirmed_host_stands_for_its_node_only() {
        let host = Host {
            name: "metal-0".to_owned(),
            names: BTreeSet::new(),
            addresses: ["10.0.0.50".parse().unwrap()].into(),
        };
        let roster = Roster { hosts: vec![host], ..Roster::default() };
        let node = ["metal-0".to_owned()].into();
        let all = roster.complete([], &node);
        assert_eq!((all.len(), all[0].node.as_deref()), (1, Some("metal-0")));
        assert!(all[0].internal_names.is_empty(), "no first certificate");
        assert_eq!(all[0].names, ["metal-0".to_owned()].into());
        assert_eq!(roster.complete([], &BTreeSet::new()), []);
        let mut of_machine = machine("a-worker-0", "2026-11-16T10:05:00Z", &[]);
        of_machine.node = Some("metal-0".to_owned());
        assert_eq!(roster.complete([of_machine.clone()], &node), [of_machine]);
    }

    /// On OpenShift nothing is added to what Machines say.
    #[test]
    fn without_a_roster_everything_stays() {
        let object = machine("a-worker-0", "2026-11-16T10:05:00Z", &[]);
        let nodes = ["a-worker-0".to_owned()].into();
        assert_eq!(Roster::default().complete([object.clone()], &nodes), [object]);
    }
}
