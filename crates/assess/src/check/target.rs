//! What is checked: vCenters, how to log in to them, and what the cluster uses there.

use std::collections::BTreeSet;

use slipway_config::install_config::vsphere::{RegionKind, ZoneKind};
use slipway_config::install_config::{InstallConfig, Platform};
use slipway_providers::vsphere::{Login, Trust};

/// A cluster's vCenters and failure domains, from wherever they are known.
#[derive(Debug, Clone, Default)]
pub struct CheckTarget {
    /// The cluster's name, or its infrastructure id.
    pub name: String,
    pub vcenters: Vec<VCenter>,
    pub domains: Vec<Domain>,
    /// What the configurations of the cluster say; they should agree.
    pub declared: Vec<Declared>,
    /// The id the storage driver has on all vCenters.
    pub cluster_id: Option<String>,
    /// Volumes that the driver may attach to one node, where the administrator chose another number than its default.
    pub volumes_per_node: Option<u32>,
}

/// A vCenter.
#[derive(Debug, Clone)]
pub struct VCenter {
    pub server: String,
    pub port: u16,
    pub trust: Trust,
    pub login: Result<Login, NoLogin>,
    /// Objects the user must be able to reach, by their paths.
    pub resources: Vec<String>,
}

/// Why there is no login to a vCenter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoLogin {
    /// There is no user, or no password.
    Missing(String),
    /// It was tried a moment ago; each further attempt counts towards locking the account.
    Refused(String),
}

/// A failure domain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Domain {
    pub name: String,
    pub server: String,
    pub region: String,
    pub region_kind: RegionKind,
    pub zone: String,
    pub zone_kind: Zone,
    /// Paths, as vCenter stores names.
    pub datacenter: String,
    pub cluster: Option<String>,
    pub datastore: String,
    pub pool: Option<String>,
    pub folder: Option<String>,
    /// Names or paths.
    pub networks: Vec<String>,
}

/// What a zone is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Zone {
    Cluster,
    /// Some hosts of a cluster; the group of machines and the rule that binds it, where they are known.
    HostGroup {
        hosts: String,
        machines: Option<String>,
        rule: Option<String>,
    },
}

/// What one configuration says about vCenters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declared {
    /// What people call it.
    pub by: Source,
    pub vcenters: Vec<(String, Vec<String>)>,
}

/// A configuration that names vCenters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    Infrastructure,
    CloudConfig,
    StorageConfig,
}

impl Source {
    pub fn name(self) -> &'static str {
        match self {
            Source::Infrastructure => "Infrastructure `cluster`",
            Source::CloudConfig => "the cloud provider's configuration",
            Source::StorageConfig => "the storage driver's configuration",
        }
    }
}

impl CheckTarget {
    /// What an install-config says; nothing for other platforms than vSphere.
    pub fn of_config(config: &InstallConfig, cluster_id: Option<String>, logins: &[Login]) -> Option<Self> {
        let Platform::VSphere(platform) = &config.platform else { return None };
        let vcenters: Vec<VCenter> = platform
            .vcenters
            .iter()
            .enumerate()
            .map(|(position, vcenter)| VCenter {
                server: vcenter.server.to_string(),
                port: vcenter.port.get(),
                trust: Trust::of(&vcenter.tls),
                login: logins
                    .get(position)
                    .cloned()
                    .ok_or_else(|| NoLogin::Missing("no user and password".to_owned())),
                resources: Vec::new(),
            })
            .collect();
        let domains = platform.failure_domains.iter().filter_map(|domain| {
            let topology = &domain.topology;
            let text = |path: &Option<slipway_config::inventory::InventoryPath>| {
                path.as_ref().map(ToString::to_string)
            };
            Some(Domain {
                name: domain.name.to_string(),
                server: vcenters.get(domain.vcenter)?.server.clone(),
                region: domain.region.clone(),
                region_kind: domain.region_kind,
                zone: domain.zone.clone(),
                zone_kind: match &domain.zone_kind {
                    ZoneKind::ComputeCluster => Zone::Cluster,
                    ZoneKind::HostGroup(hosts) => {
                        Zone::HostGroup { hosts: hosts.clone(), machines: None, rule: None }
                    }
                },
                datacenter: absolute(&topology.datacenter),
                cluster: text(&topology.compute_cluster),
                datastore: topology.datastore.to_string(),
                pool: text(&topology.resource_pool),
                folder: text(&topology.folder),
                networks: topology.networks.clone(),
            })
        });
        let domains = domains.collect();
        Some(CheckTarget {
            name: config.name.to_string(),
            vcenters,
            domains,
            declared: Vec::new(),
            cluster_id,
            volumes_per_node: None,
        })
    }

    pub(super) fn domains_on<'a>(&'a self, server: &'a str) -> impl Iterator<Item = &'a Domain> {
        self.domains.iter().filter(move |domain| domain.server == server)
    }

    /// Whether machines have a region and a zone: with one failure domain they need none.
    pub(super) fn is_zoned(&self) -> bool {
        self.domains.len() > 1
    }

    /// Where a node with this region and zone must live, if that is certain.
    pub(super) fn server_of(&self, region: Option<&str>, zone: Option<&str>) -> Option<&str> {
        let (region, zone) = (region?, zone?);
        let of = self.domains.iter().filter(|domain| domain.region == region && domain.zone == zone);
        let servers: BTreeSet<&str> = of.map(|domain| domain.server.as_str()).collect();
        if servers.len() == 1 { servers.first().copied() } else { None }
    }
}

/// A datacenter's path: people write its name.
pub(super) fn absolute(name: &str) -> String {
    format!("/{}", name.trim_matches('/'))
}
