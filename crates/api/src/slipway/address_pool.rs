//! `AddressPool`: static addresses for machines.

#![expect(clippy::duplicated_attributes, reason = "columns are alike")]

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::schema;

/// Static addresses for machines.
#[skip_serializing_none]
#[derive(CustomResource, Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "slipway.dev",
    version = "v1alpha1",
    kind = "AddressPool",
    namespaced,
    status = "AddressPoolStatus",
    derive = "PartialEq",
    category = "slipway",
    doc = "Static addresses for machines. A Machine names the pool in `addressesFromPools`, with the group `slipway.dev` and the resource \
           `AddressPool`; its IPAddressClaims are then given addresses of the pool.",
    printcolumn(name = "Capacity", type_ = "integer", json_path = ".status.capacity"),
    printcolumn(name = "Used", type_ = "integer", json_path = ".status.used"),
    printcolumn(name = "Quarantined", type_ = "integer", json_path = ".status.quarantined"),
    printcolumn(
        name = "Reason",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].reason"
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct AddressPoolSpec {
    /// Addresses that are given out: single ones, ranges such as `10.0.0.50-10.0.0.99`, and networks such as `10.0.1.0/26`. Of one
    /// family.
    #[schemars(length(min = 1, max = 64), inner(length(min = 2, max = 100)))]
    pub addresses: Vec<String>,
    /// Addresses among them that are not given out, in the same forms. The gateway is never given out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(min = 2, max = 100)))]
    pub excluded: Vec<String>,
    /// Length of the network's prefix.
    #[schemars(range(min = 1, max = 128))]
    pub prefix: u8,
    /// The network's gateway.
    pub gateway: Option<String>,
    /// How long an address is not given out again after its machine has gone: leases, ARP tables and DNS remember it for a while.
    /// Without it, ten minutes.
    #[schemars(extend("pattern" = "^([0-9]+(h|m|s))+$"))]
    pub quarantine: Option<String>,
}

/// What has become of the addresses.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AddressPoolStatus {
    /// The generation that was looked at.
    pub observed_generation: Option<i64>,
    /// How many addresses the pool has.
    pub capacity: Option<i64>,
    /// How many are given out.
    pub used: Option<i64>,
    /// How many rest after their machines have gone.
    pub quarantined: Option<i64>,
    /// `Ready`. The message says what is wrong with the pool, or which claims wait.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,
}
