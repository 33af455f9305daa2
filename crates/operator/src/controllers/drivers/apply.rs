//! Applying objects, and deleting what is no longer wanted.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use kube::api::{ApiResource, DeleteParams, DynamicObject, ListParams, Preconditions};
use kube::core::PartialObjectMeta;
use kube::{Client, ResourceExt};
use slipway_api::slipway::vdo_status::Failure;
use slipway_assets::drivers::Object;
use slipway_assets::drivers::object::DRIVER_LABEL;
use slipway_assets::drivers::operator::names::{covers, places, secrets_among_others};
use slipway_config::matrix::Driver;
use slipway_providers::cluster::{
    AccessError, Manager, api_of, apply, call, is_applied_by, or_absent, resource,
};
use slipway_providers::text::chain;

use super::MANAGER;
use super::choose::failure;

/// Kinds of objects that drivers consist of: group and version, kind, and plural.
/// In reverse it is the order in which they are deleted.
const KINDS: [(&str, &str, &str); 14] = [
    ("storage.k8s.io/v1", "CSIDriver", "csidrivers"),
    ("v1", "ServiceAccount", "serviceaccounts"),
    ("rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles"),
    ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "clusterrolebindings"),
    ("rbac.authorization.k8s.io/v1", "Role", "roles"),
    ("rbac.authorization.k8s.io/v1", "RoleBinding", "rolebindings"),
    ("v1", "ConfigMap", "configmaps"),
    ("v1", "Secret", "secrets"),
    ("v1", "Service", "services"),
    ("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets"),
    ("apps/v1", "Deployment", "deployments"),
    ("apps/v1", "DaemonSet", "daemonsets"),
    ("storage.k8s.io/v1", "StorageClass", "storageclasses"),
    ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "validatingwebhookconfigurations"),
];

/// Kind, namespace and name.
type Key = (String, Option<String>, String);

/// An object that carries our label.
#[derive(Debug, Clone)]
pub struct Live {
    pub key: Key,
    pub driver: String,
    /// Changes when anybody changes the object.
    mark: String,
    uid: Option<String>,
    /// We have applied it. What only carries our label was copied by somebody.
    is_ours: bool,
    resource: ApiResource,
}

/// A generation where there is one: the status of pods changes all the time.
fn mark(object: &impl ResourceExt) -> String {
    let generation = object.meta().generation.map(|generation| generation.to_string());
    generation.or_else(|| object.resource_version()).unwrap_or_default()
}

/// Everything that carries our label.
pub async fn live(client: &Client) -> Result<Vec<Live>, AccessError> {
    let mut lists = Vec::new();
    for (api_version, kind, plural) in KINDS {
        let resource = resource(api_version, kind, plural);
        for place in places(kind) {
            lists.push(labelled(client, resource.clone(), place));
        }
    }
    let found = futures_util::future::try_join_all(lists).await?;
    Ok(found.into_iter().flatten().collect())
}

async fn labelled(
    client: &Client,
    resource: ApiResource,
    place: Option<&str>,
) -> Result<Vec<Live>, AccessError> {
    let api = api_of(client, &resource, place);
    let among_others =
        place.filter(|_| resource.kind == "Secret").and_then(secrets_among_others).unwrap_or_default();
    let mut items = Vec::new();
    if among_others.is_empty() {
        let labelled = ListParams::default().labels(DRIVER_LABEL);
        let found = call(&format!("listing {}", resource.plural), api.list_metadata(&labelled)).await;
        // A namespace that is not there yet holds nothing.
        items.extend(or_absent(found.map(|found| found.items))?);
    }
    for name in among_others {
        let doing = format!("reading {} {name}", resource.kind);
        items.extend(call(&doing, api.get_metadata_opt(name)).await?);
    }
    items.retain(|object| object.labels().contains_key(DRIVER_LABEL));
    let live = |object: PartialObjectMeta<DynamicObject>| Live {
        key: (resource.kind.clone(), object.namespace(), object.name_any()),
        driver: object.labels().get(DRIVER_LABEL).cloned().unwrap_or_default(),
        mark: mark(&object),
        uid: object.uid(),
        is_ours: is_applied_by(&object, MANAGER),
        resource: resource.clone(),
    };
    Ok(items.into_iter().map(live).collect())
}

/// The value of our label for a driver.
pub fn label(driver: Driver) -> &'static str {
    match driver {
        Driver::CloudProvider => "cloud-provider",
        Driver::StorageProvider => "storage-provider",
    }
}

/// What was applied, so that only what differs is applied again.
#[derive(Debug, Default)]
pub struct Ledger {
    applied: BTreeMap<Key, (u64, String)>,
}

impl Ledger {
    /// Forgets everything: the next time all objects are applied.
    pub fn clear(&mut self) {
        self.applied.clear();
    }

    /// Applies, in order, what is new, or not as it was left. Everything that did not work is named.
    pub async fn apply(
        &mut self,
        client: &Client,
        driver: Driver,
        objects: &[Object],
        live: &[Live],
    ) -> (usize, Vec<Failure>) {
        let (mut changed, mut failures) = (0, Vec::new());
        for object in objects {
            let key: Key = (object.kind.to_owned(), object.namespace.clone(), object.name.clone());
            let mut hasher = DefaultHasher::new();
            object.value.to_string().hash(&mut hasher);
            let wanted = hasher.finish();
            // Namespaces are not listed: others have them too.
            let is = live.iter().find(|live| live.key == key).map(|live| live.mark.as_str());
            let known = self.applied.get(&key).filter(|(hash, _)| *hash == wanted);
            if known.is_some_and(|(_, left)| object.kind == "Namespace" || is == Some(left)) {
                continue;
            }
            let resource = resource(object.api_version, object.kind, object.plural);
            let api = api_of(client, &resource, object.namespace.as_deref());
            let doing = format!("applying {}", object.describe());
            match apply(&api, Manager::forcing(MANAGER), &object.name, &doing, &object.value).await {
                Ok(applied) => {
                    let left = mark(&applied);
                    if is != Some(left.as_str()) {
                        changed += 1;
                        tracing::info!(driver = %driver, object = object.describe(), "applied");
                    }
                    self.applied.insert(key, (wanted, left));
                }
                Err(error) => {
                    self.applied.remove(&key);
                    let remedy = "look at the operator's log, and at who else changes this object";
                    failures.push(failure(driver.key(), "NotApplied", &chain(&error), Some(remedy)));
                }
            }
        }
        (changed, failures)
    }

    /// Deletes what belongs to a driver and is not among the objects, the last made first. Only what we have applied goes, and
    /// only as it was seen: another object that took its name meanwhile stays.
    pub async fn prune(
        &mut self,
        client: &Client,
        driver: Driver,
        objects: &[Object],
        live: &[Live],
    ) -> Vec<Failure> {
        let mut failures = Vec::new();
        let wanted = |key: &Key| {
            objects.iter().any(|object| {
                (object.kind, &object.namespace, &object.name) == (key.0.as_str(), &key.1, &key.2)
            })
        };
        // What an earlier release called otherwise is not ours to delete any more: `slipway drivers` does it.
        let is_left = |live: &&Live| {
            let (kind, namespace, name) = &live.key;
            let is_ours = live.is_ours && live.driver == label(driver);
            is_ours && covers(kind, namespace.as_deref(), name) && !wanted(&live.key)
        };
        for live in live.iter().rev().filter(is_left) {
            let (kind, namespace, name) = &live.key;
            let api = api_of(client, &live.resource, namespace.as_deref());
            let doing = format!("deleting {kind} {name}");
            let exactly = Preconditions { uid: live.uid.clone(), resource_version: None };
            let parameters = DeleteParams::background().preconditions(exactly);
            let deleted = call(&doing, api.delete(name, &parameters)).await;
            match or_absent(deleted.map(|_| ())) {
                Err(error) if error.is_conflict() => {}
                Ok(()) => tracing::info!(driver = %driver, kind, name, "deleted"),
                Err(error) => failures.push(failure(driver.key(), "NotPruned", &chain(&error), None)),
            }
            self.applied.remove(&live.key);
        }
        failures
    }
}
