//! Calls with a deadline, and applying.

use std::time::Duration;

use kube::api::{ApiResource, DynamicObject, Patch, PatchParams};
use kube::{Api, Client};
use serde_json::Value;
use thiserror::Error;

/// For each call.
const PATIENCE: Duration = Duration::from_secs(30);
/// Who owns what the command applies.
const MANAGER: &str = "slipway-cli";

/// What went wrong with a cluster.
#[derive(Debug, Error)]
pub enum AccessError {
    #[error("{doing}")]
    Api { doing: String, source: Box<kube::Error> },
    #[error("{doing} took longer than {} seconds", PATIENCE.as_secs())]
    TooSlow { doing: String },
    #[error("`{0}` is no object of Kubernetes: it has no apiVersion, kind or name")]
    NoObject(String),
}

impl AccessError {
    /// The object, or its whole kind, is not there.
    pub fn is_absent(&self) -> bool {
        matches!(self, AccessError::Api { source, .. } if matches!(&**source, kube::Error::Api(status) if status.code == 404))
    }
}

/// A call with a deadline.
pub(crate) async fn call<T>(
    doing: &str,
    call: impl Future<Output = kube::Result<T>>,
) -> Result<T, AccessError> {
    match tokio::time::timeout(PATIENCE, call).await {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(source)) => Err(AccessError::Api { doing: doing.to_owned(), source: Box::new(source) }),
        Err(_) => Err(AccessError::TooSlow { doing: doing.to_owned() }),
    }
}

/// Nothing, where the kind or the object is not there.
pub(crate) fn or_absent<T: Default>(result: Result<T, AccessError>) -> Result<T, AccessError> {
    match result {
        Err(error) if error.is_absent() => Ok(T::default()),
        other => other,
    }
}

/// Objects of a kind, in a namespace or in none.
pub(crate) fn api(
    client: &Client,
    api_version: &str,
    kind: &str,
    plural: &str,
    namespace: Option<&str>,
) -> Api<DynamicObject> {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let resource = ApiResource {
        group: group.to_owned(),
        version: version.to_owned(),
        api_version: api_version.to_owned(),
        kind: kind.to_owned(),
        plural: plural.to_owned(),
    };
    match namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    }
}

/// The plural of the kinds that are applied here.
fn plural(kind: &str) -> String {
    let lower = kind.to_lowercase();
    match lower.strip_suffix('y') {
        Some(stem) => format!("{stem}ies"),
        None if lower.ends_with('s') => format!("{lower}es"),
        None => format!("{lower}s"),
    }
}

/// Applies an object as it is, and says what it is called.
pub async fn apply(client: &Client, object: &Value) -> Result<String, AccessError> {
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
    let api = api(client, api_version, kind, &plural(kind), namespace);
    let parameters = PatchParams::apply(MANAGER).force();
    let patch = Patch::Apply(object);
    call(&format!("applying {called}"), api.patch(name, &parameters, &patch)).await?;
    Ok(called)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::plural;

    #[rstest]
    #[case("NetworkPolicy", "networkpolicies")]
    #[case("PriorityClass", "priorityclasses")]
    #[case("VDOConfig", "vdoconfigs")]
    #[case("CustomResourceDefinition", "customresourcedefinitions")]
    fn plurals(#[case] kind: &str, #[case] expected: &str) {
        assert_eq!(plural(kind), expected);
    }
}
