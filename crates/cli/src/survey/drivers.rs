//! The survey of `slipway drivers configure`: vCenters, drivers, and how they are kept up to date.

use std::rc::Rc;
use std::sync::Arc;

use jiff::Timestamp;
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use slipway_api::slipway::vdo_config::UpdatePolicy;
use slipway_assets::drivers::Connection;
use slipway_config::install_config::vsphere::Tls;
use slipway_config::yaml::to_yaml;
use slipway_lifecycle::drivers::configure::{DriverSelection, ExistingConfig, Plan};
use slipway_lifecycle::install_config::{Answers, PasswordAt, PlatformKind, split_port};

use super::FIRST;
use super::contact::{Contact, Refusals, Tried};
use super::draft::{Draft, MAX_VCENTERS, Password, VCenter};
use super::estate::{Estate, Lists, Target};
use super::history::{By, History};
use super::prompt::{Ask, Check, Echo, Prompter, Stop, Tone};
use super::rules::judge;

const POLICIES: [(UpdatePolicy, &str); 3] = [
    (UpdatePolicy::Latest, "latest: the newest compatible version"),
    (UpdatePolicy::Lts, "lts: patches of the installed minor version, while it is compatible"),
    (UpdatePolicy::Disabled, "disabled: no automatic upgrades"),
];
/// Whether there is a cloud provider, and a storage driver.
const DRIVERS: [((bool, bool), &str); 3] = [
    ((true, true), "both: the cloud provider and the storage driver"),
    ((false, true), "the storage driver only"),
    ((true, false), "the cloud provider only"),
];

/// What is known before the first question.
#[derive(Debug, Default)]
pub(crate) struct KnownAnswers {
    /// Answers that were given as flags: about the first vCenter, and about all of them.
    pub(crate) server: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) tls: Option<Tls>,
    pub(crate) user: Option<String>,
    pub(crate) password: Option<SecretString>,
    pub(crate) datacenters: Vec<String>,
    /// With the drivers, if a flag says which.
    pub(crate) drivers: Option<(bool, bool)>,
    pub(crate) wanted: DriverSelection,
    /// What the cluster has.
    pub(crate) there: ExistingConfig,
    pub(crate) now: Timestamp,
}

/// The answers so far.
#[derive(Debug, Clone, Default)]
struct DriverAnswers {
    places: Vec<ConnectionAnswers>,
    all: bool,
    drivers: Option<(bool, bool)>,
    topology: Option<Vec<String>>,
    policy: Option<UpdatePolicy>,
}

/// A vCenter.
#[derive(Debug, Clone, Default)]
struct ConnectionAnswers {
    target: Option<Target>,
    user: Option<String>,
    /// They go together.
    password: Option<(SecretString, Arc<Lists>)>,
    datacenters: Option<Vec<String>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Question {
    Server(usize),
    User(usize),
    Password(usize),
    Datacenters(usize),
    Another,
    Drivers,
    Topology,
    Policy,
}

/// A conversation.
pub(crate) struct DriversSurvey<'a> {
    prompter: &'a mut dyn Prompter,
    estate: &'a mut dyn Estate,
    told: KnownAnswers,
    site: DriverAnswers,
    history: History<DriverAnswers>,
    refusals: Refusals,
}

impl<'a> DriversSurvey<'a> {
    pub(crate) fn new(
        told: KnownAnswers,
        prompter: &'a mut dyn Prompter,
        estate: &'a mut dyn Estate,
    ) -> Self {
        let (site, history, refusals) = (DriverAnswers::default(), History::default(), Refusals::default());
        DriversSurvey { prompter, estate, told, site, history, refusals }
    }

    /// Asks until there is something that the user wants to have applied.
    pub(crate) fn run(mut self) -> Result<Plan, Stop> {
        loop {
            let before = self.site.clone();
            let result = match self.next() {
                Some(question) => self.ask(question),
                None => match self.review() {
                    Ok(plan) => return Ok(plan),
                    Err(stop) => Err(stop),
                },
            };
            match result {
                Ok(by) => self.history.push(before, by),
                Err(Stop::Back) => {
                    let previous = self.history.back();
                    if previous.is_none() {
                        self.prompter.say(Tone::Info, FIRST);
                    }
                    self.site = previous.unwrap_or(before);
                }
                Err(stop) => return Err(stop),
            }
        }
    }

    fn next(&self) -> Option<Question> {
        let DriverAnswers { places, all, drivers, topology, policy } = &self.site;
        for (at, place) in places.iter().enumerate() {
            match place {
                ConnectionAnswers { target: None, .. } => return Some(Question::Server(at)),
                ConnectionAnswers { user: None, .. } => return Some(Question::User(at)),
                ConnectionAnswers { password: None, .. } => return Some(Question::Password(at)),
                ConnectionAnswers { datacenters: None, .. } => return Some(Question::Datacenters(at)),
                _ => {}
            }
        }
        if places.is_empty() {
            return Some(Question::Server(0));
        }
        if !all {
            return Some(Question::Another);
        }
        if drivers.is_none() {
            return Some(Question::Drivers);
        }
        if topology.is_none() {
            return Some(Question::Topology);
        }
        policy.is_none().then_some(Question::Policy)
    }

    fn ask(&mut self, question: Question) -> Result<By, Stop> {
        match question {
            Question::Server(at) => self.server(at),
            Question::User(at) => self.user(at),
            Question::Password(at) => self.password(at),
            Question::Datacenters(at) => self.datacenters(at),
            Question::Another => self.another(),
            Question::Drivers => self.drivers(),
            Question::Topology => self.topology(),
            Question::Policy => self.policy(),
        }
    }

    fn contact(&mut self) -> Contact<'_> {
        Contact { prompter: &mut *self.prompter, estate: &mut *self.estate, now: self.told.now }
    }

    /// Asks until there is a vCenter that answers and whose certificate is trusted.
    fn server(&mut self, at: usize) -> Result<By, Stop> {
        if self.site.places.len() == at {
            self.site.places.push(ConnectionAnswers::default());
        }
        let mut given = self.told.server.clone().filter(|_| at == 0);
        let tls = self.told.tls.clone().filter(|_| at == 0);
        let rules = judged("", |vcenter, text| {
            let (server, port) = split_port(text);
            (vcenter.server, vcenter.port) = (Some(server), port);
        });
        // The second of one name would take the place of the first.
        let names: Vec<String> = (0..at).map(|before| self.name(before)).collect();
        let check: Check = Rc::new(move |text| {
            let name = Connection::name_for(&split_port(text).0);
            match rules(text) {
                Ok(()) if names.contains(&name) => Err(format!("there is a connection `{name}` already")),
                judged => judged,
            }
        });
        loop {
            let number = if at == 0 { String::new() } else { format!(" {}", at + 1) };
            let ask = Ask::new(format!("vCenter{number}"))
                .help("its name or address, with :port if that is not 443");
            let (text, by) = match given.take() {
                Some(text) => {
                    check(&text).map_err(|reason| anyhow::anyhow!("--server: {reason}"))?;
                    (text, By::Itself)
                }
                None => (self.prompter.text(&ask, None, check.clone())?, By::User),
            };
            let (server, port) = split_port(&text);
            let port = port.filter(|port| *port != 443);
            let mut target = Target { server, port, thumbprint: None, tls: tls.clone() };
            if self.contact().reach(&mut target)? {
                self.site.places[at].target = Some(target);
                return Ok(by);
            }
        }
    }

    fn target(&self, at: usize) -> Target {
        let none = || Target { server: String::new(), port: None, thumbprint: None, tls: None };
        self.site.places[at].target.clone().unwrap_or_else(none)
    }

    fn user(&mut self, at: usize) -> Result<By, Stop> {
        let rules = judged(".user", |vcenter, text| vcenter.user = Some(text.to_owned()));
        // In an install-config it is only a warning; the drivers do not start with it.
        let check: Check = Rc::new(move |text| match rules(text) {
            Ok(()) if !text.contains(['@', '\\']) => Err("write it as name@domain".to_owned()),
            judged => judged,
        });
        if let Some(user) = self.told.user.clone().filter(|_| at == 0) {
            check(&user).map_err(|reason| anyhow::anyhow!("--user: {reason}"))?;
            self.site.places[at].user = Some(user);
            return Ok(By::Itself);
        }
        // The drivers often have the same name on all of them.
        let default = at.checked_sub(1).and_then(|before| self.site.places[before].user.clone());
        let ask = Ask::new(format!("User of the drivers on {}", self.target(at).label()))
            .help("as name@domain; `slipway drivers users create` creates users with the least privileges");
        self.site.places[at].user = Some(self.prompter.text(&ask, default.as_deref(), check)?);
        Ok(By::User)
    }

    fn password(&mut self, at: usize) -> Result<By, Stop> {
        let (target, user) = (self.target(at), self.site.places[at].user.clone().unwrap_or_default());
        let check = judged(".password", |vcenter, text| {
            let secret = SecretString::from(text);
            vcenter.password = Some(Password { at: PasswordAt::Inline(secret.clone()), secret });
        });
        let ask = Ask::new(format!("Password of {user} on {}", target.label()))
            .help("it is kept in a Secret of the cluster, and nowhere else");
        let (mut given, mut by) = (self.told.password.clone().filter(|_| at == 0), By::Itself);
        loop {
            let tried = if let Some(given) = given.take() {
                given
            } else {
                by = By::User;
                self.prompter.secret(&ask, Echo::Stars, check.clone())?
            };
            let mut refusals = std::mem::take(&mut self.refusals);
            let result = self.contact().log_in(&target, &user, &tried, &mut refusals);
            self.refusals = refusals;
            match result? {
                Tried::In(inventory) => {
                    self.site.places[at].password = Some((tried, Arc::from(inventory)));
                    return Ok(by);
                }
                Tried::Refused => {}
                Tried::Unclear => given = Some(tried),
            }
        }
    }

    /// All that the user sees, or some of them.
    fn datacenters(&mut self, at: usize) -> Result<By, Stop> {
        let label = self.target(at).label();
        let inventory = self.site.places[at].password.as_ref().map(|(_, inventory)| inventory.clone());
        let inventory = inventory.unwrap_or_default();
        let seen: Vec<&str> = inventory.datacenters.iter().map(|found| found.name.as_str()).collect();
        let given = self.told.datacenters.clone();
        if at == 0 && !given.is_empty() {
            for name in given.iter().filter(|name| !seen.contains(&name.as_str())) {
                self.prompter
                    .say(Tone::Warning, &format!("--datacenter: `{name}` is not there, or not visible"));
            }
            self.site.places[at].datacenters = Some(given);
            return Ok(By::Itself);
        }
        match seen[..] {
            [] => {
                self.prompter.say(Tone::Warning, &format!("no datacenter on {label} is visible to the user"));
                self.prompter
                    .say(Tone::Hint, "give it the role Read-only on one, propagating to what is below");
            }
            [only] => {
                self.prompter.say(Tone::Info, &format!("Datacenter: defaulting to {only}, the only one"));
            }
            _ => return self.some_datacenters(at, &label, &seen),
        }
        self.site.places[at].datacenters = Some(seen.iter().map(|name| (*name).to_owned()).collect());
        Ok(By::Itself)
    }

    fn some_datacenters(&mut self, at: usize, label: &str, seen: &[&str]) -> Result<By, Stop> {
        let mut chosen: Vec<String> = Vec::new();
        loop {
            let left: Vec<&str> =
                seen.iter().copied().filter(|name| !chosen.iter().any(|other| other == name)).collect();
            let end = if chosen.is_empty() { "all of them, and those to come" } else { "no other" };
            let options: Vec<String> =
                std::iter::once(end).chain(left.iter().copied()).map(str::to_owned).collect();
            let message =
                if chosen.is_empty() { "Datacenters with nodes or volumes" } else { "Another datacenter" };
            let ask = Ask::new(message).help(format!("on {label}"));
            match self.prompter.select(&ask, &options, 0)? {
                0 => break,
                number => chosen.push(left[number - 1].to_owned()),
            }
            if chosen.len() == seen.len() {
                break;
            }
        }
        self.site.places[at].datacenters = Some(chosen);
        Ok(By::User)
    }

    fn another(&mut self) -> Result<By, Stop> {
        if self.site.places.len() + self.others() >= MAX_VCENTERS {
            self.site.all = true;
            return Ok(By::Itself);
        }
        if self.prompter.confirm(&Ask::new("Another vCenter?").help("with nodes of this cluster"), false)? {
            self.site.places.push(ConnectionAnswers::default());
        } else {
            self.site.all = true;
        }
        Ok(By::User)
    }

    /// Connections of the cluster that stay as they are.
    fn others(&self) -> usize {
        let names: Vec<String> = (0..self.site.places.len()).map(|at| self.name(at)).collect();
        self.told.there.connections.iter().filter(|name| !names.contains(name)).count()
    }

    fn name(&self, at: usize) -> String {
        let given = self.told.name.clone().filter(|_| at == 0);
        given.unwrap_or_else(|| Connection::name_for(&self.target(at).server))
    }

    fn drivers(&mut self) -> Result<By, Stop> {
        if let Some(config) = &self.told.there.config {
            self.prompter.say(Tone::Info, "the cluster has a VDOConfig; only what you answer changes in it");
            self.site.drivers = Some((config.cloud_provider.is_some(), config.storage_provider.is_some()));
            return Ok(By::Itself);
        }
        if let Some(given) = self.told.drivers {
            self.site.drivers = Some(given);
            return Ok(By::Itself);
        }
        let options: Vec<String> = DRIVERS.iter().map(|(_, label)| (*label).to_owned()).collect();
        let ask =
            Ask::new("Drivers").help("without the cloud provider nodes keep the provider IDs they have");
        self.site.drivers = Some(DRIVERS[self.prompter.select(&ask, &options, 0)?].0);
        Ok(By::User)
    }

    /// Needed with several vCenters.
    fn topology(&mut self) -> Result<By, Stop> {
        let storage = self.site.drivers.is_some_and(|(_, storage)| storage);
        let known = self.told.there.config.as_ref().and_then(|config| config.storage_provider.as_ref());
        let known = known.is_some_and(|storage| !storage.topology_categories.is_empty());
        let given = self.told.wanted.topology_categories.clone();
        if !storage || known || !given.is_empty() {
            self.site.topology = Some(given);
            return Ok(By::Itself);
        }
        let several = self.site.places.len() + self.others() > 1;
        let check: Check = Rc::new(move |text| match listed(text).len() {
            0 if several => Err("with several vCenters the storage driver needs them".to_owned()),
            0..=5 => Ok(()),
            _ => Err("five at most".to_owned()),
        });
        let help = if several { "needed with several vCenters" } else { "empty for none" };
        let ask = Ask::new("Tag categories that say where a node is").help(format!(
            "from the widest to the narrowest, with commas, such as k8s-region,k8s-zone; {help}"
        ));
        self.site.topology = Some(listed(&self.prompter.text(&ask, None, check)?));
        Ok(By::User)
    }

    fn policy(&mut self) -> Result<By, Stop> {
        let there = self.told.there.config.as_ref().map(|config| config.update_policy.unwrap_or_default());
        if let Some(policy) = self.told.wanted.update_policy.or(there) {
            self.site.policy = Some(policy);
            return Ok(By::Itself);
        }
        let options: Vec<String> = POLICIES.iter().map(|(_, label)| (*label).to_owned()).collect();
        let ask = Ask::new("Updates of the drivers").help("each is taken back if it does not work");
        self.site.policy = Some(POLICIES[self.prompter.select(&ask, &options, 0)?].0);
        Ok(By::User)
    }

    fn connections(&self) -> Vec<Connection> {
        let of = |(at, place): (usize, &ConnectionAnswers)| {
            let target = self.target(at);
            let password = place.password.as_ref().map(|(password, _)| password.expose_secret());
            Connection {
                name: self.name(at),
                port: target.port.unwrap_or(443),
                tls: target.trust(),
                server: target.server,
                datacenters: place.datacenters.clone().unwrap_or_default(),
                user: place.user.clone().unwrap_or_default(),
                password: password.unwrap_or_default().into(),
            }
        };
        self.site.places.iter().enumerate().map(of).collect()
    }

    /// Shows what would be applied, without secrets, and asks whether it is right.
    fn review(&mut self) -> Result<Plan, Stop> {
        let (cloud_provider, storage_provider) = self.site.drivers.unwrap_or((true, true));
        let latest = self.told.there.config.is_none() && self.site.policy == Some(UpdatePolicy::Latest);
        let wanted = DriverSelection {
            cloud_provider,
            storage_provider,
            topology_categories: self.site.topology.clone().unwrap_or_default(),
            // What is the default anyway need not be said.
            update_policy: match &self.told.there.config {
                Some(_) => self.told.wanted.update_policy,
                None => self.site.policy.filter(|_| !latest),
            },
            ..self.told.wanted.clone()
        };
        let there = self.told.there.config.as_ref();
        let plan = Plan::new(&self.connections(), &wanted, there).map_err(anyhow::Error::from)?;
        self.prompter.say(Tone::Plain, "");
        self.prompter.say(Tone::Plain, "These objects will be applied (secrets are hidden):");
        for object in plan.objects.iter().chain(&plan.change) {
            self.prompter.say(Tone::Plain, "");
            for line in to_yaml(&blanked(object)).lines() {
                self.prompter.say(Tone::Plain, &format!("  {line}"));
            }
        }
        self.prompter.say(Tone::Plain, "");
        if self.prompter.confirm(&Ask::new("Apply it to the cluster?"), true)? {
            Ok(plan)
        } else {
            Err(Stop::Abort)
        }
    }
}

/// Judges an answer about a vCenter as `slipway validate` judges it in an install-config.
fn judged(field: &'static str, put: fn(&mut VCenter, &str)) -> Check {
    Rc::new(move |text| {
        if text.is_empty() {
            return Err("an answer is needed".to_owned());
        }
        let mut vcenter = VCenter::default();
        put(&mut vcenter, text);
        let (platform, vcenters) = (Some(PlatformKind::VSphere), vec![vcenter]);
        let draft = Draft { platform, vcenters, ..Draft::default() };
        judge(&draft, &Answers::default(), &format!("platform.vsphere.vcenters[0]{field}")).result()
    })
}

fn listed(text: &str) -> Vec<String> {
    text.split(',').map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()
}

/// An object without its secrets, which a bystander could read on the screen.
fn blanked(object: &Value) -> Value {
    let mut object = object.clone();
    if object["kind"] == "Secret" {
        for place in ["data", "stringData"] {
            let values = object.get_mut(place).and_then(Value::as_object_mut);
            for (key, value) in values.into_iter().flatten() {
                if key != "username" {
                    *value = "********".into();
                }
            }
        }
    }
    object
}
