//! `networking`: the machine, pod and service networks.

use std::net::IpAddr;

use super::PayloadType;
use crate::decode::{Entries, Field, Located, choice, closest, object};
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
        /// MTU of the pod network.
        mtu: u32 as "clusterNetworkMTU";
        /// Settings of the OVN-Kubernetes plugin.
        ovn: WrittenOvn as "ovnKubernetesConfig";
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
    let join_subnet = join.and_then(Field::get).copied();
    if let Some(wrong) = join.and_then(Field::located).filter(|join| join.value.family() == Family::V6) {
        findings
            .error(Rule::Cidr, wrong.at, format!("{} is not an IPv4 network", wrong.value))
            .hint("write an IPv4 network such as 100.64.0.0/16");
    }

    // What could be read is compared even when something else could not.
    let mut all = Vec::new();
    all.extend(machine.iter().flatten().map(|net| (net.value, net.at, "machine network")));
    all.extend(cluster.iter().flatten().map(|net| (net.value.cidr, net.at, "cluster network")));
    all.extend(service.iter().flatten().map(|net| (net.value, net.at, "service network")));
    overlaps(&all, findings);
    // A Kubernetes cluster has the plugin the user brings.
    let ovn = payload == PayloadType::OpenShift && network_type.as_deref() == Some(OVN);
    reserved(&all, ovn, join_subnet, findings);
    let (machine, cluster, service) = (machine?, cluster?, service?);
    let stack = stack(&machine, &cluster, &service, at, findings);
    prefixes(&cluster, &service, findings);

    Some(Networking {
        network_type: network_type?,
        machine: machine.into_iter().map(|net| net.value).collect(),
        cluster: cluster.into_iter().map(|net| net.value).collect(),
        service: service.into_iter().map(|net| net.value).collect(),
        mtu: written.mtu.get().copied(),
        internal_join_subnet: join_subnet,
        stack: stack?,
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
        return None;
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
        if let (Some(old), false) = (written.cluster_networks.at(), written.cluster_networks.is_empty()) {
            findings
                .error(Rule::DeprecatedConflict, old, "`clusterNetworks` and `clusterNetwork` are both given")
                .hint("remove `clusterNetworks`");
        }
        &written.cluster_network
    };
    let mut networks = Vec::new();
    for entry in entries.items() {
        let cidr = entry.value.cidr.located()?;
        if entry.value.host_prefix.is_invalid() || entry.value.host_subnet_length.is_invalid() {
            return None;
        }
        let bits: u32 = if cidr.value.family() == Family::V4 { 32 } else { 128 };
        let converted = entry.value.host_subnet_length.get().map(|length| bits.saturating_sub(*length));
        if let (Some(prefix), Some(converted), Some(old)) =
            (entry.value.host_prefix.get(), converted, entry.value.host_subnet_length.at())
            && *prefix != converted
        {
            findings
                .error(Rule::DeprecatedConflict, old, "`hostSubnetLength` and `hostPrefix` disagree")
                .hint("remove `hostSubnetLength`");
        }
        let default = if bits == 32 { 23 } else { 64 };
        let host_prefix = entry.value.host_prefix.get().copied().or(converted).unwrap_or(default);
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
        }
        networks.push(Located { value: ClusterNetwork { cidr: cidr.value, host_prefix }, at: cidr.at });
    }
    if networks.is_empty() {
        let default = builtin("10.128.0.0/14")?;
        networks.push(Located { value: ClusterNetwork { cidr: default, host_prefix: 23 }, at: At::ROOT });
    }
    Some(networks)
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

/// What OVN-Kubernetes uses inside, and what container engines usually take for their bridge.
fn reserved(all: &[(Cidr, At, &str)], ovn: bool, join_subnet: Option<Cidr>, findings: &mut Findings) {
    let join = join_subnet.or_else(|| builtin("100.64.0.0/16"));
    let fixed = ["100.88.0.0/16", "169.254.0.0/17", "fd98::/64", "fd97::/64", "fd69::/112"];
    let inside: Vec<Cidr> = join.into_iter().chain(fixed.iter().filter_map(|net| builtin(net))).collect();
    for (cidr, at, what) in all {
        if let Some(net) = inside.iter().find(|net| ovn && cidr.overlaps(**net)) {
            let hint = if Some(*net) == join {
                "choose another network, or move OVN's with `ovnKubernetesConfig.ipv4.internalJoinSubnet`"
            } else {
                "choose another network"
            };
            let message = format!("the {what} {cidr} overlaps with {net}, which OVN-Kubernetes uses inside");
            findings.error(Rule::NetworkReserved, *at, message).hint(hint);
        }
        if builtin("172.17.0.0/16").is_some_and(|bridge| cidr.overlaps(bridge)) {
            findings.warning(
                Rule::NetworkBridge,
                *at,
                format!("the {what} {cidr} overlaps with 172.17.0.0/16, the usual bridge network of container engines"),
            );
        }
    }
}

/// A network of a family, as the defaults are for the other.
fn example(key: &str, family: Family) -> &'static str {
    match (key, family) {
        ("clusterNetwork", Family::V6) => "`clusterNetwork: [{cidr: \"fd01::/48\", hostPrefix: 64}]`",
        ("clusterNetwork", Family::V4) => "`clusterNetwork: [{cidr: 10.128.0.0/14, hostPrefix: 23}]`",
        ("serviceNetwork", Family::V6) => "`serviceNetwork: [\"fd02::/112\"]`",
        ("serviceNetwork", Family::V4) => "`serviceNetwork: [172.30.0.0/16]`",
        (_, Family::V6) => "`machineNetwork: [{cidr: \"fd00::/64\"}]`",
        (_, Family::V4) => "`machineNetwork: [{cidr: 10.0.0.0/16}]`",
    }
}

/// The families of the three lists agree: all single stack of one family, or all dual.
fn stack(
    machine: &[Located<Cidr>],
    cluster: &[Located<ClusterNetwork>],
    service: &[Located<Cidr>],
    at: At,
    findings: &mut Findings,
) -> Option<Stack> {
    let lists = [
        ("machineNetwork", families(machine.iter().map(|net| net.value)), machine.first().map(|net| net.at)),
        (
            "clusterNetwork",
            families(cluster.iter().map(|net| net.value.cidr)),
            cluster.first().map(|net| net.at),
        ),
        ("serviceNetwork", families(service.iter().map(|net| net.value)), service.first().map(|net| net.at)),
    ];
    let dual = lists.iter().any(|(_, families, _)| families.len() > 1);
    let primary = lists[2].1[0];
    if dual {
        let mut complete = true;
        for (key, families, place) in &lists {
            let place = place.filter(|place| *place != At::ROOT).unwrap_or(at);
            if families.len() == 1 {
                complete = false;
                findings
                    .error(
                        Rule::DualStack,
                        place,
                        format!("`{key}` has only {} networks, but others have both", families[0]),
                    )
                    .hint(format!("dual stack needs an IPv4 and an IPv6 network in `{key}` too"));
            } else if families[0] != primary {
                complete = false;
                findings
                    .error(
                        Rule::DualStack,
                        place,
                        format!(
                            "`{key}` lists {} first, `serviceNetwork` lists {primary} first",
                            families[0]
                        ),
                    )
                    .hint("the family listed first must be the same everywhere");
            }
        }
        if service.len() > 2 {
            complete = false;
            let third = service.get(2).map_or(at, |net| net.at);
            findings
                .error(
                    Rule::ServiceNetworks,
                    third,
                    format!("{} service networks; dual stack takes exactly two", service.len()),
                )
                .hint("keep one IPv4 and one IPv6 network");
        }
        return complete.then_some(match primary {
            Family::V4 => Stack::DualV4First,
            Family::V6 => Stack::DualV6First,
        });
    }
    if let Some(second) = service.get(1) {
        findings
            .error(Rule::ServiceNetworks, second.at, "more than one service network of the same family")
            .hint("keep one, or one IPv4 and one IPv6 network for dual stack");
        return None;
    }
    // What somebody wrote first says which family is meant.
    let is_written = |place: &Option<At>| place.is_some_and(|place| place != At::ROOT);
    let (first, primary) = lists
        .iter()
        .find(|(_, _, place)| is_written(place))
        .map_or(("serviceNetwork", primary), |(key, families, _)| (*key, families[0]));
    let mut agree = true;
    for (key, families, place) in lists.iter().filter(|(_, families, _)| families[0] != primary) {
        agree = false;
        let (place, by_default, hint) = match place.filter(|place| *place != At::ROOT) {
            Some(place) => {
                (place, "", "use one family everywhere, or both everywhere for dual stack".to_owned())
            }
            None => (at, " by default", format!("write it as well: {}", example(key, primary))),
        };
        let message = format!("`{key}` is {}{by_default}, `{first}` is {primary}", families[0]);
        findings.error(Rule::DualStack, place, message).hint(hint);
    }
    if !agree {
        return None;
    }
    Some(match primary {
        Family::V4 => Stack::V4,
        Family::V6 => Stack::V6,
    })
}

/// The families that occur, in order of appearance.
fn families(networks: impl Iterator<Item = Cidr>) -> Vec<Family> {
    let mut families = Vec::new();
    for network in networks {
        if !families.contains(&network.family()) {
            families.push(network.family());
        }
    }
    families
}

fn prefixes(cluster: &[Located<ClusterNetwork>], service: &[Located<Cidr>], findings: &mut Findings) {
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
    let mut first_v4: Option<&Located<ClusterNetwork>> = None;
    for net in cluster {
        match net.value.cidr.family() {
            Family::V6 => {}
            Family::V4 => {
                let first = first_v4.get_or_insert(net);
                if first.value.host_prefix != net.value.host_prefix {
                    findings
                        .error(
                            Rule::HostPrefix,
                            net.at,
                            format!(
                                "hostPrefix {} differs from {} of the first network",
                                net.value.host_prefix, first.value.host_prefix
                            ),
                        )
                        .hint("all IPv4 cluster networks have the same hostPrefix");
                }
            }
        }
    }
}
