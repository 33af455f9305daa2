//! Kubernetes objects that Slipway reads and writes. No I/O.
//!
//! Foreign kinds are slim: they have the fields Slipway uses, and the tests apply every object to a real
//! API server with the real definitions and strict field validation.
//!
//! | module | kinds |
//! |---|---|
//! | [`slipway`] | our own kinds: connections to vCenters, and the drivers |
//! | [`openshift`] | what the installer of an OpenShift cluster writes |
//! | [`provider_spec`] | what a Machine says about its platform |
//! | [`cluster_api`] | Cluster API and its addresses |
//! | [`vsphere_machines`] | Cluster API's provider for vSphere |
//! | [`kubevirt`] | virtual machines and their disks |
//! | [`well_known`] | names that several programs agree on |

pub mod cluster_api;
pub mod kubevirt;
pub mod openshift;
pub mod provider_spec;
pub mod slipway;
pub mod vsphere_machines;
pub mod well_known;

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// The name of an object in the same namespace, or of one without a namespace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LocalReference {
    pub name: String,
}

impl LocalReference {
    pub fn new(name: impl Into<String>) -> Self {
        LocalReference { name: name.into() }
    }
}

/// A reference to an object of a kind of the group, in the same namespace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TypedReference {
    pub api_group: String,
    pub kind: String,
    pub name: String,
}

/// An extra disk of a machine on vSphere: the same wherever it is written.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DataDisk {
    pub name: String,
    #[serde(rename = "sizeGiB")]
    pub size_gib: u32,
    pub provisioning_mode: Option<String>,
}
