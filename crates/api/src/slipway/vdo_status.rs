//! `VDOConfig`: what the operator made of it.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::schema;

/// What the operator made of a `VDOConfig`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VDOConfigStatus {
    /// The generation that was looked at.
    pub observed_generation: Option<i64>,
    /// `Available`, `Progressing`, `Degraded` and `Upgradeable`, of all drivers together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,
    /// The cloud provider.
    pub cloud_provider: Option<DriverStatus>,
    /// The storage driver.
    pub storage_provider: Option<DriverStatus>,
    /// The nodes of the cluster.
    pub nodes: Option<NodeCounts>,
    /// Every connection that a driver uses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 32),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"])
    )]
    pub connections: Vec<ConnectionSummary>,
    /// Everything that is wrong, and not just the worst of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100))]
    pub failures: Vec<Failure>,
    /// The compatibility matrix that versions were chosen from.
    pub matrix: Option<MatrixStatus>,
    /// Version of Kubernetes that versions were chosen for.
    pub kubernetes_version: Option<String>,
    /// What the health checks of vCenters and nodes found.
    pub checks: Option<ChecksStatus>,
}

/// What the health checks found.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChecksStatus {
    /// The generation that was looked at.
    pub observed_generation: Option<i64>,
    /// `Degraded`, `Upgradeable` and `Installable`: what the findings mean for the storage driver.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,
    /// When the last round ended.
    #[serde(default)]
    #[schemars(schema_with = "schema::time")]
    pub last_round: Option<Time>,
    /// When the next one is due, unless something changes before.
    #[serde(default)]
    #[schemars(schema_with = "schema::time")]
    pub next_round: Option<Time>,
    /// Checks without a finding.
    #[serde(default)]
    pub passed: u32,
    /// Findings of things that do not work.
    #[serde(default)]
    pub failures: u32,
    /// What could not be found out.
    #[serde(default)]
    pub unknown: u32,
    /// Findings that are warnings.
    #[serde(default)]
    pub warnings: u32,
    /// Codes of the checks that fail.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub failing: Vec<String>,
    /// What was found, the worst first of each vCenter; `slipway check` shows all of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 50))]
    pub findings: Vec<CheckFinding>,
}

/// Something that a health check found.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CheckFinding {
    /// How it ended: `failure`, `unknown`, `warning` or `pending`.
    pub outcome: String,
    /// Code of the check.
    pub check: String,
    /// The vCenter, unless it is about the cluster itself.
    pub vcenter: Option<String>,
    /// What was looked at.
    pub object: String,
    /// How many nodes it is said about.
    #[serde(default)]
    pub nodes: u32,
    /// Names of some of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 10))]
    pub node_names: Vec<String>,
    /// What was found.
    pub message: String,
    /// What to do about it.
    pub remedy: Option<String>,
}

/// A driver.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DriverStatus {
    /// `Available`, `Progressing`, `Degraded` and `Upgradeable`, of this driver.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,
    /// The version that was chosen.
    pub wanted_version: Option<String>,
    /// Why it was chosen, in words.
    pub choice: Option<String>,
    /// The version that runs.
    pub deployed_version: Option<String>,
    /// The last version that was healthy: what a failed upgrade goes back to.
    pub last_good_version: Option<String>,
    /// The upgrade under way.
    pub upgrade: Option<Upgrade>,
    /// The last upgrade that was taken back. Its version is not tried again until it is wanted anew.
    pub rollback: Option<Rollback>,
}

/// An upgrade under way.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Upgrade {
    /// The version before.
    pub from: String,
    /// The version after.
    pub to: String,
    /// The step it is at.
    pub step: String,
    /// When it started.
    #[serde(default)]
    #[schemars(schema_with = "schema::time")]
    pub started: Option<Time>,
    /// When the step started; a step that takes too long is taken back.
    #[serde(default)]
    #[schemars(schema_with = "schema::time")]
    pub step_started: Option<Time>,
}

/// An upgrade that was taken back.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Rollback {
    /// The version that did not work.
    pub from: String,
    /// The version that runs instead.
    pub to: String,
    /// Why, in one word.
    pub reason: String,
    /// Why, in words.
    pub message: String,
    /// When.
    #[serde(default)]
    #[schemars(schema_with = "schema::time")]
    pub time: Option<Time>,
    /// The generation that wanted the version. A change of the VDOConfig is a new attempt.
    pub observed_generation: Option<i64>,
}

/// How many nodes there are of each kind.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeCounts {
    /// Nodes on which the drivers are ready.
    pub ready: u32,
    /// vSphere nodes on which they are not ready yet.
    pub pending: u32,
    /// Nodes that are not virtual machines of these vCenters. They are left alone.
    pub skipped: u32,
    /// Names of some that are pending.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 10))]
    pub pending_names: Vec<String>,
    /// Names of some that are skipped.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 10))]
    pub skipped_names: Vec<String>,
}

/// A connection in short.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConnectionSummary {
    /// Name of the VSphereConnection.
    pub name: String,
    /// The vCenter.
    pub server: String,
    /// Its version.
    pub version: Option<String>,
    /// The user as the vCenter knows it.
    pub user: Option<String>,
    /// Status of its condition `Ready`.
    pub ready: String,
    /// Reason of that condition.
    pub reason: Option<String>,
    /// Message of that condition.
    pub message: Option<String>,
}

/// Something that is wrong.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    /// What it is about: a driver, a connection, a node, the matrix.
    pub subject: String,
    /// What is wrong, in one word for programs.
    pub reason: String,
    /// What is wrong, in words.
    pub message: String,
    /// What to do about it.
    pub remedy: Option<String>,
}

/// The compatibility matrix.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MatrixStatus {
    /// Where it is from: `embedded`, a URL, a ConfigMap or a file.
    pub source: String,
    /// The day it was published.
    pub published: String,
    /// SHA-256 of its text.
    pub digest: String,
    /// Why a newer one was refused.
    pub refused: Option<String>,
}
