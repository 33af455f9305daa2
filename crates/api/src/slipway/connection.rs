//! `VSphereConnection`: a vCenter, how to reach it, and as whom.

#![expect(unreachable_pub, reason = "the derive copies types into functions of its own")]
#![expect(clippy::duplicated_attributes, reason = "columns are alike")]

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::schema;

/// A vCenter, how to reach it, and as whom.
#[skip_serializing_none]
#[derive(CustomResource, KubeSchema, Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[kube(
    group = "slipway.dev",
    version = "v1alpha1",
    kind = "VSphereConnection",
    namespaced,
    status = "VSphereConnectionStatus",
    derive = "PartialEq",
    shortname = "vconn",
    category = "slipway",
    doc = "A vCenter, how to reach it, and as whom. Drivers use the connections in the operator's namespace. \
           Different users for the cloud provider and the storage driver are two connections.",
    printcolumn(name = "Server", type_ = "string", json_path = ".spec.server"),
    printcolumn(name = "Version", type_ = "string", json_path = ".status.version"),
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].status"
    ),
    printcolumn(
        name = "Reason",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].reason"
    ),
    printcolumn(name = "Validated", type_ = "date", json_path = ".status.lastValidation"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct VSphereConnectionSpec {
    /// Name or address of the vCenter, without scheme and port, in lower case. It cannot be changed: another vCenter is another
    /// connection.
    #[schemars(length(min = 1, max = 253))]
    #[x_kube(validation = Rule::new("self.matches('^[a-z0-9]([-a-z0-9.:]*[a-z0-9])?$')")
        .message("the server is a DNS name or address in lower case, without scheme and port; the port has its own field"))]
    #[x_kube(validation = Rule::new("self == oldSelf")
        .message("the server of a connection cannot be changed: create another connection"))]
    pub server: String,
    /// Port of the vCenter.
    #[serde(default = "https")]
    #[schemars(range(min = 1, max = 65535))]
    pub port: u16,
    /// Datacenters of this vCenter that hold nodes or volumes, by name or path. None means all that the user sees.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(min = 1, max = 255)), extend("x-kubernetes-list-type" = "set"))]
    #[x_kube(validation = Rule::new("self.all(name, !name.contains(','))")
        .message("the drivers cannot handle a comma in the name of a datacenter"))]
    pub datacenters: Vec<String>,
    /// Other objects the user must be able to reach. Each is looked up, and its privileges are checked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub resources: Vec<Resource>,
    /// The Secret with `username`, `password` and `server`, in the namespace of this object. The type
    /// `kubernetes.io/basic-auth` is the usual one. The user is written `name@domain`. The login is sent to no other server than
    /// those that `server` names, separated by spaces.
    pub credentials_secret: SecretName,
    /// How the vCenter's certificate is verified. Without it, by the authorities of the operator's image.
    pub tls: Option<Tls>,
}

fn https() -> u16 {
    443
}

/// An object of the vCenter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Resource {
    /// What it is.
    pub kind: ResourceKind,
    /// Its path in the inventory, such as `/DC0/datastore/fast`.
    #[schemars(length(min = 2, max = 1024), extend("pattern" = "^/[^/]"))]
    pub path: String,
}

/// Kinds of objects of a vCenter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ResourceKind {
    Datacenter,
    Folder,
    ComputeCluster,
    ResourcePool,
    Datastore,
    Network,
}

/// The name of a Secret in the same namespace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SecretName {
    /// Name of the Secret.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
}

/// How a certificate is verified: exactly one of these.
#[skip_serializing_none]
#[derive(KubeSchema, Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new(
    "(has(self.caBundle) ? 1 : 0) + (has(self.thumbprint) ? 1 : 0) + (has(self.insecure) ? 1 : 0) == 1"
).message("give exactly one of caBundle, thumbprint and insecure, or leave tls out"))]
pub struct Tls {
    /// Authorities to trust, in PEM, from a ConfigMap in the namespace of this object.
    pub ca_bundle: Option<ConfigMapKey>,
    /// Fingerprint of the certificate: SHA-1 or SHA-256, as hexadecimal bytes with colons.
    #[schemars(extend("pattern" = "^([0-9A-Fa-f]{2}:){19}([0-9A-Fa-f]{2}|([0-9A-Fa-f]{2}:){12}[0-9A-Fa-f]{2})$"))]
    pub thumbprint: Option<String>,
    /// `true`: the certificate is not verified. Anyone on the way to the vCenter can then read the password. The operator
    /// refuses it unless it runs with `--allow-insecure`.
    #[x_kube(validation = Rule::new("self").message("insecure is true or not given"))]
    pub insecure: Option<bool>,
}

/// A key of a ConfigMap in the same namespace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConfigMapKey {
    /// Name of the ConfigMap.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// Key in the ConfigMap.
    #[serde(default = "ca_key")]
    #[schemars(length(min = 1, max = 253))]
    pub key: String,
}

fn ca_key() -> String {
    "ca.crt".to_owned()
}

/// What the operator found out about the vCenter.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VSphereConnectionStatus {
    /// The generation that was validated.
    pub observed_generation: Option<i64>,
    /// `Reachable`, `Authenticated`, `Authorized` and `Ready`. The message names what is missing, and what to do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,
    /// The version the vCenter reports, such as 8.0.3.
    pub version: Option<String>,
    /// The version of its API. It decides which drivers fit: some releases report it alone correctly.
    pub api_version: Option<String>,
    /// Its build number.
    pub build: Option<String>,
    /// The vCenter's own id. Two connections with the same id lead to the same vCenter.
    pub instance_uuid: Option<String>,
    /// The user as the vCenter knows it.
    pub user: Option<String>,
    /// The version of the Secret that the user could log in with last. Drivers get no credentials that were not tried.
    pub credentials_version: Option<String>,
    /// Privileges that the user lacks, by object.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100))]
    pub missing_privileges: Vec<MissingPrivileges>,
    /// When the connection was validated last.
    #[serde(default)]
    #[schemars(schema_with = "schema::time")]
    pub last_validation: Option<Time>,
    /// When it will be validated next, if nothing changes before.
    #[serde(default)]
    #[schemars(schema_with = "schema::time")]
    pub next_validation: Option<Time>,
}

/// What a user may not do with an object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MissingPrivileges {
    /// Path of the object in the inventory; `/` is the vCenter itself.
    pub object: String,
    /// Ids of the privileges.
    #[schemars(length(max = 200))]
    pub privileges: Vec<String>,
}
