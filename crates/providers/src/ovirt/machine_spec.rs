//! From a Machine's providerSpec to the machine that is wanted: pure, shared by whatever makes machines.

use std::fmt;

use secrecy::SecretString;
use slipway_api::provider_spec::OvirtProviderSpec;
use slipway_config::names::EngineObject;
use thiserror::Error;

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// The kind of system that lets the engine hand over Ignition instead of a configuration for cloud-init.
pub(crate) const IGNITION_OS: &str = "rhcos_x64";

/// A machine as it is to be made.
#[derive(Clone)]
pub struct MachineSpec {
    pub template: EngineObject,
    pub vm_type: String,
    pub size: Size,
    /// The size of the disk it boots from, in bytes.
    pub disk: u64,
    pub cards: Vec<Card>,
    pub groups: Vec<String>,
    pub auto_pinning: bool,
    /// In KiB.
    pub hugepages: Option<u32>,
    /// Its disks are copies of the template's rather than layers over them.
    pub clone: bool,
    pub sparse: Option<bool>,
    pub format: Option<String>,
    /// Where its disks are, if they are copies.
    pub storage_domain: Option<EngineObject>,
    /// The Ignition configuration; none where the machine is there or is to go.
    pub ignition: Option<SecretString>,
    /// For people: what it is.
    pub description: String,
}

/// How large a machine is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Size {
    InstanceType(String),
    Custom { sockets: u32, cores: u32, threads: u32, memory: u64 },
}

/// A network card: its vNIC profile, and the network that one is looked for in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Card {
    pub network: Option<String>,
    pub profile: EngineObject,
}

/// It holds the keys of the cluster.
impl fmt::Debug for MachineSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let MachineSpec { template, vm_type, size, disk, cards, groups, .. } = self;
        f.debug_struct("MachineSpec")
            .field("template", template)
            .field("vm_type", vm_type)
            .field("size", size)
            .field("disk", disk)
            .field("cards", cards)
            .field("groups", groups)
            .finish_non_exhaustive()
    }
}

/// A providerSpec that says nothing that can be made.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SpecError {
    #[error("`{field}` is `{value}`, which is no name and no id")]
    NotAnObject { field: &'static str, value: String },
    #[error("neither `instance_type_id` nor `cpu` and `memory_mb` say how large the machine is")]
    NoSize,
    #[error("`type` is `{0}`, and not desktop, server or high_performance")]
    Type(String),
}

/// Where a cluster's machines are, beside what their providerSpec says.
#[derive(Debug, Clone)]
pub struct Site {
    /// The network in which vNIC profiles are looked for by name.
    pub network: Option<String>,
    pub storage_domain: Option<EngineObject>,
}

impl MachineSpec {
    /// `ignition` is handed to the machine as it is: with a host name in it, the engine changes nothing.
    pub fn read(
        spec: &OvirtProviderSpec,
        site: &Site,
        ignition: Option<SecretString>,
        description: &str,
    ) -> Result<Self, SpecError> {
        let size = match (&spec.instance_type_id, &spec.cpu, spec.memory_mb) {
            (Some(id), None, None) => Size::InstanceType(id.clone()),
            (None, Some(cpu), Some(memory)) => Size::Custom {
                sockets: cpu.sockets,
                cores: cpu.cores,
                threads: cpu.threads,
                memory: u64::from(memory) * MIB,
            },
            _ => return Err(SpecError::NoSize),
        };
        if !matches!(&*spec.vm_type, "desktop" | "server" | "high_performance") {
            return Err(SpecError::Type(spec.vm_type.clone()));
        }
        let card = |interface: &slipway_api::provider_spec::OvirtNetworkInterface| {
            let profile = object("network_interfaces[].vnic_profile_id", &interface.vnic_profile_id)?;
            Ok(Card { network: site.network.clone(), profile })
        };
        let clone = spec.clone.unwrap_or(spec.vm_type != "desktop");
        Ok(MachineSpec {
            template: object("template_name", &spec.template_name)?,
            vm_type: spec.vm_type.clone(),
            size,
            disk: u64::from(spec.os_disk.size_gb) * GIB,
            cards: spec.network_interfaces.iter().map(card).collect::<Result<_, _>>()?,
            groups: spec.affinity_groups_names.clone(),
            auto_pinning: spec.auto_pinning_policy.as_deref() == Some("resize_and_pin"),
            hugepages: spec.hugepages,
            clone,
            sparse: spec.sparse,
            format: spec.format.clone(),
            storage_domain: site.storage_domain.clone().filter(|_| clone),
            ignition,
            description: description.to_owned(),
        })
    }
}

fn object(field: &'static str, value: &str) -> Result<EngineObject, SpecError> {
    value.parse().map_err(|_| SpecError::NotAnObject { field, value: value.to_owned() })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{MachineSpec, Site, Size, SpecError};

    fn read(change: impl Fn(&mut Value)) -> Result<MachineSpec, SpecError> {
        let mut spec = json!({
            "apiVersion": "ovirtproviderconfig.machine.openshift.io/v1beta1", "kind": "OvirtMachineProviderSpec",
            "userDataSecret": {"name": "u"}, "credentialsSecret": {"name": "c"}, "template_name": "rhcos",
            "cluster_id": "Default", "cpu": {"sockets": 1, "cores": 4, "threads": 2}, "memory_mb": 16384,
            "os_disk": {"size_gb": 120}, "type": "server", "network_interfaces": [{"vnic_profile_id": "ovirtmgmt"}],
        });
        change(&mut spec);
        let site = Site { network: Some("ovirtmgmt".to_owned()), storage_domain: "data1".parse().ok() };
        MachineSpec::read(&serde_json::from_value(spec).unwrap(), &site, None, "")
    }

    /// Threads are those that were asked for: openshift-install always wrote one.
    #[test]
    fn sizes_are_taken_as_they_are() {
        let spec = read(|_| {}).unwrap();
        assert_eq!(spec.size, Size::Custom { sockets: 1, cores: 4, threads: 2, memory: 16 << 30 });
        assert_eq!((spec.disk, spec.clone), (120 << 30, true));
        assert!(spec.storage_domain.is_some());
    }

    #[test]
    fn layers_stay_where_the_template_is() {
        let spec = read(|spec| spec["type"] = json!("desktop")).unwrap();
        assert!(!spec.clone && spec.storage_domain.is_none());
    }

    #[test]
    fn what_cannot_be_made_is_said() {
        let both = read(|spec| spec["instance_type_id"] = json!("x"));
        assert_eq!(both.unwrap_err(), SpecError::NoSize);
        assert!(matches!(read(|spec| spec["type"] = json!("huge")), Err(SpecError::Type(_))));
        assert!(matches!(read(|spec| spec["template_name"] = json!("")), Err(SpecError::NotAnObject { .. })));
    }
}
