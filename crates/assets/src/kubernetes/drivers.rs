//! The operator of the vSphere drivers, and what it is told: the vCenters, and which drivers the cluster has.

use secrecy::ExposeSecret;
use serde_json::Value;
use slipway_api::slipway::vdo_config::{
    CloudProvider, CloudTopology, IpFamily, NodeAddresses, StorageProvider,
};
use slipway_api::slipway::{VDO_CONFIG_NAME, VDOConfig, VDOConfigSpec};
use slipway_config::install_config::vsphere::{self, Tls};
use slipway_config::install_config::{Platform, Stack};
use slipway_config::net::Cidr;

use super::payload;
use super::rights::machines::MACHINE_CONTROLLERS;
use crate::drivers::Connection;
use crate::drivers::operator::{self, Placed};
use crate::objects::named;
use crate::vsphere::{REGION_CATEGORY, ZONE_CATEGORY};
use crate::{Access, Cluster, Credentials, Error, Tree, names};

pub(super) fn add(cluster: &Cluster, tree: &mut Tree) -> Result<(), Error> {
    let (Platform::VSphere(platform), Credentials::VSphere(logins)) =
        (&cluster.config.platform, &cluster.credentials)
    else {
        return Ok(());
    };
    let is_insecure = platform.vcenters.iter().any(|vcenter| vcenter.tls == Tls::Insecure);
    let mut arguments = vec![format!("--controllers={}", controllers().join(","))];
    let vips = names::vips(&cluster.config);
    arguments.extend(vips.api.iter().chain(&vips.ingress).map(|vip| format!("--vip={vip}")));
    arguments.extend(is_insecure.then(|| operator::ALLOW_INSECURE.to_owned()));
    let placed = Placed { image: Some(payload(cluster)?.image), arguments: &arguments, ..Placed::default() };
    let machines = operator::machine_controllers(|_| true)?;
    let objects = [operator::objects()?, machines, operator::deployment(&placed)?].concat();
    // Their namespaces are there on every platform.
    let is_there = |object: &Value| {
        let name = &object["metadata"]["name"];
        object["kind"] == "Namespace" && (name == operator::NAMESPACE || name == names::MACHINES_NAMESPACE)
    };
    for object in objects.iter().filter(|object| !is_there(object)) {
        write(tree, 30, object, Access::Group)?;
    }
    for (vcenter, login) in platform.vcenters.iter().zip(logins) {
        let server = vcenter.server.to_string();
        let connection = Connection {
            name: Connection::name_for(&server),
            server,
            port: vcenter.port.get(),
            datacenters: vcenter.datacenters.clone(),
            tls: vcenter.tls.clone(),
            user: login.user.clone(),
            password: login.password.expose_secret().into(),
        };
        for object in connection.objects()? {
            let access = if object["kind"] == "Secret" { Access::Owner } else { Access::Group };
            write(tree, 40, &object, access)?;
        }
    }
    let config =
        VDOConfig { metadata: named(VDO_CONFIG_NAME), spec: wanted(cluster, platform), status: None };
    tree.yaml("manifests/41_vdoconfig-cluster.yaml", &config, Access::Group)
}

/// What the operator runs: beside what it does in every cluster, the machines, which no one else owns here.
fn controllers() -> Vec<&'static str> {
    let machines = MACHINE_CONTROLLERS.iter().map(|controller| controller.name);
    ["connections", "drivers", "checks"].into_iter().chain(machines).collect()
}

/// Both drivers. With a single failure domain no tags are expected, and the drivers would wait for them.
fn wanted(cluster: &Cluster, platform: &vsphere::Platform) -> VDOConfigSpec {
    let is_tagged = platform.failure_domains.len() > 1;
    let topology = is_tagged.then(|| CloudTopology {
        region_category: REGION_CATEGORY.to_owned(),
        zone_category: ZONE_CATEGORY.to_owned(),
    });
    let categories = if is_tagged { vec![REGION_CATEGORY, ZONE_CATEGORY] } else { Vec::new() };
    VDOConfigSpec {
        cloud_provider: Some(CloudProvider {
            topology,
            node_addresses: node_addresses(cluster, &platform.node_networking),
            ..CloudProvider::default()
        }),
        storage_provider: Some(StorageProvider {
            cluster_id: Some(cluster.identity.infra_id.to_string()),
            topology_categories: categories.into_iter().map(str::to_owned).collect(),
            ..StorageProvider::default()
        }),
        ..VDOConfigSpec::default()
    }
}

/// What the user said, without the virtual addresses: they are on a machine and are not its own.
fn node_addresses(cluster: &Cluster, networking: &vsphere::NodeNetworking) -> Option<NodeAddresses> {
    let texts = |cidrs: &[Cidr]| cidrs.iter().map(ToString::to_string).collect::<Vec<_>>();
    let vsphere::NodeNetworking { external, internal } = networking;
    let vips = names::vips(&cluster.config);
    let shared = vips
        .api
        .iter()
        .chain(&vips.ingress)
        .map(|vip| format!("{vip}/{}", if vip.is_ipv4() { 32 } else { 128 }));
    let shared: Vec<String> = shared.collect();
    let families = match cluster.config.networking.stack {
        Stack::DualV4First | Stack::DualV6First => vec![IpFamily::Ipv4, IpFamily::Ipv6],
        Stack::V6 => vec![IpFamily::Ipv6],
        // The driver's own default.
        Stack::V4 => Vec::new(),
    };
    let addresses = NodeAddresses {
        families,
        internal_subnets: texts(&internal.subnets),
        external_subnets: texts(&external.subnets),
        excluded_internal_subnets: [texts(&internal.excluded), shared.clone()].concat(),
        excluded_external_subnets: [texts(&external.excluded), shared].concat(),
        internal_network: internal.network.clone(),
        external_network: external.network.clone(),
    };
    (addresses != NodeAddresses::default()).then_some(addresses)
}

/// Into a file that is named after what it is.
fn write(tree: &mut Tree, number: u8, object: &Value, access: Access) -> Result<(), Error> {
    let text = |path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or_default();
    let kind = text("/kind").to_lowercase();
    // Of some there is one in several namespaces.
    let place = match text("/metadata/namespace") {
        "" | operator::NAMESPACE => String::new(),
        namespace => format!("-{namespace}"),
    };
    let path = format!("manifests/{number}_{kind}-{}{place}.yaml", text("/metadata/name"));
    tree.yaml(path, object, access)
}
