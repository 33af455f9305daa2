//! Whether vCenters have what a cluster needs, before anything is made.
//!
//! | module | what it holds |
//! |---|---|
//! | [`expected`] | what a cluster wants of each vCenter |
//! | [`needs`] | which privileges are needed where |
//! | `observe` | reading a vCenter, in few calls |
//! | [`snapshot`] | what was read, as a plain value |
//! | [`judge`](mod@judge) | the rules |
//! | [`lookup`] | names of old configurations, as paths |
//!
//! What is wanted comes from outside, as data: [`Derive`] derives it, and derives it again once an inventory says what names mean.

pub mod expected;
pub mod judge;
pub mod lookup;
pub mod needs;
mod observe;
pub mod snapshot;

use jiff::Timestamp;
use slipway_providers::vsphere::error::Cause;
use slipway_providers::vsphere::inventory::Inventory;
use slipway_providers::vsphere::{self, Client, Endpoint, Login, Trust};

use self::expected::ExpectedObjects;
use self::needs::NeededPrivilege;
use self::snapshot::{Depth, VCenterSnapshot};
use super::session::endpoint;
use super::{by_reference, certificate};
use crate::preflight::inspect::{Answer, Inspect, Target};
use crate::preflight::report::{Check, Finding};
use crate::runner::Options;
use crate::text::reason;

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
pub trait Derive: std::fmt::Debug + Send + Sync + 'static {
    /// What is to be said before any vCenter is asked.
    fn known(&self) -> Vec<Finding>;

    /// What a vCenter must have, as far as is known without asking it; none if nothing can be said about it.
    fn expected(&self, position: usize) -> Option<ExpectedObjects>;

    /// What a vCenter is judged by, once its inventory says what names mean. None was read where it did not answer so far.
    fn terms(&self, position: usize, inventory: Option<&Inventory>) -> Criteria;
}

/// What a vCenter is judged by.
#[derive(Debug, Clone, Default)]
pub struct Criteria {
    /// None if nothing can be said about what is wanted.
    pub wanted: Option<ExpectedObjects>,
    pub needs: Vec<NeededPrivilege>,
    /// What deriving them found.
    pub findings: Vec<Finding>,
}

/// The vCenters of a cluster, and what is wanted of them.
#[derive(Debug)]
pub struct VCenters<D> {
    pub vcenters: Vec<VCenter>,
    pub derive: D,
}

/// A way to one vCenter.
#[derive(Debug)]
pub struct Session {
    client: Client,
    endpoint: Endpoint,
}

/// What is known of a vCenter so far.
#[derive(Debug, Default)]
pub struct Observed {
    snapshot: Option<VCenterSnapshot>,
    terms: Option<Criteria>,
    /// Until when its certificate is valid, or why that is not known.
    expires: Option<Result<Timestamp, String>>,
}

impl<D: Derive> Inspect for VCenters<D> {
    type Session = Session;
    type Observed = Observed;

    fn targets(&self) -> Vec<Target> {
        let target = |VCenter { endpoint, server, .. }: &VCenter| Target {
            endpoint: endpoint.clone(),
            server: server.clone(),
        };
        self.vcenters.iter().map(target).collect()
    }

    fn known(&self) -> Vec<Finding> {
        self.derive.known()
    }

    fn connect(&self, position: usize, options: &Options) -> Result<Session, Box<Finding>> {
        let VCenter { server, port, trust, login, .. } = &self.vcenters[position];
        let endpoint = endpoint(options, server, *port, trust.clone());
        let client = Client::new(endpoint.clone(), login.clone());
        let client = client.map_err(|error| Box::new(unreachable(&error, None)))?;
        Ok(Session { client, endpoint })
    }

    async fn observe(
        &self,
        position: usize,
        Session { client, endpoint }: &Session,
        options: &Options,
        observed: &mut Observed,
    ) -> Answer {
        let Observed { snapshot, terms, expires } = observed;
        let question = ask(client, &self.derive, position, options, snapshot, terms);
        let certificate = async { *expires = Some(certificate::expiry(endpoint, endpoint.timeout).await) };
        let (answer, ()) = tokio::join!(question, certificate);
        match answer {
            Ok(()) => Ok(snapshot.as_ref().map(|snapshot| snapshot.privileges.user.clone())),
            Err(error) => Err(Box::new(unreachable(&error, snapshot.as_ref()))),
        }
    }

    fn unread(&self, observed: &Observed) -> String {
        unseen(observed.snapshot.as_ref())
    }

    fn judge(&self, position: usize, observed: &Observed, options: &Options) -> Vec<Finding> {
        let Observed { snapshot, terms, expires } = observed;
        let mut findings = Vec::new();
        if let Some(snapshot) = snapshot {
            let terms = terms.clone();
            let Criteria { wanted, needs, findings: derived } =
                terms.unwrap_or_else(|| self.derive.terms(position, inventory_of(snapshot)));
            findings.extend(derived);
            findings.extend(wanted.into_iter().flat_map(|wanted| judge::judge(&wanted, &needs, snapshot)));
        }
        let late = || Err(format!("no answer within {:?}", options.shares().0));
        let expires = expires.clone().unwrap_or_else(late);
        // A vCenter that cannot be reached is reported as such.
        if expires.is_ok() || snapshot.is_some() {
            let judgement = certificate::judge(&expires, (options.clock)());
            findings.push(Finding::judged(Check::Certificate, "certificate", judgement));
        }
        findings
    }

    async fn log_out(&self, session: &Session) -> Result<(), String> {
        session.client.logout().await.map_err(|error| reason(&error))
    }
}

/// Fills `snapshot` and `terms`, as far as the vCenter answers.
async fn ask(
    client: &Client,
    derive: &impl Derive,
    position: usize,
    options: &Options,
    snapshot: &mut Option<VCenterSnapshot>,
    terms: &mut Option<Criteria>,
) -> Result<(), vsphere::Error> {
    let Some(expected) = derive.expected(position) else { return Ok(()) };
    let snapshot = observe::observe(client, &expected, &options.clock, options.whole / 2, snapshot).await?;
    let Criteria { needs, .. } = terms.insert(derive.terms(position, inventory_of(snapshot)));
    let entities = judge::entities(needs, snapshot).into_iter().map(|id| client.moref(id));
    let held = client.privileges(&snapshot.privileges.user, &entities.collect::<Vec<_>>()).await;
    snapshot.privileges.held = held.map(by_reference).map_err(|error| reason(&error));
    snapshot.depth = Depth::Privileges;
    Ok(())
}

fn inventory_of(snapshot: &VCenterSnapshot) -> Option<&Inventory> {
    Some(&snapshot.inventory).filter(|_| snapshot.depth >= Depth::Inventory)
}

/// What the findings about a vCenter do not cover.
fn unseen(snapshot: Option<&VCenterSnapshot>) -> String {
    match snapshot {
        None => "nothing else is known about this vCenter".to_owned(),
        Some(snapshot) => format!("not checked: {}", snapshot.depth.beyond().join(", ")),
    }
}

fn unreachable(error: &vsphere::Error, snapshot: Option<&VCenterSnapshot>) -> Finding {
    let message = format!("{}; {}", reason(error), unseen(snapshot));
    let finding = Finding::failure(Check::Connection, error.server.to_string(), message);
    match (&error.source, error.hint()) {
        (Cause::Setup(_), _) => finding.remedy("correct `tls` of this vCenter in install-config.yaml"),
        (_, Some(hint)) => finding.remedy(hint),
        (_, None) => finding.remedy("run it again; if it stays, look after the vCenter"),
    }
}
