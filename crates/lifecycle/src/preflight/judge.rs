//! The rules: from what is wanted and what is there to findings. Pure; asks nobody.
//!
//! | module | what it judges |
//! |---|---|
//! | `server` | the vCenter itself: version and clock |
//! | `places` | datacenter, cluster, pool, datastore, networks, folder, group of hosts |
//! | `hosts` | the ESXi hosts machines may run on |
//! | `templates` | what machines are cloned from |
//! | `tags` | regions, zones, and tags the user names |
//! | `privileges` | what the user may do |
//! | `capacity` | processors, memory and disk space |
//! | `collisions` | names that are taken |

mod capacity;
mod collisions;
mod hosts;
mod places;
mod privileges;
pub(super) mod server;
mod tags;
mod templates;
#[cfg(test)]
mod tests;

pub(super) use self::privileges::entities;

use super::estate::Estate;
use super::needs::Need;
use super::report::Finding;
use super::wanted::Wanted;

/// Everything there is to say about one vCenter.
pub(super) fn judge(wanted: &Wanted, needs: &[Need], estate: &Estate) -> Vec<Finding> {
    let mut findings = server::judge(estate);
    for site in &wanted.sites {
        let found = places::find(site, estate);
        let about = [
            places::judge(site, &found, wanted.named, estate),
            hosts::judge(&found, estate),
            templates::judge(site, &found, wanted.stream, estate),
            tags::judge(site, &found, wanted, estate),
        ];
        findings.extend(about.into_iter().flatten().map(|finding| finding.domain(&site.name)));
    }
    findings.extend(capacity::judge(wanted, estate));
    findings.extend(collisions::judge(wanted, estate));
    findings.extend(privileges::judge(needs, estate));
    findings
}

/// `1 machine`, `3 machines`.
pub(crate) fn count(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}
