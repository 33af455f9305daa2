//! The rules: from what is wanted and what is there to findings. Pure.
//!
//! | module | what it judges |
//! |---|---|
//! | `server` | the vCenter itself: version and clock |
//! | `places` | datacenter, cluster, pool, datastore, networks, folder, group of hosts |
//! | `hosts` | the ESXi hosts machines may run on |
//! | `templates` | what machines are cloned from |
//! | `tags` | regions, zones, and tags the user names |
//! | `privileges` | what the user may do |
//! | `anti_affinity` | whether control-plane machines can run on different hosts |
//! | `capacity` | processors, memory and disk space |
//! | `collisions` | names that are taken |

mod anti_affinity;
mod capacity;
mod collisions;
mod hosts;
mod places;
mod privileges;
mod server;
mod tags;
mod templates;

pub use self::privileges::entities;

use super::expected::ExpectedObjects;
use super::needs::NeededPrivilege;
use super::snapshot::{Depth, VCenterSnapshot};
use crate::preflight::report::Finding;

/// Everything there is to say about one vCenter, as far as it was read.
pub fn judge(
    wanted: &ExpectedObjects,
    needs: &[NeededPrivilege],
    snapshot: &VCenterSnapshot,
) -> Vec<Finding> {
    let read = |depth: Depth| snapshot.depth >= depth;
    let mut findings = server::judge(snapshot);
    for site in wanted.sites.iter().filter(|_| read(Depth::Inventory)) {
        let found = places::find(site, snapshot);
        let mut about = places::judge(site, &found, wanted.infra_id.is_some(), snapshot);
        if read(Depth::Hosts) {
            about.extend(hosts::judge(&found, snapshot));
        }
        if read(Depth::Machines) {
            about.extend(templates::judge(site, &found, wanted.stream, snapshot));
        }
        if read(Depth::Tags) {
            about.extend(tags::judge(site, &found, wanted, snapshot));
        }
        findings.extend(about.into_iter().map(|finding| finding.domain(&site.name)));
    }
    // Without hosts it is about storage alone.
    findings.extend(capacity::judge(wanted, snapshot));
    findings.extend(anti_affinity::judge(wanted, snapshot));
    if read(Depth::Machines) {
        findings.extend(collisions::judge(wanted, snapshot));
    }
    if read(Depth::Privileges) {
        findings.extend(privileges::judge(needs, snapshot));
    }
    findings
}
