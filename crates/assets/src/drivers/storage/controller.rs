//! The controller: makes, attaches, resizes and deletes volumes.

use k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec, DeploymentStrategy, RollingUpdateDeployment};
use k8s_openapi::api::core::v1::{Affinity, Container, PodAffinityTerm, PodAntiAffinity, PodSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use slipway_config::matrix::Component;

use super::{CONFIG_KEY, CONFIG_SECRET, CONTROLLER, DIRECTORY, FEATURES, NAMESPACE, StorageSettings, app};
use crate::drivers::pods::{
    container, empty_volume, env, env_field, healthz, mount, nodes_with, port, pull_secrets, read_only,
    secret_volume, selector, template, texts, tolerates_control_plane, unprivileged,
};
use crate::drivers::settings::DriverError;
use crate::objects::{map, within};

/// Most copies; one of them leads.
const REPLICAS: u32 = 3;

/// Labels of control-plane machines, by their names through the years.
pub(super) const CONTROL_PLANE: [&str; 3] = [
    "node-role.kubernetes.io/control-plane",
    "node-role.kubernetes.io/controlplane",
    "node-role.kubernetes.io/master",
];

pub(super) fn deployment(
    settings: &StorageSettings<'_>,
    newer: bool,
    hash: String,
) -> Result<Deployment, DriverError> {
    let driver = settings.driver;
    let mut containers = vec![
        attacher(settings, newer)?,
        resizer(settings)?,
        plugin(settings, newer)?,
        container(
            "liveness-probe",
            driver.image(Component::LivenessProbe)?,
            texts(["--v=4", "--csi-address=/csi/csi.sock"]),
            vec![mount("socket-dir", "/csi")],
        ),
        syncer(settings, newer)?,
        provisioner(settings)?,
    ];
    if settings.spec.snapshots.enabled {
        containers.push(snapshotter(settings, newer)?);
    }
    let spec = PodSpec {
        containers,
        affinity: Some(Affinity { pod_anti_affinity: Some(apart()), ..nodes_with(&CONTROL_PLANE) }),
        tolerations: Some(tolerates_control_plane()),
        service_account_name: Some(CONTROLLER.to_owned()),
        priority_class_name: Some("system-cluster-critical".to_owned()),
        // vCenters are found as the machine finds them, not as the cluster does.
        dns_policy: Some("Default".to_owned()),
        image_pull_secrets: pull_secrets(driver.pull_secrets),
        volumes: Some(vec![
            secret_volume("vsphere-config-volume", CONFIG_SECRET),
            empty_volume("socket-dir"),
        ]),
        ..PodSpec::default()
    };
    let mut labels = app(CONTROLLER);
    labels.extend(map([("role", "vsphere-csi")]));
    let replicas = driver.control_plane_nodes.clamp(1, REPLICAS);
    Ok(Deployment {
        metadata: within(NAMESPACE, CONTROLLER),
        spec: Some(DeploymentSpec {
            replicas: i32::try_from(replicas).ok(),
            selector: selector(&app(CONTROLLER)),
            strategy: Some(DeploymentStrategy {
                type_: Some("RollingUpdate".to_owned()),
                rolling_update: Some(RollingUpdateDeployment {
                    max_unavailable: Some(IntOrString::Int(1)),
                    max_surge: Some(IntOrString::Int(0)),
                }),
            }),
            template: template(labels, hash, spec),
            ..DeploymentSpec::default()
        }),
        ..Deployment::default()
    })
}

/// No two copies on one machine.
fn apart() -> PodAntiAffinity {
    PodAntiAffinity {
        required_during_scheduling_ignored_during_execution: Some(vec![PodAffinityTerm {
            label_selector: Some(LabelSelector {
                match_expressions: Some(vec![LabelSelectorRequirement {
                    key: "app".to_owned(),
                    operator: "In".to_owned(),
                    values: Some(vec![CONTROLLER.to_owned()]),
                }]),
                ..LabelSelector::default()
            }),
            topology_key: "kubernetes.io/hostname".to_owned(),
            ..PodAffinityTerm::default()
        }]),
        ..PodAntiAffinity::default()
    }
}

/// One of the containers beside the driver: they speak to it through a socket, and one copy of each leads.
fn sidecar(
    settings: &StorageSettings<'_>,
    name: &str,
    component: Component,
    more: &[&str],
) -> Result<Container, DriverError> {
    let mut args = texts([
        "--v=4",
        "--timeout=300s",
        "--csi-address=$(ADDRESS)",
        "--kube-api-qps=100",
        "--kube-api-burst=100",
        "--leader-election",
        "--leader-election-lease-duration=120s",
        "--leader-election-renew-deadline=60s",
        "--leader-election-retry-period=30s",
    ]);
    args.extend(more.iter().map(|flag| (*flag).to_owned()));
    let image = settings.driver.image(component)?;
    let mut sidecar = container(name, image, args, vec![mount("socket-dir", "/csi")]);
    sidecar.env = Some(vec![env("ADDRESS", "/csi/csi.sock")]);
    Ok(sidecar)
}

fn attacher(settings: &StorageSettings<'_>, newer: bool) -> Result<Container, DriverError> {
    let more: &[&str] = if newer { &["--worker-threads=100"] } else { &[] };
    sidecar(settings, "csi-attacher", Component::Attacher, more)
}

fn resizer(settings: &StorageSettings<'_>) -> Result<Container, DriverError> {
    sidecar(settings, "csi-resizer", Component::Resizer, &["--handle-volume-inuse-error=false"])
}

fn provisioner(settings: &StorageSettings<'_>) -> Result<Container, DriverError> {
    let topology = ["--default-fstype=ext4", "--feature-gates=Topology=true", "--strict-topology"];
    let more = if settings.spec.topology_categories.is_empty() { &topology[..1] } else { &topology[..] };
    sidecar(settings, "csi-provisioner", Component::Provisioner, more)
}

fn snapshotter(settings: &StorageSettings<'_>, newer: bool) -> Result<Container, DriverError> {
    let more: &[&str] = if newer { &["--extra-create-metadata"] } else { &[] };
    sidecar(settings, "csi-snapshotter", Component::Snapshotter, more)
}

/// Flags and variables that driver and syncer share.
fn own(newer: bool) -> (Vec<String>, Vec<k8s_openapi::api::core::v1::EnvVar>) {
    let mut args = vec![format!("--fss-name={FEATURES}"), "--fss-namespace=$(CSI_NAMESPACE)".to_owned()];
    if newer {
        args.push("--enable-profile-server=false".to_owned());
    }
    let variables = vec![
        env("VSPHERE_CSI_CONFIG", format!("{DIRECTORY}/{CONFIG_KEY}")),
        env("LOGGER_LEVEL", "PRODUCTION"),
        env("INCLUSTER_CLIENT_QPS", "100"),
        env("INCLUSTER_CLIENT_BURST", "100"),
        env_field("CSI_NAMESPACE", "metadata.namespace"),
    ];
    (args, variables)
}

fn plugin(settings: &StorageSettings<'_>, newer: bool) -> Result<Container, DriverError> {
    let (args, mut variables) = own(newer);
    variables.extend([
        env("CSI_ENDPOINT", "unix:///csi/csi.sock"),
        env("X_CSI_MODE", "controller"),
        env("X_CSI_SPEC_DISABLE_LEN_CHECK", "true"),
        env("X_CSI_SERIAL_VOL_ACCESS_TIMEOUT", "3m"),
    ]);
    let mounts = vec![read_only("vsphere-config-volume", DIRECTORY), mount("socket-dir", "/csi")];
    let mut plugin = container(CONTROLLER, settings.driver.image(Component::Driver)?, args, mounts);
    plugin.env = Some(variables);
    plugin.security_context = Some(unprivileged());
    plugin.ports = Some(vec![port("healthz", 9808), port("prometheus", 2112)]);
    plugin.liveness_probe = Some(healthz(30, 10, 180));
    Ok(plugin)
}

/// Keeps what the vCenters know about volumes in line with the cluster.
fn syncer(settings: &StorageSettings<'_>, newer: bool) -> Result<Container, DriverError> {
    let (mut args, mut variables) = own(newer);
    args.extend(texts([
        "--leader-election",
        "--leader-election-lease-duration=30s",
        "--leader-election-renew-deadline=20s",
        "--leader-election-retry-period=10s",
    ]));
    variables.push(env("FULL_SYNC_INTERVAL_MINUTES", "30"));
    let mounts = vec![read_only("vsphere-config-volume", DIRECTORY)];
    let mut syncer = container("vsphere-syncer", settings.driver.image(Component::Syncer)?, args, mounts);
    syncer.env = Some(variables);
    syncer.security_context = Some(unprivileged());
    syncer.ports = Some(vec![port("prometheus", 2113)]);
    Ok(syncer)
}
