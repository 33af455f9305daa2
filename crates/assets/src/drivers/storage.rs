//! The objects of the storage driver.

mod controller;
mod node;
pub(super) mod rights;
pub(super) mod webhook;

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Service, ServicePort, ServiceSpec};
use k8s_openapi::api::policy::v1::{PodDisruptionBudget, PodDisruptionBudgetSpec};
use k8s_openapi::api::storage::v1::{CSIDriver, CSIDriverSpec, StorageClass};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use slipway_api::slipway::vdo_config::{Access, StorageClassSettings, StorageProvider};
use slipway_config::driver_config::csi;
use slipway_config::matrix::{Line, Source};

use super::connection::Connection;
use super::manifests::{self, Patch, Purpose};
use super::object::{Object, Objects};
use super::pods::selector;
use super::settings::{DriverError, DriverSettings, NodeMark, WebhookCertificate, csi_vcenter};
use crate::objects::{config_map, map, named, namespace, secret, within};

/// The name the driver registers under.
pub const DRIVER: &str = slipway_api::well_known::STORAGE_DRIVER;
/// Where the storage driver runs.
pub const NAMESPACE: &str = "vmware-system-csi";
pub const CONTROLLER: &str = "vsphere-csi-controller";
pub const NODE: &str = "vsphere-csi-node";
pub const WEBHOOK: &str = "vsphere-csi-webhook";
/// The name that the webhook's certificate is for.
pub const WEBHOOK_HOST: &str = "vsphere-webhook-svc.vmware-system-csi.svc";
pub const CONFIG_SECRET: &str = "vsphere-config-secret";
pub(super) const FEATURES: &str = "internal-feature-states.csi.vsphere.vmware.com";
/// Where the Secret is mounted.
const DIRECTORY: &str = "/etc/cloud";
const CONFIG_KEY: &str = "csi-vsphere.conf";
/// From this line on the driver has a switch for its profile server, and the sidecars have newer flags.
const NEWER_FLAGS: Line = Line(3, 7);

/// What only the storage driver needs to know.
#[derive(Debug, Clone)]
pub struct StorageSettings<'a> {
    pub driver: &'a DriverSettings<'a>,
    pub spec: &'a StorageProvider,
    /// The id under which the vCenters know the volumes of this cluster.
    pub cluster_id: &'a str,
    /// How nodes of a vCenter are told from others.
    pub node_mark: NodeMark,
    /// Without it there is no webhook.
    pub webhook: Option<&'a WebhookCertificate>,
}

/// The objects of the storage driver, in the order they are to be applied.
pub fn objects(settings: &StorageSettings<'_>) -> Result<Vec<Object>, DriverError> {
    let driver = settings.driver;
    driver.check_servers()?;
    let config = config(settings);
    let problems = config.problems();
    if !problems.is_empty() {
        let problems = problems.into_iter().map(|problem| format!("{}; {}", problem.message, problem.hint));
        return Err(DriverError::Refused { problems: problems.collect() });
    }
    let mut files = map([(CONFIG_KEY, config.to_ini()?)]);
    let authorities = driver.connections.iter().filter_map(Connection::ca_key);
    files.extend(authorities.map(|(key, pem)| (key, pem.to_owned())));
    let features = features(settings);
    let texts = files.iter().chain(&features).map(|(key, text)| (key.as_str(), text.as_str()));
    let hash = driver.hash(texts);

    let mut objects = Objects::new(driver.row);
    objects.add(namespace(NAMESPACE, privileged_pods()))?;
    match &driver.row.source {
        Source::Line { line, .. } => {
            objects.add(csi_driver())?;
            rights::add(settings.spec.snapshots.enabled, &mut objects)?;
            objects.add(config_map(within(NAMESPACE, FEATURES), features))?;
            objects.add(secret(within(NAMESPACE, CONFIG_SECRET), "Opaque", files))?;
            objects.add(service())?;
            objects.add(disruption_budget())?;
            objects.add(controller::deployment(settings, *line >= NEWER_FLAGS, hash.clone())?)?;
            objects.add(node::daemon_set(settings, hash)?)?;
        }
        Source::Manifests(text) => {
            objects.add(secret(within(NAMESPACE, CONFIG_SECRET), "Opaque", files))?;
            manifests::add(text, &patch(settings, hash), &mut objects)?;
        }
    }
    if let Some(class) = &settings.spec.storage_class {
        objects.add(storage_class(class))?;
    }
    // Last: until it answers, no class and no claim can be changed.
    if let Some(certificate) = settings.webhook {
        webhook::add(driver, certificate, &mut objects)?;
    }
    Ok(objects.finish())
}

/// What is changed in objects that the matrix carries. The webhook is made here in any case, with its certificate.
fn patch<'a>(settings: &'a StorageSettings<'_>, hash: String) -> Patch<'a> {
    Patch {
        settings: settings.driver,
        namespace: NAMESPACE,
        hash,
        workloads: &[("Deployment", CONTROLLER), ("DaemonSet", NODE)],
        own: &[("Secret", CONFIG_SECRET)],
        on: Purpose::Storage {
            node_mark: settings.node_mark,
            kubelet_path: &settings.spec.kubelet_path,
            volumes_per_node: settings.spec.max_volumes_per_node,
        },
    }
}

/// The driver's configuration. It has the passwords in it: it belongs into a Secret.
pub fn config(settings: &StorageSettings<'_>) -> csi::CsiConfig {
    let spec = settings.spec;
    let mut config = csi::CsiConfig::default();
    settings.cluster_id.clone_into(&mut config.global.cluster_id);
    for connection in settings.driver.connections {
        let mut vcenter = csi_vcenter(connection, DIRECTORY);
        let shares = spec.file_volumes.iter().flat_map(|volumes| &volumes.clusters);
        let shares = shares.filter(|clusters| clusters.connection == connection.name);
        let shares: Vec<&str> = shares.flat_map(|clusters| &clusters.clusters).map(String::as_str).collect();
        vcenter.file_share_clusters = shares.join(",");
        if let Some(migration) = &spec.migration {
            vcenter.migration_datastore_url.clone_from(&migration.datastore_url);
        }
        config.vcenters.insert(connection.server.clone(), vcenter);
    }
    config.labels.topology_categories.clone_from(&spec.topology_categories);
    for (number, permission) in spec.file_volumes.iter().flat_map(|files| &files.net_permissions).enumerate()
    {
        let section = csi::NetPermissions {
            ips: permission.ips.clone(),
            permissions: Some(match permission.permissions {
                Access::ReadWrite => csi::Permission::ReadWrite,
                Access::ReadOnly => csi::Permission::ReadOnly,
                Access::NoAccess => csi::Permission::NoAccess,
            }),
            root_squash: permission.root_squash,
        };
        config.net_permissions.insert(format!("{number:02}"), section);
    }
    if spec.snapshots.enabled {
        config.snapshot = csi::Snapshot {
            global_max: spec.snapshots.max_per_volume,
            vsan_max: spec.snapshots.max_per_vsan_volume.unwrap_or_default(),
            vvol_max: spec.snapshots.max_per_vvol_volume.unwrap_or_default(),
        };
    }
    config
}

/// States of features, as the driver reads them.
fn features(settings: &StorageSettings<'_>) -> BTreeMap<String, String> {
    match &settings.driver.row.source {
        Source::Line { features, .. } => {
            features.iter().map(|(name, state)| (name.clone(), state.to_string())).collect()
        }
        Source::Manifests(_) => BTreeMap::new(),
    }
}

/// The pods on the nodes mount file systems, which no lower level allows.
fn privileged_pods() -> BTreeMap<String, String> {
    let modes = ["enforce", "audit", "warn"];
    let label = |mode| (format!("pod-security.kubernetes.io/{mode}"), "privileged".to_owned());
    modes.map(label).into()
}

fn csi_driver() -> CSIDriver {
    CSIDriver {
        metadata: named(DRIVER),
        spec: CSIDriverSpec {
            attach_required: Some(true),
            pod_info_on_mount: Some(false),
            ..CSIDriverSpec::default()
        },
    }
}

/// Labels that the pods of an application have, and are found by.
fn app(name: &str) -> BTreeMap<String, String> {
    map([("app", name)])
}

/// For Prometheus, which collects the metrics.
fn service() -> Service {
    let port = |name: &str, number: i32| ServicePort {
        name: Some(name.to_owned()),
        port: number,
        target_port: Some(IntOrString::Int(number)),
        protocol: Some("TCP".to_owned()),
        ..ServicePort::default()
    };
    Service {
        metadata: ObjectMeta { labels: Some(app(CONTROLLER)), ..within(NAMESPACE, CONTROLLER) },
        spec: Some(ServiceSpec {
            ports: Some(vec![port("ctlr", 2112), port("syncer", 2113)]),
            selector: Some(app(CONTROLLER)),
            ..ServiceSpec::default()
        }),
        ..Service::default()
    }
}

/// Machines of the control plane are drained one after the other.
fn disruption_budget() -> PodDisruptionBudget {
    PodDisruptionBudget {
        metadata: within(NAMESPACE, CONTROLLER),
        spec: Some(PodDisruptionBudgetSpec {
            max_unavailable: Some(IntOrString::Int(1)),
            selector: Some(selector(&app(CONTROLLER))),
            // A pod that is broken anyway does not hold up the drain.
            unhealthy_pod_eviction_policy: Some("AlwaysAllow".to_owned()),
            ..PodDisruptionBudgetSpec::default()
        }),
        ..PodDisruptionBudget::default()
    }
}

fn storage_class(settings: &StorageClassSettings) -> StorageClass {
    let mut parameters = map([("csi.storage.k8s.io/fstype", settings.file_system.as_str())]);
    let policy = settings.storage_policy.as_ref().map(|name| ("storagepolicyname".to_owned(), name.clone()));
    let datastore = settings.datastore_url.as_ref().map(|url| ("datastoreurl".to_owned(), url.clone()));
    parameters.extend(policy.into_iter().chain(datastore));
    let is_default = settings.is_default.to_string();
    let annotations = map([("storageclass.kubernetes.io/is-default-class", is_default)]);
    StorageClass {
        metadata: ObjectMeta { annotations: Some(annotations), ..named(&settings.name) },
        provisioner: DRIVER.to_owned(),
        parameters: Some(parameters),
        allow_volume_expansion: Some(true),
        reclaim_policy: Some("Delete".to_owned()),
        // A volume is made where its pod is going to run.
        volume_binding_mode: Some("WaitForFirstConsumer".to_owned()),
        ..StorageClass::default()
    }
}
