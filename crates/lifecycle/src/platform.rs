//! The platforms: from a cluster's files to what should be there. The only place that opens clients by platform.
//!
//! | module | what it holds |
//! |---|---|
//! | `backend` | what a platform registers, and how a cluster on it is opened |
//! | `image` | the image templates are made from |
//! | [`kubevirt`] | manifests of Machines as objects of an infrastructure cluster |
//! | [`ovirt`] | manifests of Machines as virtual machines of an engine |
//! | `reader` | the files they are made from |
//! | [`vsphere`] | files in `cluster-api/` as resources on vCenters |

mod backend;
mod image;
pub mod kubevirt;
pub mod ovirt;
mod reader;
pub mod vsphere;

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use slipway_assess::check::target::CheckTarget;
use slipway_assess::preflight::inspect::Inspection;
use slipway_assets::Named;
use slipway_config::ids::InfraId;
use slipway_config::install_config::{InstallConfig, Platform};
use slipway_config::private_url::PrivateUrl;
use slipway_engine::{Cause, Endpoint, Plan, Platform as EnginePlatform, Resource};
use slipway_providers::provider::{Provider, Unreachable};
use uuid::Uuid;

use self::backend::AnyBackend;
pub(crate) use self::backend::{Boot, MachineFiles};
pub use self::image::ImageError;
use crate::create;
use crate::install::{Error, Installation, MachineLocations, Timeouts};
use crate::workspace::Workspace;

/// A file that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokenFile {
    pub path: String,
    pub message: String,
}

impl fmt::Display for BrokenFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.message)
    }
}

/// The platforms that machines can be made on. A new one is a line here, and a [`Backend`](backend::Backend).
fn registered(platform: &Platform) -> Option<&'static dyn AnyBackend> {
    match platform {
        Platform::VSphere(_) => Some(&vsphere::Backend),
        Platform::KubeVirt(_) => Some(&kubevirt::Backend),
        Platform::Ovirt(_) => Some(&ovirt::Backend),
        Platform::None => None,
    }
}

/// What people call the endpoints of a platform; none where the user makes the machines.
pub(crate) fn endpoints_of(platform: &Platform) -> Option<&'static str> {
    match platform {
        Platform::VSphere(_) => Some("the vCenters"),
        Platform::Ovirt(_) => Some("the oVirt engine"),
        Platform::KubeVirt(_) => Some("the infrastructure cluster"),
        Platform::None => None,
    }
}

fn backend(config: &InstallConfig) -> Result<&'static dyn AnyBackend, Error> {
    registered(&config.platform).ok_or_else(|| Error::Platform(config.platform.name()))
}

/// Whether machines of this cluster can be made at all; asks for no password.
pub fn check(config: &InstallConfig) -> Result<(), Error> {
    backend(config).map(drop)
}

/// [`check`], and whether the install-config says everything machines are made from.
pub fn check_to_create(config: &InstallConfig) -> Result<(), Error> {
    check(config)?;
    let missing = config.missing_for_machines();
    if missing.is_empty() { Ok(()) } else { Err(Error::Missing(missing)) }
}

/// A cluster whose machines are to be made, or looked at, from the files as they are on disk. They have to be there.
pub fn open(
    workspace: &mut Workspace<'_>,
    timeouts: Timeouts,
    new_names: bool,
) -> Result<Box<dyn Installation>, Error> {
    backend(workspace.config())?.open(workspace, timeouts, new_names)
}

/// What the user says about a cluster that is to go.
#[derive(Debug, Clone, Default)]
pub struct Removal {
    /// Its id, where its directory is lost.
    pub infra_id: Option<InfraId>,
    pub keep_volumes: bool,
    /// What is gone though it was made here and is not seen.
    pub forgotten: Vec<String>,
}

/// A cluster that is to go. Its directory may be lost: the install-config and its id are enough.
pub fn open_to_destroy(
    workspace: &mut Workspace<'_>,
    removal: Removal,
    timeouts: Timeouts,
) -> Result<Box<dyn Installation>, Error> {
    backend(workspace.config())?.open_to_destroy(workspace, removal, timeouts)
}

/// What the preflight asks and judges; none for a platform without rules.
pub(crate) fn inspection(
    workspace: &mut Workspace<'_>,
    named: &Named,
) -> Result<Option<Arc<dyn Inspection>>, create::Error> {
    match registered(&named.config.platform) {
        Some(backend) => backend.inspection(workspace, named),
        None => Ok(None),
    }
}

/// What `slipway check` asks and judges of the cluster of a directory; none for a platform without rules.
pub(crate) fn check_subject(workspace: &mut Workspace<'_>) -> Result<Option<CheckTarget>, create::Error> {
    let named = workspace.named()?;
    match registered(&named.config.platform) {
        Some(backend) => backend.check_subject(workspace, &named),
        None => Ok(None),
    }
}

/// Which files of the asset directory say what machines are like: all that may, where the platform is not known.
pub(crate) fn machine_files(config: Option<&InstallConfig>) -> Vec<MachineFiles> {
    match config {
        Some(config) => {
            let backend = registered(&config.platform);
            vec![backend.map_or(MachineFiles::MANIFESTS, AnyBackend::machine_files)]
        }
        None => vec![MachineFiles::CLUSTER_API, MachineFiles::MANIFESTS],
    }
}

/// A machine of a cluster, as its files say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedMachine {
    pub name: String,
    pub endpoint: Endpoint,
    pub uuid: Uuid,
    pub is_bootstrap: bool,
    /// Where it is to be on its endpoint, as the platform names such places: the path of a compute cluster.
    pub place: String,
    /// The static addresses it is given; empty where it asks for one.
    pub addresses: Vec<IpAddr>,
}

/// Where a machine is on its endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachinePlacement {
    pub place: String,
    /// Whether that is where the files place it.
    pub as_planned: bool,
}

/// Machines that were found, by endpoint and id.
pub type MachinePlacements = BTreeMap<(Endpoint, Uuid), MachinePlacement>;

/// What a [`ClusterSpec`] wants of its platform.
pub type DesiredOf<S> = Resource<<<S as ClusterSpec>::Provider as EnginePlatform>::Desired>;

/// How a resource of a [`ClusterSpec`] is.
pub type StateOf<S> = <<S as ClusterSpec>::Provider as EnginePlatform>::State;

/// A cluster as its files say, on one platform. With a [`Provider`], all that a platform needs to be installed on.
pub trait ClusterSpec: fmt::Debug + Send + Sync {
    type Provider: Provider;

    fn machines(&self) -> Vec<PlannedMachine>;

    /// The bootstrap machine has done its work.
    fn leave_out_bootstrap(&mut self);

    /// Everything that has to be there, with machines where they live or will live.
    fn desired(&self, locations: &MachineLocations) -> Vec<DesiredOf<Self>>;

    /// A machine of the files that is to go from an endpoint, or why it must be left alone.
    fn departing(&self, machine: &str, endpoint: &Endpoint, hold: Option<Cause>) -> Vec<DesiredOf<Self>>;

    /// Where else the cluster's objects may be.
    fn places(&self) -> BTreeMap<Endpoint, <Self::Provider as Provider>::Places>;

    /// Where machines that were found are on their endpoints, for platforms on which that matters. An endpoint that cannot
    /// say is added to those that cannot be reached.
    fn placements(
        &self,
        _platform: &Self::Provider,
        _found: &BTreeMap<Uuid, Vec<Endpoint>>,
        _silent: &mut Unreachable,
    ) -> impl Future<Output = MachinePlacements> + Send {
        std::future::ready(MachinePlacements::new())
    }

    /// The image that a plan needs, for platforms that make templates from one.
    fn needed_image(
        &self,
        _plan: &Plan<<Self::Provider as EnginePlatform>::Action>,
    ) -> Option<NeededImage<'_>> {
        None
    }

    /// Downloads the image, or makes sure that the one that is there is what it should be.
    fn fetch_image(&self) -> impl Future<Output = Result<(), Error>> + Send {
        std::future::ready(Ok(()))
    }
}

/// An image that a plan needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NeededImage<'a> {
    pub url: &'a PrivateUrl,
    /// One that was downloaded before has to be verified.
    pub cached: bool,
}
