//! The operator: its definitions, rights and Deployment.

use std::collections::BTreeSet;
use std::time::Duration;

use k8s_openapi::api::apps::v1::{DaemonSet, Deployment};
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DeleteParams, ListParams, Preconditions};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};
use slipway_assets::drivers::DriverError;
use slipway_assets::drivers::object::{DRIVER_LABEL, MANAGER};
use slipway_assets::drivers::operator::names::{covers, places};
use slipway_assets::drivers::operator::{self, NAME, NAMESPACE, Placed};
use slipway_providers::cluster::{AccessError, Applier, call, is_applied_by, or_absent};
use thiserror::Error;
use tokio::time::Instant;

/// The ConfigMap with the authorities of the matrix's server.
pub const MATRIX_CA: &str = "slipway-matrix-ca";
/// Between two looks.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Why the operator was not deployed.
#[derive(Debug, Error)]
pub enum DeployError {
    #[error(transparent)]
    Access(#[from] AccessError),
    #[error("the operator's objects cannot be created")]
    Objects(#[from] DriverError),
    #[error("an object cannot be written as JSON")]
    Json(#[from] serde_json::Error),
    #[error("the definitions of Slipway's kinds were not served after {} seconds", .0.as_secs())]
    NotServed(Duration),
    #[error("the operator was not up after {} seconds: {state}", limit.as_secs())]
    NotUp { limit: Duration, state: String },
}

/// All objects of the operator, in the order they are to be applied.
pub fn objects(placed: &Placed<'_>) -> Result<Vec<Value>, DeployError> {
    let mut objects = Vec::new();
    for definition in slipway_api::slipway::definitions() {
        objects.push(serde_json::to_value(definition)?);
    }
    objects.extend(operator::objects()?);
    if operator::approves(placed.arguments) {
        objects.extend(operator::approver()?);
    }
    objects.extend(operator::machine_controllers(|name| operator::runs(placed.arguments, name))?);
    objects.extend(operator::deployment(placed)?);
    Ok(objects)
}

/// The authorities that the matrix's server is trusted by.
pub fn matrix_authorities(pem: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": MATRIX_CA, "namespace": NAMESPACE},
        "data": {"ca.crt": pem},
    })
}

/// Adds an object that the operator reads when it starts: it is last, and its namespace is there by then.
pub fn before_operator(objects: &mut Vec<Value>, object: Value) {
    let last = objects.len().saturating_sub(1);
    objects.insert(last, object);
}

/// Applies the operator's objects; each one that is there is told.
pub async fn deploy(client: &Client, objects: &[Value], told: impl Fn(&str)) -> Result<(), DeployError> {
    let applier = Applier::new(client, super::FIELD_MANAGER);
    for object in objects {
        told(&applier.apply(object).await?);
    }
    served(client, Duration::from_secs(30)).await
}

/// What the operator that runs was told, which another version of it is told as well.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Running {
    /// Arguments beside those that every operator has.
    pub arguments: Vec<String>,
    pub pull_secrets: Vec<String>,
    /// The registry of the site, if it has one.
    pub registry: Option<String>,
}

impl Running {
    fn of(deployment: Deployment) -> Self {
        let pod = deployment.spec.and_then(|spec| spec.template.spec).unwrap_or_default();
        let secrets = pod.image_pull_secrets.unwrap_or_default();
        let all = pod.containers.into_iter().next().and_then(|one| one.args).unwrap_or_default();
        let arguments: Vec<String> =
            all.into_iter().filter(|argument| !operator::ARGUMENTS.contains(&argument.as_str())).collect();
        let registry = arguments.iter().find_map(|one| one.strip_prefix("--registry=")).map(str::to_owned);
        let pull_secrets = secrets.into_iter().map(|secret| secret.name).collect();
        Running { arguments, pull_secrets, registry }
    }
}

/// Nothing, if there is no operator.
pub async fn running(client: &Client) -> Result<Running, AccessError> {
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), NAMESPACE);
    let found = or_absent(call("looking at the operator", deployments.get_opt(NAME)).await)?;
    Ok(found.map(Running::of).unwrap_or_default())
}

/// Deletes copies of Secrets for pulling images that an earlier release gave other names, and that no pod is pulled with any more.
/// The operator may delete what has one of today's names, and nothing else.
pub async fn remove_old_copies(client: &Client, told: impl Fn(&str)) -> Result<(), AccessError> {
    let labelled = ListParams::default().labels(DRIVER_LABEL);
    for place in places("Secret").flatten() {
        let secrets: Api<Secret> = Api::namespaced(client.clone(), place);
        let found = call("listing copied secrets", async {
            secrets.list_metadata(&labelled).await.map(|list| list.items)
        });
        // A label can be copied with an object.
        let mut old = or_absent(found.await)?;
        old.retain(|object| {
            !covers("Secret", Some(place), &object.name_any()) && is_applied_by(object, MANAGER)
        });
        if old.is_empty() {
            continue;
        }
        let used = pulled_with(client, place).await?;
        for object in old {
            let name = object.name_any();
            if used.contains(&name) {
                continue;
            }
            let exactly = Preconditions { uid: object.uid(), resource_version: None };
            let parameters = DeleteParams::background().preconditions(exactly);
            let doing = format!("deleting Secret {place}/{name}");
            let deleted = call(&doing, secrets.delete(&name, &parameters)).await;
            if or_absent(deleted.map(|_| true))? {
                told(&format!("Secret {place}/{name}"));
            }
        }
    }
    Ok(())
}

/// The Secrets that pods of a namespace are pulled with.
async fn pulled_with(client: &Client, place: &str) -> Result<BTreeSet<String>, AccessError> {
    let all = ListParams::default();
    let daemon_sets: Api<DaemonSet> = Api::namespaced(client.clone(), place);
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), place);
    let daemon_sets = call("listing DaemonSets", daemon_sets.list(&all)).await?.items;
    let deployments = call("listing Deployments", deployments.list(&all)).await?.items;
    let templates = daemon_sets.into_iter().filter_map(|one| Some(one.spec?.template));
    let templates = templates.chain(deployments.into_iter().filter_map(|one| Some(one.spec?.template)));
    let secrets = templates.filter_map(|template| template.spec?.image_pull_secrets).flatten();
    Ok(secrets.map(|secret| secret.name).collect())
}

/// Waits until our kinds can be used.
async fn served(client: &Client, limit: Duration) -> Result<(), DeployError> {
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let end = Instant::now() + limit;
    for definition in slipway_api::slipway::definitions() {
        let name = definition.metadata.name.unwrap_or_default();
        loop {
            let found = call(&format!("reading the definition {name}"), definitions.get(&name)).await?;
            let conditions = found.status.and_then(|status| status.conditions).unwrap_or_default();
            if conditions.iter().any(|one| one.type_ == "Established" && one.status == "True") {
                break;
            }
            if Instant::now() > end {
                return Err(DeployError::NotServed(limit));
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }
    Ok(())
}

/// Waits until all copies of the operator run what was applied last.
pub async fn wait(client: &Client, limit: Duration) -> Result<(), DeployError> {
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), NAMESPACE);
    let end = Instant::now() + limit;
    loop {
        let found = call("looking at the operator", deployments.get(NAME)).await?;
        let status = found.status.unwrap_or_default();
        let wanted = found.spec.and_then(|spec| spec.replicas).unwrap_or(1);
        let seen = status.observed_generation >= found.metadata.generation;
        let (updated, available) =
            (status.updated_replicas.unwrap_or(0), status.available_replicas.unwrap_or(0));
        if seen && updated >= wanted && available >= wanted {
            return Ok(());
        }
        if Instant::now() > end {
            let state = format!("{available} of {wanted} copies are available");
            return Err(DeployError::NotUp { limit, state });
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

#[cfg(test)]
mod tests {
    use slipway_assets::drivers::operator::{Placed, deployment};

    use super::Running;

    #[test]
    fn another_version_is_told_the_same() {
        let arguments = ["--registry=mirror.example.com/a", "--matrix=configmap:x"].map(str::to_owned);
        let pull_secrets = ["mirror".to_owned()];
        let placed = Placed { image: None, pull_secrets: &pull_secrets, arguments: &arguments };
        let object = deployment(&placed).unwrap().pop().unwrap();
        let running = Running::of(serde_json::from_value(object).unwrap());
        assert_eq!((&running.arguments[..], &running.pull_secrets[..]), (&arguments[..], &pull_secrets[..]));
        assert_eq!(running.registry.as_deref(), Some("mirror.example.com/a"));
    }
}
