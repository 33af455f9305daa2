//! Regions and zones: the drivers of the cluster read them from tags, going up from the host a machine runs on.

use slipway_config::ids::{REGION_CATEGORY, ZONE_CATEGORY};
use slipway_config::install_config::vsphere::{RegionKind, ZoneKind};
use slipway_providers::vsphere::inventory::Item;

use super::count;
use super::places::Found;
use crate::preflight::estate::{Estate, Tags};
use crate::preflight::report::{Check, Finding};
use crate::preflight::wanted::{Site, Wanted};

pub(super) fn judge(site: &Site, found: &Found<'_>, wanted: &Wanted, estate: &Estate) -> Vec<Finding> {
    if found.datacenter.is_none() || (!wanted.zoned && site.tag_ids.is_empty()) {
        return Vec::new();
    }
    let tags = match &estate.tags {
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
    let need = |check, category, name| Need { check, category, name, tags, estate };
    findings.extend(region.map(|item| need(Check::RegionTag, REGION_CATEGORY, &site.region).on(item)));
    let zone = need(Check::ZoneTag, ZONE_CATEGORY, &site.zone);
    match &site.zone_kind {
        ZoneKind::ComputeCluster => findings.extend(found.cluster.map(|item| zone.on(item))),
        ZoneKind::HostGroup(group) => findings.extend(zone.on_hosts(group, &found.hosts)),
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

/// A tag that something must have.
struct Need<'a> {
    check: Check,
    category: &'static str,
    name: &'a str,
    tags: &'a Tags,
    estate: &'a Estate,
}

impl Need<'_> {
    /// The tag of the category an object has itself, or else from the nearest object above it that has one.
    fn nearest<'b>(&'b self, path: &'b str) -> Option<(&'b str, &'b str)> {
        self.estate.inventory.upwards(path).find_map(|item| {
            let attached = self.tags.attached.get(&item.id)?;
            let (_, name) = attached.iter().find(|(category, _)| category == self.category)?;
            Some((item.path.as_str(), name.as_str()))
        })
    }

    fn on(&self, item: &Item) -> Finding {
        let Need { check, category, name, .. } = self;
        let path = &item.path;
        let attach = format!(
            "attach it: `govc tags.attach -c {category} {name} {path}`; if it does not exist, first \
             `govc tags.category.create {category}` and `govc tags.create -c {category} {name}`"
        );
        match self.nearest(path) {
            Some((at, tag)) if tag == *name => {
                Finding::pass(*check, path, format!("the tag `{name}` is on `{at}`"))
            }
            Some((at, other)) => {
                let whose =
                    if at == path { format!("`{at}` has") } else { format!("`{path}` inherits from `{at}`") };
                let message = format!("{whose} the tag `{other}` of `{category}`, and `{name}` is wanted");
                Finding::failure(*check, path, message).remedy(format!(
                    "correct the failure domain, or the tag: `govc tags.attach -c {category} {name} {path}`"
                ))
            }
            None => {
                let message =
                    format!("neither `{path}` nor anything above it has the tag `{name}` of `{category}`");
                Finding::failure(*check, path, message).remedy(attach)
            }
        }
    }

    /// Every host of the group must say where it is: a machine may run on any of them.
    fn on_hosts(&self, group: &str, hosts: &[&Item]) -> Option<Finding> {
        if hosts.is_empty() {
            return None;
        }
        let Need { check, category, name, .. } = self;
        let without: Vec<&str> = hosts
            .iter()
            .filter(|host| self.nearest(&host.path).is_none_or(|(_, tag)| tag != *name))
            .map(|host| host.path.as_str())
            .collect();
        if without.is_empty() {
            let message = format!("all hosts of the group have the tag `{name}`");
            return Some(Finding::pass(*check, group, message));
        }
        let message = format!(
            "{} of the {} in the group `{group}` have no tag `{name}` of `{category}`",
            without.len(),
            count(hosts.len(), "host"),
        );
        let finding = if without.len() == hosts.len() {
            Finding::failure(*check, group, message)
        } else {
            Finding::warning(*check, group, message)
        };
        let details = without.iter().map(|path| (*path).to_owned());
        let attach = format!("attach it to each of them: `govc tags.attach -c {category} {name} HOST`");
        Some(finding.details(details).remedy(attach))
    }
}
