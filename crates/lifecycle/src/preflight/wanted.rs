//! What the vCenters must have, and what will be made there. Computed from the configuration alone.

use std::net::IpAddr;

use slipway_assets::names::{self, Role};
use slipway_assets::{Cluster, Credentials, Identity, Pki};
use slipway_config::ids::InfraId;
use slipway_config::install_config::vsphere::{
    DiskType, FailureDomain, Machine as Size, Platform as VSphere, RegionKind, ZoneKind,
};
use slipway_config::install_config::{InstallConfig, LoadBalancer, Payload, Platform};
use slipway_config::net::Cidr;
use uuid::Uuid;

use crate::cluster::endpoint_of;

/// What one vCenter must have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// The vCenter, as the plan names it.
    pub endpoint: String,
    /// Whether there is more than one failure domain, on any vCenter: then tags say where a machine is.
    pub zoned: bool,
    /// What names begin with, once it is drawn; before that nothing can have them.
    pub infra_id: Option<InfraId>,
    /// Whether disks take all of their space at once.
    pub thick: bool,
    /// The release as images count it, such as 418; none where nobody said.
    pub stream: Option<u32>,
    pub sites: Vec<Site>,
}

/// What one failure domain must have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site {
    pub name: String,
    pub region: String,
    pub region_kind: RegionKind,
    pub zone: String,
    pub zone_kind: ZoneKind,
    /// Inventory paths, as vCenter stores names.
    pub datacenter: String,
    pub cluster: Option<String>,
    pub pool: Option<String>,
    pub datastore: String,
    /// Empty where the user makes the machines.
    pub folder: String,
    /// Whether the folder is named after the infrastructure, and not by the user.
    pub own_folder: bool,
    /// Names or paths, as written.
    pub networks: Vec<String>,
    pub template: Template,
    pub tag_ids: Vec<String>,
    /// The group of machines that is bound to a group of hosts.
    pub vm_group: Option<String>,
    /// Empty where the user makes the machines.
    pub machines: Vec<Machine>,
}

/// What machines are cloned from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Template {
    /// The user's, by name or path.
    Given(String),
    /// Made by us: its path and its mark.
    Imported { path: String, mark: Uuid },
    /// The user makes the machines, or nothing is given to make them from.
    None,
}

/// A machine that will be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    /// Compute machines are named by whoever makes them.
    pub name: Option<String>,
    /// By which it is known to be ours.
    pub mark: Option<Uuid>,
    pub control_plane: bool,
    pub cpus: u32,
    pub memory_mib: u64,
    pub os_disk_gib: u64,
    /// All disks together.
    pub disks_gib: u64,
}

impl Wanted {
    /// What the configuration wants of its `position`th vCenter.
    pub fn of(config: &InstallConfig, identity: Option<&Identity>, position: usize) -> Option<Self> {
        let Platform::VSphere(platform) = &config.platform else { return None };
        let cluster = Cluster {
            config: config.clone(),
            identity: identity.cloned().unwrap_or_else(|| undrawn(config)),
            pki: Pki::unmade(),
            credentials: Credentials::None,
        };
        let domains = platform.failure_domains.iter().enumerate();
        let sites = domains.filter(|(_, domain)| domain.vcenter == position);
        Some(Wanted {
            endpoint: endpoint_of(platform.vcenters.get(position)?).to_string(),
            zoned: platform.failure_domains.len() > 1,
            infra_id: identity.map(|identity| identity.infra_id.clone()),
            thick: matches!(platform.disk_type, Some(DiskType::Thick | DiskType::EagerZeroedThick)),
            stream: stream(&config.payload),
            sites: sites.map(|(index, domain)| site(&cluster, platform, index, domain)).collect(),
        })
    }

    /// The control-plane machines and the bootstrap machine that have names, and in which site.
    pub(super) fn named_machines(&self) -> impl Iterator<Item = (&Site, &Machine, &str)> {
        let machines = self.sites.iter().flat_map(|site| site.machines.iter().map(move |m| (site, m)));
        machines.filter_map(|(site, machine)| Some((site, machine, machine.name.as_deref()?)))
    }
}

/// Stands in for what `create manifests` will draw: of the same length, and of no use to anybody.
pub(super) fn undrawn(config: &InstallConfig) -> Identity {
    Identity {
        infra_id: InfraId::new(&config.name, |_| 0),
        cluster_id: Uuid::nil(),
        created: jiff::Timestamp::UNIX_EPOCH,
        kubeadmin_password: "".into(),
        kubeadmin_hash: "".into(),
    }
}

fn site(cluster: &Cluster, platform: &VSphere, position: usize, domain: &FailureDomain) -> Site {
    let topology = &domain.topology;
    let made = cluster.site(platform, position);
    let folder = made.as_ref().map_or_else(String::new, |made| made.folder.to_string());
    let template = match (&topology.template, &made) {
        (Some(given), _) => Template::Given(given.clone()),
        (None, Some(made)) if platform.os_image.is_some() => Template::Imported {
            path: format!("{folder}/{}", made.template),
            mark: cluster.identity.template_id(&made.template),
        },
        (None, _) => Template::None,
    };
    Site {
        name: domain.name.to_string(),
        region: domain.region.clone(),
        region_kind: domain.region_kind,
        zone: domain.zone.clone(),
        zone_kind: domain.zone_kind.clone(),
        datacenter: format!("/{}", topology.datacenter.trim_matches('/')),
        cluster: topology.compute_cluster.as_ref().map(ToString::to_string),
        pool: topology.resource_pool.as_ref().map(ToString::to_string),
        datastore: topology.datastore.to_string(),
        folder,
        own_folder: topology.folder.is_none(),
        networks: topology.networks.clone(),
        template,
        tag_ids: topology.tag_ids.iter().map(ToString::to_string).collect(),
        vm_group: made.as_ref().and_then(|made| made.vm_group.clone()),
        machines: if made.is_some() { machines(cluster, platform, position) } else { Vec::new() },
    }
}

fn machines(cluster: &Cluster, platform: &VSphere, position: usize) -> Vec<Machine> {
    let placement = cluster.config.placement();
    let machine = |size: &Size, name: Option<String>, data_disks: bool| {
        let extra = size.data_disks.iter().filter(|_| data_disks).map(|disk| u64::from(disk.size_gib));
        Machine {
            mark: name.as_deref().map(|name| cluster.identity.object_id(name)),
            control_plane: name.is_some() && data_disks,
            name,
            cpus: size.cpus,
            memory_mib: size.memory_mib.into(),
            os_disk_gib: size.os_disk_gib.into(),
            disks_gib: u64::from(size.os_disk_gib) + extra.sum::<u64>(),
        }
    };
    let sizes = &platform.machines;
    // The bootstrap machine is one of the control plane without its extra disks.
    let bootstrap = (placement.bootstrap == position)
        .then(|| machine(&sizes.control_plane, Some(cluster.bootstrap_name()), false));
    let masters = placement.control_plane.iter().enumerate().filter(|(_, place)| **place == position);
    let masters = masters.map(|(index, _)| {
        machine(&sizes.control_plane, Some(cluster.machine_name(Role::Master, index)), true)
    });
    let compute = placement.compute.iter().filter(|set| set.failure_domain == position);
    let compute = compute.flat_map(|set| (0..set.replicas).map(|_| machine(&sizes.compute, None, true)));
    bootstrap.into_iter().chain(masters).chain(compute).collect()
}

/// `4.18.3-x86_64` is 418: how images of the operating system count releases.
fn stream(payload: &Payload) -> Option<u32> {
    let Payload::OpenShift { release_image: Some(image), .. } = payload else { return None };
    let (name, tag) = image.as_str().rsplit_once(':')?;
    if name.contains('@') {
        return None;
    }
    let mut numbers = tag.split(['.', '-']);
    let major: u32 = numbers.next()?.parse().ok()?;
    let minor: u32 = numbers.next()?.parse().ok()?;
    Some(major * 100 + minor)
}

/// What the network around the vCenters must be like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantedNetwork {
    /// `<cluster>.<base domain>`.
    pub domain: String,
    pub api: Vec<IpAddr>,
    pub ingress: Vec<IpAddr>,
    /// Whether the addresses are ours to answer on, rather than those of the user's load balancer.
    pub managed: bool,
    pub machine_networks: Vec<Cidr>,
    /// Whether the cluster is reached through DNS and load balancers that somebody set up.
    pub by_name: bool,
    /// Whether machines of the cluster run already.
    pub begun: bool,
}

impl WantedNetwork {
    pub fn of(config: &InstallConfig) -> Self {
        let vips = names::vips(config);
        WantedNetwork {
            domain: config.cluster_domain(),
            // How the API of a cluster on KubeVirt's own network is reached is for that platform to say.
            by_name: vips.is_empty() && !matches!(config.platform, Platform::KubeVirt(_)),
            api: vips.api,
            ingress: vips.ingress,
            managed: names::load_balancer(config) == LoadBalancer::OpenShiftManagedDefault,
            machine_networks: config.networking.machine.clone(),
            begun: false,
        }
    }
}
