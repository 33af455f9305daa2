//! Where machines live. A machine is the cluster's, not a vCenter's: wherever it was made, it stays, whatever the
//! failure domains of the install-config say now.

use std::collections::{BTreeMap, BTreeSet};

use slipway_engine::{Endpoint, Journal};
use slipway_providers::vsphere::kinds::{Kind, Lodging, VSphere};
use uuid::Uuid;

use super::FileJournal;
use super::blueprint::Blueprint;
use super::wanted::compute_cluster;

/// Where a machine is, or will be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Home {
    /// Where the files place it: it is there already, or is to be made there.
    Planned,
    /// On another vCenter than the files say, or in another compute cluster. It does not move.
    Elsewhere(Abode),
    /// It must be left alone, and why.
    Unclear(String),
}

/// Where a machine is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Abode {
    pub(super) endpoint: Endpoint,
    /// The path of its compute cluster, where that could be told.
    pub(super) compute_cluster: Option<String>,
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
    /// vCenters that make it in a task that the journal knows: that task is waited for.
    under_way: Vec<&'a Endpoint>,
    /// Those on which it was begun in a task that the journal does not know, and which are still copying machines.
    copying: Vec<&'a Endpoint>,
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
    let lodgings = lodgings(platform, blueprint, &found, silent).await;
    let copying = copying(platform, journal, silent).await;
    let vcenters = VCenters { all: &all, silent, untouched };
    let home = |machine: &super::blueprint::Planned| {
        let records =
            || journal.records().filter(|(id, _)| **id == Kind::Machine.id(&id.endpoint, &machine.name));
        let places = |made: bool| {
            records()
                .filter(|(_, record)| record.state.is_some() == made)
                .map(|(id, _)| &id.endpoint)
                .collect()
        };
        let begun: Vec<&Endpoint> = places(false);
        let evidence = Evidence {
            name: &machine.name,
            planned: &machine.endpoint,
            found: found.get(&machine.uuid).into_iter().flatten().collect(),
            made: places(true),
            under_way: journal
                .tasks()
                .map(|(id, _)| id)
                .filter(|id| **id == Kind::Machine.id(&id.endpoint, &machine.name))
                .map(|id| &id.endpoint)
                .filter(|endpoint| all.contains(*endpoint) && !vcenters.silent.contains_key(*endpoint))
                .collect(),
            copying: begun.iter().copied().filter(|endpoint| copying.contains(*endpoint)).collect(),
            begun,
            recreate: recreate.contains(&machine.name),
        };
        let lodging = |endpoint: &Endpoint| lodgings.get(&(endpoint.clone(), machine.uuid));
        let home = match vcenters.decide(&evidence) {
            Home::Planned => match lodging(&machine.endpoint) {
                Some(Lodging { path, as_planned: false }) => Home::Elsewhere(Abode {
                    endpoint: machine.endpoint.clone(),
                    compute_cluster: Some(path.clone()),
                }),
                _ => Home::Planned,
            },
            Home::Elsewhere(Abode { endpoint, .. }) => {
                let compute_cluster = lodging(&endpoint).map(|lodging| lodging.path.clone());
                Home::Elsewhere(Abode { endpoint, compute_cluster })
            }
            unclear @ Home::Unclear(_) => unclear,
        };
        (machine.name.clone(), home)
    };
    blueprint.machines.iter().map(home).collect()
}

/// vCenters on which something was begun, by a run that was cut off, that may still be under way.
async fn copying(
    platform: &VSphere,
    journal: &FileJournal,
    silent: &mut BTreeMap<Endpoint, String>,
) -> BTreeSet<Endpoint> {
    let begun = journal.records().filter(|(id, record)| Kind::Machine.is(id) && record.state.is_none());
    let begun = begun.filter(|(id, _)| journal.task(id).is_none());
    let begun: BTreeSet<Endpoint> = begun.map(|(id, _)| id.endpoint.clone()).collect();
    let mut copying = BTreeSet::new();
    for endpoint in begun {
        if silent.contains_key(&endpoint) || platform.client(&endpoint).is_none() {
            continue;
        }
        let here = journal.tasks().filter(|(id, _)| id.endpoint == endpoint);
        let known: Vec<&str> = here.map(|(_, task)| task.reference.as_str()).collect();
        match platform.is_copying(&endpoint, &known).await {
            Ok(true) => {
                copying.insert(endpoint);
            }
            Ok(false) => {}
            Err(reason) => {
                silent.insert(endpoint, reason);
            }
        }
    }
    copying
}

/// The compute clusters that machines are in.
async fn lodgings(
    platform: &VSphere,
    blueprint: &Blueprint,
    found: &BTreeMap<Uuid, Vec<Endpoint>>,
    silent: &mut BTreeMap<Endpoint, String>,
) -> BTreeMap<(Endpoint, Uuid), Lodging> {
    let mut there: BTreeMap<&Endpoint, Vec<(Uuid, &str)>> = BTreeMap::new();
    for machine in &blueprint.machines {
        for endpoint in found.get(&machine.uuid).into_iter().flatten() {
            let cluster = compute_cluster(&machine.spec.resource_pool);
            there.entry(endpoint).or_default().push((machine.uuid, cluster));
        }
    }
    let mut lodgings = BTreeMap::new();
    for (endpoint, machines) in there {
        match platform.lodgings(endpoint, &machines).await {
            Ok(found) => {
                lodgings.extend(found.into_iter().map(|(uuid, found)| ((endpoint.clone(), uuid), found)));
            }
            Err(reason) => {
                silent.insert(endpoint.clone(), reason);
            }
        }
    }
    lodgings
}

impl Home {
    fn elsewhere(endpoint: &Endpoint) -> Self {
        Home::Elsewhere(Abode { endpoint: endpoint.clone(), compute_cluster: None })
    }

    /// The endpoint of a machine that is there or left alone, and why it is left alone.
    pub(super) fn endpoint<'a>(&'a self, planned: &'a Endpoint) -> (&'a Endpoint, Option<String>) {
        match self {
            Home::Planned => (planned, None),
            Home::Elsewhere(abode) => (&abode.endpoint, None),
            Home::Unclear(reason) => (planned, Some(reason.clone())),
        }
    }
}

impl VCenters<'_> {
    fn decide(&self, evidence: &Evidence<'_>) -> Home {
        let Evidence { name, planned, found, made, begun, under_way, copying, recreate } = evidence;
        match found.as_slice() {
            [] => {}
            [only] if only == planned => return Home::Planned,
            [only] => return Home::elsewhere(only),
            several => {
                let places: Vec<&str> = several.iter().map(|endpoint| endpoint.as_str()).collect();
                return Home::Unclear(format!(
                    "it is on {} at the same time. Find out which one the cluster uses, and remove the other one in \
                     vCenter",
                    places.join(" and ")
                ));
            }
        }
        match under_way.as_slice() {
            [] => {}
            [only] if only == planned => return Home::Planned,
            [endpoint, ..] => {
                return Home::Unclear(format!(
                    "it is being made on {endpoint}, in a task that an earlier run began, though the files now place it on \
                     {planned}. Run again when that has ended"
                ));
            }
        }
        if let Some(endpoint) = copying.first() {
            return Home::Unclear(format!(
                "it was begun on {endpoint}, which is still copying machines. Run again when that has ended"
            ));
        }
        for endpoint in made.iter().copied() {
            if self.silent.contains_key(endpoint) {
                return if endpoint == *planned { Home::Planned } else { Home::elsewhere(endpoint) };
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
        // A vCenter that is gone from the install-config may be one that is silent, by another name.
        let lost = made.is_empty() || made.iter().any(|endpoint| !self.all.contains(*endpoint));
        let hidden = self.silent.iter().find(|(endpoint, _)| *endpoint != *planned);
        match hidden {
            Some((endpoint, reason)) if !self.untouched && lost => Home::Unclear(format!(
                "it may be on {endpoint}, which cannot be asked ({reason}), and nothing is made twice"
            )),
            _ => Home::Planned,
        }
    }
}

/// What people should know about machines that are not where the files say.
pub(super) fn notes(homes: &Homes, blueprint: &Blueprint) -> Vec<String> {
    let note = |machine: &super::blueprint::Planned| match homes.get(&machine.name) {
        Some(Home::Elsewhere(Abode { endpoint, compute_cluster: Some(cluster) }))
            if *endpoint == machine.endpoint =>
        {
            Some(format!(
                "`{}` is in {cluster} and stays there: machines do not move, though the files now place it in {}",
                machine.name,
                compute_cluster(&machine.spec.resource_pool)
            ))
        }
        Some(Home::Elsewhere(Abode { endpoint, .. })) => Some(format!(
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
    #[case::made_on_one_that_is_gone("", "z", "", false, false, "made on z")]
    #[case::given_up_and_perhaps_renamed("", "z", "", true, false, "may be on c")]
    #[case::made_here_and_lost("", "a", "", false, false, "planned")]
    #[case::made_elsewhere_and_lost("", "b", "", false, false, "--recreate m")]
    #[case::made_elsewhere_and_given_up("", "b", "", true, false, "planned")]
    #[case::begun_here_and_one_does_not_answer("", "", "a", false, false, "may be on c")]
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
            under_way: Vec::new(),
            copying: Vec::new(),
            recreate,
        };
        let home = VCenters { all: &all, silent: &silent, untouched }.decide(&evidence);
        let told = match home {
            Home::Planned => "planned".to_owned(),
            Home::Elsewhere(abode) => format!("on {}", abode.endpoint),
            Home::Unclear(reason) => reason,
        };
        assert!(told.contains(wanted), "{told}");
        // With everybody answering, only what the journal knows of others can stand in the way.
        let none = BTreeMap::new();
        let home = VCenters { all: &all, silent: &none, untouched }.decide(&evidence);
        let given_up = !matches!(home, Home::Unclear(_)) || !evidence.recreate;
        assert!(given_up, "the user says that it is gone: {home:?}");
        let fine = evidence.made.iter().chain(&evidence.begun).all(|endpoint| endpoint.as_str() == "a");
        assert!(!fine || evidence.found.len() > 1 || !matches!(home, Home::Unclear(_)), "{home:?}");
    }
}
