//! Whether a cluster can be made on an oVirt engine, as its user.
//!
//! | module | what it holds |
//! |---|---|
//! | `observe` | what is read of the engine, in about ten calls |
//! | `judge` | the rules: a pure function of what is wanted and what was read |

mod judge;
mod observe;

use slipway_config::names::EngineObject;
use slipway_providers::ovirt::{Cause, Error, Scope, Server};
use slipway_providers::text::chain;

use self::observe::EngineSnapshot;
use crate::preflight::inspect::{Answer, Inspect, Target};
use crate::preflight::report::{Check, Finding};
use crate::runner::Options;

/// What will be made, and from what.
#[derive(Debug, Clone)]
pub struct Wanted {
    pub infra_id: String,
    pub network: String,
    pub storage_domain: EngineObject,
    pub profiles: Vec<EngineObject>,
    pub templates: Vec<EngineObject>,
    pub machines: Vec<WantedMachine>,
    pub groups: Vec<WantedGroup>,
    /// Groups that machines join and that are not made.
    pub foreign_groups: Vec<String>,
    pub instance_types: Vec<String>,
}

/// A machine that will be made, now or by the cluster itself.
#[derive(Debug, Clone)]
pub struct WantedMachine {
    pub name: String,
    /// In bytes.
    pub disk: u64,
    /// In bytes; none where an instance type says it.
    pub memory: Option<u64>,
    /// Its disk is a copy, for which there has to be room.
    pub is_copy: bool,
    pub is_pinned: bool,
}

/// An affinity group that will be made.
#[derive(Debug, Clone)]
pub struct WantedGroup {
    pub name: String,
    pub members: usize,
    pub enforcing: bool,
}

/// An engine that is asked.
#[derive(Debug)]
pub struct EngineInspection {
    pub server: Server,
    pub cluster: EngineObject,
    pub wanted: Wanted,
    /// What is wrong before anything is asked.
    pub known: Vec<Finding>,
}

impl Inspect for EngineInspection {
    type Session = Scope;
    type Observed = EngineSnapshot;

    fn targets(&self) -> Vec<Target> {
        vec![Target::from(self.server.name())]
    }

    fn known(&self) -> Vec<Finding> {
        self.known.clone()
    }

    fn connect(&self, _: usize, options: &Options) -> Result<Scope, Box<Finding>> {
        let server = Server { proxy: options.proxy.clone(), timeout: options.call, ..self.server.clone() };
        let client = slipway_providers::ovirt::Client::new(server);
        let client = client.map_err(|error| Box::new(unreached(self.server.name(), &error)))?;
        Ok(Scope::new(client, self.cluster.clone()))
    }

    async fn observe(&self, _: usize, scope: &Scope, _: &Options, read: &mut EngineSnapshot) -> Answer {
        let asked = observe::read(scope, &self.wanted, read).await;
        asked.map_err(|error| Box::new(unreached(self.server.name(), &error)))?;
        Ok(Some(scope.client.user().to_owned()))
    }

    fn judge(&self, _: usize, read: &EngineSnapshot, _: &Options) -> Vec<Finding> {
        judge::judge(self.cluster.as_str(), &self.wanted, read)
    }

    async fn log_out(&self, scope: &Scope) -> Result<(), String> {
        scope.client.log_out().await;
        Ok(())
    }
}

fn unreached(server: &str, error: &Error) -> Finding {
    let check = match error.source {
        Cause::Untrusted(_) => Check::Certificate,
        _ => Check::Connection,
    };
    let finding = Finding::failure(check, server, chain(error));
    match error.hint() {
        Some(hint) => finding.remedy(hint),
        None => finding,
    }
}
