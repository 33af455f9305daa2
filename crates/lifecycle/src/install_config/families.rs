//! The networks inside a cluster, for the address families of its machine networks.

use serde_json::{Value, json};

/// The defaults OpenShift documents: pods with the part each node gets, and services.
const INNER: [(Family, (&str, u32), &str); 2] =
    [(Family::V4, ("10.128.0.0/14", 23), "172.30.0.0/16"), (Family::V6, ("fd01::/48", 64), "fd02::/112")];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Family {
    V4,
    V6,
}

/// `clusterNetwork` and `serviceNetwork`, with families in the order of the machine networks. None where the defaults of
/// an install-config do: they are IPv4.
pub(super) fn inner_networks(machine: &[String]) -> Option<(Value, Value)> {
    let mut families = Vec::new();
    for network in machine {
        let family = if network.contains(':') { Family::V6 } else { Family::V4 };
        if !families.contains(&family) {
            families.push(family);
        }
    }
    if !families.contains(&Family::V6) {
        return None;
    }
    let inner = || families.iter().filter_map(|family| INNER.iter().find(|(known, ..)| known == family));
    let pods: Vec<Value> =
        inner().map(|(_, (cidr, prefix), _)| json!({"cidr": cidr, "hostPrefix": prefix})).collect();
    let services: Vec<&str> = inner().map(|(_, _, service)| *service).collect();
    Some((json!(pods), json!(services)))
}
