//! Where machines live. A machine is the cluster's, not an endpoint's: wherever it was made, it stays, whatever the
//! failure domains of the install-config say now.

use std::collections::{BTreeMap, BTreeSet};

use slipway_engine::{Endpoint, FileJournal, Id, Journal};
use slipway_providers::provider::{Provider, Unreachable, Words};
use uuid::Uuid;

use crate::platform::{ClusterSpec, MachinePlacement, PlannedMachine, StateOf};

/// Where a machine is, or will be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MachineLocation {
    /// Where the files place it: it is there already, or is to be made there.
    Planned,
    /// On another endpoint than the files say, or elsewhere on it. It does not move.
    Elsewhere(ActualLocation),
    /// It must be left alone, and why.
    Unclear(String),
}

/// Where a machine is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActualLocation {
    pub endpoint: Endpoint,
    /// Where it is there, as the platform names such places, if that could be told.
    pub place: Option<String>,
}

/// By the names of machines.
pub type MachineLocations = BTreeMap<String, MachineLocation>;

/// What is known of one machine.
#[derive(Debug, Clone)]
struct Evidence<'a> {
    name: &'a str,
    planned: &'a Endpoint,
    /// Endpoints that have a machine with its id.
    found: Vec<&'a Endpoint>,
    /// Endpoints it was made on, as the journal says.
    made: Vec<&'a Endpoint>,
    /// Endpoints it was about to be made on; what became of that is not known.
    begun: Vec<&'a Endpoint>,
    /// Endpoints that make it in a task that the journal knows: that task is waited for.
    under_way: Vec<&'a Endpoint>,
    /// Those on which it was begun in a task that the journal does not know, and which are still making machines.
    busy: Vec<&'a Endpoint>,
    /// The user says that it may be made again.
    recreate: bool,
}

/// What is known of the endpoints.
#[derive(Debug)]
struct Endpoints<'a> {
    /// Those of the install-config.
    all: &'a BTreeSet<Endpoint>,
    /// Those of them that cannot be asked, and why.
    silent: &'a Unreachable,
    /// Nothing can have been made anywhere: the names of the cluster's machines did not exist before this command.
    untouched: bool,
    words: Words,
}

/// Looks for every machine on every endpoint. One that cannot say is added to the silent ones.
pub(super) async fn locations<S: ClusterSpec>(
    spec: &S,
    platform: &S::Provider,
    journal: &FileJournal<StateOf<S>>,
    silent: &mut Unreachable,
    recreate: &[String],
    untouched: bool,
) -> MachineLocations {
    let all = platform.endpoints();
    let machines = spec.machines();
    let mut found: BTreeMap<Uuid, Vec<Endpoint>> = BTreeMap::new();
    if !untouched {
        let uuids: Vec<Uuid> = machines.iter().map(|machine| machine.uuid).collect();
        let asked: Vec<Endpoint> =
            all.iter().filter(|endpoint| !silent.contains_key(*endpoint)).cloned().collect();
        for (endpoint, answer) in platform.locate(&asked, &uuids).await {
            match answer {
                Ok(uuids) => {
                    for uuid in uuids {
                        found.entry(uuid).or_default().push(endpoint.clone());
                    }
                }
                Err(reason) => {
                    silent.insert(endpoint, reason);
                }
            }
        }
    }
    let placements = spec.placements(platform, &found, silent).await;
    let busy = busy(platform, journal, silent).await;
    let endpoints = Endpoints { all: &all, silent, untouched, words: S::Provider::WORDS };
    let home = |machine: &PlannedMachine| {
        let records = || {
            journal.records().filter(|(id, _)| **id == S::Provider::machine_id(&id.endpoint, &machine.name))
        };
        let places = |made: bool| {
            records()
                .filter(|(_, record)| record.state.is_some() == made)
                .map(|(id, _)| &id.endpoint)
                .collect()
        };
        let begun: Vec<&Endpoint> = places(false);
        let is_machine = |id: &&Id| **id == S::Provider::machine_id(&id.endpoint, &machine.name);
        let is_asked = |endpoint: &&Endpoint| {
            endpoints.all.contains(*endpoint) && !endpoints.silent.contains_key(*endpoint)
        };
        let tasks = journal.tasks().map(|(id, _)| id).filter(is_machine);
        let evidence = Evidence {
            name: &machine.name,
            planned: &machine.endpoint,
            found: found.get(&machine.uuid).into_iter().flatten().collect(),
            made: places(true),
            under_way: tasks.map(|id| &id.endpoint).filter(is_asked).collect(),
            busy: begun.iter().copied().filter(|endpoint| busy.contains(*endpoint)).collect(),
            begun,
            recreate: recreate.contains(&machine.name),
        };
        let placement = |endpoint: &Endpoint| placements.get(&(endpoint.clone(), machine.uuid));
        let home = match endpoints.decide(&evidence) {
            MachineLocation::Planned => match placement(&machine.endpoint) {
                Some(MachinePlacement { place, as_planned: false }) => {
                    MachineLocation::Elsewhere(ActualLocation {
                        endpoint: machine.endpoint.clone(),
                        place: Some(place.clone()),
                    })
                }
                _ => MachineLocation::Planned,
            },
            MachineLocation::Elsewhere(ActualLocation { endpoint, .. }) => {
                let place = placement(&endpoint).map(|placement| placement.place.clone());
                MachineLocation::Elsewhere(ActualLocation { endpoint, place })
            }
            unclear @ MachineLocation::Unclear(_) => unclear,
        };
        (machine.name.clone(), home)
    };
    machines.iter().map(home).collect()
}

/// Endpoints on which something was begun, by a run that was cut off, that may still be under way.
async fn busy<P: Provider>(
    platform: &P,
    journal: &FileJournal<P::State>,
    silent: &mut Unreachable,
) -> BTreeSet<Endpoint> {
    let known = platform.endpoints();
    let begun = journal.records().filter(|(id, record)| {
        let is_machine = **id == P::machine_id(&id.endpoint, &id.name);
        is_machine && record.state.is_none() && journal.task(id).is_none()
    });
    let begun: BTreeSet<Endpoint> = begun.map(|(id, _)| id.endpoint.clone()).collect();
    let mut busy = BTreeSet::new();
    for endpoint in begun {
        if silent.contains_key(&endpoint) || !known.contains(&endpoint) {
            continue;
        }
        let here = journal.tasks().filter(|(id, _)| id.endpoint == endpoint);
        let known: Vec<&str> = here.map(|(_, task)| task.reference.as_str()).collect();
        match platform.is_busy(&endpoint, &known).await {
            Ok(true) => {
                busy.insert(endpoint);
            }
            Ok(false) => {}
            Err(reason) => {
                silent.insert(endpoint, reason);
            }
        }
    }
    busy
}

impl MachineLocation {
    fn elsewhere(endpoint: &Endpoint) -> Self {
        MachineLocation::Elsewhere(ActualLocation { endpoint: endpoint.clone(), place: None })
    }

    /// The endpoint of a machine that is there or left alone, and why it is left alone.
    pub fn endpoint<'a>(&'a self, planned: &'a Endpoint) -> (&'a Endpoint, Option<String>) {
        match self {
            MachineLocation::Planned => (planned, None),
            MachineLocation::Elsewhere(abode) => (&abode.endpoint, None),
            MachineLocation::Unclear(reason) => (planned, Some(reason.clone())),
        }
    }
}

impl Endpoints<'_> {
    fn decide(&self, evidence: &Evidence<'_>) -> MachineLocation {
        let Evidence { name, planned, found, made, begun, under_way, busy, recreate } = evidence;
        match found.as_slice() {
            [] => {}
            [only] if only == planned => return MachineLocation::Planned,
            [only] => return MachineLocation::elsewhere(only),
            several => {
                let places: Vec<&str> = several.iter().map(|endpoint| endpoint.as_str()).collect();
                return MachineLocation::Unclear(format!(
                    "it is on {} at the same time. Find out which one the cluster uses, and remove the other one in \
                     {}",
                    places.join(" and "),
                    self.words.endpoint
                ));
            }
        }
        match under_way.as_slice() {
            [] => {}
            [only] if only == planned => return MachineLocation::Planned,
            [endpoint, ..] => {
                return MachineLocation::Unclear(format!(
                    "it is being created on {endpoint}, in a task that an earlier run began, though the files now place it on \
                     {planned}. Run again when that has ended"
                ));
            }
        }
        if let Some(endpoint) = busy.first() {
            return MachineLocation::Unclear(format!(
                "it was begun on {endpoint}, which is still making machines. Run again when that has ended"
            ));
        }
        for endpoint in made.iter().copied() {
            if self.silent.contains_key(endpoint) {
                return if endpoint == *planned {
                    MachineLocation::Planned
                } else {
                    MachineLocation::elsewhere(endpoint)
                };
            }
            if *recreate {
                continue;
            }
            if !self.all.contains(endpoint) {
                return MachineLocation::Unclear(format!(
                    "it was created on {endpoint}, which the install-config does not name any more, and machines do not \
                     move. Name {endpoint} again; or, if the machine is gone for good, pass `--recreate {name}`"
                ));
            }
            if endpoint != *planned {
                return MachineLocation::Unclear(format!(
                    "it was created on {endpoint} and is not there now. If it was removed on purpose and should be created \
                     again, on {planned} this time, pass `--recreate {name}`"
                ));
            }
        }
        // What was begun, or is not in the journal, may be on an endpoint that cannot be asked.
        let gone = begun.iter().find(|endpoint| !self.all.contains(**endpoint) && !recreate);
        if let Some(endpoint) = gone {
            return MachineLocation::Unclear(format!(
                "it may have been created on {endpoint}, which the install-config does not name any more. Name {endpoint} \
                 again; or, if the machine is not there, pass `--recreate {name}`"
            ));
        }
        // An endpoint that is gone from the install-config may be one that is silent, by another name.
        let lost = made.is_empty() || made.iter().any(|endpoint| !self.all.contains(*endpoint));
        let hidden = self.silent.iter().find(|(endpoint, _)| *endpoint != *planned);
        match hidden {
            Some((endpoint, reason)) if !self.untouched && lost => MachineLocation::Unclear(format!(
                "it may be on {endpoint}, which cannot be reached ({reason}), and nothing is created twice"
            )),
            _ => MachineLocation::Planned,
        }
    }
}

/// What people should know about machines that are not where the files say.
pub(super) fn notes(locations: &MachineLocations, machines: &[PlannedMachine]) -> Vec<String> {
    let note = |machine: &PlannedMachine| match locations.get(&machine.name) {
        Some(MachineLocation::Elsewhere(ActualLocation { endpoint, place: Some(place) }))
            if *endpoint == machine.endpoint =>
        {
            Some(format!(
                "`{}` is in {place} and stays there: machines do not move, though the files now place it in {}",
                machine.name, machine.place
            ))
        }
        Some(MachineLocation::Elsewhere(ActualLocation { endpoint, .. })) => Some(format!(
            "`{}` is on {endpoint} and stays there: machines do not move, though the files now place it on {}",
            machine.name, machine.endpoint
        )),
        _ => None,
    };
    machines.iter().filter_map(note).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use rstest::rstest;
    use slipway_engine::Endpoint;
    use slipway_providers::provider::Words;

    use super::{Endpoints, Evidence, MachineLocation};

    const WORDS: Words = Words { endpoint: "vCenter", endpoints: "vCenters", field: "vcenters" };

    /// `a` is where the files place it, `a` to `c` are in the install-config, `c` is silent, `z` is not in it.
    #[rstest]
    #[case::new_and_one_does_not_answer("", "", "", false, false, "may be on c")]
    #[case::just_drawn("", "", "", false, true, "planned")]
    #[case::there("a", "a", "", false, false, "planned")]
    #[case::there_and_unknown_to_the_journal("a", "", "", false, false, "planned")]
    #[case::elsewhere("b", "b", "", false, false, "on b")]
    #[case::elsewhere_and_unknown_to_the_journal("b", "", "", false, false, "on b")]
    #[case::moved_by_an_administrator("b", "a", "", false, false, "on b")]
    #[case::twice("ab", "ab", "", false, false, "a and b at the same time")]
    #[case::made_where_it_is_silent("", "c", "", false, false, "on c")]
    #[case::silent_whatever_is_asked_for("", "c", "", true, false, "on c")]
    #[case::made_on_one_that_is_gone("", "z", "", false, false, "created on z")]
    #[case::given_up_and_perhaps_renamed("", "z", "", true, false, "may be on c")]
    #[case::made_here_and_lost("", "a", "", false, false, "planned")]
    #[case::made_elsewhere_and_lost("", "b", "", false, false, "--recreate m")]
    #[case::made_elsewhere_and_given_up("", "b", "", true, false, "planned")]
    #[case::begun_here_and_one_does_not_answer("", "", "a", false, false, "may be on c")]
    #[case::begun_on_a_silent_one("", "", "c", false, false, "may be on c")]
    #[case::begun_on_one_that_is_gone("", "", "z", false, false, "may have been created on z")]
    fn a_machine_stays_where_it_is(
        #[case] found: &str,
        #[case] made: &str,
        #[case] begun: &str,
        #[case] recreate: bool,
        #[case] untouched: bool,
        #[case] desired: &str,
    ) {
        let endpoints = |names: &str| -> Vec<Endpoint> {
            names.chars().map(|name| Endpoint::from(name.to_string().as_str())).collect()
        };
        let all: BTreeSet<Endpoint> = endpoints("abc").into_iter().collect();
        let silent = BTreeMap::from([(Endpoint::from("c"), "no answer".to_owned())]);
        let (found, made, begun) = (endpoints(found), endpoints(made), endpoints(begun));
        let evidence = Evidence {
            name: "m",
            planned: &Endpoint::from("a"),
            found: found.iter().collect(),
            made: made.iter().collect(),
            begun: begun.iter().collect(),
            under_way: Vec::new(),
            busy: Vec::new(),
            recreate,
        };
        let home = Endpoints { all: &all, silent: &silent, untouched, words: WORDS }.decide(&evidence);
        let told = match home {
            MachineLocation::Planned => "planned".to_owned(),
            MachineLocation::Elsewhere(abode) => format!("on {}", abode.endpoint),
            MachineLocation::Unclear(reason) => reason,
        };
        assert!(told.contains(desired), "{told}");
        // When every endpoint answers, only what the journal knows of others can stand in the way.
        let none = BTreeMap::new();
        let home = Endpoints { all: &all, silent: &none, untouched, words: WORDS }.decide(&evidence);
        let given_up = !matches!(home, MachineLocation::Unclear(_)) || !evidence.recreate;
        assert!(given_up, "the user says that it is gone: {home:?}");
        let fine = evidence.made.iter().chain(&evidence.begun).all(|endpoint| endpoint.as_str() == "a");
        assert!(
            !fine || evidence.found.len() > 1 || !matches!(home, MachineLocation::Unclear(_)),
            "{home:?}"
        );
    }
}
