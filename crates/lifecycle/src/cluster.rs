//! Clusters on vCenters: what should be there, what is there, and the way between.
//!
//! | module | what it holds |
//! |---|---|
//! | `addresses` | machines that report other addresses than they were given |
//! | `blueprint` | the machines, as the files in `cluster-api/` say |
//! | `wanted` | from there to resources of the engine |
//! | `image` | the image templates are made from |
//! | `residence` | where machines live, whatever the files say now |
//! | `remembered` | what the journal says was made, beside what is seen |
//! | `ground` | whether what the steps need is there and allowed |
//! | `needs` | which privileges the steps need |
//! | `rules` | rules that may be left out |
//! | `scan` | what a cluster has left on its vCenters, to be removed |

mod addresses;
mod blueprint;
mod error;
mod ground;
mod image;
pub(crate) mod needs;
mod remembered;
mod residence;
mod rules;
mod scan;
mod surplus;
mod wanted;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use slipway_assets::{Cluster, Credentials, Identity, Login, Pki};
use slipway_config::ids::InfraId;
use slipway_config::install_config::vsphere::VCenter;
use slipway_config::install_config::{InstallConfig, Platform as AnyPlatform};
use slipway_engine::apply::doubt;
use slipway_engine::budget::Budgets;
use slipway_engine::progress::Listener;
use slipway_engine::{
    Endpoint, FileJournal, Graph, Id, Journal, Options, Outcome, Plan, Resource, Sight, World, apply,
    observe, plan,
};
use slipway_providers::vsphere::kinds::{Action, Image, State, VSphere, Wanted};
use slipway_providers::vsphere::{self, Client};

pub use self::addresses::{Misaddressed, StaticAddresses};
pub use self::blueprint::BrokenFile;
use self::blueprint::{Blueprint, Files, Planned};
pub use self::error::Error;
pub use self::image::{ImageError, NeededImage};
use self::remembered::Remembered;
pub use self::remembered::Unseen;
use self::residence::Homes;
pub use self::surplus::Surplus;
use crate::create::{self, Loaded, Request};
use crate::store::{self, Store};

/// Where the intents of a cluster are.
const JOURNAL: &str = "journal.jsonl";

/// What is to become of a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    Create,
    /// The bootstrap machine goes, the rest stays.
    DestroyBootstrap,
    Destroy,
}

/// A cluster and its vCenters. The asset directory is ours alone as long as this lives.
#[derive(Debug)]
pub struct Project {
    pub cluster: String,
    pub infra_id: InfraId,
    config: InstallConfig,
    store: Option<Store>,
    blueprint: Blueprint,
    platform: Arc<VSphere>,
    journal: FileJournal,
    image: Option<Arc<Image>>,
    /// A journal that is only wanted until all is gone.
    passing: Option<PathBuf>,
    /// The bootstrap machine has done its work, and is not wanted any more.
    bootstrapped: bool,
    /// Its names were drawn by this very command: nothing can have been made anywhere.
    untouched: bool,
}

/// What would be done, and everything it was decided from.
#[derive(Debug)]
pub struct Prospect {
    pub plan: Plan<Action>,
    pub world: World<State>,
    /// What should be known about it.
    pub notes: Vec<String>,
    /// What was made and is not seen now: it cannot be said to be gone.
    pub unseen: Vec<Unseen>,
    purpose: Purpose,
    graph: Graph<Wanted>,
    budgets: Budgets,
}

impl Prospect {
    /// How it is applied.
    pub fn options(&self, recreate: &[String], patience: Patience) -> Options {
        Options { patience: patience.silence, ..options(&self.graph, recreate, self.budgets.clone()) }
    }

    /// Whether something stands in the way of every machine that is still to be made or started: then there is no sense
    /// in making what they need.
    pub fn is_futile(&self) -> bool {
        let is_machine = |id: &Id| matches!(&*id.kind, "machine" | "power");
        let blocked = self.plan.stops.iter().chain(&self.plan.unknown).any(|stop| is_machine(&stop.resource));
        blocked && !self.plan.steps.iter().any(|planned| is_machine(&planned.step.resource))
    }
}

/// What may be asked of vCenters.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// For a call.
    pub call: Duration,
    /// For a machine to get an address.
    pub address: Duration,
    /// For a vCenter that does not answer.
    pub silence: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Patience {
            call: Duration::from_mins(1),
            address: Duration::from_mins(15),
            silence: Duration::from_mins(10),
        }
    }
}

impl Project {
    /// Whether machines of this cluster can be made at all; asks for no password.
    pub fn check(request: &Request<'_>) -> Result<(), Error> {
        match create::read(request)?.platform {
            AnyPlatform::VSphere(_) => Ok(()),
            other => Err(Error::Platform(other.name())),
        }
    }

    /// [`Self::check`], and whether the install-config says everything machines are made from.
    pub fn check_to_create(request: &Request<'_>) -> Result<(), Error> {
        Self::check(request)?;
        let missing = create::read(request)?.missing_for_machines();
        if missing.is_empty() { Ok(()) } else { Err(Error::Missing(missing)) }
    }

    /// A cluster whose machines are to be made, or looked at: reads `cluster-api/` and the Ignition configurations as
    /// they are on disk. They have to be there.
    pub fn open(request: &Request<'_>, patience: Patience) -> Result<Self, Error> {
        Self::check(request)?;
        let Loaded { config, credentials, .. } = create::load(request)?;
        let store = Store::open(request.directory, request.command, request.now)?;
        let journal = FileJournal::open(&store.own_file(JOURNAL))?;
        let state =
            store.state()?.ok_or_else(|| Error::NoFiles { directory: request.directory.to_owned() })?;
        let blueprint =
            Blueprint::read(Files::On(request.directory), &bare(&config, state.identity.clone()))?;
        let image = image::plan(&config, request.environment)?;
        Ok(Project {
            store: Some(store),
            blueprint,
            image,
            bootstrapped: state.bootstrapped,
            ..Self::by_id(config, credentials, state.identity.infra_id, journal, patience)?
        })
    }

    /// A cluster that is to go. Its directory may be lost: the install-config and its id are enough.
    pub fn open_to_destroy(
        request: &Request<'_>,
        infra_id: Option<InfraId>,
        patience: Patience,
    ) -> Result<Self, Error> {
        Self::check(request)?;
        let Loaded { config, credentials, .. } = create::load(request)?;
        if let Some(infra_id) = infra_id {
            let journal = request.directory.join(format!(".slipway-{infra_id}-{JOURNAL}"));
            let opened = FileJournal::open_alone(&journal)?;
            let project = Self::by_id(config, credentials, infra_id, opened, patience)?;
            return Ok(Project { passing: Some(journal), ..project });
        }
        let store = Store::open(request.directory, request.command, request.now)?;
        let journal = FileJournal::open(&store.own_file(JOURNAL))?;
        let state =
            store.state()?.ok_or_else(|| Error::Unknown { directory: request.directory.to_owned() })?;
        // What is on disk may be broken or gone: what is on the vCenters counts.
        let cluster = bare(&config, state.identity.clone());
        let blueprint = Blueprint::read(Files::On(request.directory), &cluster).unwrap_or_default();
        Ok(Project {
            store: Some(store),
            blueprint,
            ..Self::by_id(config, credentials, state.identity.infra_id, journal, patience)?
        })
    }

    /// A cluster of which nothing is known but its id.
    fn by_id(
        config: InstallConfig,
        credentials: Credentials,
        infra_id: InfraId,
        journal: FileJournal,
        patience: Patience,
    ) -> Result<Self, Error> {
        let (AnyPlatform::VSphere(platform), Credentials::VSphere(logins)) = (&config.platform, credentials)
        else {
            return Err(Error::Platform(config.platform.name()));
        };
        let mut clients = Vec::new();
        for (vcenter, login) in platform.vcenters.iter().zip(logins) {
            clients.push((endpoint_of(vcenter), client(vcenter, login, patience.call)?));
        }
        let mut vsphere = VSphere::new(clients);
        vsphere.address_limit = patience.address;
        Ok(Project {
            cluster: config.name.to_string(),
            infra_id,
            config,
            store: None,
            blueprint: Blueprint::default(),
            platform: Arc::new(vsphere),
            journal,
            image: None,
            passing: None,
            bootstrapped: false,
            untouched: false,
        })
    }

    /// The names of this cluster were drawn just now, so nothing of it can be on a vCenter that does not answer.
    #[must_use]
    pub fn with_new_names(self) -> Self {
        Project { untouched: true, ..self }
    }

    /// Looks at everything and says what would be done. A vCenter that does not answer is waited for once.
    pub async fn survey(&mut self, purpose: Purpose, recreate: &[String]) -> Result<Prospect, Error> {
        let mut notes = Vec::new();
        let users = self.platform.greet().await;
        let mut silent: BTreeMap<Endpoint, String> = users
            .iter()
            .filter_map(|(endpoint, user)| Some((endpoint.clone(), user.clone().err()?)))
            .collect();
        if purpose == Purpose::Destroy && !silent.is_empty() {
            let vcenters = silent.iter().map(|(endpoint, why)| format!("{endpoint} ({why})")).collect();
            return Err(Error::Blind { vcenters });
        }
        for (old, new) in remembered::renamed(&self.platform, &self.journal).await {
            notes.push(format!("{old} is called {new} now: the same vCenter, by its own id"));
            self.journal.rename(&old, &new).await?;
        }
        let mut unseen = Vec::new();
        let resources = match purpose {
            Purpose::Create => {
                if self.bootstrapped {
                    let again = |machine: &Planned| !machine.is_bootstrap || recreate.contains(&machine.name);
                    self.blueprint.machines.retain(again);
                }
                let homes = self.homes(&mut silent, recreate).await;
                notes.extend(residence::notes(&homes, &self.blueprint));
                let image = self.image.as_ref();
                let resources = wanted::resources(&self.blueprint, &homes, &self.infra_id, image);
                rules::without_forbidden(&self.platform, &users, resources, &mut notes).await
            }
            Purpose::DestroyBootstrap => {
                wanted::bootstrap(&self.blueprint, &self.homes(&mut silent, &[]).await)
            }
            Purpose::Destroy => {
                let remembered = self.remembered()?;
                let found = scan::resources(
                    &self.platform,
                    &self.config,
                    &self.infra_id,
                    &self.blueprint,
                    &remembered,
                );
                let scan::Findings { resources, unseen: missed, notes: remarks } = found.await?;
                unseen = missed;
                notes.extend(remarks);
                resources
            }
        };
        let graph = Graph::new(resources)?;
        check_names(&graph, recreate)?;
        let world = observe(&self.platform, &graph, &self.journal, &silent).await;
        if purpose != Purpose::Create {
            scan::check_seen(&world)?;
        }
        let options = options(&graph, recreate, Budgets::default());
        let doubted = |resource: &Resource<Wanted>, sight: &Sight<State>| {
            doubt(resource, sight, self.journal.made(&resource.id), &options.recreate)
        };
        let first = plan(&*self.platform, &graph, &world, doubted);
        let holds = ground::holds(&self.platform, &users, &first, &world).await;
        if purpose != Purpose::Create && !holds.is_empty() {
            return Err(Error::Lacking(holds));
        }
        let (plan, graph) = if holds.is_empty() {
            (first, graph)
        } else {
            let graph = graph.with_holds(&holds);
            (plan(&*self.platform, &graph, &world, doubted), graph)
        };
        let budgets = self.platform.budgets(&graph, &silent).await;
        Ok(Prospect { plan, world, notes, unseen, purpose, graph, budgets })
    }

    async fn homes(&self, silent: &mut BTreeMap<Endpoint, String>, recreate: &[String]) -> Homes {
        let (platform, blueprint) = (&self.platform, &self.blueprint);
        residence::homes(platform, blueprint, &self.journal, silent, recreate, self.untouched).await
    }

    /// What was made, by vCenter. All of them have to be vCenters that can be asked.
    fn remembered(&self) -> Result<BTreeMap<Endpoint, Vec<Remembered>>, Error> {
        let remembered = remembered::remembered(&self.journal);
        let known = self.platform.endpoints();
        let strays: Vec<Unseen> = remembered
            .iter()
            .filter(|(endpoint, _)| !known.contains(*endpoint))
            .flat_map(|(_, all)| all.iter().map(Remembered::unseen))
            .collect();
        if strays.is_empty() { Ok(remembered) } else { Err(Error::Strays(strays)) }
    }

    /// Takes what was made and is not seen for gone: by the name of a resource, or everything of a vCenter that the
    /// install-config does not name any more.
    pub async fn forget(&mut self, names: &[String]) -> Result<(), Error> {
        let known = self.platform.endpoints();
        for name in names {
            let meant = |id: &Id| {
                *id.name == **name || (id.endpoint.as_str() == name && !known.contains(&id.endpoint))
            };
            if !self.journal.records().any(|(id, _)| meant(id)) {
                return Err(Error::NotRemembered { name: name.clone() });
            }
            self.journal.forget(meant).await?;
        }
        Ok(())
    }

    /// Machines of the cluster that are not in its files, or not any more.
    pub async fn surplus(&self, prospect: &Prospect) -> Vec<Surplus> {
        surplus::find(&self.platform, &self.infra_id, &prospect.graph, &self.journal).await
    }

    /// What machines should report once they run.
    pub fn static_addresses(&self) -> StaticAddresses {
        StaticAddresses::of(&self.blueprint)
    }

    /// The image that a plan needs, whether it is on this machine already or not.
    pub fn needed_image(&self, prospect: &Prospect) -> Option<NeededImage<'_>> {
        let imports = prospect.plan.steps.iter().any(|planned| planned.step.action == Action::Import);
        let image = self.image.as_ref().filter(|_| imports)?;
        Some(NeededImage { url: image::url(&self.config)?, cached: image.path.exists() })
    }

    /// Downloads the image, or makes sure that the one that is there is what it should be.
    pub async fn fetch_image(&self) -> Result<(), Error> {
        match &self.image {
            Some(image) => Ok(image::fetch(&self.config, &image.path).await?),
            None => Ok(()),
        }
    }

    /// Does it. Whatever happens, running it again goes on from there.
    pub async fn apply(
        &mut self,
        prospect: Prospect,
        recreate: &[String],
        patience: Patience,
        listener: &impl Listener,
        cancelled: impl Future<Output = ()> + Send,
    ) -> Result<Outcome<State>, Error> {
        let options = prospect.options(recreate, patience);
        self.apply_with(prospect, &options, listener, cancelled).await
    }

    /// [`Self::apply`] with other options than it would have taken.
    pub async fn apply_with(
        &mut self,
        prospect: Prospect,
        options: &Options,
        listener: &impl Listener,
        cancelled: impl Future<Output = ()> + Send,
    ) -> Result<Outcome<State>, Error> {
        let Prospect { world, graph, purpose, unseen, .. } = prospect;
        let outcome =
            apply(&self.platform, &graph, world, &mut self.journal, listener, options, cancelled).await?;
        if outcome.is_done() {
            self.settle(purpose, &unseen).await?;
        }
        Ok(outcome)
    }

    /// Remembers what later runs have to know.
    async fn settle(&mut self, purpose: Purpose, unseen: &[Unseen]) -> Result<(), Error> {
        if purpose == Purpose::Create {
            return Ok(());
        }
        if purpose == Purpose::Destroy {
            // What went before a crash, or by another hand, would be missed when the cluster is made again.
            self.journal.forget(|id| !unseen.iter().any(|one| one.resource == *id)).await?;
            if let Some(journal) = self.passing.take() {
                fs_err::remove_file(journal).map_err(store::Error::from)?;
            }
        }
        if let Some(store) = &mut self.store
            && let Some(mut state) = store.state()?
        {
            state.bootstrapped = purpose == Purpose::DestroyBootstrap;
            store.save(&state)?;
        }
        Ok(())
    }

    /// Ends the sessions on all vCenters.
    pub async fn close(self) {
        self.platform.logout().await;
        drop(self.store);
    }
}

/// A cluster without its keys, for what needs none.
fn bare(config: &InstallConfig, identity: Identity) -> Cluster {
    Cluster { config: config.clone(), identity, pki: Pki::unmade(), credentials: Credentials::None }
}

/// A name that is given to be made again has to be one of the cluster's.
fn check_names(graph: &Graph<Wanted>, recreate: &[String]) -> Result<(), Error> {
    let unknown = recreate.iter().find(|name| !graph.iter().any(|resource| *resource.id.name == ***name));
    match unknown {
        Some(name) => Err(Error::NoResource { name: name.clone() }),
        None => Ok(()),
    }
}

fn options(graph: &Graph<Wanted>, recreate: &[String], budgets: Budgets) -> Options {
    let chosen = graph.iter().filter(|resource| recreate.iter().any(|name| **name == *resource.id.name));
    let recreate = chosen.map(|resource| resource.id.clone()).collect();
    Options { budgets, recreate, ..Options::default() }
}

/// How the engine and the files name a vCenter: its server, with the port where that is not the usual one.
pub(crate) fn endpoint_of(vcenter: &VCenter) -> Endpoint {
    match vcenter.port.get() {
        443 => Endpoint::from(vcenter.server.to_string().as_str()),
        port => Endpoint::from(format!("{}:{port}", vcenter.server).as_str()),
    }
}

fn client(vcenter: &VCenter, login: Login, timeout: Duration) -> Result<Client, Error> {
    let mut endpoint = vsphere::Endpoint::new(&vcenter.server.to_string(), vcenter.port.get(), &vcenter.tls);
    endpoint.timeout = timeout;
    let login = vsphere::Login { user: login.user, password: login.password };
    Ok(Client::new(endpoint, login)?)
}
