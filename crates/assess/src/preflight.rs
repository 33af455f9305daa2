//! Whether vCenters have what a cluster needs, before anything is made.
//!
//! | module | what it holds |
//! |---|---|
//! | [`report`] | findings, their order and their codes |
//! | [`wanted`] | what a cluster wants of each vCenter, and of the network |
//! | [`needs`] | which privileges are needed where |
//! | `observe` | reading a vCenter, in few calls |
//! | [`estate`] | what was read, as a plain value |
//! | [`judge`](mod@judge) | the rules |
//! | [`lookup`] | names of old configurations, as paths |
//! | [`network`] | DNS and virtual addresses |
//!
//! What is wanted comes from outside, as data: [`Desired`] derives it, and derives it again once an inventory says what names mean.

pub mod estate;
pub mod judge;
pub mod lookup;
pub mod needs;
pub mod network;
mod observe;
pub mod report;
pub mod wanted;

use std::sync::Arc;

use slipway_providers::vsphere::error::Cause;
use slipway_providers::vsphere::inventory::Inventory;
use slipway_providers::vsphere::{self, Client, Login, Trust};
use tokio::time::timeout;

use self::estate::{Depth, Estate};
use self::needs::Need;
use self::network::Probe;
use self::report::{Check, Finding, Report};
use self::wanted::{Wanted, WantedNetwork};
pub use crate::runner::Options;
use crate::runner::{self, Asked, Stopped, Tasks};
use crate::text::reason;
use crate::vsphere::{by_reference, certificate};

/// What is examined.
#[derive(Debug, Clone)]
pub struct Request {
    /// The cluster's name.
    pub cluster: String,
    pub vcenters: Vec<VCenter>,
    pub network: WantedNetwork,
    /// What is known before anything is asked.
    pub findings: Vec<Finding>,
}

/// A vCenter that is asked.
#[derive(Debug, Clone)]
pub struct VCenter {
    /// As findings name it.
    pub endpoint: String,
    pub server: String,
    pub port: u16,
    pub trust: Trust,
    pub login: Login,
}

/// What will be made, from whatever says so.
pub trait Desired: Send + Sync + 'static {
    /// What a vCenter must have, as far as is known without asking it; none if nothing can be said about it.
    fn expected(&self, position: usize) -> Option<Wanted>;

    /// What a vCenter is judged by, once its inventory says what names mean. None was read where it did not answer so far.
    fn terms(&self, position: usize, inventory: Option<&Inventory>) -> Terms;
}

/// What a vCenter is judged by.
#[derive(Debug, Clone, Default)]
pub struct Terms {
    /// None if nothing can be said about what is wanted.
    pub wanted: Option<Wanted>,
    pub needs: Vec<Need>,
    /// What deriving them found.
    pub findings: Vec<Finding>,
}

/// Asks all vCenters and the network at once. What one of them does not answer is a finding about that one. `None` if it was
/// cancelled: then all sessions are ended, too.
pub async fn examine<P: Probe>(
    request: Request,
    desired: Arc<impl Desired>,
    options: Options,
    probe: P,
    cancelled: impl Future<Output = ()>,
) -> Option<Report> {
    let Request { cluster, vcenters, network, mut findings } = request;
    let mut tasks = Tasks::new();
    let (whole, stopped) = (options.whole, tasks.stopped());
    let network = WantedNetwork { begun: options.machines_run, ..network };
    let network = network::examine(network, Arc::new(probe));
    tasks.spawn(async move {
        let late = |_| vec![Finding::unknown(Check::Dns, "network", format!("no answer within {whole:?}"))];
        let looked = stopped.or(timeout(whole, network)).await;
        looked.map_or_else(Vec::new, |found| found.unwrap_or_else(late))
    });
    for (position, vcenter) in vcenters.into_iter().enumerate() {
        let (desired, options, stopped) = (desired.clone(), options.clone(), tasks.stopped());
        tasks.spawn(async move {
            let findings = examine_one(&*desired, position, &vcenter, &options, stopped).await;
            findings.into_iter().map(|finding| finding.at(&vcenter.endpoint)).collect()
        });
    }
    for found in tasks.join(cancelled).await? {
        findings.extend(found.unwrap_or_else(|| vec![Finding::broken_off(Check::Platform)]));
    }
    Some(Report::new(cluster, findings))
}

/// What is known of a vCenter so far.
#[derive(Default)]
struct Seen {
    estate: Option<Estate>,
    terms: Option<Terms>,
}

async fn examine_one(
    desired: &impl Desired,
    position: usize,
    vcenter: &VCenter,
    options: &Options,
    stopped: Stopped,
) -> Vec<Finding> {
    let endpoint = options.endpoint(&vcenter.server, vcenter.port, vcenter.trust.clone());
    let client = match Client::new(endpoint.clone(), vcenter.login.clone()) {
        Ok(client) => client,
        Err(error) => return vec![unreachable(&error, None)],
    };
    let mut seen = Seen::default();
    let question = ask(&client, desired, position, options, &mut seen);
    let asked = stopped.or(runner::ask(&endpoint, options, question)).await;
    runner::log_out(&client, options.shares().1).await;
    let Some((asked, expires)) = asked else { return Vec::new() };
    let Seen { estate, terms } = seen;
    let estate = estate.as_ref();
    let mut findings = Vec::new();
    if let Some(estate) = estate {
        let Terms { wanted, needs, findings: derived } =
            terms.unwrap_or_else(|| desired.terms(position, inventory_of(estate)));
        findings.extend(derived);
        findings.extend(wanted.into_iter().flat_map(|wanted| judge::judge(&wanted, &needs, estate)));
    }
    findings.extend(match (asked, estate) {
        (Asked::Answered(()), None) => None,
        (Asked::Answered(()), Some(estate)) => {
            let message = format!("logged in as `{}`", estate.privileges.user);
            Some(Finding::pass(Check::Connection, &vcenter.server, message))
        }
        (Asked::Failed(error), estate) => Some(unreachable(&error, estate)),
        (Asked::Late(limit), estate) => {
            let message = format!("no answer within {limit:?}; {}", unseen(estate));
            let remedy =
                "see whether it is overloaded or a firewall drops packets; give it more time with --timeout";
            Some(Finding::failure(Check::Connection, &vcenter.server, message).remedy(remedy))
        }
    });
    // A vCenter that cannot be reached has been reported.
    if expires.is_ok() || estate.is_some() {
        let judgement = certificate::judge(&expires, (options.clock)());
        findings.push(Finding::judged(Check::Certificate, "certificate", judgement));
    }
    findings
}

/// Fills `seen`, as far as the vCenter answers.
async fn ask(
    client: &Client,
    desired: &impl Desired,
    position: usize,
    options: &Options,
    seen: &mut Seen,
) -> Result<(), vsphere::Error> {
    let Some(expected) = desired.expected(position) else { return Ok(()) };
    let Seen { estate, terms } = seen;
    let estate = observe::observe(client, &expected, &options.clock, options.whole / 2, estate).await?;
    let Terms { needs, .. } = terms.insert(desired.terms(position, inventory_of(estate)));
    let entities = judge::entities(needs, estate).into_iter().map(|id| client.moref(id));
    let held = client.privileges(&estate.privileges.user, &entities.collect::<Vec<_>>()).await;
    estate.privileges.held = held.map(by_reference).map_err(|error| reason(&error));
    estate.depth = Depth::Privileges;
    Ok(())
}

fn inventory_of(estate: &Estate) -> Option<&Inventory> {
    Some(&estate.inventory).filter(|_| estate.depth >= Depth::Inventory)
}

/// What the findings about a vCenter do not cover.
fn unseen(seen: Option<&Estate>) -> String {
    match seen {
        None => "nothing else is known about this vCenter".to_owned(),
        Some(estate) => format!("not looked at: {}", estate.depth.beyond().join(", ")),
    }
}

fn unreachable(error: &vsphere::Error, seen: Option<&Estate>) -> Finding {
    let message = format!("{}; {}", reason(error), unseen(seen));
    let finding = Finding::failure(Check::Connection, error.server.to_string(), message);
    match (&error.source, error.hint()) {
        (Cause::Setup(_), _) => finding.remedy("correct `tls` of this vCenter in install-config.yaml"),
        (_, Some(hint)) => finding.remedy(hint),
        (_, None) => finding.remedy("run it again; if it stays, look after the vCenter"),
    }
}
