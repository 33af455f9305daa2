//! What a platform registers, and how a cluster on it is opened.

use std::path::Path;
use std::sync::Arc;

use slipway_assess::check::target::CheckTarget;
use slipway_assess::preflight::inspect::Inspection;
use slipway_assets::{Credentials, Named};
use slipway_config::ids::InfraId;
use slipway_config::install_config::InstallConfig;
use slipway_engine::FileJournal;
use slipway_providers::provider::Provider;

use super::{ClusterSpec, Removal};
use crate::create::{self, Request};
use crate::environment::Environment;
use crate::install::{AnyRun, Error, Installation, JOURNAL, Run, Target, Timeouts};
use crate::store;
use crate::workspace::Workspace;

/// A platform that clusters are installed on. Implementing it and a line in [`super::registered`] make a platform known to
/// all commands.
pub(super) trait Backend: Send + Sync {
    type Spec: ClusterSpec + 'static;

    /// A client for every endpoint, and a spec without machines.
    fn connect(
        &self,
        config: InstallConfig,
        credentials: Credentials,
        infra_id: &InfraId,
        timeouts: Timeouts,
    ) -> Result<Connected<Self::Spec>, Error>;

    /// Puts the machines into a spec, as the files say. Names every file that cannot be used.
    fn read(&self, spec: &mut Self::Spec, files: &Files<'_>) -> Result<(), Error>;

    /// What the preflight asks and judges; none as long as there are no rules.
    fn inspection(
        &self,
        _workspace: &mut Workspace<'_>,
        _named: &Named,
    ) -> Result<Option<Arc<dyn Inspection>>, create::Error> {
        Ok(None)
    }

    /// What `slipway check` asks and judges; none as long as there are no rules.
    fn check_subject(
        &self,
        _workspace: &mut Workspace<'_>,
        _named: &Named,
    ) -> Result<Option<CheckTarget>, create::Error> {
        Ok(None)
    }

    /// Where the files of the machines are.
    fn machine_files(&self) -> MachineFiles {
        MachineFiles::MANIFESTS
    }
}

/// What is to be made, and where.
pub(super) type Connected<S> = (S, <S as ClusterSpec>::Provider);

/// The files that machines are made from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Files<'a> {
    pub(super) directory: &'a Path,
    pub(super) named: &'a Named,
    pub(super) environment: &'a Environment,
    pub(super) boot: Boot,
}

/// Whether it matters what machines boot from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Boot {
    Needed,
    NotNeeded,
}

/// Which files of the asset directory say what machines are like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MachineFiles {
    pub(crate) folder: &'static str,
    /// What their names begin with.
    pub(crate) prefix: &'static str,
}

impl MachineFiles {
    /// Cluster API's, which vSphere starts from. Beside them are credentials, which these leave out.
    pub(crate) const CLUSTER_API: MachineFiles = MachineFiles { folder: "cluster-api/machines", prefix: "" };

    /// The manifests of Machines, which a platform without files of its own starts from.
    pub(crate) const MANIFESTS: MachineFiles =
        MachineFiles { folder: "openshift", prefix: "99_openshift-cluster-api_master-machines-" };
}

/// [`Backend`] without its types.
pub(super) trait AnyBackend: Send + Sync {
    fn open(
        &self,
        workspace: &mut Workspace<'_>,
        timeouts: Timeouts,
        new_names: bool,
    ) -> Result<Box<dyn Installation>, Error>;

    fn open_to_destroy(
        &self,
        workspace: &mut Workspace<'_>,
        removal: Removal,
        timeouts: Timeouts,
    ) -> Result<Box<dyn Installation>, Error>;

    fn inspection(
        &self,
        workspace: &mut Workspace<'_>,
        named: &Named,
    ) -> Result<Option<Arc<dyn Inspection>>, create::Error>;

    fn check_subject(
        &self,
        workspace: &mut Workspace<'_>,
        named: &Named,
    ) -> Result<Option<CheckTarget>, create::Error>;

    fn machine_files(&self) -> MachineFiles;
}

impl<B: Backend> AnyBackend for B {
    fn open(
        &self,
        workspace: &mut Workspace<'_>,
        timeouts: Timeouts,
        new_names: bool,
    ) -> Result<Box<dyn Installation>, Error> {
        Ok(AnyRun::boxed(open(self, workspace, timeouts)?.with_new_names(new_names)))
    }

    fn open_to_destroy(
        &self,
        workspace: &mut Workspace<'_>,
        removal: Removal,
        timeouts: Timeouts,
    ) -> Result<Box<dyn Installation>, Error> {
        let Removal { infra_id, keep_volumes, forgotten } = removal;
        let run = open_to_destroy(self, workspace, infra_id, timeouts)?;
        Ok(AnyRun::boxed(run.with_volumes_kept(keep_volumes).with_forgotten(forgotten)))
    }

    fn inspection(
        &self,
        workspace: &mut Workspace<'_>,
        named: &Named,
    ) -> Result<Option<Arc<dyn Inspection>>, create::Error> {
        Backend::inspection(self, workspace, named)
    }

    fn check_subject(
        &self,
        workspace: &mut Workspace<'_>,
        named: &Named,
    ) -> Result<Option<CheckTarget>, create::Error> {
        Backend::check_subject(self, workspace, named)
    }

    fn machine_files(&self) -> MachineFiles {
        Backend::machine_files(self)
    }
}

/// A cluster whose machines are to be made, or looked at: from the files as they are on disk.
pub(super) fn open<B: Backend>(
    backend: &B,
    workspace: &mut Workspace<'_>,
    timeouts: Timeouts,
) -> Result<Run<B::Spec>, Error> {
    let Request { directory, environment, .. } = *workspace.request();
    let (credentials, warnings) = (workspace.credentials()?, workspace.warnings()?);
    let renamed = <B::Spec as ClusterSpec>::Provider::RENAMED_KINDS;
    let mut store = workspace.take_store()?;
    let journal = FileJournal::open(&store.own_file(JOURNAL))?.with_kinds(renamed);
    let mut state = store.state()?.ok_or_else(|| Error::NoFiles { directory: directory.to_owned() })?;
    workspace.check_cluster(&state)?;
    workspace.remember_os_image(&mut store, &mut state)?;
    let named = Named { config: workspace.config_for_machines(), identity: state.identity };
    let mut target = target(backend, workspace, credentials, &named.identity.infra_id, journal, timeouts)?;
    backend.read(&mut target.spec, &Files { directory, named: &named, environment, boot: Boot::Needed })?;
    Ok(Run::new(Target { store: Some(store), warnings, bootstrapped: state.bootstrapped, ..target }))
}

/// A cluster that is to go. Its directory may be lost: the install-config and its id are enough.
pub(super) fn open_to_destroy<B: Backend>(
    backend: &B,
    workspace: &mut Workspace<'_>,
    infra_id: Option<InfraId>,
    timeouts: Timeouts,
) -> Result<Run<B::Spec>, Error> {
    let Request { directory, environment, .. } = *workspace.request();
    let (credentials, warnings) = (workspace.credentials()?, workspace.warnings()?);
    let renamed = <B::Spec as ClusterSpec>::Provider::RENAMED_KINDS;
    if let Some(infra_id) = infra_id {
        // The state may be damaged, and the journal whole: what it knows is missed if it is not seen.
        if store::own_path(directory, JOURNAL).exists() {
            let store = workspace.take_store()?;
            let journal = FileJournal::open(&store.own_file(JOURNAL))?.with_kinds(renamed);
            if journal.records().any(|(id, _)| id.name.contains(infra_id.as_str())) {
                let target = target(backend, workspace, credentials, &infra_id, journal, timeouts)?;
                return Ok(Run::new(Target { store: Some(store), warnings, ..target }));
            }
        }
        let path = directory.join(format!(".slipway-{infra_id}-{JOURNAL}"));
        let journal = FileJournal::open_alone(&path)?.with_kinds(renamed);
        let target = target(backend, workspace, credentials, &infra_id, journal, timeouts)?;
        return Ok(Run::new(Target { temporary_journal: Some(path), warnings, ..target }));
    }
    let store = workspace.take_store()?;
    let journal = FileJournal::open(&store.own_file(JOURNAL))?.with_kinds(renamed);
    let state = store.state()?.ok_or_else(|| Error::Unknown { directory: directory.to_owned() })?;
    workspace.check_cluster(&state)?;
    let named = Named { config: workspace.config().clone(), identity: state.identity };
    let mut target = target(backend, workspace, credentials, &named.identity.infra_id, journal, timeouts)?;
    // What is on disk may be broken or gone: what is on the endpoints counts.
    let files = Files { directory, named: &named, environment, boot: Boot::NotNeeded };
    let unread = backend.read(&mut target.spec, &files).err();
    Ok(Run::new(Target { unread, store: Some(store), warnings, ..target }))
}

/// A cluster of which nothing is known but its id.
fn target<B: Backend>(
    backend: &B,
    workspace: &Workspace<'_>,
    credentials: Credentials,
    infra_id: &InfraId,
    journal: FileJournal<super::StateOf<B::Spec>>,
    timeouts: Timeouts,
) -> Result<Target<B::Spec>, Error> {
    let config = workspace.config_for_machines();
    let cluster = config.name.to_string();
    let (spec, platform) = backend.connect(config, credentials, infra_id, timeouts)?;
    Ok(Target {
        cluster,
        infra_id: infra_id.clone(),
        spec,
        unread: None,
        platform,
        journal,
        temporary_journal: None,
        store: None,
        bootstrapped: false,
        warnings: Vec::new(),
    })
}
