//! Who we are on a vCenter, and what it says of itself: one call for all of it.

use std::collections::BTreeSet;

use slipway_providers::vsphere::performance::counter;
use slipway_providers::vsphere::properties::PropertySpec;
use slipway_providers::vsphere::{Client, Error};

use super::Part;

/// The highest latency of any of a machine's disks.
const LATENCY: &str = "disk.maxTotalLatency.latest";

/// What is read beside the user and the privileges there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    Account,
    /// Sessions and tasks too; and what is measured, unless that is known.
    Activity {
        counters: bool,
    },
}

/// The number of the latency counter on a vCenter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Counter {
    #[default]
    NotRead,
    Missing,
    Number(i64),
}

/// What the managers say.
#[derive(Debug)]
pub(crate) struct Managers {
    /// The user of the session, with its domain.
    pub(crate) user: String,
    /// Sessions of this user; none where the user may not see it.
    pub(crate) sessions: Option<usize>,
    /// Whether tasks can be seen.
    pub(crate) tasks: Part<()>,
    /// The privileges this version knows.
    pub(crate) privileges: BTreeSet<String>,
    pub(crate) counter: Counter,
}

pub(crate) async fn read(client: &Client, extent: Extent) -> Result<Managers, Error> {
    let (activity, counters) = match extent {
        Extent::Account => (false, false),
        Extent::Activity { counters } => (true, counters),
    };
    let sessions: &[&str] = if activity { &["currentSession", "sessionList"] } else { &["currentSession"] };
    let mut specs = vec![
        PropertySpec { kind: "SessionManager", properties: sessions },
        PropertySpec { kind: "AuthorizationManager", properties: &["privilegeList"] },
    ];
    let mut objects =
        vec![client.manager("sessionManager").await?, client.manager("authorizationManager").await?];
    if activity {
        specs.push(PropertySpec { kind: "TaskManager", properties: &["recentTask"] });
        objects.push(client.manager("taskManager").await?);
    }
    if counters {
        specs.push(PropertySpec { kind: "PerformanceManager", properties: &["perfCounter"] });
        objects.push(client.manager("perfManager").await?);
    }
    let mut managers = Managers {
        user: String::new(),
        sessions: None,
        tasks: Ok(()),
        privileges: BTreeSet::new(),
        counter: Counter::NotRead,
    };
    for object in client.retrieve(&objects, &specs).await? {
        let property = |name: &str| object.properties.get(name);
        if let Some(session) = property("currentSession") {
            session.text_of("userName").clone_into(&mut managers.user);
        }
        if let Some(list) = property("sessionList") {
            let ours = list.children.iter().filter(|session| session.text_of("userName") == managers.user);
            managers.sessions = Some(ours.count());
        }
        let list = property("privilegeList").into_iter().flat_map(|list| &list.children);
        managers.privileges.extend(list.map(|privilege| privilege.text_of("privId").to_owned()));
        if let Some(counters) = property("perfCounter") {
            managers.counter = counter(counters, LATENCY).map_or(Counter::Missing, Counter::Number);
        }
        if let Some(fault) = object.missing.get("recentTask") {
            managers.tasks = Err(fault.to_string());
        }
    }
    Ok(managers)
}
