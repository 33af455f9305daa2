//! `networking`: the machine, pod and service networks.

mod plugin;
mod stack;

use std::net::IpAddr;

use super::PayloadType;
use crate::decode::{Entries, Field, Ignored, Located, choice, closest, object};
use crate::findings::{Findings, Rule};
use crate::net::{Cidr, Family};
use crate::yaml::At;

object! {
    /// The networks of the cluster.
    WrittenNetworking {
        /// The network plugin. OpenShiftSDN and Kuryr are no longer supported.
        network_type: String as "networkType", default "OVNKubernetes";
        /// Networks the machines' own addresses come from.
        machine_network: Entries<WrittenMachineNetwork> as "machineNetwork", default "10.0.0.0/16";
        /// Networks the pods' addresses come from.
        cluster_network: Entries<WrittenClusterNetwork> as "clusterNetwork", default "10.128.0.0/14 with hostPrefix 23";
        /// Networks the services' addresses come from: one, or one per family for dual stack.
        service_network: Entries<Cidr> as "serviceNetwork", default "172.30.0.0/16";
        /// MTU of the pod network, 1000 to 9116.
        mtu: u32 as "clusterNetworkMTU", default "what the machines' network has, less 100";
        /// Settings of the OVN-Kubernetes plugin.
        ovn: WrittenOvn as "ovnKubernetesConfig";
        /// Whether the network is observed, which is not supported here.
        network_observability: Ignored as "networkObservability";
        /// Old name of `machineNetwork`, for one network.
        machine_cidr: Cidr as "machineCIDR", deprecated "use `machineNetwork: [{cidr: …}]`";
        /// Old name of `serviceNetwork`, for one network.
        service_cidr: Cidr as "serviceCIDR", deprecated "use `serviceNetwork: […]`";
        /// Old name of `clusterNetwork`.
        cluster_networks: Entries<WrittenClusterNetwork> as "clusterNetworks", deprecated "use `clusterNetwork`";
        /// Old name of `networkType`.
        kind: String as "type", deprecated "use `networkType`";
    }
}

object! {
    /// A network of machines.
    WrittenMachineNetwork {
        /// The network, such as 10.0.0.0/16.
        cidr: Cidr as "cidr", required;
    }
}

object! {
    /// A network of pods.
    WrittenClusterNetwork {
        /// The network, such as 10.128.0.0/14.
        cidr: Cidr as "cidr", required;
        /// Prefix length of the part each node gets. 23 leaves 510 pod addresses on a node.
        host_prefix: u32 as "hostPrefix", default "23 (IPv4), 64 (IPv6)";
        /// Bits each node gets, counted from the other end.
        host_subnet_length: u32 as "hostSubnetLength", deprecated "use `hostPrefix`: the address length minus this number";
    }
}

object! {
    /// Settings of the OVN-Kubernetes plugin.
    WrittenOvn {
        /// IPv4 settings.
        ipv4: WrittenOvnV4 as "ipv4";
    }
}

object! {
    /// IPv4 settings of the OVN-Kubernetes plugin.
    WrittenOvnV4 {
        /// The network the plugin uses inside; choose another one if this is in use in your network.
        internal_join_subnet: Cidr as "internalJoinSubnet", default "100.64.0.0/16";
    }
}

choice! {
    /// The address families of the cluster.
    Stack {
        /// IPv4 only.
        V4 = "IPv4",
        /// IPv6 only.
        V6 = "IPv6",
        /// Both, IPv4 first.
        DualV4First = "IPv4 and IPv6",
        /// Both, IPv6 first.
        DualV6First = "IPv6 and IPv4",
    }
}

impl Stack {
    /// The family that comes first.
    pub fn primary(self) -> Family {
        match self {
            Stack::V4 | Stack::DualV4First => Family::V4,
            Stack::V6 | Stack::DualV6First => Family::V6,
        }
    }

    pub fn is_dual(self) -> bool {
        matches!(self, Stack::DualV4First | Stack::DualV6First)
    }
}

/// A pod network and the part of it each node gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClusterNetwork {
    pub cidr: Cidr,
    pub host_prefix: u32,
}

/// The networks of a cluster, checked against each other.
#[derive(Debug, Clone)]
pub struct Networking {
    pub network_type: String,
    pub machine: Vec<Cidr>,
    pub cluster: Vec<ClusterNetwork>,
    pub service: Vec<Cidr>,
    pub mtu: Option<u32>,
    pub internal_join_subnet: Option<Cidr>,
    pub stack: Stack,
    /// Something about the networks is wrong, and has been reported: a list that could not be read is empty, and `stack` is
    /// a guess. Rules look at what there is; no install-config has it.
    pub(super) doubtful: bool,
}

impl Networking {
    pub fn machine_network_of(&self, address: IpAddr) -> Option<Cidr> {
        self.machine.iter().copied().find(|cidr| cidr.contains(address))
    }
}

const OVN: &str = "OVNKubernetes";

/// Defaults, old names and every rule about networks.
pub(super) fn resolve(
    written: &Field<WrittenNetworking>,
    payload: PayloadType,
    findings: &mut Findings,
) -> Option<Networking> {
    let at = written.at().unwrap_or(At::ROOT);
    let empty = WrittenNetworking::default();
    let written = match written {
        Field::Invalid(_) => return None,
        Field::Absent => &empty,
        Field::Set(located) => &located.value,
    };
    let network_type = network_type(written, findings);
    let machine = machine_networks(written, findings);
    let cluster = cluster_networks(written, findings);
    let service = service_networks(written, findings);
    let join = written.ovn.get().and_then(|ovn| ovn.ipv4.get()).map(|v4| &v4.internal_join_subnet);
    let join = join.and_then(Field::located);

    // What could be read is compared even when something else could not.
    let mut all = Vec::new();
    all.extend(machine.iter().flatten().map(|net| (net.value, net.at, "machine network")));
    all.extend(cluster.iter().flatten().map(|net| (net.value.cidr, net.at, "cluster network")));
    all.extend(service.iter().flatten().map(|net| (net.value, net.at, "service network")));
    overlaps(&all, findings);
    let doubtful = machine.is_none() || cluster.is_none() || service.is_none();
    let (machine, cluster, service) =
        (machine.unwrap_or_default(), cluster.unwrap_or_default(), service.unwrap_or_default());
    let stack = if doubtful { None } else { stack::resolve(&machine, &cluster, &service, at, findings) };
    service_sizes(&service, findings);
    // A Kubernetes cluster has the plugin the user brings.
    if payload == PayloadType::OpenShift {
        plugin::check(written, network_type.as_deref(), &all, &cluster, findings);
    }
    bridges(&all, findings);

    Some(Networking {
        network_type: network_type.unwrap_or_default(),
        machine: machine.into_iter().map(|net| net.value).collect(),
        cluster: cluster.into_iter().map(|net| net.value).collect(),
        service: service.into_iter().map(|net| net.value).collect(),
        // As there, zero is as good as nothing.
        mtu: written.mtu.get().copied().filter(|mtu| *mtu != 0),
        internal_join_subnet: join.map(|join| join.value),
        stack: stack.unwrap_or(Stack::V4),
        doubtful: stack.is_none(),
    })
}

fn network_type(written: &WrittenNetworking, findings: &mut Findings) -> Option<String> {
    let given = match (&written.network_type, &written.kind) {
        (Field::Invalid(_), _) | (Field::Absent, Field::Invalid(_)) => return None,
        (Field::Set(given), _) | (Field::Absent, Field::Set(given)) => given,
        (Field::Absent, Field::Absent) => return Some(OVN.to_owned()),
    };
    if let (Field::Set(new), Field::Set(old)) = (&written.network_type, &written.kind)
        && !new.value.eq_ignore_ascii_case(&old.value)
    {
        findings
            .error(Rule::DeprecatedConflict, old.at, "`type` and `networkType` disagree")
            .hint("remove `type`")
            .related(new.at, "the other one");
    }
    if given.value != OVN && !given.value.eq_ignore_ascii_case(OVN) && closest(&given.value, [OVN]).is_some()
    {
        findings
            .warning(
                Rule::NetworkTypeUnsupported,
                given.at,
                format!("no network plugin `{}` is known", given.value),
            )
            .hint(format!("did you mean {OVN}?"));
    }
    if given.value.eq_ignore_ascii_case("OpenShiftSDN") || given.value.eq_ignore_ascii_case("Kuryr") {
        findings
            .error(
                Rule::NetworkTypeUnsupported,
                given.at,
                format!("`{}` is no longer supported", given.value),
            )
            .hint("write OVNKubernetes");
    }
    Some(if given.value.eq_ignore_ascii_case(OVN) { OVN.to_owned() } else { given.value.clone() })
}

/// A network this program chose itself; it is valid by construction.
fn builtin(text: &str) -> Option<Cidr> {
    text.parse::<ipnet::IpNet>().ok().map(Cidr::from)
}

type LocatedList<T> = Vec<Located<T>>;

fn machine_networks(written: &WrittenNetworking, findings: &mut Findings) -> Option<LocatedList<Cidr>> {
    if written.machine_network.is_partial() || written.machine_cidr.is_invalid() {
        return None;
    }
    let mut networks = Vec::new();
    for entry in written.machine_network.items() {
        let cidr = entry.value.cidr.located()?;
        networks.push(cidr.clone());
    }
    old_name(&mut networks, &written.machine_cidr, "machineCIDR", "machineNetwork", findings);
    default_network(&mut networks, "10.0.0.0/16");
    Some(networks)
}

fn service_networks(written: &WrittenNetworking, findings: &mut Findings) -> Option<LocatedList<Cidr>> {
    if written.service_network.is_partial() || written.service_cidr.is_invalid() {
        return None;
    }
    let mut networks: Vec<_> = written.service_network.items().cloned().collect();
    old_name(&mut networks, &written.service_cidr, "serviceCIDR", "serviceNetwork", findings);
    default_network(&mut networks, "172.30.0.0/16");
    Some(networks)
}

fn default_network(networks: &mut Vec<Located<Cidr>>, default: &str) {
    if networks.is_empty() {
        networks.extend(builtin(default).map(|value| Located { value, at: At::ROOT }));
    }
}

/// The deprecated single-network field: used when the list is absent, refused when it disagrees.
fn old_name(
    networks: &mut Vec<Located<Cidr>>,
    old: &Field<Cidr>,
    old_key: &str,
    key: &str,
    findings: &mut Findings,
) {
    let Some(old) = old.located() else { return };
    match networks.first() {
        None => networks.push(old.clone()),
        Some(first) if first.value == old.value => {}
        Some(first) => {
            findings
                .error(Rule::DeprecatedConflict, old.at, format!("`{old_key}` and `{key}` disagree"))
                .hint(format!("remove `{old_key}`"))
                .related(first.at, format!("`{key}` says {}", first.value));
        }
    }
}

fn cluster_networks(
    written: &WrittenNetworking,
    findings: &mut Findings,
) -> Option<LocatedList<ClusterNetwork>> {
    if written.cluster_network.is_partial() || written.cluster_networks.is_partial() {
        return None;
    }
    let entries = if written.cluster_network.is_empty() {
        &written.cluster_networks
    } else {
        if let (Some(old), false) = (written.cluster_networks.at(), written.cluster_networks.is_empty())
            && ranges(&written.cluster_networks) != ranges(&written.cluster_network)
        {
            findings
                .error(Rule::DeprecatedConflict, old, "`clusterNetworks` and `clusterNetwork` disagree")
                .hint("remove `clusterNetworks`");
        }
        &written.cluster_network
    };
    let mut networks = Vec::new();
    let mut first_v4 = None;
    for entry in entries.items() {
        let cidr = entry.value.cidr.located()?;
        if entry.value.host_prefix.is_invalid() || entry.value.host_subnet_length.is_invalid() {
            return None;
        }
        let bits = bits(cidr.value);
        let converted = entry.value.host_subnet_length.get().map(|length| bits.saturating_sub(*length));
        if let (Some(prefix), Some(converted), Some(old)) =
            (entry.value.host_prefix.get(), converted, entry.value.host_subnet_length.at())
            && *prefix != converted
        {
            findings
                .error(Rule::DeprecatedConflict, old, "`hostSubnetLength` and `hostPrefix` disagree")
                .hint("remove `hostSubnetLength`");
        }
        let host_prefix = host_prefix(&entry.value, cidr.value);
        let at = entry.value.host_prefix.at().unwrap_or(cidr.at);
        let mask = u32::from(cidr.value.net().prefix_len());
        if bits == 128 && (host_prefix != 64 || mask > 64) {
            findings
                .error(Rule::HostPrefix, at, format!("nodes get /{host_prefix} of {}", cidr.value))
                .hint("an IPv6 network is /64 or larger, and its hostPrefix is 64");
        } else if host_prefix < mask || host_prefix > bits {
            findings
                .error(
                    Rule::HostPrefix,
                    at,
                    format!("a node's part /{host_prefix} does not fit into the network {}", cidr.value),
                )
                .hint(format!("choose a hostPrefix between {mask} and {bits}"));
        } else if bits == 32 {
            let (first, place) = *first_v4.get_or_insert((host_prefix, at));
            if first != host_prefix {
                let message = format!("hostPrefix {host_prefix} differs from {first} of the first network");
                findings
                    .error(Rule::HostPrefix, at, message)
                    .hint("all IPv4 cluster networks have the same hostPrefix")
                    .related(place, "the first network's");
            }
        }
        networks.push(Located { value: ClusterNetwork { cidr: cidr.value, host_prefix }, at: cidr.at });
    }
    if networks.is_empty() {
        let default = builtin("10.128.0.0/14")?;
        networks.push(Located { value: ClusterNetwork { cidr: default, host_prefix: 23 }, at: At::ROOT });
    }
    Some(networks)
}

/// The length of an address.
fn bits(network: Cidr) -> u32 {
    if network.family() == Family::V4 { 32 } else { 128 }
}

/// What a node gets of a network, in the new form, the old one, or by default.
fn host_prefix(entry: &WrittenClusterNetwork, network: Cidr) -> u32 {
    let bits = bits(network);
    let old = entry.host_subnet_length.get().map(|length| bits.saturating_sub(*length));
    entry.host_prefix.get().copied().or(old).unwrap_or(if bits == 32 { 23 } else { 64 })
}

/// The networks of a list, however they are written.
fn ranges(list: &Field<Entries<WrittenClusterNetwork>>) -> Vec<Option<(Cidr, u32)>> {
    let range =
        |entry: &WrittenClusterNetwork| entry.cidr.get().map(|cidr| (*cidr, host_prefix(entry, *cidr)));
    list.items().map(|entry| range(&entry.value)).collect()
}

/// Networks are equal, nested or apart, so sorting brings every overlap side by side.
fn overlaps(all: &[(Cidr, At, &str)], findings: &mut Findings) {
    let mut sorted: Vec<_> = all.iter().collect();
    sorted.sort_by_key(|(cidr, ..)| (cidr.net().network(), cidr.net().prefix_len()));
    let mut outer: Option<&(Cidr, At, &str)> = None;
    for inner in sorted {
        match outer {
            Some((cidr, at, what)) if cidr.overlaps(inner.0) => {
                let (reported, other) = if inner.1 == At::ROOT {
                    ((cidr, at, what), *inner)
                } else {
                    ((&inner.0, &inner.1, &inner.2), (*cidr, *at, *what))
                };
                let message =
                    format!("the {} {} overlaps with the {} {}", reported.2, reported.0, other.2, other.0);
                let finding = findings.error(Rule::NetworksOverlap, *reported.1, message);
                if other.1 == At::ROOT {
                    finding.hint(format!("{} is the default of the {}; set another one", other.0, other.2));
                } else {
                    finding
                        .hint("choose networks that have no address in common")
                        .related(other.1, "the other one");
                }
            }
            _ => outer = Some(inner),
        }
    }
}

/// What container engines usually take for their bridge.
fn bridges(all: &[(Cidr, At, &str)], findings: &mut Findings) {
    let bridge = builtin("172.17.0.0/16");
    for (cidr, at, what) in all.iter().filter(|(cidr, ..)| bridge.is_some_and(|net| cidr.overlaps(net))) {
        findings.warning(
            Rule::NetworkBridge,
            *at,
            format!(
                "the {what} {cidr} overlaps with 172.17.0.0/16, the usual bridge network of container engines"
            ),
        );
    }
}

fn service_sizes(service: &[Located<Cidr>], findings: &mut Findings) {
    for net in service {
        let (least, len) = match net.value.family() {
            Family::V4 => (12, net.value.net().prefix_len()),
            Family::V6 => (108, net.value.net().prefix_len()),
        };
        if len < least {
            findings
                .error(Rule::ServiceNetworkSize, net.at, format!("{} is too large for services", net.value))
                .hint(format!("use a prefix length of {least} or more"));
        }
    }
}
