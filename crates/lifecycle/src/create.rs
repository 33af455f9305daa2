//! `create manifests` and `create ignition-configs`: from an install-config to files in the asset directory.

mod certificates;
mod edited_manifests;
mod error;
mod network;
#[cfg(test)]
mod tests;

use std::io::{ErrorKind, Read};
use std::path::Path;

use jiff::Timestamp;
use slipway_assets::pki::{Extent, PkiError};
use slipway_assets::random::Random;
use slipway_assets::{Cluster, Identity, Named, Pki, Tree};
use slipway_config::findings::Report;
use slipway_config::install_config::{InstallConfig, PayloadType};
use slipway_config::yaml::Limits;

use crate::credentials;
use crate::environment::Environment;
use crate::regular;
use crate::store::{Digest, FileResult, INSTALL_CONFIG, Inputs, Plan, State, Step, Store, VERSION};
use crate::workspace::Workspace;

pub use self::edited_manifests::Broken;
pub use self::error::Error;

/// What a command is asked to do, and what it may ask in turn.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    pub directory: &'a Path,
    /// Overwrite what the user edited where inputs changed, and start over where names or certificates demand it.
    pub force: bool,
    pub now: Timestamp,
    pub random: &'a dyn Random,
    pub environment: &'a Environment,
    /// What others are told about who holds the directory.
    pub command: &'a str,
}

impl std::fmt::Debug for Request<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Request").field("directory", &self.directory).field("force", &self.force).finish()
    }
}

/// What people call the input that `create ignition-configs` has besides those of `create manifests`.
const MANIFESTS: &str = "the files in manifests/ and openshift/";

/// What people call the directory that `payload.networkManifests` names.
const NETWORK: &str = "the manifests of the network plugin";

const NO_COMPUTE: &str = "there are no compute machines (`compute[0].replicas` is 0): workload runs on the control plane. If you \
     bring compute machines of your own, set mastersSchedulable to false in manifests/cluster-scheduler-02-config.yml";

type DrawKeys = dyn Fn(&mut Pki, &InstallConfig, Extent, &dyn Random) -> Result<(), PkiError>;

/// What makes keys and files. Tests pass their own.
#[derive(Clone, Copy)]
pub struct Generators<'a> {
    /// Draws what is not there.
    pub keys: &'a DrawKeys,
    pub manifests: &'a dyn Fn(&Cluster) -> Result<Tree, slipway_assets::Error>,
    pub ignition: &'a dyn Fn(&Cluster, &Tree) -> Result<Tree, slipway_assets::Error>,
}

impl Default for Generators<'_> {
    fn default() -> Self {
        Generators {
            keys: &Pki::draw,
            manifests: &slipway_assets::manifests,
            ignition: &slipway_assets::ignition,
        }
    }
}

impl std::fmt::Debug for Generators<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Generators")
    }
}

/// What a command did.
#[derive(Debug)]
pub struct Outcome {
    /// The name of the cluster.
    pub cluster: String,
    pub infra_id: String,
    /// The names of the cluster were drawn just now: nothing of it can exist anywhere.
    pub new_names: bool,
    /// What was found in the install-config; no errors.
    pub report: Report,
    /// What the user should know about credentials and certificates.
    pub warnings: Vec<String>,
    /// What became of each file, by path.
    pub files: Vec<(String, FileResult)>,
    /// The folder with what was overwritten by force.
    pub backup: Option<String>,
}

/// Writes `manifests/`, `openshift/` and `cluster-api/`.
pub fn create_manifests(request: &Request<'_>) -> Result<Outcome, Error> {
    create_manifests_with(request, &Generators::default())
}

/// Writes the Ignition configurations, `auth/` and `metadata.json`, from the manifests as they are on disk. Those
/// are generated first, or again when something they are made from has changed.
pub fn create_ignition(request: &Request<'_>) -> Result<Outcome, Error> {
    create_ignition_in(&mut Workspace::open(request)?)
}

/// [`create_ignition`] as a step of a command that goes on with what is there then.
pub fn create_ignition_in(workspace: &mut Workspace<'_>) -> Result<Outcome, Error> {
    write_ignition(workspace, &Generators::default())
}

/// [`create_manifests`] with other generators.
pub fn create_manifests_with(request: &Request<'_>, generators: &Generators<'_>) -> Result<Outcome, Error> {
    let Workbench { mut store, mut state, cluster, inputs, mut outcome } =
        prepare(&mut Workspace::open(request)?, Extent::Manifests, generators)?;
    let tree = (generators.manifests)(&cluster)?;
    let plan = store.plan(&state, Step::Manifests, tree, inputs, request.force)?;
    plan.check(request.force)?;
    let payload = cluster.config.payload.kind();
    if payload == PayloadType::OpenShift && cluster.config.pools.compute.replicas == 0 {
        outcome.warnings.push(NO_COMPUTE.to_owned());
    }
    outcome.warnings.extend(restored(&plan));
    outcome.warnings.extend(outdated(request, &store, &state, &plan)?);
    outcome.files = store.execute(&mut state, plan, request.now)?;
    outcome.backup = store.backup().map(str::to_owned);
    Ok(outcome)
}

/// [`create_ignition`] with other generators.
pub fn create_ignition_with(request: &Request<'_>, generators: &Generators<'_>) -> Result<Outcome, Error> {
    write_ignition(&mut Workspace::open(request)?, generators)
}

fn write_ignition(workspace: &mut Workspace<'_>, generators: &Generators<'_>) -> Result<Outcome, Error> {
    let Workbench { mut store, mut state, cluster, inputs, mut outcome } =
        prepare(workspace, Extent::All, generators)?;
    let request = workspace.request();
    let tree = (generators.manifests)(&cluster)?;
    let manifests = store.plan(&state, Step::Manifests, tree, inputs.clone(), request.force)?;
    manifests.check(request.force)?;
    outcome.warnings.extend(restored(&manifests));
    // Everything is judged before the first file is written.
    let carried = edited_manifests::read(request.directory, &manifests)?;
    let mut inputs = inputs;
    inputs.insert(MANIFESTS.to_owned(), carried.digest());
    let mut all = carried.manifests.clone();
    if let Some(network) = network::read(request.directory, &cluster.config.payload)? {
        inputs.insert(NETWORK.to_owned(), edited_manifests::digest(&network));
        all.extend(network);
    }
    let tree = (generators.ignition)(&cluster, &all)?;
    let ignition = store.plan(&state, Step::IgnitionConfigs, tree, inputs, request.force)?;
    ignition.check(request.force)?;

    outcome.files = store.execute(&mut state, manifests, request.now)?;
    outcome.files.extend(store.execute(&mut state, ignition, request.now)?);
    outcome.warnings.extend(pointers(&outcome.files));
    // An edit after which nothing is left is as good as no file.
    outcome.files.retain(|(path, _)| !carried.ignored.contains(path));
    outcome.files.extend(carried.ignored.into_iter().map(|path| (path, FileResult::Ignored)));
    outcome.files.sort();
    outcome.backup = store.backup().map(str::to_owned);
    workspace.keep(store);
    Ok(outcome)
}

/// What is said about manifests that come back by force.
fn restored(plan: &Plan) -> Option<String> {
    let paths: Vec<&str> = plan.restored().collect();
    (!paths.is_empty()).then(|| format!("written again by force, though deleted: {}", paths.join(", ")))
}

/// What is said about results that were made from other manifests than there will be.
fn outdated(
    request: &Request<'_>,
    store: &Store,
    state: &State,
    plan: &Plan,
) -> Result<Option<String>, Error> {
    let Some(generated) = state.steps.get(&Step::IgnitionConfigs) else { return Ok(None) };
    // Nothing was made from manifests that cannot be used; why they cannot is for the next step to say.
    let manifests = edited_manifests::read(request.directory, plan).ok().map(|carried| carried.digest());
    if !store.replaces() && manifests.as_ref() == generated.inputs.get(MANIFESTS) {
        return Ok(None);
    }
    let mut names = Vec::new();
    for path in generated.files.keys() {
        let name = path.split_once('/').map_or(path.clone(), |(folder, _)| format!("{folder}/"));
        if store.has(path)? && !names.contains(&name) {
            names.push(name);
        }
    }
    Ok((!names.is_empty()).then(|| {
        format!(
            "{} no longer match the manifests; to create them again: slipway create ignition-configs --dir {}",
            names.join(", "),
            request.directory.display()
        )
    }))
}

/// What is said about edits that not every machine sees.
fn pointers(files: &[(String, FileResult)]) -> impl Iterator<Item = String> {
    let edited = |file: &str| files.iter().any(|(path, fate)| path == file && *fate == FileResult::EditKept);
    let roles = ["master", "worker"].into_iter().filter(move |role| edited(&format!("{role}.ign")));
    roles.map(|role| {
        format!(
            "your edit of {role}.ign is kept, but only machines that boot from this file see it: those the cluster makes \
             are told by the Secret {role}-user-data, which has the original. What is meant for all of them goes into a \
             MachineConfig in openshift/"
        )
    })
}

/// Everything files are made from, and where they go.
struct Workbench {
    store: Store,
    state: State,
    cluster: Cluster,
    inputs: Inputs,
    outcome: Outcome,
}

/// Reads the user's files before the directory is touched, then takes hold of it.
fn prepare(
    workspace: &mut Workspace<'_>,
    keys: Extent,
    generators: &Generators<'_>,
) -> Result<Workbench, Error> {
    let (credentials, mut warnings) = (workspace.credentials()?, workspace.warnings()?);
    let inputs = Inputs::from([
        (INSTALL_CONFIG.to_owned(), Digest::of(workspace.text().as_bytes())),
        ("the credentials".to_owned(), credentials::digest(&credentials)),
        ("the version of slipway".to_owned(), Digest::of(VERSION.as_bytes())),
    ]);

    let mut store = workspace.take_store()?;
    let (request, config) = (workspace.request(), workspace.config().clone());
    let mut new_names = false;
    let mut state = match store.state()? {
        None => {
            new_names = true;
            draw(&config, request)
        }
        Some(state) if state.cluster == config.name.as_str() => {
            certificates::renew(state, &config, request, &mut store, &mut warnings)?
        }
        Some(state) if request.force => {
            store.replaces_keys(&state);
            warnings.push(format!(
                "started over: this directory was of cluster `{}` ({})",
                state.cluster, state.identity.infra_id
            ));
            // The files of the other cluster are still known, and replaced where they are unedited.
            let mut new = draw(&config, request);
            (new.steps, new.directories) = (state.steps, state.directories);
            new
        }
        Some(state) => {
            state.check_cluster(&config, request.directory)?;
            state
        }
    };
    (generators.keys)(&mut state.pki, &config, keys, request.random)?;
    let outcome = Outcome {
        cluster: config.name.to_string(),
        infra_id: state.identity.infra_id.to_string(),
        new_names,
        report: workspace.report().clone(),
        warnings,
        files: Vec::new(),
        backup: None,
    };
    let named = Named { config, identity: state.identity.clone() };
    let cluster = Cluster { named, pki: state.pki.clone(), credentials };
    Ok(Workbench { store, state, cluster, inputs, outcome })
}

impl State {
    /// Whether the install-config is still of the cluster this was drawn for.
    pub(crate) fn check_cluster(&self, config: &InstallConfig, directory: &Path) -> Result<(), Error> {
        if self.cluster == config.name.as_str() {
            return Ok(());
        }
        Err(Error::OtherCluster {
            directory: directory.to_owned(),
            was: self.cluster.clone(),
            infra_id: self.identity.infra_id.to_string(),
            is: config.name.to_string(),
        })
    }
}

/// What is drawn once per cluster; its keys are when a step needs them.
fn draw(config: &InstallConfig, request: &Request<'_>) -> State {
    let identity = Identity::new(&config.name, request.now, request.random);
    let key = config.signer_key();
    let pki = Pki::new(request.now);
    let mut state = State::new(config.name.to_string(), identity, certificates::made_from(config, key), pki);
    state.named_in_certificates = certificates::named(config, key);
    state
}

/// How a hint names a directory that is not the one commands take anyway.
pub fn directory_flag(directory: &Path) -> String {
    if directory == Path::new(".") { String::new() } else { format!(" --dir {}", directory.display()) }
}

pub(crate) fn read_install_config(directory: &Path) -> Result<String, Error> {
    let path = directory.join(INSTALL_CONFIG);
    let file = match regular::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(Error::NoInstallConfig { directory: directory.to_owned() });
        }
        Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::IsADirectory) => {
            return Err(Error::NotAFile(error));
        }
        Err(error) => return Err(error.into()),
    };
    let mut bytes = Vec::new();
    // One byte more than is looked at, so that too large a file is noticed.
    file.take(Limits::default().bytes as u64 + 1).read_to_end(&mut bytes)?;
    String::from_utf8(bytes).map_err(|_| Error::NotText { path })
}
