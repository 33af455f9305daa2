//! Whether the address families of the networks agree.

use super::{ClusterNetwork, Stack};
use crate::decode::Located;
use crate::findings::{Findings, Rule};
use crate::net::{Cidr, Family};
use crate::yaml::At;

/// A list of networks: its key, the families in order of appearance, and where it was written.
struct List {
    key: &'static str,
    families: Vec<Family>,
    place: Option<At>,
}

impl List {
    fn new(key: &'static str, networks: &[(Cidr, At)]) -> Self {
        let mut families = Vec::new();
        for (network, _) in networks {
            if !families.contains(&network.family()) {
                families.push(network.family());
            }
        }
        // Defaults were written nowhere.
        let place = networks.first().map(|(_, at)| *at).filter(|at| *at != At::ROOT);
        List { key, families, place }
    }

    fn is_dual(&self) -> bool {
        self.families.len() > 1
    }
}

/// The service networks decide, as they do for openshift-install: with both families all lists have both in the same
/// order; with one, pods have that one, and machines may have the other besides.
pub(super) fn resolve(
    machine: &[Located<Cidr>],
    cluster: &[Located<ClusterNetwork>],
    service: &[Located<Cidr>],
    at: At,
    findings: &mut Findings,
) -> Option<Stack> {
    let located = |nets: &[Located<Cidr>]| nets.iter().map(|net| (net.value, net.at)).collect::<Vec<_>>();
    let pods: Vec<_> = cluster.iter().map(|net| (net.value.cidr, net.at)).collect();
    let lists = [
        List::new("machineNetwork", &located(machine)),
        List::new("clusterNetwork", &pods),
        List::new("serviceNetwork", &located(service)),
    ];
    if lists[2].is_dual() {
        dual(&lists, service, at, findings)
    } else {
        single(&lists, service, at, findings)
    }
}

fn dual(lists: &[List; 3], service: &[Located<Cidr>], at: At, findings: &mut Findings) -> Option<Stack> {
    let primary = lists[2].families[0];
    let mut complete = true;
    for List { key, families, place } in lists {
        let place = place.unwrap_or(at);
        if families.len() == 1 {
            complete = false;
            findings
                .error(
                    Rule::DualStack,
                    place,
                    format!("`{key}` has only {} networks, but `serviceNetwork` has both", families[0]),
                )
                .hint(format!("dual stack needs an IPv4 and an IPv6 network in `{key}` too"));
        } else if families[0] != primary {
            complete = false;
            let message =
                format!("`{key}` lists {} first, `serviceNetwork` lists {primary} first", families[0]);
            findings
                .error(Rule::DualStack, place, message)
                .hint("the family listed first must be the same everywhere");
        }
    }
    if let Some(third) = service.get(2) {
        complete = false;
        let message = format!("{} service networks; dual stack takes exactly two", service.len());
        findings.error(Rule::ServiceNetworks, third.at, message).hint("keep one IPv4 and one IPv6 network");
    }
    complete.then_some(match primary {
        Family::V4 => Stack::DualV4First,
        Family::V6 => Stack::DualV6First,
    })
}

fn single(lists: &[List; 3], service: &[Located<Cidr>], at: At, findings: &mut Findings) -> Option<Stack> {
    let mut agree = true;
    if let Some(second) = service.get(1) {
        agree = false;
        findings
            .error(Rule::ServiceNetworks, second.at, "more than one service network of the same family")
            .hint("keep one, or one IPv4 and one IPv6 network for dual stack");
    }
    let [_, cluster, service] = lists;
    if cluster.is_dual() {
        agree = false;
        let only = service.families[0];
        let other = if only == Family::V4 { Family::V6 } else { Family::V4 };
        findings
            .error(
                Rule::DualStack,
                cluster.place.unwrap_or(at),
                format!("`clusterNetwork` has IPv4 and IPv6 networks, `serviceNetwork` only {only}"),
            )
            .hint(format!("add an {other} network to `serviceNetwork`, or remove that of `clusterNetwork`"));
    }
    // The first list that the file gives says which family is meant.
    let first = lists.iter().find(|list| list.place.is_some() && !list.is_dual()).unwrap_or(service);
    let primary = first.families[0];
    for List { key, families, place } in lists.iter().filter(|list| !list.families.contains(&primary)) {
        agree = false;
        let (place, by_default, hint) = match place {
            Some(place) => {
                (*place, "", "use one family everywhere, or both everywhere for dual stack".to_owned())
            }
            None => (at, " by default", format!("write it as well: {}", example(key, primary))),
        };
        let message = format!("`{key}` is {}{by_default}, `{}` is {primary}", families[0], first.key);
        findings.error(Rule::DualStack, place, message).hint(hint);
    }
    agree.then_some(match primary {
        Family::V4 => Stack::V4,
        Family::V6 => Stack::V6,
    })
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
