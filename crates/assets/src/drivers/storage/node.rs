//! The part on every node: mounts volumes into pods.

use k8s_openapi::api::apps::v1::{DaemonSet, DaemonSetSpec, DaemonSetUpdateStrategy, RollingUpdateDaemonSet};
use k8s_openapi::api::core::v1::{
    Capabilities, Container, ExecAction, PodSpec, Probe, SecurityContext, VolumeMount,
};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use slipway_config::matrix::Component;

use super::{DRIVER, FEATURES, NAMESPACE, NODE, StorageSettings, app};
use crate::drivers::pods::{
    container, env, env_field, healthz, host_volume, mount, nodes_with, port, pull_secrets, selector,
    template, texts, tolerates,
};
use crate::drivers::settings::DriverError;
use crate::objects::{map, within};

pub(super) fn daemon_set(settings: &StorageSettings<'_>, hash: String) -> Result<DaemonSet, DriverError> {
    let kubelet = settings.spec.kubelet_path.as_str();
    let plugin_directory = format!("{kubelet}/plugins/{DRIVER}");
    let socket = format!("{plugin_directory}/csi.sock");
    let spec = PodSpec {
        containers: vec![
            registrar(settings, &socket)?,
            plugin(settings, kubelet)?,
            container(
                "liveness-probe",
                settings.driver.image(Component::LivenessProbe)?,
                texts(["--v=4", "--csi-address=/csi/csi.sock"]),
                vec![mount("plugin-dir", "/csi")],
            ),
        ],
        // On machines of other kinds the driver would fail for ever.
        affinity: Some(nodes_with(&[settings.node_mark.label()])),
        node_selector: Some(map([("kubernetes.io/os", "linux")])),
        tolerations: Some(vec![tolerates(None, "NoExecute"), tolerates(None, "NoSchedule")]),
        service_account_name: Some(NODE.to_owned()),
        priority_class_name: Some("system-node-critical".to_owned()),
        host_network: Some(true),
        dns_policy: Some("ClusterFirstWithHostNet".to_owned()),
        image_pull_secrets: pull_secrets(settings.driver.pull_secrets),
        volumes: Some(vec![
            host_volume("registration-dir", format!("{kubelet}/plugins_registry"), Some("Directory")),
            host_volume("plugin-dir", &plugin_directory, Some("DirectoryOrCreate")),
            host_volume("pods-mount-dir", kubelet, Some("Directory")),
            host_volume("device-dir", "/dev", None),
            host_volume("blocks-dir", "/sys/block", Some("Directory")),
            host_volume("sys-devices-dir", "/sys/devices", Some("Directory")),
        ]),
        ..PodSpec::default()
    };
    let mut labels = app(NODE);
    labels.extend(map([("role", "vsphere-csi")]));
    Ok(DaemonSet {
        metadata: within(NAMESPACE, NODE),
        spec: Some(DaemonSetSpec {
            selector: selector(&app(NODE)),
            update_strategy: Some(DaemonSetUpdateStrategy {
                type_: Some("RollingUpdate".to_owned()),
                rolling_update: Some(RollingUpdateDaemonSet {
                    // One after the other would take hours in a large cluster.
                    max_unavailable: Some(IntOrString::String("10%".to_owned())),
                    ..RollingUpdateDaemonSet::default()
                }),
            }),
            template: template(labels, hash, spec),
            ..DaemonSetSpec::default()
        }),
        ..DaemonSet::default()
    })
}

/// Tells the kubelet where the driver is.
fn registrar(settings: &StorageSettings<'_>, socket: &str) -> Result<Container, DriverError> {
    let mut registrar = container(
        "node-driver-registrar",
        settings.driver.image(Component::Registrar)?,
        texts(["--v=5", "--csi-address=$(ADDRESS)", "--kubelet-registration-path=$(DRIVER_REG_SOCK_PATH)"]),
        vec![mount("plugin-dir", "/csi"), mount("registration-dir", "/registration")],
    );
    registrar.env = Some(vec![env("ADDRESS", "/csi/csi.sock"), env("DRIVER_REG_SOCK_PATH", socket)]);
    registrar.liveness_probe = Some(Probe {
        exec: Some(ExecAction {
            command: Some(vec![
                "/csi-node-driver-registrar".to_owned(),
                format!("--kubelet-registration-path={socket}"),
                "--mode=kubelet-registration-probe".to_owned(),
            ]),
        }),
        initial_delay_seconds: Some(3),
        ..Probe::default()
    });
    Ok(registrar)
}

fn plugin(settings: &StorageSettings<'_>, kubelet: &str) -> Result<Container, DriverError> {
    let mut plugin = container(
        NODE,
        settings.driver.image(Component::Driver)?,
        vec![format!("--fss-name={FEATURES}"), "--fss-namespace=$(CSI_NAMESPACE)".to_owned()],
        vec![
            mount("plugin-dir", "/csi"),
            // What is mounted in here is to be seen by the kubelet.
            VolumeMount {
                mount_propagation: Some("Bidirectional".to_owned()),
                ..mount("pods-mount-dir", kubelet)
            },
            mount("device-dir", "/dev"),
            mount("blocks-dir", "/sys/block"),
            mount("sys-devices-dir", "/sys/devices"),
        ],
    );
    plugin.env = Some(vec![
        env_field("NODE_NAME", "spec.nodeName"),
        env("CSI_ENDPOINT", "unix:///csi/csi.sock"),
        env("MAX_VOLUMES_PER_NODE", settings.spec.max_volumes_per_node.to_string()),
        env("X_CSI_MODE", "node"),
        env("X_CSI_SPEC_REQ_VALIDATION", "false"),
        env("X_CSI_SPEC_DISABLE_LEN_CHECK", "true"),
        env("LOGGER_LEVEL", "PRODUCTION"),
        env_field("CSI_NAMESPACE", "metadata.namespace"),
        env("NODEGETINFO_WATCH_TIMEOUT_MINUTES", "1"),
    ]);
    plugin.security_context = Some(SecurityContext {
        privileged: Some(true),
        allow_privilege_escalation: Some(true),
        capabilities: Some(Capabilities {
            add: Some(vec!["SYS_ADMIN".to_owned()]),
            ..Capabilities::default()
        }),
        ..SecurityContext::default()
    });
    plugin.ports = Some(vec![port("healthz", 9808)]);
    plugin.liveness_probe = Some(healthz(10, 5, 5));
    Ok(plugin)
}
