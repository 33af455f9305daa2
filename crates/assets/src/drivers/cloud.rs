//! The objects of the cloud provider.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::{DaemonSet, DaemonSetSpec, DaemonSetUpdateStrategy};
use k8s_openapi::api::core::v1::{Namespace, PodSecurityContext, PodSpec, ResourceRequirements, Toleration};
use k8s_openapi::api::rbac::v1::PolicyRule;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use slipway_api::slipway::vdo_config::{CloudProvider, NodeAddresses};
use slipway_config::driver_config::cloud;
use slipway_config::matrix::{Component, Source};

use super::manifests::{self, Patch, Purpose};
use super::object::{Object, Objects};
use super::pods::{
    cluster_role, cluster_role_binding, config_map_volume, container, env, nodes_with, pull_secrets,
    read_only, role, role_binding, rule, selector, service_account, template, texts, tolerates,
    tolerates_control_plane,
};
use super::settings::{DriverError, DriverSettings, cloud_vcenter};
use crate::objects::{config_map, map, namespace, secret, within};

/// Where the cloud provider runs.
pub const NAMESPACE: &str = "kube-system";
pub const DAEMON_SET: &str = "vsphere-cloud-controller-manager";
pub const CONFIG_MAP: &str = "vsphere-cloud-config";
pub const SECRET: &str = "vsphere-cloud-secret";
/// Where its login is, and nothing else: the driver watches all Secrets of that namespace.
pub const SECRET_NAMESPACE: &str = "slipway-cloud-provider";
const ACCOUNT: &str = "cloud-controller-manager";
const CLUSTER_ROLE: &str = "system:cloud-controller-manager";
pub(super) const SECRET_ROLE: &str = "vsphere-cloud-controller-manager-secrets";
pub(super) const AUTHENTICATION_BINDING: &str = "vsphere-cloud-controller-manager-authentication";
/// Where the ConfigMap is mounted.
const DIRECTORY: &str = "/etc/cloud";
const CONFIG_KEY: &str = "vsphere.conf";

/// The objects of the cloud provider, in the order they are to be applied.
pub fn objects(settings: &DriverSettings<'_>, spec: &CloudProvider) -> Result<Vec<Object>, DriverError> {
    settings.check_servers()?;
    let config = config(settings, spec).to_yaml();
    let mut files = map([(CONFIG_KEY, config.as_str())]);
    let authorities = settings.connections.iter().filter_map(super::Connection::ca_key);
    files.extend(authorities.map(|(key, pem)| (key, pem.to_owned())));
    let logins = logins(settings)?;
    let texts = files.iter().chain(&logins).map(|(key, text)| (key.as_str(), text.as_str()));
    let hash = settings.hash(texts);

    let mut objects = Objects::new(settings.row);
    objects.add(secret_namespace())?;
    objects.add(role(SECRET_NAMESPACE, SECRET_ROLE, secret_rules()))?;
    let mut reader = role_binding(SECRET_NAMESPACE, SECRET_ROLE, SECRET_ROLE, ACCOUNT);
    for subject in reader.subjects.iter_mut().flatten() {
        subject.namespace = Some(NAMESPACE.to_owned());
    }
    objects.add(reader)?;
    objects.add(secret(within(SECRET_NAMESPACE, SECRET), "Opaque", logins))?;
    if let Source::Manifests(text) = &settings.row.source {
        objects.add(config_map(within(NAMESPACE, CONFIG_MAP), files))?;
        let workloads = &[("DaemonSet", DAEMON_SET)];
        let own = &[("Secret", SECRET), ("ConfigMap", CONFIG_MAP)];
        let patch = Patch { settings, namespace: NAMESPACE, hash, workloads, own, on: Purpose::Cloud };
        manifests::add(text, &patch, &mut objects)?;
        return Ok(objects.finish());
    }
    objects.add(service_account(NAMESPACE, ACCOUNT))?;
    objects.add(cluster_role(CLUSTER_ROLE, cluster_rules()))?;
    objects.add(cluster_role_binding(CLUSTER_ROLE, CLUSTER_ROLE, NAMESPACE, ACCOUNT))?;
    objects.add(role_binding(
        NAMESPACE,
        AUTHENTICATION_BINDING,
        "extension-apiserver-authentication-reader",
        ACCOUNT,
    ))?;
    objects.add(config_map(within(NAMESPACE, CONFIG_MAP), files))?;
    objects.add(daemon_set(settings, hash)?)?;
    Ok(objects.finish())
}

/// What the driver may do in the whole cluster.
pub(super) fn cluster_rules() -> Vec<PolicyRule> {
    vec![
        rule("", &["events"], &["create", "patch", "update"]),
        // No deletion: a node that no vCenter knows may be a machine of another kind.
        rule("", &["nodes"], &["get", "list", "watch", "patch", "update"]),
        rule("", &["nodes/status"], &["patch"]),
        rule("", &["services"], &["list", "patch", "update", "watch"]),
        rule("", &["services/status"], &["patch"]),
        rule("coordination.k8s.io", &["leases"], &["create", "get", "list", "watch", "update"]),
    ]
}

/// The namespace of its login, where no pod runs.
pub(super) fn secret_namespace() -> Namespace {
    namespace(SECRET_NAMESPACE, map([("pod-security.kubernetes.io/enforce", "restricted")]))
}

/// What it may do in the namespace of its login.
fn secret_rules() -> Vec<PolicyRule> {
    vec![rule("", &["secrets"], &["get", "list", "watch"])]
}

/// The driver's configuration, with the names of the Secret but nothing from it.
pub fn config(settings: &DriverSettings<'_>, spec: &CloudProvider) -> cloud::CloudConfig {
    let mut config = cloud::CloudConfig::default();
    SECRET.clone_into(&mut config.global.secret_name);
    SECRET_NAMESPACE.clone_into(&mut config.global.secret_namespace);
    for connection in settings.connections {
        config.vcenters.insert(connection.server.clone(), cloud_vcenter(connection, DIRECTORY));
    }
    if let Some(topology) = &spec.topology {
        config.labels.zone.clone_from(&topology.zone_category);
        config.labels.region.clone_from(&topology.region_category);
    }
    if let Some(addresses) = &spec.node_addresses {
        config.global.ip_family =
            addresses.families.iter().map(|family| family.as_str().to_owned()).collect();
        config.nodes = nodes(addresses);
    }
    config
}

fn nodes(addresses: &NodeAddresses) -> cloud::Nodes {
    cloud::Nodes {
        internal_network_subnet_cidr: addresses.internal_subnets.join(","),
        external_network_subnet_cidr: addresses.external_subnets.join(","),
        internal_vm_network_name: addresses.internal_network.clone().unwrap_or_default(),
        external_vm_network_name: addresses.external_network.clone().unwrap_or_default(),
        exclude_internal_network_subnet_cidr: addresses.excluded_internal_subnets.join(","),
        exclude_external_network_subnet_cidr: addresses.excluded_external_subnets.join(","),
    }
}

/// User and password of each vCenter, by its name.
fn logins(settings: &DriverSettings<'_>) -> Result<BTreeMap<String, String>, DriverError> {
    let mut logins = BTreeMap::new();
    for connection in settings.connections {
        let server = &connection.server;
        if !crate::names::is_secret_key(server) {
            return Err(DriverError::ServerName { server: server.clone() });
        }
        logins.insert(format!("{server}.username"), connection.user.clone());
        logins.insert(format!("{server}.password"), connection.password.expose().to_owned());
    }
    Ok(logins)
}

fn daemon_set(settings: &DriverSettings<'_>, hash: String) -> Result<DaemonSet, DriverError> {
    let labels = map([("name", DAEMON_SET)]);
    let config_file = format!("--cloud-config={DIRECTORY}/{CONFIG_KEY}");
    let args = texts(["--cloud-provider=vsphere", "--v=2", &config_file]);
    let mounts = vec![read_only("vsphere-config-volume", DIRECTORY)];
    let mut manager = container(DAEMON_SET, settings.image(Component::Manager)?, args, mounts);
    // The driver takes a node whose machine it does not find for deleted, and nodes of other kinds with it.
    manager.env = Some(vec![env("SKIP_NODE_DELETION", "true")]);
    manager.resources = Some(ResourceRequirements {
        requests: Some([("cpu".to_owned(), Quantity("200m".to_owned()))].into()),
        ..ResourceRequirements::default()
    });
    let mut tolerations = vec![Toleration {
        key: Some("node.cloudprovider.kubernetes.io/uninitialized".to_owned()),
        value: Some("true".to_owned()),
        effect: Some("NoSchedule".to_owned()),
        ..Toleration::default()
    }];
    tolerations.extend(tolerates_control_plane());
    tolerations.push(tolerates(Some("node.kubernetes.io/not-ready"), "NoSchedule"));
    let spec = PodSpec {
        containers: vec![manager],
        tolerations: Some(tolerations),
        security_context: Some(PodSecurityContext {
            run_as_user: Some(1001),
            ..PodSecurityContext::default()
        }),
        service_account_name: Some(ACCOUNT.to_owned()),
        priority_class_name: Some("system-node-critical".to_owned()),
        host_network: Some(true),
        image_pull_secrets: pull_secrets(settings.pull_secrets),
        volumes: Some(vec![config_map_volume("vsphere-config-volume", CONFIG_MAP)]),
        affinity: Some(nodes_with(&[
            "node-role.kubernetes.io/control-plane",
            "node-role.kubernetes.io/master",
        ])),
        ..PodSpec::default()
    };
    Ok(DaemonSet {
        metadata: within(NAMESPACE, DAEMON_SET),
        spec: Some(DaemonSetSpec {
            selector: selector(&labels),
            update_strategy: Some(DaemonSetUpdateStrategy {
                type_: Some("RollingUpdate".to_owned()),
                ..DaemonSetUpdateStrategy::default()
            }),
            template: template(labels, hash, spec),
            ..DaemonSetSpec::default()
        }),
        ..DaemonSet::default()
    })
}
