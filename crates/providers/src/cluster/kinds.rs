//! Plurals and scopes of kinds. Where they are known beforehand they are given; elsewhere the API server is asked.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use kube::api::{ApiResource, DynamicObject};
use kube::core::GroupVersion;
use kube::discovery::{self, Scope};
use kube::{Api, Client};

use super::call::call;
use super::error::AccessError;

/// A kind whose plural is known.
pub fn resource(api_version: &str, kind: &str, plural: &str) -> ApiResource {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    ApiResource {
        group: group.to_owned(),
        version: version.to_owned(),
        api_version: api_version.to_owned(),
        kind: kind.to_owned(),
        plural: plural.to_owned(),
    }
}

/// Objects of a kind, in a namespace or in none.
pub fn api_of(client: &Client, resource: &ApiResource, namespace: Option<&str>) -> Api<DynamicObject> {
    match namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, resource),
        None => Api::all_with(client.clone(), resource),
    }
}

/// A kind, and whether its objects are in namespaces.
type KnownKind = (ApiResource, Scope);

/// The kinds of a cluster, one call for all of a group and version.
#[derive(Debug, Default)]
pub struct Kinds {
    known: Mutex<HashMap<String, Vec<KnownKind>>>,
}

impl Kinds {
    /// Objects of a kind, where its scope says: one with namespaces and none given is in `default`.
    pub async fn api(
        &self,
        client: &Client,
        api_version: &str,
        kind: &str,
        namespace: Option<&str>,
    ) -> Result<Api<DynamicObject>, AccessError> {
        let (resource, scope) = match self.find(api_version, kind) {
            Some(known) => known,
            None => self.ask(client, api_version, kind).await?,
        };
        let namespace = match scope {
            Scope::Namespaced => Some(namespace.unwrap_or("default")),
            Scope::Cluster => None,
        };
        Ok(api_of(client, &resource, namespace))
    }

    fn find(&self, api_version: &str, kind: &str) -> Option<KnownKind> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(api_version)?.iter().find(|(resource, _)| resource.kind == kind).cloned()
    }

    /// A definition may have been applied since the last time, so a kind that is missing is asked for again.
    async fn ask(&self, client: &Client, api_version: &str, kind: &str) -> Result<KnownKind, AccessError> {
        let unknown =
            || AccessError::UnknownKind { api_version: api_version.to_owned(), kind: kind.to_owned() };
        let version: GroupVersion = api_version.parse().map_err(|_| unknown())?;
        let doing = format!("looking for the kind {kind} in {api_version}");
        let group = match call(&doing, discovery::pinned_group(client, &version)).await {
            Err(error) if error.is_absent() => return Err(unknown()),
            group => group?,
        };
        let resources = group.versioned_resources(&version.version).into_iter();
        let resources = resources.map(|(resource, capabilities)| (resource, capabilities.scope)).collect();
        self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(api_version.to_owned(), resources);
        self.find(api_version, kind).ok_or_else(unknown)
    }
}
