//! `platform.kubevirt`: tenant clusters on a KubeVirt infrastructure cluster.

use std::net::IpAddr;

use super::pool::WrittenPools;
use super::vips::{self, Addresses, Demand, LoadBalancer, VipFields, Vips};
use super::{Check, Networking, Pools};
use crate::decode::{Field, Located, choice, object};
use crate::findings::Rule;
use crate::names::ObjectName;
use crate::private_url::PrivateUrl;
use crate::quantity::Quantity;

object! {
    /// A cluster whose machines are virtual machines of another cluster. Access to that one is by the
    /// current context of your kubeconfig.
    WrittenPlatform {
        /// The namespace of the infrastructure cluster that holds everything.
        namespace: ObjectName as "namespace", required;
        /// URL of the operating system's disk image (qcow2 or raw, also compressed), which the infrastructure cluster
        /// imports. Machines need it.
        cluster_os_image: String as "clusterOSImage";
        /// The network attachment machines are on, in that namespace. Absent means the pod network.
        network_name: ObjectName as "networkName";
        /// Virtual IP of the API. Only with `networkName`.
        api_vip: IpAddr as "apiVIP";
        /// Virtual IP of the ingress. Only with `networkName`.
        ingress_vip: IpAddr as "ingressVIP";
        /// The storage class of the machines' disks.
        storage_class: ObjectName as "storageClass", default "the infrastructure cluster's default";
        /// How the machines' disks are accessed; live migration needs ReadWriteMany.
        access_mode: AccessMode as "persistentVolumeAccessMode", default "ReadWriteMany";
        /// How machines are attached to `networkName`.
        interface_binding: InterfaceBinding as "interfaceBindingMethod", default "Bridge";
        /// What machines look like unless their pool says otherwise.
        default_machine: WrittenPool as "defaultMachinePlatform";
    }
}

object! {
    /// What machines look like on KubeVirt.
    WrittenPool {
        /// Virtual processors.
        cpu: u32 as "cpu", default "4";
        /// Memory.
        memory: Quantity as "memory", default "16G";
        /// Size of the disk the system is on.
        storage_size: Quantity as "storageSize", default "120Gi";
    }
}

choice! {
    /// How a volume is accessed.
    AccessMode {
        /// By machines on several nodes at once.
        ReadWriteMany = "ReadWriteMany",
        /// By machines on one node.
        ReadWriteOnce = "ReadWriteOnce",
        /// For reading only.
        ReadOnlyMany = "ReadOnlyMany",
    }
}

choice! {
    /// How a machine is attached to a network.
    InterfaceBinding {
        /// Through a bridge.
        Bridge = "Bridge",
        /// By a virtual function of a network card.
        Sriov = "SRIOV",
    }
}

/// A cluster on KubeVirt.
#[derive(Debug, Clone)]
pub struct Platform {
    pub namespace: ObjectName,
    /// Where the infrastructure cluster gets the image from.
    pub os_image: Option<PrivateUrl>,
    pub network: Network,
    pub storage_class: Option<ObjectName>,
    pub access_mode: AccessMode,
    pub machines: Pools<Machine>,
}

/// The network machines are on.
#[derive(Debug, Clone)]
pub enum Network {
    /// The pod network of the infrastructure cluster; its services stand for virtual IPs.
    Pods,
    /// A network attachment of its own.
    Attachment { name: ObjectName, binding: InterfaceBinding, vips: Vips },
}

/// What a machine looks like on KubeVirt.
#[derive(Debug, Clone)]
pub struct Machine {
    pub cpu: u32,
    pub memory: Quantity,
    pub storage_size: Quantity,
}

pub(super) fn resolve(
    platform: &Located<WrittenPlatform>,
    networking: Option<&Networking>,
    pools: &WrittenPools<'_>,
    check: &mut Check<'_>,
) -> Option<Platform> {
    let written = &platform.value;
    let network = network(platform, networking, check);
    let os_image = os_image(&written.cluster_os_image, check);
    if written.access_mode.get() == Some(&AccessMode::ReadOnlyMany)
        && let Some(at) = written.access_mode.at()
    {
        check
            .findings
            .error(Rule::AccessMode, at, "machines cannot boot from a read-only disk")
            .hint("write ReadWriteMany, or ReadWriteOnce where live migration is not needed");
    }
    if let Some(namespace) =
        written.namespace.located().filter(|namespace| namespace.value.as_str().contains('.'))
    {
        check
            .findings
            .error(
                Rule::DnsName,
                namespace.at,
                format!("`{}` contains a dot, which namespaces cannot", namespace.value),
            )
            .hint("write the name of the namespace only");
    }
    let parts = pools.platform(|platform| &platform.kubevirt);
    let default = written.default_machine.located();
    for layer in default.into_iter().chain(parts.control_plane).chain(parts.compute) {
        plausible(&layer.value.memory, check);
        plausible(&layer.value.storage_size, check);
    }
    let control_plane = machine(default, parts.control_plane);
    let compute = machine(default, parts.compute);
    let broken = written.storage_class.is_invalid()
        || written.access_mode.is_invalid()
        || written.default_machine.is_invalid();
    if broken {
        return None;
    }
    Some(Platform {
        namespace: written.namespace.get()?.clone(),
        os_image: os_image?,
        network: network?,
        storage_class: written.storage_class.get().cloned(),
        access_mode: written.access_mode.cloned_or(AccessMode::ReadWriteMany),
        machines: Pools { control_plane: control_plane?, compute: compute? },
    })
}

fn network(
    platform: &Located<WrittenPlatform>,
    networking: Option<&Networking>,
    check: &mut Check<'_>,
) -> Option<Network> {
    let WrittenPlatform { network_name, api_vip, ingress_vip, interface_binding, .. } = &platform.value;
    let name = match network_name {
        Field::Invalid(_) => return None,
        Field::Absent => {
            let only = [
                ("apiVIP", api_vip.at()),
                ("ingressVIP", ingress_vip.at()),
                ("interfaceBindingMethod", interface_binding.at()),
            ];
            for (key, at) in only.into_iter().filter_map(|(key, at)| Some((key, at?))) {
                check
                    .findings
                    .error(Rule::PodNetwork, at, format!("`{key}` has no meaning on the pod network"))
                    .hint("add `networkName`, or remove the field: services take the place of virtual IPs");
            }
            return Some(Network::Pods);
        }
        Field::Set(name) => &name.value,
    };
    let vips = vips::resolve(
        &VipFields {
            platform: platform.at,
            api_key: "apiVIP",
            api: Addresses::one(api_vip),
            ingress_key: "ingressVIP",
            ingress: Addresses::one(ingress_vip),
            load_balancer: Some(LoadBalancer::OpenShiftManagedDefault),
            demand: Demand::Required,
            networking,
        },
        check,
    );
    if interface_binding.is_invalid() {
        return None;
    }
    let binding = interface_binding.cloned_or(InterfaceBinding::Bridge);
    Some(Network::Attachment { name: name.clone(), binding, vips: vips? })
}

/// The infrastructure cluster fetches it, and keeps the URL where every reader of the namespace sees it.
#[expect(clippy::option_option, reason = "absent and unusable are different things")]
fn os_image(field: &Field<String>, check: &mut Check<'_>) -> Option<Option<PrivateUrl>> {
    let image = match field {
        Field::Absent => return Some(None),
        Field::Invalid(_) => return None,
        Field::Set(image) => image,
    };
    let host = image.value.strip_prefix("http://").or_else(|| image.value.strip_prefix("https://"));
    if host.is_none_or(|rest| rest.is_empty() || rest.starts_with('/')) {
        check
            .findings
            .error(Rule::OsImage, image.at, "not an http or https URL")
            .hint("write https://server/path/image.qcow2");
        return None;
    }
    let url = PrivateUrl::from(image.value.as_str());
    if url.has_login_or_signature() {
        check
            .findings
            .error(
                Rule::OsImage,
                image.at,
                "a login in this URL could be read by every user of the namespace",
            )
            .hint("write a URL without user, password or signature");
        return None;
    }
    if image.value.starts_with("http://") {
        let message = "a man in the middle could replace the OS image: it is fetched by http";
        check.findings.warning(Rule::OsImage, image.at, message).hint("use https");
    }
    Some(Some(url))
}

/// No machine starts with less than a gigabyte of memory or disk; most often the unit is missing.
fn plausible(field: &Field<Quantity>, check: &mut Check<'_>) {
    if let Some(small) = field.located().filter(|quantity| quantity.value.value() < 1e9) {
        check
            .findings
            .error(Rule::Quantity, small.at, format!("`{}` is less than a gigabyte", small.value))
            .hint("add a unit, such as 16Gi");
    }
}

fn machine(default: Option<&Located<WrittenPool>>, pool: Option<&Located<WrittenPool>>) -> Option<Machine> {
    let layers: Vec<&WrittenPool> = pool.into_iter().chain(default).map(|layer| &layer.value).collect();
    if layers
        .iter()
        .any(|layer| layer.cpu.is_invalid() || layer.memory.is_invalid() || layer.storage_size.is_invalid())
    {
        return None;
    }
    let cpu = layers.iter().find_map(|layer| layer.cpu.get().copied().filter(|cpu| *cpu != 0));
    let memory = layers.iter().find_map(|layer| layer.memory.get().cloned());
    let storage_size = layers.iter().find_map(|layer| layer.storage_size.get().cloned());
    Some(Machine {
        cpu: cpu.unwrap_or(4),
        memory: memory.unwrap_or_else(|| Quantity::builtin("16G")),
        storage_size: storage_size.unwrap_or_else(|| Quantity::builtin("120Gi")),
    })
}
