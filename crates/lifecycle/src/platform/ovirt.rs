//! Clusters on oVirt: from the manifests of Machines to virtual machines of an engine.
//!
//! | module | what it holds |
//! |---|---|
//! | `blueprint` | the machines, as the files say |
//! | `desired` | from there to resources of the engine |
//! | `preflight` | what the preflight judges the engine by |

mod blueprint;
mod desired;
mod preflight;

use std::collections::BTreeMap;
use std::sync::Arc;

use slipway_assess::preflight::inspect::Inspection;
use slipway_assets::{Credentials, Named, OvirtEngine};
use slipway_config::ids::InfraId;
use slipway_config::install_config::ovirt::Platform;
use slipway_config::install_config::{InstallConfig, Platform as AnyPlatform};
use slipway_engine::{Cause, Endpoint, Resource};
use slipway_providers::connector::{Proxy, Trust};
use slipway_providers::ovirt::kinds::{Desired, KindError};
use slipway_providers::ovirt::{Client, Ovirt, Scope, Server};

use self::blueprint::{Blueprint, BlueprintMachine};
use super::backend::{self, Files};
use super::{ClusterSpec, PlannedMachine};
use crate::create::{self, Request};
use crate::install::{Error, MachineLocations, Run, Timeouts, refused};
use crate::workspace::Workspace;

/// A cluster on oVirt as its files say.
#[derive(Debug)]
pub struct OvirtSpec {
    infra_id: InfraId,
    endpoint: Endpoint,
    blueprint: Blueprint,
}

/// oVirt, as it is registered.
pub(super) struct Backend;

impl backend::Backend for Backend {
    type Spec = OvirtSpec;

    fn connect(
        &self,
        config: InstallConfig,
        credentials: Credentials,
        infra_id: &InfraId,
        timeouts: Timeouts,
    ) -> Result<(OvirtSpec, Ovirt), Error> {
        let name = config.platform.name();
        let (AnyPlatform::Ovirt(platform), Credentials::Ovirt(engine)) = (config.platform, credentials)
        else {
            return Err(Error::Platform(name));
        };
        let (endpoint, scope) = scope_of(&engine, &platform, timeouts)?;
        let mut ovirt = Ovirt::new(infra_id.clone(), [(endpoint.clone(), scope)]);
        ovirt.start_limit = timeouts.address;
        let spec = OvirtSpec { infra_id: infra_id.clone(), endpoint, blueprint: Blueprint::default() };
        Ok((spec, ovirt))
    }

    fn read(&self, spec: &mut OvirtSpec, files: &Files<'_>) -> Result<(), Error> {
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
        Ok(preflight::inspection(named, &credentials, directory, environment))
    }
}

/// A cluster whose machines are to be made, or looked at, from the files as they are on disk.
pub fn open(workspace: &mut Workspace<'_>, timeouts: Timeouts) -> Result<Run<OvirtSpec>, Error> {
    backend::open(&Backend, workspace, timeouts)
}

/// A cluster that is to go. Its directory may be lost: the install-config and its id are enough.
pub fn open_to_destroy(
    workspace: &mut Workspace<'_>,
    infra_id: Option<InfraId>,
    timeouts: Timeouts,
) -> Result<Run<OvirtSpec>, Error> {
    backend::open_to_destroy(&Backend, workspace, infra_id, timeouts)
}

/// The engine, named as its URL names it, and the cluster in it.
fn scope_of(
    engine: &OvirtEngine,
    platform: &Platform,
    timeouts: Timeouts,
) -> Result<(Endpoint, Scope), Error> {
    let server = server_of(engine, timeouts);
    let endpoint = Endpoint::from(server.name());
    let client = Client::new(server).map_err(|error| refused(KindError::from(error)))?;
    Ok((endpoint, Scope::new(client, platform.cluster_id.clone())))
}

fn server_of(engine: &OvirtEngine, timeouts: Timeouts) -> Server {
    let trust = match (&engine.ca_bundle, engine.insecure) {
        (_, true) => Trust::Anything,
        (Some(pem), false) => Trust::Authorities(pem.clone()),
        (None, false) => Trust::System,
    };
    Server {
        url: engine.url.clone(),
        user: engine.login.user.clone(),
        password: engine.login.password.clone(),
        trust,
        proxy: Proxy::FromEnvironment,
        timeout: timeouts.call,
    }
}

impl ClusterSpec for OvirtSpec {
    type Provider = Ovirt;

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
