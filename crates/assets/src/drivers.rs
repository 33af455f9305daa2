//! The vSphere cloud and storage drivers: their configuration files for a new cluster, and their objects.
//!
//! | module | what it holds |
//! |---|---|
//! | [`connection`] | a vCenter, and the objects that say how it is reached |
//! | [`settings`] | what the objects are made from |
//! | [`cloud`](mod@cloud), [`storage`] | the objects of each driver, in the order they are to be applied |
//! | [`operator`] | who the operator is, and what it may do |
//! | [`object`] | an object of any kind |
//! | [`privileges`] | what users of the drivers need in a vCenter |
//! | [`signature`] | who vouches for a compatibility matrix |
//! | `manifests` | the objects of a version that the matrix carries itself |
//! | `pods` | what pods, roles and bindings are made of |

pub mod cloud;
pub mod connection;
pub mod manifests;
pub mod object;
pub mod operator;
mod pods;
pub mod privileges;
pub mod settings;
pub mod signature;
pub mod storage;

use slipway_config::driver_config::cloud::{CloudConfig, Nodes, VCenter};
use slipway_config::driver_config::{ServerPort, csi};
use slipway_config::install_config::Platform;
use slipway_config::install_config::vsphere::{self, Tls};

pub use connection::Connection;
pub use object::Object;
pub use settings::{DriverError, DriverSettings, NodeMark, WebhookCertificate};
pub use storage::StorageSettings;

use crate::vsphere::{REGION_CATEGORY, ZONE_CATEGORY};
use crate::{Cluster, Credentials};

/// The Secret with the logins of all vCenters.
pub(crate) const CREDENTIALS_NAME: &str = "vsphere-creds";
pub(crate) const CREDENTIALS_NAMESPACE: &str = "kube-system";

/// The cloud provider's configuration; credentials are in the Secret it names.
pub fn cloud_config(cluster: &Cluster) -> Option<CloudConfig> {
    let Platform::VSphere(platform) = &cluster.config.platform else { return None };
    let mut config = CloudConfig::default();
    CREDENTIALS_NAME.clone_into(&mut config.global.secret_name);
    CREDENTIALS_NAMESPACE.clone_into(&mut config.global.secret_namespace);
    for vcenter in &platform.vcenters {
        let section = VCenter {
            server: vcenter.server.to_string(),
            port: vcenter.port.get().into(),
            insecure_flag: vcenter.tls == Tls::Insecure,
            datacenters: vcenter.datacenters.clone(),
            thumbprint: thumbprint(&vcenter.tls),
            ..VCenter::default()
        };
        config.vcenters.insert(vcenter.server.to_string(), section);
    }
    // With a single failure domain no tags are expected, and the driver would wait for them.
    if platform.failure_domains.len() > 1 {
        ZONE_CATEGORY.clone_into(&mut config.labels.zone);
        REGION_CATEGORY.clone_into(&mut config.labels.region);
    }
    config.nodes = nodes(&platform.node_networking);
    Some(config)
}

/// Only what the user said; without it the driver takes the first address that fits.
fn nodes(networking: &vsphere::NodeNetworking) -> Nodes {
    let cidrs = |list: &[slipway_config::net::Cidr]| -> String {
        list.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
    };
    let vsphere::NodeNetworking { external, internal } = networking;
    Nodes {
        internal_network_subnet_cidr: cidrs(&internal.subnets),
        external_network_subnet_cidr: cidrs(&external.subnets),
        internal_vm_network_name: internal.network.clone().unwrap_or_default(),
        external_vm_network_name: external.network.clone().unwrap_or_default(),
        exclude_internal_network_subnet_cidr: cidrs(&internal.excluded),
        exclude_external_network_subnet_cidr: cidrs(&external.excluded),
    }
}

/// The storage driver's configuration, with the credentials: it belongs into a Secret.
pub fn csi_config(cluster: &Cluster) -> Option<csi::CsiConfig> {
    let (Platform::VSphere(platform), Credentials::VSphere(logins)) =
        (&cluster.config.platform, &cluster.credentials)
    else {
        return None;
    };
    let mut config = csi::CsiConfig::default();
    config.global.cluster_id = cluster.identity.infra_id.to_string();
    for (vcenter, login) in platform.vcenters.iter().zip(logins) {
        let section = csi::VCenter {
            user: login.user.clone(),
            password: secrecy::ExposeSecret::expose_secret(&login.password).into(),
            // The driver's default is 443 as well.
            port: match vcenter.port.get() {
                443 => ServerPort::default(),
                port => port.into(),
            },
            insecure_flag: vcenter.tls == Tls::Insecure,
            thumbprint: thumbprint(&vcenter.tls),
            datacenters: vcenter.datacenters.clone(),
            ..csi::VCenter::default()
        };
        config.vcenters.insert(vcenter.server.to_string(), section);
    }
    if platform.failure_domains.len() > 1 {
        config.labels.topology_categories = vec![ZONE_CATEGORY.to_owned(), REGION_CATEGORY.to_owned()];
    }
    Some(config)
}

/// A fingerprint as the drivers write it.
pub(crate) fn thumbprint(tls: &Tls) -> String {
    match tls {
        Tls::Thumbprint(bytes) => {
            bytes.iter().map(|byte| format!("{byte:02X}")).collect::<Vec<_>>().join(":")
        }
        Tls::System | Tls::CaBundle(_) | Tls::Insecure => String::new(),
    }
}
