//! Access to a cluster: connecting, calls with a deadline, and applying.

use std::path::Path;
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams};
use kube::client::ClientBuilder;
use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Api, Client, Config, ResourceExt};
use serde_json::Value;
use thiserror::Error;
use tower::BoxError;
use tower::util::MapErrLayer;

use crate::text::chain;

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
    /// Without a source: parsers quote what they cannot read, and that has secrets.
    #[error("the kubeconfig {file} cannot be used: {problem}")]
    Kubeconfig { file: String, problem: String },
    #[error(
        "there is neither a kubeconfig nor a pod's own access ({0}); name a file with `--kubeconfig`, or set KUBECONFIG"
    )]
    NoAccess(String),
}

/// Whom nobody answered for.
#[derive(Debug, Error)]
#[error("the API server at {server} cannot be asked")]
pub(crate) struct Unanswered {
    server: String,
    source: BoxError,
}

impl AccessError {
    /// The object, or its whole kind, is not there.
    pub fn is_absent(&self) -> bool {
        self.has_code(404)
    }

    /// Somebody else changed the object, or owns what was to be changed.
    pub fn is_conflict(&self) -> bool {
        self.has_code(409)
    }

    fn has_code(&self, code: u16) -> bool {
        matches!(self, AccessError::Api { source, .. } if matches!(&**source, kube::Error::Api(status) if status.code == code))
    }
}

/// Whether an object was applied by a manager of fields. A label can be copied with an object, this cannot.
pub fn is_applied_by(object: &impl ResourceExt, manager: &str) -> bool {
    let by = |entry: &ManagedFieldsEntry| {
        entry.manager.as_deref() == Some(manager) && entry.operation.as_deref() == Some("Apply")
    };
    object.managed_fields().iter().any(by)
}

/// Connects as kubectl does: a file, or those of KUBECONFIG, or `~/.kube/config`; inside of a pod its own access.
pub async fn connect(kubeconfig: Option<&Path>, context: Option<&str>) -> Result<Client, AccessError> {
    client_of(config(kubeconfig, context).await?)
}

/// [`connect`], for watches that must not wait for a server that is gone: one that is silent for so long is given up.
pub async fn connect_within(
    kubeconfig: Option<&Path>,
    context: Option<&str>,
    silence: Duration,
) -> Result<Client, AccessError> {
    let mut config = config(kubeconfig, context).await?;
    config.read_timeout = Some(silence);
    client_of(config)
}

async fn config(kubeconfig: Option<&Path>, context: Option<&str>) -> Result<Config, AccessError> {
    let options =
        KubeConfigOptions { context: context.map(ToOwned::to_owned), ..KubeConfigOptions::default() };
    let file = kubeconfig.map_or_else(usual, |file| format!("`{}`", file.display()));
    let broken =
        |error: KubeconfigError| AccessError::Kubeconfig { file: file.clone(), problem: problem(&error) };
    let config = match (kubeconfig, context) {
        (Some(file), _) => {
            let file = Kubeconfig::read_from(file).map_err(broken)?;
            Config::from_custom_kubeconfig(file, &options).await.map_err(broken)?
        }
        (None, Some(_)) => Config::from_kubeconfig(&options).await.map_err(broken)?,
        (None, None) => Config::infer().await.map_err(|error| {
            // Who runs a command is hardly in a pod: what is wrong with the file is what they can do something about.
            match std::error::Error::source(&error)
                .and_then(|source| source.downcast_ref::<KubeconfigError>())
            {
                Some(missing @ (KubeconfigError::FindPath | KubeconfigError::ReadConfig(..))) => {
                    AccessError::NoAccess(problem(missing))
                }
                Some(found) => AccessError::Kubeconfig { file: file.clone(), problem: problem(found) },
                None => AccessError::NoAccess(error.to_string()),
            }
        })?,
    };
    Ok(config)
}

/// Where a kubeconfig is that nobody names.
fn usual() -> String {
    let named = std::env::var("KUBECONFIG").ok().filter(|named| !named.is_empty());
    named.map_or_else(|| "~/.kube/config".to_owned(), |named| format!("`{named}` (KUBECONFIG)"))
}

/// What is wrong with a kubeconfig, without a word of what is in it.
pub fn problem(error: &KubeconfigError) -> String {
    match error {
        KubeconfigError::Parse(error) => match error.location() {
            Some(place) => format!("it is not understood from line {} on", place.line()),
            None => "it is no YAML with clusters, contexts and users".to_owned(),
        },
        KubeconfigError::ReadConfig(error, file) => format!("reading `{}`: {error}", file.display()),
        other => chain(other),
    }
}

/// Who calls by this configuration.
pub fn client_of(mut config: Config) -> Result<Client, AccessError> {
    config.connect_timeout = Some(PATIENCE);
    let failed = |source| AccessError::Api { doing: "connecting".to_owned(), source: Box::new(source) };
    let server = config.cluster_url.to_string();
    let named = MapErrLayer::new(move |source: BoxError| -> BoxError {
        // Those of the client itself it recognises again.
        if source.is::<kube::Error>() { source } else { Unanswered { server: server.clone(), source }.into() }
    });
    Ok(ClientBuilder::try_from(config).map_err(failed)?.with_layer(&named).build())
}

/// A call with a deadline.
pub async fn call<T>(doing: &str, call: impl Future<Output = kube::Result<T>>) -> Result<T, AccessError> {
    match tokio::time::timeout(PATIENCE, call).await {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(source)) => Err(AccessError::Api { doing: doing.to_owned(), source: Box::new(source) }),
        Err(_) => Err(AccessError::TooSlow { doing: doing.to_owned() }),
    }
}

/// Nothing, where the kind or the object is not there.
pub fn or_absent<T: Default>(result: Result<T, AccessError>) -> Result<T, AccessError> {
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
pub(crate) fn plural(kind: &str) -> String {
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
