//! Choices from the lists a vCenter has.

use std::sync::Arc;

use crate::survey::draft::{Domain, Question};
use crate::survey::estate::{Datacenter, Datastore, Lists};
use crate::survey::prompt::{Ask, Stop, Tone};
use crate::survey::{By, Survey};

/// What can be chosen: how it is shown, and what is written.
struct Choice {
    label: String,
    value: String,
}

/// A list to choose from.
struct List {
    question: Question,
    /// As in `Compute cluster`.
    what: &'static str,
    choices: Vec<Choice>,
    given: Option<(&'static str, String)>,
    /// Where there is nothing, and what would show it.
    nothing: (String, String),
}

impl Survey<'_> {
    pub(super) fn datacenter(&mut self, v: usize, d: usize) -> Result<By, Stop> {
        let (label, user) = self.names(v);
        let given = self.flags.vsphere.datacenter.clone().map(|name| ("--datacenter", name));
        let (value, by) = self.choose(v, |inventory| List {
            question: Question::Datacenter(v, d),
            what: "Datacenter",
            choices: inventory.datacenters.iter().map(|found| Choice::plain(&found.name)).collect(),
            given: given.clone().filter(|_| (v, d) == (0, 0)),
            nothing: (
                format!("{user} sees no datacenter on {label}"),
                format!(
                    "if there is one, give {user} a role with System.View on it, such as Read-only, \
                     propagating to what is below"
                ),
            ),
        })?;
        let domains = &mut self.draft.vcenters[v].domains;
        if domains.len() == d {
            domains.push(Domain::default());
        }
        domains[d].datacenter = Some(value);
        Ok(by)
    }

    pub(super) fn cluster(&mut self, v: usize, d: usize) -> Result<By, Stop> {
        let (label, user) = self.names(v);
        let datacenter = self.draft.vcenters[v].domains[d].datacenter.clone().unwrap_or_default();
        let given = self.flags.vsphere.cluster.clone().map(|name| ("--compute-cluster", name));
        let below = format!("/{datacenter}/host/");
        let (value, by) = self.choose(v, |inventory| List {
            question: Question::Cluster(v, d),
            what: "Compute cluster",
            choices: inventory
                .datacenter(&datacenter)
                .map(|found: &Datacenter| found.clusters.as_slice())
                .unwrap_or_default()
                .iter()
                .map(|cluster| Choice::below(&cluster.path, &below))
                .collect(),
            given: given.clone().filter(|_| (v, d) == (0, 0)),
            nothing: (
                format!("{user} sees no compute cluster in datacenter {datacenter} on {label}"),
                format!(
                    "single hosts are not enough; if there is a cluster, give {user} a role with System.View on \
                     it, such as Read-only"
                ),
            ),
        })?;
        self.draft.vcenters[v].domains[d].cluster = Some(value);
        Ok(by)
    }

    pub(super) fn datastore(&mut self, v: usize, d: usize) -> Result<By, Stop> {
        let (label, user) = self.names(v);
        let domain = self.draft.vcenters[v].domains[d].clone();
        let (datacenter, cluster) =
            (domain.datacenter.unwrap_or_default(), domain.cluster.unwrap_or_default());
        let given = self.flags.vsphere.datastore.clone().map(|name| ("--datastore", name));
        let below = format!("/{datacenter}/datastore/");
        let (value, by) = self.choose(v, |inventory| List {
            question: Question::Datastore(v, d),
            what: "Datastore",
            choices: inventory
                .cluster(&cluster)
                .map(|found| found.datastores.as_slice())
                .unwrap_or_default()
                .iter()
                .map(|datastore| {
                    let choice = Choice::below(&datastore.path, &below);
                    Choice { label: format!("{}{}", choice.label, room(datastore)), ..choice }
                })
                .collect(),
            given: given.clone().filter(|_| (v, d) == (0, 0)),
            nothing: (
                format!("{user} sees no datastore that the hosts of {cluster} on {label} can use"),
                format!(
                    "mount one on them, end its maintenance, or give {user} a role with System.View and \
                     Datastore.Browse on it"
                ),
            ),
        })?;
        self.draft.vcenters[v].domains[d].datastore = Some(value);
        Ok(by)
    }

    pub(super) fn network(&mut self, v: usize, d: usize) -> Result<By, Stop> {
        let (label, user) = self.names(v);
        let cluster = self.draft.vcenters[v].domains[d].cluster.clone().unwrap_or_default();
        let given = self.flags.network.clone().map(|name| ("--network", name));
        let (value, by) = self.choose(v, |inventory| List {
            question: Question::Network(v, d),
            what: "Network",
            choices: inventory
                .cluster(&cluster)
                .map(|found| found.networks.as_slice())
                .unwrap_or_default()
                .iter()
                .map(|network| Choice::plain(network))
                .collect(),
            given: given.clone().filter(|_| (v, d) == (0, 0)),
            nothing: (
                format!("{user} sees no network of the hosts of {cluster} on {label}"),
                format!(
                    "connect them to one, or give {user} a role with System.View and Network.Assign on the port group"
                ),
            ),
        })?;
        self.draft.vcenters[v].domains[d].network = Some(value);
        Ok(by)
    }

    fn names(&self, v: usize) -> (String, String) {
        let vcenter = &self.draft.vcenters[v];
        (vcenter.label(), vcenter.user.clone().unwrap_or_default())
    }

    /// Chooses from a list of the inventory, which can be read again while it is empty.
    fn choose(&mut self, v: usize, list: impl Fn(&Lists) -> List) -> Result<(String, By), Stop> {
        loop {
            let List { question, what, choices, given, nothing } = list(&self.inventory(v));
            if let Some((flag, name)) = given {
                let named: Vec<&Choice> = choices.iter().filter(|choice| choice.is_named(&name)).collect();
                let only = if let [only] = named[..] { Some(only) } else { None };
                let exact = choices.iter().find(|choice| choice.value == name);
                match (exact.or(only), named.len()) {
                    (Some(choice), _) => {
                        self.prompter.say(Tone::Info, &format!("{what}: {} ({flag})", choice.value));
                        return Ok((choice.value.clone(), By::Itself));
                    }
                    (None, 0) if choices.is_empty() => {}
                    (None, 0) => {
                        self.prompter
                            .say(Tone::Error, &format!("{flag}: `{name}` is not there, or not visible"));
                    }
                    (None, several) => {
                        let line = format!("{flag}: `{name}` is the name of {several} of them");
                        self.prompter.say(Tone::Error, &line);
                    }
                }
            }
            match choices.as_slice() {
                [] => {
                    self.prompter.say(Tone::Error, &nothing.0);
                    self.prompter.say(Tone::Hint, &nothing.1);
                    let ask = Ask::new("Read the lists again?").help("no goes back");
                    if !self.prompter.confirm(&ask, true)? {
                        return Err(Stop::Back);
                    }
                    if let Some(inventory) = self.read_again(v)? {
                        self.draft.vcenters[v].inventory = Some(Arc::new(inventory));
                    }
                }
                [only] => {
                    self.prompter
                        .say(Tone::Info, &format!("{what}: defaulting to {}, the only one", only.label));
                    return Ok((only.value.clone(), By::Itself));
                }
                several => {
                    let options: Vec<String> = several.iter().map(|choice| choice.label.clone()).collect();
                    let ask = Ask::new(what).help(format!("on {}", self.draft.vcenters[v].label()));
                    let chosen = self.pick(question, &ask, &options)?;
                    return Ok((several[chosen].value.clone(), By::User));
                }
            }
        }
    }
}

impl Choice {
    fn plain(name: &str) -> Self {
        Choice { label: name.to_owned(), value: name.to_owned() }
    }

    /// A path, shown without the part that all of them share.
    fn below(path: &str, folder: &str) -> Self {
        Choice { label: path.strip_prefix(folder).unwrap_or(path).to_owned(), value: path.to_owned() }
    }

    /// Whether `name` is the last part of it.
    fn is_named(&self, name: &str) -> bool {
        self.value.rsplit_once('/').is_some_and(|(_, last)| last == name)
    }
}

fn room(datastore: &Datastore) -> String {
    let gib = |bytes: u64| bytes >> 30;
    datastore
        .space
        .map(|(free, all)| format!(" ({} of {} GiB free)", gib(free), gib(all)))
        .unwrap_or_default()
}
