//! How everything is: the operator, the drivers, the connections.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::{Api, Client};
use serde::Serialize;
use slipway_api::slipway::condition::{AVAILABLE, DEGRADED, PROGRESSING, READY};
use slipway_api::slipway::vdo_status::{ChecksStatus, DriverStatus, Failure, MatrixStatus, NodeCounts};
use slipway_api::slipway::{VDOConfig, VSphereConnection};
use slipway_assets::drivers::operator::{NAME, NAMESPACE};
use slipway_providers::cluster::{AccessError, call, or_absent};

use super::configure::wishes;

/// Everything in one answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    pub verdict: Health,
    pub operator: Option<Operator>,
    pub drivers: Vec<Driver>,
    pub connections: Vec<Connection>,
    pub nodes: Option<NodeCounts>,
    pub checks: Option<ChecksStatus>,
    pub failures: Vec<Failure>,
    pub matrix: Option<MatrixStatus>,
    pub kubernetes_version: Option<String>,
}

/// In one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Health {
    /// All drivers serve, and nothing is wrong.
    Healthy,
    /// Something is being rolled out, and nothing is wrong.
    Progressing,
    /// Something is wrong.
    Degraded,
    /// A driver does not serve.
    Unavailable,
    /// There is no operator, or nothing it was told to do.
    NotInstalled,
}

/// The operator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Operator {
    pub image: String,
    pub available: i32,
    pub wanted: i32,
}

/// A driver.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Driver {
    pub name: &'static str,
    #[serde(flatten)]
    pub status: DriverStatus,
}

/// A connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Connection {
    pub name: String,
    pub server: String,
    pub version: Option<String>,
    pub user: Option<String>,
    pub ready: Option<bool>,
    pub reason: Option<String>,
    pub message: Option<String>,
}

/// Asks the cluster.
pub async fn status(client: &Client) -> Result<Status, AccessError> {
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), NAMESPACE);
    let operator = or_absent(call("looking at the operator", deployments.get_opt(NAME)).await)?;
    let (config, connections) = wishes(client).await?;
    Ok(of(operator, config, connections))
}

fn of(
    operator: Option<Deployment>,
    config: Option<VDOConfig>,
    connections: Vec<VSphereConnection>,
) -> Status {
    let operator = operator.map(|deployment| {
        let spec = deployment.spec.unwrap_or_default();
        let pod = spec.template.spec.unwrap_or_default();
        Operator {
            image: pod.containers.first().and_then(|one| one.image.clone()).unwrap_or_default(),
            available: deployment.status.and_then(|status| status.available_replicas).unwrap_or(0),
            wanted: spec.replicas.unwrap_or(1),
        }
    });
    let generation = config.as_ref().and_then(|config| config.metadata.generation);
    let told = config.is_some();
    let status = config.and_then(|config| config.status).unwrap_or_default();
    let verdict = match &operator {
        None => Health::NotInstalled,
        Some(_) if !told => Health::NotInstalled,
        // What it says about an older wish is of no interest.
        Some(_) if status.observed_generation != generation => Health::Progressing,
        Some(_) => verdict(&status.conditions, status.nodes.as_ref()),
    };
    let drivers = [("cloud provider", status.cloud_provider), ("storage driver", status.storage_provider)];
    let drivers = drivers.into_iter().filter_map(|(name, status)| Some(Driver { name, status: status? }));
    Status {
        verdict,
        operator,
        drivers: drivers.collect(),
        connections: connections.into_iter().map(connection).collect(),
        nodes: status.nodes,
        checks: status.checks,
        failures: status.failures,
        matrix: status.matrix,
        kubernetes_version: status.kubernetes_version,
    }
}

fn verdict(conditions: &[Condition], nodes: Option<&NodeCounts>) -> Health {
    // Drivers that serve no node at all are of no use, whatever they say of themselves.
    let useless = nodes.is_some_and(|nodes| nodes.ready + nodes.pending == 0 && nodes.skipped > 0);
    let is = |about: &str| conditions.iter().find(|one| one.type_ == about).map(|one| one.status.as_str());
    match (is(AVAILABLE), is(DEGRADED), is(PROGRESSING)) {
        (Some("False"), _, Some("True")) if is(DEGRADED) == Some("False") => Health::Progressing,
        (Some("False"), _, _) => Health::Unavailable,
        (_, Some("True"), _) => Health::Degraded,
        (_, _, Some("True")) | (None, _, _) => Health::Progressing,
        (Some("True"), _, _) if useless => Health::Degraded,
        _ => Health::Healthy,
    }
}

fn connection(object: VSphereConnection) -> Connection {
    let status = object.status.unwrap_or_default();
    let ready = status.conditions.iter().find(|one| one.type_ == READY);
    Connection {
        name: object.metadata.name.unwrap_or_default(),
        server: object.spec.server,
        ready: ready.map(|ready| ready.status == "True"),
        reason: ready.map(|ready| ready.reason.clone()),
        message: ready.filter(|ready| ready.status != "True").map(|ready| ready.message.clone()),
        version: status.api_version,
        user: status.user,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{from_value, json};

    use super::{Health, of};

    #[rstest]
    #[case::good(["True", "False", "False"], 1, [1, 1], Health::Healthy)]
    #[case::rolling(["True", "True", "False"], 1, [0, 0], Health::Progressing)]
    #[case::new(["False", "True", "False"], 1, [0, 0], Health::Progressing)]
    #[case::wrong(["True", "False", "True"], 1, [0, 0], Health::Degraded)]
    #[case::down(["False", "False", "True"], 1, [0, 0], Health::Unavailable)]
    #[case::theirs(["Unknown", "Unknown", "Unknown"], 1, [0, 0], Health::Healthy)]
    #[case::useless(["True", "False", "False"], 1, [0, 2], Health::Degraded)]
    #[case::stale(["True", "False", "False"], 2, [0, 0], Health::Progressing)]
    fn verdicts(
        #[case] conditions: [&str; 3],
        #[case] generation: i64,
        #[case] nodes: [u32; 2],
        #[case] expected: Health,
    ) {
        let condition = |about: &str, status: &str| json!({"type": about, "status": status, "reason": "X", "message": "", "lastTransitionTime": "2026-11-16T00:00:00Z"});
        let ([available, progressing, degraded], [ready, skipped]) = (conditions, nodes);
        let config = json!({
            "apiVersion": "slipway.dev/v1alpha1", "kind": "VDOConfig",
            "metadata": {"name": "cluster", "generation": generation}, "spec": {"cloudProvider": {}},
            "status": {"observedGeneration": 1, "nodes": {"ready": ready, "pending": 0, "skipped": skipped}, "conditions": [
                condition("Available", available), condition("Progressing", progressing), condition("Degraded", degraded),
            ]},
        });
        let operator = from_value(json!({"metadata": {}, "spec": {"selector": {}, "template": {}}})).unwrap();
        let status = of(Some(operator), Some(from_value(config).unwrap()), Vec::new());
        assert_eq!(status.verdict, expected);
        assert_eq!(of(None, None, Vec::new()).verdict, Health::NotInstalled);
    }
}
