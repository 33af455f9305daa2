//! Regions and zones: the drivers of a cluster read them from tags, going up from the host a machine runs on.

use slipway_providers::vsphere::inventory::{Inventory, Item};

use super::ObjectTags;
use crate::finding::{Judgement, Outcome};
use crate::text::count;

/// A tag that something must have.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Needed<'a> {
    pub(crate) category: &'static str,
    pub(crate) name: &'a str,
    pub(crate) attached: &'a ObjectTags,
    pub(crate) inventory: &'a Inventory,
}

impl Needed<'_> {
    /// The tag of the category an object has itself, or else from the nearest object above it that has one.
    fn nearest<'b>(&'b self, path: &'b str) -> Option<(&'b str, &'b str)> {
        self.inventory.upwards(path).find_map(|item| {
            let attached = self.attached.get(&item.id)?;
            let (_, name) = attached.iter().find(|(category, _)| category == self.category)?;
            Some((item.path.as_str(), name.as_str()))
        })
    }

    /// Whether an object has it, or inherits it.
    pub(crate) fn on(&self, item: &Item) -> Judgement {
        let Needed { category, name, .. } = self;
        let path = &item.path;
        match self.nearest(path) {
            Some((at, tag)) if tag == *name => Judgement::pass(format!("the tag `{name}` is on `{at}`")),
            Some((at, other)) => {
                let whose =
                    if at == path { format!("`{at}` has") } else { format!("`{path}` inherits from `{at}`") };
                Judgement::failure(format!(
                    "{whose} the tag `{other}` of `{category}`, and `{name}` is wanted"
                ))
                .remedy(format!(
                    "correct the failure domain, or the tag: `govc tags.attach -c {category} {name} {path}`"
                ))
            }
            None => {
                let message =
                    format!("neither `{path}` nor anything above it has the tag `{name}` of `{category}`");
                Judgement::failure(message).remedy(format!(
                    "attach it: `govc tags.attach -c {category} {name} {path}`; if it does not exist, first \
                     `govc tags.category.create {category}` and `govc tags.create -c {category} {name}`"
                ))
            }
        }
    }

    /// Every host of a group must say where it is: a machine may run on any of them. `some` is what it means where only some
    /// do not. None for a group without hosts.
    pub(crate) fn on_hosts(&self, group: &str, hosts: &[&Item], some: Outcome) -> Option<Judgement> {
        if hosts.is_empty() {
            return None;
        }
        let Needed { category, name, .. } = self;
        let without: Vec<&str> = hosts
            .iter()
            .filter(|host| self.nearest(&host.path).is_none_or(|(_, tag)| tag != *name))
            .map(|host| host.path.as_str())
            .collect();
        if without.is_empty() {
            return Some(Judgement::pass(format!("all hosts of the group have the tag `{name}`")));
        }
        let message = format!(
            "{} of the {} in the group `{group}` have no tag `{name}` of `{category}`",
            without.len(),
            count(hosts.len(), "host"),
        );
        let outcome = if without.len() == hosts.len() { Outcome::Failure } else { some };
        let judgement = Judgement { outcome, ..Judgement::failure(message) };
        let details = without.iter().map(|path| (*path).to_owned());
        let attach = format!("attach it to each of them: `govc tags.attach -c {category} {name} HOST`");
        Some(judgement.details(details).remedy(attach))
    }
}
