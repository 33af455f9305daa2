//! Whether a tenant cluster can be made in a namespace of an infrastructure cluster, as its user.
//!
//! | module | what it holds |
//! |---|---|
//! | `judge` | the rules: rights, versions, networks, objects that would be refused |
//! | `login` | until when the kubeconfig is good |
//! | `storage` | classes of storage and how volumes are accessed |
//! | `room` | quotas and limits against the sum of what will be made |

mod judge;
mod login;
mod room;
mod storage;

use std::sync::Arc;

use slipway_providers::cluster::{AccessError, Cause};
use slipway_providers::kubevirt::Infra;
use slipway_providers::kubevirt::inventory::Inventory;
use slipway_providers::kubevirt::kinds::{Desired, Kind};
use slipway_providers::kubevirt::rules::MissingRule;
use slipway_providers::kubevirt::trial::Trial;
use slipway_providers::text::chain;

use self::login::LoginEnd;
use crate::preflight::inspect::{Answer, Inspect, Target};
use crate::preflight::report::{Check, Finding};
use crate::runner::Options;

/// What the configuration and its files want of the infrastructure cluster.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// Files that cannot be used.
    pub broken: Vec<(String, String)>,
    /// Why its network cannot work.
    pub network_refused: Option<String>,
    /// The network attachment that machines are on.
    pub attachment: Option<String>,
    /// None: the cluster's default.
    pub storage_class: Option<String>,
    pub access_mode: String,
    /// Size of the volume that disks are cloned from.
    pub image_size: String,
    pub machines: Vec<WantedMachine>,
    /// The very objects that are created, which the cluster is asked about.
    pub objects: Vec<Desired>,
}

/// A machine that will be made, now or by the cluster itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantedMachine {
    pub name: String,
    pub cores: u32,
    pub memory: String,
    pub disk: String,
}

impl Wanted {
    /// Its disks allow machines to move to another node while they run.
    fn migrates(&self) -> bool {
        self.access_mode == "ReadWriteMany"
    }
}

/// A namespace of an infrastructure cluster that is asked.
#[derive(Debug)]
pub struct InfraNamespace {
    pub endpoint: String,
    pub infra: Arc<Infra>,
    pub wanted: Wanted,
}

/// What was read of it, as far as it answered.
#[derive(Debug, Default)]
pub struct Read {
    missing: Option<Vec<MissingRule>>,
    inventory: Option<Inventory>,
    /// What came of trying the objects that are wanted.
    trials: Option<Vec<Tried>>,
}

/// An object, and what would come of creating it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Tried {
    kind: Kind,
    name: String,
    trial: Trial,
}

impl Inspect for InfraNamespace {
    type Session = Arc<Infra>;
    type Observed = Read;

    fn targets(&self) -> Vec<Target> {
        vec![Target::from(self.endpoint.as_str())]
    }

    fn known(&self) -> Vec<Finding> {
        let broken = |(path, message): &(String, String)| {
            let remedy = "correct the file, or remove it and have it written again";
            Finding::failure(Check::Files, path.as_str(), message.as_str()).remedy(remedy)
        };
        self.wanted.broken.iter().map(broken).collect()
    }

    fn connect(&self, _: usize, _: &Options) -> Result<Arc<Infra>, Box<Finding>> {
        Ok(self.infra.clone())
    }

    async fn observe(&self, _: usize, infra: &Arc<Infra>, _: &Options, read: &mut Read) -> Answer {
        let failed = |error: AccessError| Box::new(unreached(&self.endpoint, &error));
        let user = infra.user().await.map_err(failed)?;
        match infra.instance().await {
            Err(error) if error.is_absent() => {
                let message = format!("the namespace `{}` is not there", infra.namespace());
                let remedy = "ask the administrator of the infrastructure cluster for the namespace, or correct its name";
                let finding = Finding::failure(Check::Namespace, infra.namespace(), message);
                return Err(Box::new(finding.remedy(remedy)));
            }
            // Said as a missing rule.
            Err(error) if error.cause() == Cause::Forbidden => {}
            Err(error) => return Err(failed(error)),
            Ok(_) => {}
        }
        read.missing = Some(infra.missing_rules().await.map_err(failed)?);
        read.inventory = Some(Box::pin(infra.inventory()).await.map_err(failed)?);
        // What may not be created is refused anyway, and said as a missing rule.
        let missing = read.missing.iter().flatten();
        let missing: Vec<&MissingRule> =
            missing.filter(|rule| rule.verbs.iter().any(|verb| verb == "create")).collect();
        let may_create = |one: &&Desired| missing.iter().all(|rule| rule.object != one.kind.plural());
        let objects: Vec<Desired> = self.wanted.objects.iter().filter(may_create).cloned().collect();
        let trials = infra.try_all(&objects).await.map_err(failed)?;
        let tried = objects
            .into_iter()
            .zip(trials)
            .filter_map(|(Desired { kind, name, .. }, trial)| Some(Tried { kind, name, trial: trial? }));
        read.trials = Some(tried.collect());
        Ok(Some(user))
    }

    fn judge(&self, _: usize, read: &Read, options: &Options) -> Vec<Finding> {
        let namespace = self.infra.namespace();
        let end = self.infra.kubeconfig().ok().and_then(|kubeconfig| LoginEnd::of(&kubeconfig));
        let end = end.and_then(|end| end.judge(namespace, (options.clock)()));
        judge::judge(namespace, &self.wanted, read).into_iter().chain(end).collect()
    }
}

fn unreached(endpoint: &str, error: &AccessError) -> Finding {
    let remedy = match error.cause() {
        Cause::Unauthorized => {
            "the token or certificate of the kubeconfig is not accepted; get a new one, as it may have expired"
        }
        Cause::Untrusted(_) => "check `certificate-authority-data` of the cluster in the kubeconfig",
        _ => "check the server of the kubeconfig's context, and that this machine reaches it",
    };
    Finding::failure(Check::Connection, endpoint, chain(error)).remedy(remedy)
}
