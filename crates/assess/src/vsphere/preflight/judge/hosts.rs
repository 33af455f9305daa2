//! The ESXi hosts machines may run on.

use slipway_providers::vsphere::inventory::{Host, Item};

use super::places::Found;
use crate::preflight::report::{Check, Finding};
use crate::vsphere::preflight::snapshot::VCenterSnapshot;
use crate::vsphere::version::numbers;

/// The first version and builds that work, as OpenShift's installer has them.
const OLDEST: [u32; 3] = [7, 0, 2];
const OLDEST_BUILD_OF_7: u64 = 17_630_552;
const OLDEST_BUILD_SINCE_8: u64 = 20_513_097;

pub(super) fn judge(found: &Found<'_>, snapshot: &VCenterSnapshot) -> Vec<Finding> {
    let Some(cluster) = found.cluster else { return Vec::new() };
    // A group of hosts that is missing or empty has been reported.
    if found.hosts.is_empty() && cluster.cluster().is_some_and(|facts| !facts.hosts.is_empty()) {
        return Vec::new();
    }
    let usable: Vec<&Item> =
        found.hosts.iter().filter(|item| item.host().is_some_and(Host::is_usable)).copied().collect();
    if usable.is_empty() {
        let message = format!(
            "`{}` has no host that is connected and not in maintenance, or `{}` may not see one",
            cluster.path, snapshot.privileges.user
        );
        let remedy = "connect hosts, take them out of maintenance mode, or name another compute cluster";
        return vec![Finding::failure(Check::Hosts, &cluster.path, message).remedy(remedy)];
    }
    usable.into_iter().map(host).collect()
}

fn host(item: &Item) -> Finding {
    let path = &item.path;
    let facts = item.host().cloned().unwrap_or_default();
    let named = format!("ESXi {}, build {}", facts.version, facts.build);
    let (Some(version), Ok(build)) = (numbers(&facts.version), facts.build.parse::<u64>()) else {
        return Finding::unknown(
            Check::Hosts,
            path,
            format!("the version of `{path}` is not known: {named}"),
        );
    };
    let oldest = if version[0] == 7 { OLDEST_BUILD_OF_7 } else { OLDEST_BUILD_SINCE_8 };
    if version < OLDEST || build < oldest {
        let first = if version < OLDEST { "7.0.2".to_owned() } else { format!("build {oldest}") };
        return Finding::failure(
            Check::Hosts,
            path,
            format!("`{path}` is too old: it has {named}, and {first} is the first that works"),
        )
        .remedy("update the host, or put it into maintenance mode");
    }
    Finding::pass(Check::Hosts, path, named)
}
