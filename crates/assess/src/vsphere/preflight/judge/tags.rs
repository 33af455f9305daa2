//! Regions and zones: the drivers of the cluster read them from tags, going up from the host a machine runs on.

use slipway_config::ids::{REGION_CATEGORY, ZONE_CATEGORY};
use slipway_config::install_config::vsphere::{RegionKind, ZoneKind};
use slipway_providers::vsphere::inventory::Item;

use super::places::Found;
use crate::preflight::report::{Check, Finding, Outcome};
use crate::vsphere::preflight::expected::{ExpectedDomain, ExpectedObjects};
use crate::vsphere::preflight::snapshot::{Tags, VCenterSnapshot};
use crate::vsphere::tags::Needed;

pub(super) fn judge(
    site: &ExpectedDomain,
    found: &Found<'_>,
    wanted: &ExpectedObjects,
    snapshot: &VCenterSnapshot,
) -> Vec<Finding> {
    if found.datacenter.is_none() || (!wanted.zoned && site.tag_ids.is_empty()) {
        return Vec::new();
    }
    let tags = match &snapshot.tags {
        Ok(tags) => tags,
        Err(reason) => {
            let check = if wanted.zoned { Check::RegionTag } else { Check::TagIds };
            let message = format!("tags could not be read: {reason}");
            return vec![Finding::unknown(check, "tags", message)];
        }
    };
    let mut findings: Vec<Finding> = site.tag_ids.iter().map(|id| tag_id(id, tags)).collect();
    if !wanted.zoned {
        return findings;
    }
    let region = match site.region_kind {
        RegionKind::Datacenter => found.datacenter,
        RegionKind::ComputeCluster => found.cluster,
    };
    let need =
        |category, name| Needed { category, name, attached: &tags.attached, inventory: &snapshot.inventory };
    let on = |check, needed: Needed<'_>, item: &Item| Finding::judged(check, &item.path, needed.on(item));
    let in_region = need(REGION_CATEGORY, &site.region);
    findings.extend(region.map(|item| on(Check::RegionTag, in_region, item)));
    let in_zone = need(ZONE_CATEGORY, &site.zone);
    match &site.zone_kind {
        ZoneKind::ComputeCluster => {
            findings.extend(found.cluster.map(|item| on(Check::ZoneTag, in_zone, item)));
        }
        ZoneKind::HostGroup(group) => {
            let judged = in_zone.on_hosts(group, &found.hosts, Outcome::Warning);
            findings.extend(judged.map(|judged| Finding::judged(Check::ZoneTag, group, judged)));
        }
    }
    findings
}

fn tag_id(id: &str, tags: &Tags) -> Finding {
    if tags.ids.contains(id) {
        return Finding::pass(Check::TagIds, id, "the tag is there");
    }
    Finding::failure(Check::TagIds, id, format!("there is no tag `{id}`"))
        .remedy("correct `topology.tagIDs`; `govc tags.info` shows the ids of tags")
}
