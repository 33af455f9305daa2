//! Names on vSphere: what a failure domain's objects are called, by rule where the vCenter was not asked.

use slipway_api::DataDisk;
pub(crate) use slipway_config::ids::{REGION_CATEGORY, ZONE_CATEGORY};
use slipway_config::install_config::Platform as AnyPlatform;
use slipway_config::install_config::vsphere::{FailureDomain, Platform, VCenter, ZoneKind};
use slipway_config::inventory::{Branch, InventoryPath};

use crate::Named;

/// Longest name of an object in vSphere.
const MAX_NAME: usize = 80;

/// An extra disk, as every file writes it.
pub(crate) fn data_disk(disk: &slipway_config::install_config::vsphere::DataDisk) -> DataDisk {
    DataDisk {
        name: disk.name.clone(),
        size_gib: disk.size_gib,
        provisioning_mode: disk.provisioning_mode.map(|mode| mode.to_string()),
    }
}

/// A failure domain as machines see it.
#[derive(Debug, Clone)]
pub struct DomainSite<'a> {
    pub domain: &'a FailureDomain,
    pub vcenter: &'a VCenter,
    pub folder: InventoryPath,
    pub resource_pool: InventoryPath,
    /// Name or path of the template machines are cloned from.
    pub template: String,
    /// Where the cluster's own group of machines is bound to hosts.
    pub vm_group: Option<String>,
}

impl DomainSite<'_> {
    /// The inventory paths of its networks: a network hangs below the compute cluster that reaches it.
    pub fn network_paths(&self) -> Vec<String> {
        let Some(cluster) = &self.domain.topology.compute_cluster else { return Vec::new() };
        let path = |network: &String| {
            if network.starts_with('/') { network.clone() } else { cluster.join(network).to_string() }
        };
        self.domain.topology.networks.iter().map(path).collect()
    }
}

impl Named {
    /// A failure domain by its position. `None` where machines cannot be made: its compute cluster is the
    /// user's business.
    pub fn site<'a>(&self, platform: &'a Platform, position: usize) -> Option<DomainSite<'a>> {
        let domain = platform.failure_domains.get(position)?;
        let topology = &domain.topology;
        if topology.networks.is_empty() {
            return None;
        }
        Some(DomainSite {
            domain,
            vcenter: platform.vcenters.get(domain.vcenter)?,
            folder: self.folder(domain),
            resource_pool: topology.resource_pool.clone()?,
            template: topology.template.clone().unwrap_or_else(|| self.template_name(domain)),
            vm_group: match &domain.zone_kind {
                ZoneKind::HostGroup(_) => Some(format!("{}-{}", self.identity.infra_id, domain.name)),
                ZoneKind::ComputeCluster => None,
            },
        })
    }

    /// The folder of the cluster's machines: the user's, or one named after the infrastructure.
    pub(crate) fn folder(&self, domain: &FailureDomain) -> InventoryPath {
        let own =
            || InventoryPath::of(&domain.topology.datacenter, Branch::Vm, self.identity.infra_id.as_str());
        domain.topology.folder.clone().unwrap_or_else(own)
    }

    /// The name an imported template gets: after region and zone, or after the failure domain where that is too
    /// long, holds characters vSphere stores differently, or is the name of two.
    pub fn template_name(&self, domain: &FailureDomain) -> String {
        let infra_id = &self.identity.infra_id;
        let place = |domain: &FailureDomain| format!("{}-{}", domain.region, domain.zone);
        let shared = |other: &FailureDomain| {
            other.name != domain.name && other.vcenter == domain.vcenter && place(other) == place(domain)
        };
        let name = format!("{infra_id}-rhcos-{}", place(domain));
        let others = match &self.config.platform {
            AnyPlatform::VSphere(platform) => platform.failure_domains.as_slice(),
            _ => &[],
        };
        if name.chars().count() <= MAX_NAME && !name.contains(['/', '\\', '%']) && !others.iter().any(shared)
        {
            return name;
        }
        format!("{infra_id}-rhcos-{}", domain.name)
    }

    /// Whether Slipway makes the machines, rather than the user.
    pub fn makes_machines(&self) -> bool {
        match &self.config.platform {
            AnyPlatform::VSphere(platform) => {
                (0..platform.failure_domains.len()).all(|position| self.site(platform, position).is_some())
            }
            AnyPlatform::Ovirt(_) | AnyPlatform::KubeVirt(_) => true,
            AnyPlatform::None => false,
        }
    }
}
