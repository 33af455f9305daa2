//! Rules about the settings of OVN-Kubernetes, and about the networks it uses inside.

use super::{ClusterNetwork, OVN, WrittenNetworking, bits, builtin};
use crate::decode::{Field, Located};
use crate::findings::{Findings, Rule};
use crate::net::{Cidr, Family};
use crate::yaml::At;

/// What OVN-Kubernetes uses inside unless it is told otherwise, and what cannot be moved. From its own defaults.
const JOIN_SUBNET: &str = "100.64.0.0/16";
const FIXED: [&str; 5] = ["100.88.0.0/16", "169.254.0.0/17", "fd98::/64", "fd97::/64", "fd69::/112"];

/// The least that openshift-install takes, and the largest frames switches have (9216) less what OVN-Kubernetes adds to packets.
const MIN_MTU: u32 = 1000;
const MAX_MTU: u32 = 9116;
/// The least IPv6 works with.
const MIN_MTU_V6: u32 = 1280;

/// A network of the cluster: where it was written, which is nowhere for defaults, and what it is for.
type Network<'a> = (Cidr, At, &'a str);

pub(super) fn check(
    written: &WrittenNetworking,
    network_type: Option<&str>,
    networks: &[Network<'_>],
    cluster: &[Located<ClusterNetwork>],
    findings: &mut Findings,
) {
    let ovn = network_type == Some(OVN);
    if let (Some(other), false) = (network_type, ovn) {
        let settings = [("ovnKubernetesConfig", written.ovn.at()), ("clusterNetworkMTU", written.mtu.at())];
        for (key, at) in settings.into_iter().filter_map(|(key, at)| Some((key, at?))) {
            findings
                .error(Rule::NetworkPlugin, at, format!("`{key}` is for {OVN}, the plugin is {other}"))
                .on_key()
                .hint("remove it; other plugins are configured by their own manifests");
        }
        return;
    }
    mtu(written, networks, findings);
    let join = written.ovn.get().and_then(|ovn| ovn.ipv4.get()).map(|v4| &v4.internal_join_subnet);
    match join.and_then(Field::located) {
        None => reserved(builtin(JOIN_SUBNET), ovn, networks, findings),
        Some(join) if join.value.family() == Family::V6 => {
            findings
                .error(Rule::Cidr, join.at, format!("{} is not an IPv4 network", join.value))
                .hint("write an IPv4 network such as 100.64.0.0/16");
            reserved(None, ovn, networks, findings);
        }
        Some(join) => {
            own_join_subnet(join, networks, cluster, findings);
            reserved(None, ovn, networks, findings);
        }
    }
}

fn mtu(written: &WrittenNetworking, networks: &[Network<'_>], findings: &mut Findings) {
    let Some(mtu) = written.mtu.located().filter(|mtu| mtu.value != 0) else { return };
    let v6 = networks.iter().any(|(cidr, ..)| cidr.family() == Family::V6);
    let least = if v6 { MIN_MTU_V6 } else { MIN_MTU };
    if !(least..=MAX_MTU).contains(&mtu.value) {
        let message = format!("{} is out of range, allowed: {least} to {MAX_MTU}", mtu.value);
        findings
            .error(Rule::OutOfRange, mtu.at, message)
            .hint("write the MTU of the machines' network less 100, such as 1400");
    }
}

/// The join subnet the user chose keeps clear of the cluster's networks and has an address for every node.
fn own_join_subnet(
    join: &Located<Cidr>,
    networks: &[Network<'_>],
    cluster: &[Located<ClusterNetwork>],
    findings: &mut Findings,
) {
    for (cidr, at, what) in networks.iter().filter(|(cidr, ..)| cidr.overlaps(join.value)) {
        let message = format!("the join subnet {} overlaps with the {what} {cidr}", join.value);
        let finding = findings
            .error(Rule::NetworkReserved, join.at, message)
            .hint("choose networks that have no address in common");
        if *at != At::ROOT {
            finding.related(*at, "the other one");
        }
    }
    let nodes: u64 = cluster
        .iter()
        .map(|net| net.value)
        .filter(|net| net.cidr.family() == Family::V4)
        .map(|net| {
            let spare = net.host_prefix.saturating_sub(u32::from(net.cidr.net().prefix_len()));
            1_u64 << spare.min(bits(net.cidr))
        })
        .sum();
    // The network's own, the broadcast and the gateway's address go to no node.
    let room = |prefix: u32| (1_u64 << (32 - prefix)).saturating_sub(3);
    let prefix = u32::from(join.value.net().prefix_len());
    if nodes >= room(prefix) {
        let fitting = (0..prefix).rev().find(|prefix| nodes < room(*prefix)).unwrap_or_default();
        findings
            .error(
                Rule::NetworkPlugin,
                join.at,
                format!("{} has too few addresses for the {nodes} nodes of the cluster networks", join.value),
            )
            .hint(format!("use a prefix length of {fitting} or less, or a smaller cluster network"));
    }
}

/// Networks of the cluster that OVN-Kubernetes uses itself.
fn reserved(join: Option<Cidr>, ovn: bool, networks: &[Network<'_>], findings: &mut Findings) {
    if !ovn {
        return;
    }
    let inside: Vec<Cidr> = join.into_iter().chain(FIXED.iter().filter_map(|net| builtin(net))).collect();
    for (cidr, at, what) in networks {
        let Some(net) = inside.iter().find(|net| cidr.overlaps(**net)) else { continue };
        let hint = if Some(*net) == join {
            "choose another network, or move OVN's with `ovnKubernetesConfig.ipv4.internalJoinSubnet`"
        } else {
            "choose another network"
        };
        let message = format!("the {what} {cidr} overlaps with {net}, which OVN-Kubernetes uses inside");
        findings.error(Rule::NetworkReserved, *at, message).hint(hint);
    }
}
