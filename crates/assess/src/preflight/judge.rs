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
//! | `apart` | whether control-plane machines can run on different hosts |
//! | `capacity` | processors, memory and disk space |
//! | `collisions` | names that are taken |

mod apart;
mod capacity;
mod collisions;
mod hosts;
mod places;
mod privileges;
mod server;
mod tags;
mod templates;

pub use self::privileges::entities;

use super::estate::{Depth, Estate};
use super::needs::Need;
use super::report::Finding;
use super::wanted::Wanted;

/// Everything there is to say about one vCenter, as far as it was read.
pub fn judge(wanted: &Wanted, needs: &[Need], estate: &Estate) -> Vec<Finding> {
    let read = |depth: Depth| estate.depth >= depth;
    let mut findings = server::judge(estate);
    for site in wanted.sites.iter().filter(|_| read(Depth::Inventory)) {
        let found = places::find(site, estate);
        let mut about = places::judge(site, &found, wanted.infra_id.is_some(), estate);
        if read(Depth::Hosts) {
            about.extend(hosts::judge(&found, estate));
        }
        if read(Depth::Machines) {
            about.extend(templates::judge(site, &found, wanted.stream, estate));
        }
        if read(Depth::Tags) {
            about.extend(tags::judge(site, &found, wanted, estate));
        }
        findings.extend(about.into_iter().map(|finding| finding.domain(&site.name)));
    }
    // Without hosts it is about storage alone.
    findings.extend(capacity::judge(wanted, estate));
    findings.extend(apart::judge(wanted, estate));
    if read(Depth::Machines) {
        findings.extend(collisions::judge(wanted, estate));
    }
    if read(Depth::Privileges) {
        findings.extend(privileges::judge(needs, estate));
    }
    findings
}
