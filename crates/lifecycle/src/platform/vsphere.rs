//! Clusters on vSphere: from the files in `cluster-api/` to resources on vCenters.
//!
//! | module | what it holds |
//! |---|---|
//! | `blueprint` | the machines, as the files say |
//! | `desired` | from there to resources of the engine |
//! | [`preflight`] | what the preflight judges vCenters by |
//! | `privileges` | which privileges the steps need |
//! | [`survey`] | what the survey asks vCenters |

mod blueprint;
mod desired;
pub mod preflight;
pub(crate) mod privileges;
pub mod survey;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use slipway_assess::check::target::CheckTarget;
use slipway_assess::preflight::inspect::Inspection;
use slipway_assets::ignition::{NETWORK_KARGS, static_addresses};
use slipway_assets::{Credentials, Login, Named};
use slipway_config::ids::InfraId;
use slipway_config::install_config::vsphere::{
    DiskType, FailureDomain, OsImage, Platform, VCenter, ZoneKind,
};
use slipway_config::install_config::{InstallConfig, Platform as AnyPlatform};
use slipway_config::inventory::{Branch, InventoryPath};
use slipway_engine::{Cause, Endpoint, Plan, Resource};
use slipway_providers::provider::Unreachable;
use slipway_providers::vsphere::kinds::{Action, Desired, Image, KindError, VSphere, VmGroup};
use slipway_providers::vsphere::machines::Provisioning;
use slipway_providers::vsphere::{self, Client, Places};
use uuid::Uuid;

pub(crate) use self::blueprint::{Blueprint, BlueprintMachine};
pub(crate) use self::desired::compute_cluster;
use self::preflight::Expectations;
use super::backend::{self, Files, MachineFiles};
use super::{Boot, ClusterSpec, MachinePlacement, MachinePlacements, NeededImage, PlannedMachine, image};
use crate::create;
use crate::install::{Error, MachineLocations, Run, Timeouts, refused};
use crate::workspace::Workspace;

/// Where the files of a cluster's machines are, and of what they stand on.
const FOLDER: &str = "cluster-api";
const MACHINES: &str = MachineFiles::CLUSTER_API.folder;

/// A cluster on vSphere as its files say.
#[derive(Debug)]
pub struct VSphereSpec {
    platform: Platform,
    infra_id: InfraId,
    blueprint: Blueprint,
    /// What templates are made from.
    image: Option<Arc<Image>>,
}

/// vSphere, as it is registered.
pub(super) struct Backend;

impl backend::Backend for Backend {
    type Spec = VSphereSpec;

    fn connect(
        &self,
        config: InstallConfig,
        credentials: Credentials,
        infra_id: &InfraId,
        timeouts: Timeouts,
    ) -> Result<(VSphereSpec, VSphere), Error> {
        let name = config.platform.name();
        let (AnyPlatform::VSphere(platform), Credentials::VSphere(logins)) = (config.platform, credentials)
        else {
            return Err(Error::Platform(name));
        };
        let mut clients = Vec::new();
        for (vcenter, login) in platform.vcenters.iter().zip(logins) {
            clients.push((endpoint_of(vcenter), client(vcenter, login, timeouts.call)?));
        }
        let mut vsphere = VSphere::new(clients);
        vsphere.address_limit = timeouts.address;
        let infra_id = infra_id.clone();
        Ok((VSphereSpec { platform, infra_id, blueprint: Blueprint::default(), image: None }, vsphere))
    }

    fn read(&self, spec: &mut VSphereSpec, files: &Files<'_>) -> Result<(), Error> {
        let Files { directory, named, environment, boot } = *files;
        spec.blueprint = Blueprint::read(directory, named, boot)?;
        if let (Some(os_image), Boot::Needed) = (&spec.platform.os_image, boot) {
            let path = image::path(os_image, environment)?;
            let provisioning = provisioning(spec.platform.disk_type);
            spec.image = Some(Arc::new(Image { path, provisioning }));
        }
        Ok(())
    }

    fn inspection(
        &self,
        workspace: &mut Workspace<'_>,
        named: &Named,
    ) -> Result<Option<Arc<dyn Inspection>>, create::Error> {
        let expectations = Expectations::new(workspace.text().into(), named.clone());
        let expectations = expectations.with_files(workspace.request().directory);
        Ok(Some(expectations.inspection(preflight::logins(&workspace.credentials()?))))
    }

    fn check_subject(
        &self,
        workspace: &mut Workspace<'_>,
        named: &Named,
    ) -> Result<Option<CheckTarget>, create::Error> {
        Ok(preflight::check_subject(named, &workspace.credentials()?))
    }

    fn machine_files(&self) -> MachineFiles {
        MachineFiles::CLUSTER_API
    }
}

/// A cluster whose machines are to be made, or looked at: reads `cluster-api/` and the Ignition configurations as they
/// are on disk.
pub fn open(workspace: &mut Workspace<'_>, timeouts: Timeouts) -> Result<Run<VSphereSpec>, Error> {
    backend::open(&Backend, workspace, timeouts)
}

/// A cluster that is to go. Its directory may be lost: the install-config and its id are enough.
pub fn open_to_destroy(
    workspace: &mut Workspace<'_>,
    infra_id: Option<InfraId>,
    timeouts: Timeouts,
) -> Result<Run<VSphereSpec>, Error> {
    backend::open_to_destroy(&Backend, workspace, infra_id, timeouts)
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
    Client::new(endpoint, login).map_err(|error| refused(KindError::from(error)))
}

fn provisioning(disk_type: Option<DiskType>) -> Provisioning {
    match disk_type {
        Some(DiskType::Thick) => Provisioning::Thick,
        Some(DiskType::EagerZeroedThick) => Provisioning::EagerlyZeroed,
        Some(DiskType::Thin) | None => Provisioning::Thin,
    }
}

impl ClusterSpec for VSphereSpec {
    type Provider = VSphere;

    fn machines(&self) -> Vec<PlannedMachine> {
        let machine = |planned: &BlueprintMachine| PlannedMachine {
            name: planned.name.clone(),
            endpoint: planned.endpoint.clone(),
            uuid: planned.uuid,
            is_bootstrap: planned.is_bootstrap,
            place: compute_cluster(&planned.spec.resource_pool).to_owned(),
            addresses: planned
                .spec
                .custom_vmx_keys
                .get(NETWORK_KARGS)
                .map_or_else(Vec::new, |arguments| static_addresses(arguments)),
        };
        self.blueprint.machines.iter().map(machine).collect()
    }

    fn leave_out_bootstrap(&mut self) {
        self.blueprint.machines.retain(|machine| !machine.is_bootstrap);
    }

    fn desired(&self, locations: &MachineLocations) -> Vec<Resource<Desired>> {
        desired::resources(&self.blueprint, locations, &self.infra_id, self.image.as_ref())
    }

    fn departing(&self, machine: &str, endpoint: &Endpoint, hold: Option<Cause>) -> Vec<Resource<Desired>> {
        match self.blueprint.machines.iter().find(|planned| planned.name == machine) {
            Some(planned) => desired::going(planned, endpoint, hold).into(),
            None => Vec::new(),
        }
    }

    fn places(&self) -> BTreeMap<Endpoint, Places> {
        let Platform { vcenters, failure_domains, .. } = &self.platform;
        let mut places: BTreeMap<Endpoint, Places> =
            vcenters.iter().map(|vcenter| (endpoint_of(vcenter), Places::default())).collect();
        for domain in failure_domains {
            let Some(vcenter) = vcenters.get(domain.vcenter) else { continue };
            let Some(place) = places.get_mut(&endpoint_of(vcenter)) else { continue };
            let FailureDomain { name, topology, zone_kind, .. } = domain;
            let own = InventoryPath::of(&topology.datacenter, Branch::Vm, self.infra_id.as_str());
            place.folders.insert(topology.folder.as_ref().unwrap_or(&own).to_string());
            let Some(cluster) = &topology.compute_cluster else { continue };
            place.compute_clusters.insert(cluster.to_string());
            if let ZoneKind::HostGroup(hosts) = zone_kind {
                place.zones.insert(VmGroup {
                    name: format!("{}-{name}", self.infra_id),
                    compute_cluster: cluster.to_string(),
                    host_group: hosts.clone(),
                });
            }
        }
        for machine in &self.blueprint.machines {
            if let Some(place) = places.get_mut(&machine.endpoint) {
                place.folders.insert(machine.spec.folder.clone());
                place.compute_clusters.insert(compute_cluster(&machine.spec.resource_pool).to_owned());
            }
        }
        places
    }

    /// The compute clusters that machines are in.
    async fn placements(
        &self,
        platform: &VSphere,
        found: &BTreeMap<Uuid, Vec<Endpoint>>,
        silent: &mut Unreachable,
    ) -> MachinePlacements {
        let mut there: BTreeMap<&Endpoint, Vec<(Uuid, &str)>> = BTreeMap::new();
        for machine in &self.blueprint.machines {
            for endpoint in found.get(&machine.uuid).into_iter().flatten() {
                let cluster = compute_cluster(&machine.spec.resource_pool);
                there.entry(endpoint).or_default().push((machine.uuid, cluster));
            }
        }
        let mut placements = MachinePlacements::new();
        for (endpoint, machines) in there {
            match platform.placements(endpoint, &machines).await {
                Ok(found) => placements.extend(found.into_iter().map(|(uuid, lodging)| {
                    let vsphere::kinds::MachinePlacement { path: place, as_planned } = lodging;
                    ((endpoint.clone(), uuid), MachinePlacement { place, as_planned })
                })),
                Err(reason) => {
                    silent.insert(endpoint.clone(), reason);
                }
            }
        }
        placements
    }

    fn needed_image(&self, plan: &Plan<Action>) -> Option<NeededImage<'_>> {
        let imports = plan.steps.iter().any(|planned| planned.step.action == Action::Import);
        let image = self.image.as_ref().filter(|_| imports)?;
        let OsImage { url, .. } = self.platform.os_image.as_ref()?;
        Some(NeededImage { url, cached: image.path.exists() })
    }

    async fn fetch_image(&self) -> Result<(), Error> {
        match (&self.platform.os_image, &self.image) {
            (Some(os_image), Some(image)) => Ok(image::ensure(os_image, &image.path).await?),
            _ => Ok(()),
        }
    }
}
