//! The operator: its definitions, rights and Deployment.

use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{Api, Client};
use serde_json::Value;
use slipway_assets::drivers::DriverError;
use slipway_assets::drivers::operator::{self, NAME, NAMESPACE, Placed};
use thiserror::Error;
use tokio::time::Instant;

use super::access::{AccessError, apply, call};

/// Between two looks.
const LOOK: Duration = Duration::from_millis(500);

/// Why the operator was not deployed.
#[derive(Debug, Error)]
pub enum DeployError {
    #[error(transparent)]
    Access(#[from] AccessError),
    #[error("the operator's objects cannot be made")]
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
    objects.extend(operator::deployment(placed)?);
    Ok(objects)
}

/// Applies the operator's objects; each one that is there is told.
pub async fn deploy(client: &Client, objects: &[Value], told: impl Fn(&str)) -> Result<(), DeployError> {
    for object in objects {
        told(&apply(client, object).await?);
    }
    served(client, Duration::from_secs(30)).await
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
            tokio::time::sleep(LOOK).await;
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
        tokio::time::sleep(LOOK).await;
    }
}
