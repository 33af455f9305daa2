//! How the operator runs: two copies of which one acts, without root, and not the first to go under pressure.

use k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec};
use k8s_openapi::api::core::v1::{
    Affinity, Capabilities, Container, HTTPGetAction, PodAffinityTerm, PodAntiAffinity, PodSecurityContext,
    PodSpec, Probe, ResourceRequirements, SeccompProfile, SecurityContext, WeightedPodAffinityTerm,
};
use k8s_openapi::api::policy::v1::{PodDisruptionBudget, PodDisruptionBudgetSpec};
use k8s_openapi::api::scheduling::v1::PriorityClass;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde_json::Value;

use super::{NAME, NAMESPACE, value};
use crate::drivers::pods::{
    env_field, port, pull_secrets, selector, template, texts, tolerates, tolerates_control_plane,
};
use crate::drivers::settings::DriverError;
use crate::objects::{map, named, within};

/// The image of this build.
pub const IMAGE: &str = concat!("ghcr.io/slipway-dev/slipway-operator:v", env!("CARGO_PKG_VERSION"));

/// What every operator is told.
pub const ARGUMENTS: [&str; 3] = ["run", "--log-format=json", "--health-listen=[::]:8081"];

/// What lets connections do without verifying certificates.
pub const ALLOW_INSECURE: &str = "--allow-insecure";

/// Where the image comes from, and what else the operator is told.
#[derive(Debug, Clone, Default)]
pub struct Placed<'a> {
    /// Default: [`IMAGE`].
    pub image: Option<&'a str>,
    /// Secrets for pulling it, in the operator's namespace.
    pub pull_secrets: &'a [String],
    /// Further arguments of `slipway-operator run`.
    pub arguments: &'a [String],
}

/// Priority class, disruption budget and Deployment.
pub fn deployment(placed: &Placed<'_>) -> Result<Vec<Value>, DriverError> {
    let labels = map([("app.kubernetes.io/name", NAME)]);
    let class = PriorityClass {
        metadata: named(NAME),
        // Below what Kubernetes keeps for itself, above everything else.
        value: 900_000_000,
        description: Some("Slipway's operator: volumes and new nodes depend on it.".to_owned()),
        global_default: Some(false),
        ..PriorityClass::default()
    };
    let budget = PodDisruptionBudget {
        metadata: within(NAMESPACE, NAME),
        spec: Some(PodDisruptionBudgetSpec {
            max_unavailable: Some(IntOrString::Int(1)),
            selector: Some(selector(&labels)),
            unhealthy_pod_eviction_policy: Some("AlwaysAllow".to_owned()),
            ..PodDisruptionBudgetSpec::default()
        }),
        ..PodDisruptionBudget::default()
    };
    let mut pods = template(labels.clone(), String::new(), pod(placed, &labels));
    // Its configuration is in its arguments.
    pods.metadata.get_or_insert_default().annotations = None;
    let deployment = Deployment {
        metadata: ObjectMeta { labels: Some(labels.clone()), ..within(NAMESPACE, NAME) },
        spec: Some(DeploymentSpec {
            replicas: Some(2),
            selector: selector(&labels),
            template: pods,
            ..DeploymentSpec::default()
        }),
        ..Deployment::default()
    };
    Ok(vec![
        value::<PriorityClass>(&class)?,
        value::<PodDisruptionBudget>(&budget)?,
        value::<Deployment>(&deployment)?,
    ])
}

fn pod(placed: &Placed<'_>, labels: &std::collections::BTreeMap<String, String>) -> PodSpec {
    let probe = |path: &str, period: i32| Probe {
        http_get: Some(HTTPGetAction {
            path: Some(path.to_owned()),
            port: IntOrString::String("health".to_owned()),
            ..HTTPGetAction::default()
        }),
        period_seconds: Some(period),
        timeout_seconds: Some(6),
        failure_threshold: Some(3),
        ..Probe::default()
    };
    let mut arguments = texts(ARGUMENTS);
    arguments.extend(placed.arguments.iter().cloned());
    let quantity = |cpu: &str, memory: &str| {
        [("cpu", cpu), ("memory", memory)]
            .map(|(name, value)| (name.to_owned(), Quantity(value.to_owned())))
            .into()
    };
    let container = Container {
        name: NAME.to_owned(),
        image: Some(placed.image.unwrap_or(IMAGE).to_owned()),
        image_pull_policy: Some("IfNotPresent".to_owned()),
        args: Some(arguments),
        env: Some(vec![
            env_field("POD_NAME", "metadata.name"),
            env_field("POD_NAMESPACE", "metadata.namespace"),
        ]),
        ports: Some(vec![port("health", 8081)]),
        liveness_probe: Some(probe("/healthz", 20)),
        readiness_probe: Some(probe("/readyz", 10)),
        resources: Some(ResourceRequirements {
            requests: Some(quantity("20m", "48Mi")),
            limits: Some([("memory".to_owned(), Quantity("256Mi".to_owned()))].into()),
            ..ResourceRequirements::default()
        }),
        security_context: Some(SecurityContext {
            allow_privilege_escalation: Some(false),
            read_only_root_filesystem: Some(true),
            capabilities: Some(Capabilities {
                drop: Some(vec!["ALL".to_owned()]),
                ..Capabilities::default()
            }),
            ..SecurityContext::default()
        }),
        termination_message_policy: Some("FallbackToLogsOnError".to_owned()),
        ..Container::default()
    };
    let apart = PodAffinityTerm {
        label_selector: Some(selector(labels)),
        topology_key: "kubernetes.io/hostname".to_owned(),
        ..PodAffinityTerm::default()
    };
    // Nodes wait for the cloud provider, which waits for the operator.
    let mut tolerations = tolerates_control_plane();
    tolerations.push(tolerates(Some("node.cloudprovider.kubernetes.io/uninitialized"), "NoSchedule"));
    PodSpec {
        containers: vec![container],
        service_account_name: Some(NAME.to_owned()),
        priority_class_name: Some(NAME.to_owned()),
        // vCenters are names of the site, and the cluster's own DNS waits for nodes that wait for the cloud provider.
        dns_policy: Some("Default".to_owned()),
        tolerations: Some(tolerations),
        affinity: Some(Affinity {
            pod_anti_affinity: Some(PodAntiAffinity {
                preferred_during_scheduling_ignored_during_execution: Some(vec![WeightedPodAffinityTerm {
                    weight: 100,
                    pod_affinity_term: apart,
                }]),
                ..PodAntiAffinity::default()
            }),
            ..Affinity::default()
        }),
        image_pull_secrets: pull_secrets(placed.pull_secrets),
        security_context: Some(PodSecurityContext {
            run_as_non_root: Some(true),
            run_as_user: Some(65532),
            run_as_group: Some(65532),
            seccomp_profile: Some(SeccompProfile {
                type_: "RuntimeDefault".to_owned(),
                ..SeccompProfile::default()
            }),
            ..PodSecurityContext::default()
        }),
        termination_grace_period_seconds: Some(30),
        ..PodSpec::default()
    }
}
