//! Where machines live. A machine is the cluster's, not a vCenter's: wherever it was made, it stays, whatever the
//! failure domains of the install-config say now.

use std::collections::{BTreeMap, BTreeSet};

use slipway_engine::{Endpoint, FileJournal};
use slipway_providers::vsphere::kinds::VSphere;
use uuid::Uuid;

use super::blueprint::Blueprint;
use super::wanted::ids;

/// Where a machine is, or will be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Home {
    /// Where the files place it: it is there already, or is to be made there.
    Planned,
    /// On another vCenter than the files say. It does not move.
    Elsewhere(Endpoint),
    /// It must be left alone, and why.
    Unclear(String),
}

/// By the names of machines.
pub(super) type Homes = BTreeMap<String, Home>;

/// What is known of one machine.
#[derive(Debug, Clone)]
struct Evidence<'a> {
    name: &'a str,
    planned: &'a Endpoint,
    /// vCenters that have a machine with its id.
    found: Vec<&'a Endpoint>,
    /// vCenters it was made on, as the journal says.
    made: Vec<&'a Endpoint>,
    /// vCenters it was about to be made on; what became of that is not known.
    begun: Vec<&'a Endpoint>,
    /// The user says that it may be made again.
    recreate: bool,
}

/// What is known of the vCenters.
#[derive(Debug)]
struct VCenters<'a> {
    /// Those of the install-config.
    all: &'a BTreeSet<Endpoint>,
    /// Those of them that cannot be asked, and why.
    silent: &'a BTreeMap<Endpoint, String>,
    /// Nothing can have been made anywhere: the names of the cluster's machines did not exist before this command.
    untouched: bool,
}

/// Looks for every machine of the blueprint on every vCenter. One that cannot say is added to the silent ones.
pub(super) async fn homes(
    platform: &VSphere,
    blueprint: &Blueprint,
    journal: &FileJournal,
    silent: &mut BTreeMap<Endpoint, String>,
    recreate: &[String],
    untouched: bool,
) -> Homes {
    let all = platform.endpoints();
    let mut found: BTreeMap<Uuid, Vec<Endpoint>> = BTreeMap::new();
    if !untouched {
        let uuids: Vec<Uuid> = blueprint.machines.iter().map(|machine| machine.uuid).collect();
        let asked = all.iter().filter(|endpoint| !silent.contains_key(*endpoint));
        for (endpoint, answer) in platform.locate(asked, &uuids).await {
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
    let vcenters = VCenters { all: &all, silent, untouched };
    let home = |machine: &super::blueprint::Planned| {
        let records =
            || journal.records().filter(|(id, _)| **id == ids::machine(&id.endpoint, &machine.name));
        let places = |made: bool| {
            records()
                .filter(|(_, record)| record.state.is_some() == made)
                .map(|(id, _)| &id.endpoint)
                .collect()
        };
        let evidence = Evidence {
            name: &machine.name,
            planned: &machine.endpoint,
            found: found.get(&machine.uuid).into_iter().flatten().collect(),
            made: places(true),
            begun: places(false),
            recreate: recreate.contains(&machine.name),
        };
        (machine.name.clone(), vcenters.decide(&evidence))
    };
    blueprint.machines.iter().map(home).collect()
}

impl VCenters<'_> {
    fn decide(&self, evidence: &Evidence<'_>) -> Home {
        let Evidence { name, planned, found, made, begun, recreate } = evidence;
        match found.as_slice() {
            [] => {}
            [only] if only == planned => return Home::Planned,
            [only] => return Home::Elsewhere((*only).clone()),
            several => {
                let places: Vec<&str> = several.iter().map(|endpoint| endpoint.as_str()).collect();
                return Home::Unclear(format!(
                    "it is on {} at the same time. Find out which one the cluster uses, and remove the other one in \
                     vCenter",
                    places.join(" and ")
                ));
            }
        }
        for endpoint in made.iter().copied() {
            if self.silent.contains_key(endpoint) {
                return if endpoint == *planned { Home::Planned } else { Home::Elsewhere(endpoint.clone()) };
            }
            if *recreate {
                continue;
            }
            if !self.all.contains(endpoint) {
                return Home::Unclear(format!(
                    "it was made on {endpoint}, which the install-config does not name any more, and machines do not \
                     move. Name {endpoint} again; or, if the machine is gone for good, say so with `--recreate {name}`"
                ));
            }
            if endpoint != *planned {
                return Home::Unclear(format!(
                    "it was made on {endpoint} and is not there now. If it was removed on purpose and should be made \
                     again, on {planned} this time, say so with `--recreate {name}`"
                ));
            }
        }
        // What was begun, or is not in the journal, may be wherever nobody can look.
        let gone = begun.iter().find(|endpoint| !self.all.contains(**endpoint) && !recreate);
        if let Some(endpoint) = gone {
            return Home::Unclear(format!(
                "it may have been made on {endpoint}, which the install-config does not name any more. Name {endpoint} \
                 again; or, if the machine is not there, say so with `--recreate {name}`"
            ));
        }
        let hidden = self.silent.iter().find(|(endpoint, _)| *endpoint != *planned);
        match hidden {
            Some((endpoint, reason)) if !self.untouched && made.is_empty() => Home::Unclear(format!(
                "it may be on {endpoint}, which cannot be asked ({reason}), and nothing is made twice"
            )),
            _ => Home::Planned,
        }
    }
}

/// What people should know about machines that are not where the files say.
pub(super) fn notes(homes: &Homes, blueprint: &Blueprint) -> Vec<String> {
    let note = |machine: &super::blueprint::Planned| match homes.get(&machine.name) {
        Some(Home::Elsewhere(endpoint)) => Some(format!(
            "`{}` is on {endpoint} and stays there: machines do not move, though the files now place it on {}",
            machine.name, machine.endpoint
        )),
        _ => None,
    };
    blueprint.machines.iter().filter_map(note).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use rstest::rstest;
    use slipway_engine::Endpoint;

    use super::{Evidence, Home, VCenters};

    /// `a` is where the files place it, `a` to `c` are in the install-config, `c` is silent, `z` is not in it.
    #[rstest]
    #[case::new_and_all_would_answer("", "", "", false, false, "may be on c")]
    #[case::just_drawn("", "", "", false, true, "planned")]
    #[case::there("a", "a", "", false, false, "planned")]
    #[case::there_and_unknown_to_the_journal("a", "", "", false, false, "planned")]
    #[case::elsewhere("b", "b", "", false, false, "on b")]
    #[case::elsewhere_and_unknown_to_the_journal("b", "", "", false, false, "on b")]
    #[case::moved_by_an_administrator("b", "a", "", false, false, "on b")]
    #[case::twice("ab", "ab", "", false, false, "a and b at the same time")]
    #[case::made_where_it_is_silent("", "c", "", false, false, "on c")]
    #[case::silent_whatever_is_asked_for("", "c", "", true, false, "on c")]
    #[case::made_on_one_that_is_gone("", "z", "", false, false, "made on z")]
    #[case::given_up("", "z", "", true, false, "planned")]
    #[case::made_here_and_lost("", "a", "", false, false, "planned")]
    #[case::made_elsewhere_and_lost("", "b", "", false, false, "--recreate m")]
    #[case::made_elsewhere_and_given_up("", "b", "", true, false, "planned")]
    #[case::begun_here("", "", "a", false, false, "may be on c")]
    #[case::begun_on_a_silent_one("", "", "c", false, false, "may be on c")]
    #[case::begun_on_one_that_is_gone("", "", "z", false, false, "may have been made on z")]
    fn a_machine_stays_where_it_is(
        #[case] found: &str,
        #[case] made: &str,
        #[case] begun: &str,
        #[case] recreate: bool,
        #[case] untouched: bool,
        #[case] wanted: &str,
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
            recreate,
        };
        let home = VCenters { all: &all, silent: &silent, untouched }.decide(&evidence);
        let told = match home {
            Home::Planned => "planned".to_owned(),
            Home::Elsewhere(endpoint) => format!("on {endpoint}"),
            Home::Unclear(reason) => reason,
        };
        assert!(told.contains(wanted), "{told}");
        // With everybody answering, only what the journal knows of others can stand in the way.
        let none = BTreeMap::new();
        let home = VCenters { all: &all, silent: &none, untouched }.decide(&evidence);
        let fine = evidence.made.iter().chain(&evidence.begun).all(|endpoint| endpoint.as_str() == "a");
        assert!(!fine || evidence.found.len() > 1 || !matches!(home, Home::Unclear(_)), "{home:?}");
    }
}
