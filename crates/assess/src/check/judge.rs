//! The rules: from what was read to findings. Pure.
//!
//! | module | what it judges |
//! |---|---|
//! | `server` | the vCenter itself: version, certificate, clock, sessions |
//! | `config` | whether the cluster's configurations agree |
//! | `places` | what failure domains name: datacenters, clusters, datastores, pools, folders, networks |
//! | `permissions` | what the user may do on them |
//! | `tags` | regions, zones, groups of hosts |
//! | `storage` | storage classes, policies, ids, other drivers |
//! | `nodes` | machines of nodes |
//! | `control_plane` | certificates of the control plane |
//! | `workloads` | pods whose volumes cannot follow them |

pub(super) mod config;
pub(super) mod control_plane;
pub(super) mod nodes;
pub(super) mod permissions;
pub(super) mod places;
pub(super) mod server;
pub(super) mod storage;
pub(super) mod tags;
#[cfg(test)]
mod tests;
pub(super) mod workloads;

use super::observe::Question;
use super::report::Verdicts;
use super::snapshot::VCenterSnapshot;
use super::target::VCenter;
use crate::runner::Clock;

/// Everything there is to say about a vCenter that answered, but nothing about nodes.
pub(super) fn vcenter(
    question: &Question,
    vcenter: &VCenter,
    snapshot: &VCenterSnapshot,
    clock: &Clock,
) -> Verdicts {
    let mut verdicts = server::judge(snapshot, clock());
    for domain in question.subject.domains_on(&vcenter.server) {
        verdicts.merge(places::judge(domain, snapshot));
        if question.subject.is_zoned() {
            verdicts.merge(tags::zones(domain, snapshot));
        }
        verdicts.merge(tags::host_groups(domain, snapshot));
    }
    verdicts.merge(places::resources(vcenter, snapshot));
    verdicts.merge(permissions::judge(&question.subject, vcenter, snapshot));
    verdicts.at(&vcenter.server)
}
