//! Changing objects: server-side apply with one field manager per writer, and merge patches where a field is shared.

use std::fmt::{self, Debug};

use aws_lc_rs::digest;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client, ResourceExt};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::call::call;
use super::error::AccessError;
use super::kinds::Kinds;

/// Names of managers of fields have 128 characters at most; prefixes have fewer than 28.
const MAX_MANAGER_NAME: usize = 100;

/// The name under which fields are owned.
#[derive(Debug, Clone, Copy)]
pub struct Manager<'n> {
    name: &'n str,
    force: bool,
}

impl<'n> Manager<'n> {
    /// Takes over fields that another manager owns.
    pub const fn forcing(name: &'n str) -> Self {
        Manager { name, force: true }
    }

    /// Leaves them alone: the API server answers with a conflict.
    pub const fn yielding(name: &'n str) -> Self {
        Manager { name, force: false }
    }

    fn parameters(self) -> PatchParams {
        let parameters = PatchParams::apply(self.name);
        if self.force { parameters.force() } else { parameters }
    }
}

/// A manager for each name, so that none takes another's entry away.
pub fn manager_name(prefix: &str, name: &str) -> String {
    if name.len() <= MAX_MANAGER_NAME {
        return format!("{prefix}-{name}");
    }
    let hash = digest::digest(&digest::SHA256, name.as_bytes());
    let hash: String = hash.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{prefix}-{hash}")
}

/// Applies an object of a kind that is known.
pub async fn apply<K>(
    api: &Api<K>,
    manager: Manager<'_>,
    name: &str,
    doing: &str,
    object: &Value,
) -> Result<K, AccessError>
where
    K: Clone + DeserializeOwned + Debug,
{
    call(doing, api.patch(name, &manager.parameters(), &Patch::Apply(object))).await
}

/// Applies the status of an object.
pub async fn apply_status<K>(
    api: &Api<K>,
    manager: Manager<'_>,
    name: &str,
    doing: &str,
    object: &Value,
) -> Result<(), AccessError>
where
    K: DeserializeOwned,
{
    call(doing, api.patch_status(name, &manager.parameters(), &Patch::Apply(object))).await.map(drop)
}

/// Changes some fields of an object.
pub async fn merge<K>(api: &Api<K>, name: &str, doing: &str, change: &Value) -> Result<(), AccessError>
where
    K: Clone + DeserializeOwned + Debug,
{
    merged(api, None, name, doing, change).await.map(drop)
}

/// Changes some fields of a part of an object that has rights of its own, such as `status` or `approval`.
pub async fn merge_part<K>(
    api: &Api<K>,
    part: &str,
    name: &str,
    doing: &str,
    change: &Value,
) -> Result<(), AccessError>
where
    K: Clone + DeserializeOwned + Debug,
{
    merged(api, Some(part), name, doing, change).await.map(drop)
}

/// The same, of the object or of a part of it, with what the object is like afterwards.
pub async fn merged<K>(
    api: &Api<K>,
    part: Option<&str>,
    name: &str,
    doing: &str,
    change: &Value,
) -> Result<K, AccessError>
where
    K: Clone + DeserializeOwned + Debug,
{
    let (parameters, patch) = (PatchParams::default(), Patch::Merge(change));
    match part {
        Some(part) => call(doing, api.patch_subresource(part, name, &parameters, &patch)).await,
        None => call(doing, api.patch(name, &parameters, &patch)).await,
    }
}

/// Whether an object was applied by a manager of fields. A label can be copied with an object, this cannot.
pub fn is_applied_by(object: &impl ResourceExt, manager: &str) -> bool {
    let by = |entry: &ManagedFieldsEntry| {
        entry.manager.as_deref() == Some(manager) && entry.operation.as_deref() == Some("Apply")
    };
    object.managed_fields().iter().any(by)
}

/// Applies objects of any kind, forcing fields that others own.
pub struct Applier {
    client: Client,
    manager: &'static str,
    kinds: Kinds,
}

impl Debug for Applier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Applier").field("manager", &self.manager).finish_non_exhaustive()
    }
}

impl Applier {
    pub fn new(client: &Client, manager: &'static str) -> Self {
        Applier { client: client.clone(), manager, kinds: Kinds::default() }
    }

    /// Applies an object as it is, and says what it is called.
    pub async fn apply(&self, object: &Value) -> Result<String, AccessError> {
        let text = |path: &str| object.pointer(path).and_then(Value::as_str);
        let (Some(api_version), Some(kind), Some(name)) =
            (text("/apiVersion"), text("/kind"), text("/metadata/name"))
        else {
            let what = text("/kind").or(text("/metadata/name")).unwrap_or("?");
            return Err(AccessError::NoObject(what.to_owned()));
        };
        let namespace = text("/metadata/namespace");
        let called = match namespace {
            Some(namespace) => format!("{kind} {namespace}/{name}"),
            None => format!("{kind} {name}"),
        };
        let api = self.kinds.api(&self.client, api_version, kind, namespace).await?;
        apply(&api, Manager::forcing(self.manager), name, &format!("applying {called}"), object).await?;
        Ok(called)
    }
}

#[cfg(test)]
mod tests {
    use super::manager_name;

    #[test]
    fn long_names_have_managers_of_their_own() {
        assert_eq!(manager_name("slipway-node", "a"), "slipway-node-a");
        let [one, other] =
            ["1", "2"].map(|end| manager_name("slipway-certificates", &format!("{}{end}", "a".repeat(200))));
        assert_ne!(one, other);
        assert!(one.len() <= 128);
    }
}
