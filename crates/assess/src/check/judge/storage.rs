//! Storage classes and policies, the id of the cluster's volumes, and drivers of others.

use std::collections::BTreeSet;

use slipway_providers::vsphere::inventory::Item;

use super::super::catalog::{Check, Reason};
use super::super::cluster::{Cluster, DRIVER, Driver, StorageClass};
use super::super::report::{Action, Finding, Verdicts};
use super::super::snapshot::VCenterSnapshot;
use super::super::target::CheckTarget;
use super::places;
use crate::text::listed;

impl StorageClass {
    /// Kubernetes leaves the case of parameters to the driver, and the driver does not care.
    fn parameter(&self, name: &str) -> Option<&str> {
        let found = self.parameters.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }

    pub(in crate::check) fn policy(&self) -> Option<&str> {
        self.parameter("storagepolicyname")
    }
}

/// The policy that the drivers of a cluster make for it, and the category of its tag.
pub(super) fn own_policy(id: &str) -> (String, String) {
    (format!("openshift-storage-policy-{id}"), format!("openshift-{id}"))
}

/// What concerns the cluster as a whole. `complete` says whether all vCenters were asked.
pub(in crate::check) fn judge(
    subject: &CheckTarget,
    cluster: &Cluster,
    snapshots: &[VCenterSnapshot],
    complete: bool,
) -> Verdicts {
    let mut verdicts = Verdicts::default();
    verdicts.add(Check::ExistingDriver, existing(cluster));
    for class in cluster.storage_classes.iter().filter(|class| class.provisioner == DRIVER) {
        if let Some(policy) = class.policy() {
            for snapshot in snapshots {
                verdicts.merge(with_policy(class, policy, subject, snapshot).at(&snapshot.server));
            }
        }
        if let Some(url) = class.parameter("datastoreurl") {
            verdicts.merge(with_url(class, url, subject, snapshots, complete));
        }
    }
    if let Some(id) = &subject.cluster_id {
        let handles: BTreeSet<&str> = cluster.volumes.iter().map(|volume| volume.handle.as_str()).collect();
        for snapshot in snapshots {
            if matches!(snapshot.volumes, Ok(None)) {
                continue;
            }
            verdicts.add(
                Check::ClusterId,
                cluster_id(id, &handles, snapshot).map(|found| found.at(&snapshot.server)),
            );
        }
    }
    verdicts
}

fn existing(cluster: &Cluster) -> Option<Finding> {
    let Driver::Foreign(what) = &cluster.driver else { return None };
    let message = format!("{what} is there, and belongs neither to Slipway nor to an OpenShift release");
    let remedy = "remove that driver, or leave storage to it; two of them would fight over volumes";
    let finding = Finding::failure(Check::ExistingDriver, DRIVER, message).remedy(remedy);
    Some(finding.means(Action::BlockInstall, Reason::ExistingDriverFound))
}

fn with_policy(
    class: &StorageClass,
    policy: &str,
    subject: &CheckTarget,
    snapshot: &VCenterSnapshot,
) -> Verdicts {
    let mut verdicts = Verdicts::default();
    let check = Check::StorageClasses;
    let name = &class.name;
    let known = match &snapshot.policies {
        Ok(Some(known)) => known,
        Ok(None) => return verdicts,
        Err(reason) => {
            let message = format!("storage policies could not be read: {reason}");
            verdicts.add(check, Some(Finding::unknown(check, policy, message)));
            return verdicts;
        }
    };
    let missing = (!known.contains(policy)).then(|| {
        let message =
            format!("storage class `{name}` needs the storage policy `{policy}`, which is not there");
        let remedy = format!("create the policy `{policy}` on this vCenter, or correct the storage class");
        Finding::failure(check, policy, message).remedy(remedy)
    });
    let there = missing.is_none();
    verdicts.add(check, missing);
    let own = subject.cluster_id.as_ref().map(|id| (id, own_policy(id)));
    if let Some((id, (_, category))) = own.filter(|(_, (own, _))| own == policy && there) {
        for domain in subject.domains_on(&snapshot.server) {
            let Some(item) = places::find(&domain.datastore, domain, snapshot) else { continue };
            verdicts.add(Check::StoragePolicy, untagged(item, &category, id, snapshot));
        }
    }
    verdicts
}

/// The cluster's own policy means datastores with the cluster's tag.
fn untagged(item: &Item, category: &str, tag: &str, snapshot: &VCenterSnapshot) -> Option<Finding> {
    let check = Check::StoragePolicy;
    let tags = match &snapshot.tags {
        Ok(tags) => tags,
        Err(reason) => {
            return Some(Finding::unknown(check, &item.path, format!("tags could not be read: {reason}")));
        }
    };
    let wanted = (category.to_owned(), tag.to_owned());
    if tags.get(&item.id).is_some_and(|tags| tags.contains(&wanted)) {
        return None;
    }
    let path = &item.path;
    let message = format!(
        "the datastore `{path}` does not have the tag `{tag}` of `{category}`, so the cluster's storage policy \
         leaves it out"
    );
    let remedy = format!("attach it: `govc tags.attach -c {category} {tag} {path}`");
    Some(Finding::failure(check, path, message).remedy(remedy))
}

fn with_url(
    class: &StorageClass,
    url: &str,
    subject: &CheckTarget,
    snapshots: &[VCenterSnapshot],
    complete: bool,
) -> Verdicts {
    let check = Check::StorageClasses;
    let mut verdicts = Verdicts::default();
    let found = snapshots.iter().find_map(|snapshot| {
        let item = snapshot
            .inventory
            .items()
            .iter()
            .find(|item| item.datastore().is_some_and(|store| store.url == url))?;
        Some((snapshot, item))
    });
    let name = &class.name;
    let Some((snapshot, item)) = found else {
        let message = format!("storage class `{name}` needs the datastore `{url}`, which no vCenter has");
        let finding = if complete {
            Finding::failure(check, url, message).remedy("correct `datastoreurl` of the storage class")
        } else {
            let message = format!(
                "storage class `{name}` needs the datastore `{url}`; no vCenter that answered has it, and not all answered"
            );
            Finding::unknown(check, url, message)
        };
        verdicts.add(check, Some(finding));
        return verdicts;
    };
    let mut domains = subject.domains_on(&snapshot.server).peekable();
    let used = domains.peek().is_none()
        || domains.any(|domain| item.path.starts_with(&format!("{}/", domain.datacenter)));
    let outside = (!used).then(|| {
        let message = format!(
            "storage class `{name}` needs the datastore `{}`, and no failure domain is in its datacenter",
            item.path
        );
        Finding::failure(check, &item.path, message).remedy("choose a datastore that nodes can reach")
    });
    let finding = outside
        .or_else(|| places::unusable(check, item))
        .or_else(|| places::in_cluster(check, item, snapshot));
    verdicts.add(check, finding.map(|finding| finding.at(&snapshot.server)));
    verdicts
}

/// Another cluster with the same id would claim our volumes, and we theirs, until one of the two loses data.
fn cluster_id(id: &str, handles: &BTreeSet<&str>, snapshot: &VCenterSnapshot) -> Option<Finding> {
    let check = Check::ClusterId;
    let (volumes, total) = match &snapshot.volumes {
        Ok(volumes) => volumes.as_ref()?,
        Err(reason) => {
            return Some(Finding::unknown(check, id, format!("volumes could not be read: {reason}")));
        }
    };
    let strange: Vec<&str> = volumes
        .iter()
        .filter(|volume| !handles.contains(&*volume.id))
        .map(|volume| volume.name.as_str())
        .collect();
    if strange.is_empty() {
        return None;
    }
    let message = format!(
        "of {total} volumes that belong to cluster id `{id}`, this cluster does not know {}: another cluster has \
         the same id, or volumes were left behind",
        listed(&strange)
    );
    let remedy = format!(
        "see that no other cluster on this vCenter has the cluster id `{id}`; then delete what was left behind"
    );
    Some(Finding::warning(check, id, message).remedy(remedy))
}
