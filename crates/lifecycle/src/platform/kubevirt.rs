//! Clusters on KubeVirt: from the manifests of Machines to objects in a namespace of an infrastructure cluster.
//!
//! | module | what it holds |
//! |---|---|
//! | `blueprint` | the machines, as the files say |
//! | `desired` | from there to resources of the engine |
//! | `preflight` | what the preflight judges the infrastructure cluster by |

mod blueprint;
mod desired;
mod preflight;

use std::collections::BTreeMap;
use std::sync::Arc;

use slipway_assess::preflight::inspect::Inspection;
use slipway_assets::{Credentials, InfraCluster, Named};
use slipway_config::ids::InfraId;
use slipway_config::install_config::kubevirt::Platform;
use slipway_config::install_config::{InstallConfig, Platform as AnyPlatform};
use slipway_engine::{Cause, Endpoint, Resource};
use slipway_providers::kubevirt::kinds::Desired;
use slipway_providers::kubevirt::{Infra, KubeVirt};

use self::blueprint::{Blueprint, BlueprintMachine};
use super::backend::{self, Files};
use super::{Boot, ClusterSpec, PlannedMachine};
use crate::create::{self, Request};
use crate::install::{Error, MachineLocations, Run, Timeouts};
use crate::workspace::Workspace;

/// A cluster on KubeVirt as its files say.
#[derive(Debug)]
pub struct KubeVirtSpec {
    infra_id: InfraId,
    endpoint: Endpoint,
    blueprint: Blueprint,
}

/// KubeVirt, as it is registered.
pub(super) struct Backend;

impl backend::Backend for Backend {
    type Spec = KubeVirtSpec;

    fn connect(
        &self,
        config: InstallConfig,
        credentials: Credentials,
        infra_id: &InfraId,
        timeouts: Timeouts,
    ) -> Result<(KubeVirtSpec, KubeVirt), Error> {
        let name = config.platform.name();
        let (AnyPlatform::KubeVirt(platform), Credentials::KubeVirt(cluster)) =
            (config.platform, credentials)
        else {
            return Err(Error::Platform(name));
        };
        let endpoint = endpoint_of(&cluster, &platform);
        let infra = Infra::new(cluster.kubeconfig, platform.namespace.to_string());
        let mut kubevirt = KubeVirt::new([(endpoint.clone(), infra)]);
        kubevirt.start_limit = timeouts.address;
        let spec = KubeVirtSpec { infra_id: infra_id.clone(), endpoint, blueprint: Blueprint::default() };
        Ok((spec, kubevirt))
    }

    fn read(&self, spec: &mut KubeVirtSpec, files: &Files<'_>) -> Result<(), Error> {
        spec.blueprint = Blueprint::read(files)?;
        Ok(())
    }

    fn inspection(
        &self,
        workspace: &mut Workspace<'_>,
        named: &Named,
    ) -> Result<Option<Arc<dyn Inspection>>, create::Error> {
        let credentials = workspace.credentials()?;
        let Request { directory, environment, .. } = *workspace.request();
        let files = Files { directory, named, environment, boot: Boot::NotNeeded };
        Ok(preflight::inspection(&files, &credentials))
    }
}

/// A cluster whose machines are to be made, or looked at, from the files as they are on disk.
pub fn open(workspace: &mut Workspace<'_>, timeouts: Timeouts) -> Result<Run<KubeVirtSpec>, Error> {
    backend::open(&Backend, workspace, timeouts)
}

/// A cluster that is to go. Its directory may be lost: the install-config and its id are enough.
pub fn open_to_destroy(
    workspace: &mut Workspace<'_>,
    infra_id: Option<InfraId>,
    timeouts: Timeouts,
) -> Result<Run<KubeVirtSpec>, Error> {
    backend::open_to_destroy(&Backend, workspace, infra_id, timeouts)
}

/// How the engine names the infrastructure cluster: its server and the namespace, as several clusters may share one.
fn endpoint_of(cluster: &InfraCluster, platform: &Platform) -> Endpoint {
    let server = cluster.server.split_once("://").map_or(&*cluster.server, |(_, rest)| rest);
    Endpoint::from(format!("{}/{}", server.trim_end_matches('/'), platform.namespace).as_str())
}

impl ClusterSpec for KubeVirtSpec {
    type Provider = KubeVirt;

    fn machines(&self) -> Vec<PlannedMachine> {
        let machine = |machine: &BlueprintMachine| PlannedMachine {
            name: machine.name.clone(),
            endpoint: self.endpoint.clone(),
            uuid: machine.mark,
            is_bootstrap: machine.is_bootstrap,
            place: String::new(),
            addresses: Vec::new(),
        };
        self.blueprint.machines.iter().map(machine).collect()
    }

    fn leave_out_bootstrap(&mut self) {
        self.blueprint.machines.retain(|machine| !machine.is_bootstrap);
    }

    fn desired(&self, locations: &MachineLocations) -> Vec<Resource<Desired>> {
        desired::resources(&self.blueprint, &self.endpoint, &self.infra_id, locations)
    }

    fn departing(&self, machine: &str, endpoint: &Endpoint, hold: Option<Cause>) -> Vec<Resource<Desired>> {
        match self.blueprint.machines.iter().find(|planned| planned.name == machine) {
            Some(planned) => desired::going(planned, endpoint, &self.infra_id, hold.as_ref()),
            None => Vec::new(),
        }
    }

    fn places(&self) -> BTreeMap<Endpoint, ()> {
        BTreeMap::from([(self.endpoint.clone(), ())])
    }
}
