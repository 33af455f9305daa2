//! Clusters on vSphere: from the files in `cluster-api/` to resources on vCenters.
//!
//! | module | what it holds |
//! |---|---|
//! | `blueprint` | the machines, as the files say |
//! | `desired` | from there to resources of the engine |
//! | `privileges` | which privileges the steps need |

mod blueprint;
mod desired;
pub(crate) mod privileges;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use slipway_assets::ignition::{NETWORK_KARGS, static_addresses};
use slipway_assets::{Credentials, Login, Named};
use slipway_config::ids::InfraId;
use slipway_config::install_config::vsphere::{
    DiskType, FailureDomain, OsImage, Platform, VCenter, ZoneKind,
};
use slipway_config::install_config::{InstallConfig, Platform as AnyPlatform};
use slipway_config::inventory::{Branch, InventoryPath};
use slipway_engine::{Cause, Endpoint, FileJournal, Plan, Resource};
use slipway_providers::provider::Unreachable;
use slipway_providers::vsphere::kinds::{Action, Image, KindError, State, VSphere, Wanted, Zone};
use slipway_providers::vsphere::machines::Provisioning;
use slipway_providers::vsphere::{self, Client, Places};
use uuid::Uuid;

pub(crate) use self::blueprint::{Blueprint, Boot, Planned};
pub(crate) use self::desired::compute_cluster;
use super::{ClusterSpec, Lodging, Lodgings, NeededImage, PlannedMachine, image};
use crate::create::Request;
use crate::install::{Error, Homes, JOURNAL, Run, Target, Timeouts, refused};
use crate::store;
use crate::workspace::Workspace;

/// A cluster on vSphere as its files say.
#[derive(Debug)]
pub struct VSphereSpec {
    platform: Platform,
    infra_id: InfraId,
    blueprint: Blueprint,
    /// What templates are made from.
    image: Option<Arc<Image>>,
}

/// A cluster whose machines are to be made, or looked at: reads `cluster-api/` and the Ignition configurations as they
/// are on disk.
pub fn open(workspace: &mut Workspace<'_>, timeouts: Timeouts) -> Result<Run<VSphereSpec>, Error> {
    let Request { directory, environment, .. } = *workspace.request();
    let (credentials, warnings) = (workspace.credentials()?, workspace.warnings()?);
    let store = workspace.take_store()?;
    let journal = FileJournal::open(&store.own_file(JOURNAL))?;
    let state = store.state()?.ok_or_else(|| Error::NoFiles { directory: directory.to_owned() })?;
    workspace.check_cluster(&state)?;
    let named = Named { config: workspace.config().clone(), identity: state.identity };
    let blueprint = Blueprint::read(directory, &named, Boot::Needed)?;
    let Named { config, identity } = named;
    let target = target(config, credentials, identity.infra_id, journal, timeouts)?;
    let image = match &target.spec.platform.os_image {
        Some(os_image) => {
            let path = image::path(os_image, environment)?;
            Some(Arc::new(Image { path, provisioning: provisioning(target.spec.platform.disk_type) }))
        }
        None => None,
    };
    let spec = VSphereSpec { blueprint, image, ..target.spec };
    let bootstrapped = state.bootstrapped;
    Ok(Run::new(Target { spec, store: Some(store), warnings, bootstrapped, ..target }))
}

/// A cluster that is to go. Its directory may be lost: the install-config and its id are enough.
pub fn open_to_destroy(
    workspace: &mut Workspace<'_>,
    infra_id: Option<InfraId>,
    timeouts: Timeouts,
) -> Result<Run<VSphereSpec>, Error> {
    let Request { directory, .. } = *workspace.request();
    let (credentials, warnings) = (workspace.credentials()?, workspace.warnings()?);
    let config = workspace.config().clone();
    if let Some(infra_id) = infra_id {
        // The state may be damaged, and the journal whole: what it knows is missed if it is not seen.
        if store::own_path(directory, JOURNAL).exists() {
            let store = workspace.take_store()?;
            let journal = FileJournal::open(&store.own_file(JOURNAL))?;
            if journal.records().any(|(id, _)| id.name.contains(infra_id.as_str())) {
                let target = target(config, credentials, infra_id, journal, timeouts)?;
                return Ok(Run::new(Target { store: Some(store), warnings, ..target }));
            }
        }
        let path = directory.join(format!(".slipway-{infra_id}-{JOURNAL}"));
        let journal = FileJournal::open_alone(&path)?;
        let target = target(config, credentials, infra_id, journal, timeouts)?;
        return Ok(Run::new(Target { temporary_journal: Some(path), warnings, ..target }));
    }
    let store = workspace.take_store()?;
    let journal = FileJournal::open(&store.own_file(JOURNAL))?;
    let state = store.state()?.ok_or_else(|| Error::Unknown { directory: directory.to_owned() })?;
    workspace.check_cluster(&state)?;
    // What is on disk may be broken or gone: what is on the vCenters counts.
    let named = Named { config, identity: state.identity };
    let (blueprint, unread) = match Blueprint::read(directory, &named, Boot::NotNeeded) {
        Ok(blueprint) => (blueprint, None),
        Err(error) => (Blueprint::default(), Some(error)),
    };
    let Named { config, identity } = named;
    let target = target(config, credentials, identity.infra_id, journal, timeouts)?;
    let spec = VSphereSpec { blueprint, ..target.spec };
    Ok(Run::new(Target { spec, unread, store: Some(store), warnings, ..target }))
}

/// A cluster of which nothing is known but its id.
fn target(
    config: InstallConfig,
    credentials: Credentials,
    infra_id: InfraId,
    journal: FileJournal<State>,
    timeouts: Timeouts,
) -> Result<Target<VSphereSpec>, Error> {
    let platform_name = config.platform.name();
    let (AnyPlatform::VSphere(platform), Credentials::VSphere(logins)) = (config.platform, credentials)
    else {
        return Err(Error::Platform(platform_name));
    };
    let mut clients = Vec::new();
    for (vcenter, login) in platform.vcenters.iter().zip(logins) {
        clients.push((endpoint_of(vcenter), client(vcenter, login, timeouts.call)?));
    }
    let mut vsphere = VSphere::new(clients);
    vsphere.address_limit = timeouts.address;
    let spec =
        VSphereSpec { platform, infra_id: infra_id.clone(), blueprint: Blueprint::default(), image: None };
    Ok(Target {
        cluster: config.name.to_string(),
        infra_id,
        spec,
        unread: None,
        platform: vsphere,
        journal,
        temporary_journal: None,
        store: None,
        bootstrapped: false,
        warnings: Vec::new(),
    })
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
        let machine = |planned: &Planned| PlannedMachine {
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

    fn desired(&self, homes: &Homes) -> Vec<Resource<Wanted>> {
        desired::resources(&self.blueprint, homes, &self.infra_id, self.image.as_ref())
    }

    fn departing(&self, machine: &str, endpoint: &Endpoint, hold: Option<Cause>) -> Vec<Resource<Wanted>> {
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
                place.zones.insert(Zone {
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
    async fn lodgings(
        &self,
        platform: &VSphere,
        found: &BTreeMap<Uuid, Vec<Endpoint>>,
        silent: &mut Unreachable,
    ) -> Lodgings {
        let mut there: BTreeMap<&Endpoint, Vec<(Uuid, &str)>> = BTreeMap::new();
        for machine in &self.blueprint.machines {
            for endpoint in found.get(&machine.uuid).into_iter().flatten() {
                let cluster = compute_cluster(&machine.spec.resource_pool);
                there.entry(endpoint).or_default().push((machine.uuid, cluster));
            }
        }
        let mut lodgings = Lodgings::new();
        for (endpoint, machines) in there {
            match platform.lodgings(endpoint, &machines).await {
                Ok(found) => lodgings.extend(found.into_iter().map(|(uuid, lodging)| {
                    let vsphere::kinds::Lodging { path: place, as_planned } = lodging;
                    ((endpoint.clone(), uuid), Lodging { place, as_planned })
                })),
                Err(reason) => {
                    silent.insert(endpoint.clone(), reason);
                }
            }
        }
        lodgings
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
