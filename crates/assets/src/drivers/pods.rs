//! What pods, roles and bindings of the drivers are made of.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::PodSpec;
use k8s_openapi::api::core::v1::{
    Affinity, ConfigMapVolumeSource, Container, ContainerPort, EmptyDirVolumeSource, EnvVar, EnvVarSource,
    HTTPGetAction, HostPathVolumeSource, LocalObjectReference, NodeAffinity, NodeSelector,
    NodeSelectorRequirement, NodeSelectorTerm, ObjectFieldSelector, PodTemplateSpec, Probe,
    SecretVolumeSource, SecurityContext, ServiceAccount, Toleration, Volume, VolumeMount,
};
use k8s_openapi::api::rbac::v1::{
    ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, RoleRef, Subject,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::object::HASH_ANNOTATION;
use crate::objects::{map, named, within};

/// The user of the driver's own images.
const NOBODY: i64 = 65532;

pub(super) fn texts<const N: usize>(list: [&str; N]) -> Vec<String> {
    list.map(str::to_owned).to_vec()
}

pub(super) fn env(name: &str, value: impl Into<String>) -> EnvVar {
    EnvVar { name: name.to_owned(), value: Some(value.into()), ..EnvVar::default() }
}

/// A variable with a field of the pod.
pub(super) fn env_field(name: &str, path: &str) -> EnvVar {
    let field_ref = ObjectFieldSelector { field_path: path.to_owned(), ..ObjectFieldSelector::default() };
    let source = EnvVarSource { field_ref: Some(field_ref), ..EnvVarSource::default() };
    EnvVar { name: name.to_owned(), value_from: Some(source), ..EnvVar::default() }
}

pub(super) fn mount(name: &str, path: &str) -> VolumeMount {
    VolumeMount { name: name.to_owned(), mount_path: path.to_owned(), ..VolumeMount::default() }
}

pub(super) fn read_only(name: &str, path: &str) -> VolumeMount {
    VolumeMount { read_only: Some(true), ..mount(name, path) }
}

pub(super) fn port(name: &str, number: i32) -> ContainerPort {
    ContainerPort {
        name: Some(name.to_owned()),
        container_port: number,
        protocol: Some("TCP".to_owned()),
        ..ContainerPort::default()
    }
}

/// A container without anything that only some have.
pub(super) fn container(name: &str, image: String, args: Vec<String>, mounts: Vec<VolumeMount>) -> Container {
    Container {
        name: name.to_owned(),
        image: Some(image),
        // What a tag means does not change, and a registry may be out of reach when a node restarts.
        image_pull_policy: Some("IfNotPresent".to_owned()),
        args: Some(args),
        volume_mounts: Some(mounts),
        ..Container::default()
    }
}

pub(super) fn unprivileged() -> SecurityContext {
    SecurityContext {
        run_as_non_root: Some(true),
        run_as_user: Some(NOBODY),
        run_as_group: Some(NOBODY),
        ..SecurityContext::default()
    }
}

/// Asks the container that watches the driver.
pub(super) fn healthz(delay: i32, timeout: i32, period: i32) -> Probe {
    Probe {
        http_get: Some(HTTPGetAction {
            path: Some("/healthz".to_owned()),
            port: IntOrString::String("healthz".to_owned()),
            ..HTTPGetAction::default()
        }),
        initial_delay_seconds: Some(delay),
        timeout_seconds: Some(timeout),
        period_seconds: Some(period),
        failure_threshold: Some(3),
        ..Probe::default()
    }
}

pub(super) fn secret_volume(name: &str, secret: &str) -> Volume {
    let source = SecretVolumeSource { secret_name: Some(secret.to_owned()), ..SecretVolumeSource::default() };
    Volume { name: name.to_owned(), secret: Some(source), ..Volume::default() }
}

pub(super) fn config_map_volume(name: &str, config_map: &str) -> Volume {
    let source = ConfigMapVolumeSource { name: config_map.to_owned(), ..ConfigMapVolumeSource::default() };
    Volume { name: name.to_owned(), config_map: Some(source), ..Volume::default() }
}

pub(super) fn empty_volume(name: &str) -> Volume {
    let source = EmptyDirVolumeSource::default();
    Volume { name: name.to_owned(), empty_dir: Some(source), ..Volume::default() }
}

pub(super) fn host_volume(name: &str, path: impl Into<String>, kind: Option<&str>) -> Volume {
    let source = HostPathVolumeSource { path: path.into(), type_: kind.map(str::to_owned) };
    Volume { name: name.to_owned(), host_path: Some(source), ..Volume::default() }
}

/// A taint that does not matter.
pub(super) fn tolerates(key: Option<&str>, effect: &str) -> Toleration {
    Toleration {
        key: key.map(str::to_owned),
        operator: Some("Exists".to_owned()),
        effect: Some(effect.to_owned()),
        ..Toleration::default()
    }
}

/// Taints of control-plane machines, by their names through the years.
pub(super) fn tolerates_control_plane() -> Vec<Toleration> {
    ["node-role.kubernetes.io/master", "node-role.kubernetes.io/control-plane"]
        .map(|key| tolerates(Some(key), "NoSchedule"))
        .to_vec()
}

/// Nodes with one of the labels, whatever their value.
pub(super) fn nodes_with(labels: &[&str]) -> Affinity {
    let term = |label: &&str| NodeSelectorTerm {
        match_expressions: Some(vec![NodeSelectorRequirement {
            key: (*label).to_owned(),
            operator: "Exists".to_owned(),
            values: None,
        }]),
        ..NodeSelectorTerm::default()
    };
    let required = NodeSelector { node_selector_terms: labels.iter().map(term).collect() };
    Affinity {
        node_affinity: Some(NodeAffinity {
            required_during_scheduling_ignored_during_execution: Some(required),
            ..NodeAffinity::default()
        }),
        ..Affinity::default()
    }
}

pub(super) fn selector(labels: &BTreeMap<String, String>) -> LabelSelector {
    LabelSelector { match_labels: Some(labels.clone()), ..LabelSelector::default() }
}

pub(super) fn pull_secrets(names: &[String]) -> Option<Vec<LocalObjectReference>> {
    let references = names.iter().map(|name| LocalObjectReference { name: name.clone() });
    (!names.is_empty()).then(|| references.collect())
}

/// Pods that are replaced when the hash changes.
pub(super) fn template(labels: BTreeMap<String, String>, hash: String, spec: PodSpec) -> PodTemplateSpec {
    let metadata = ObjectMeta {
        labels: Some(labels),
        annotations: Some(map([(HASH_ANNOTATION, hash)])),
        ..ObjectMeta::default()
    };
    PodTemplateSpec { metadata: Some(metadata), spec: Some(spec) }
}

pub(super) fn service_account(namespace: &str, name: &str) -> ServiceAccount {
    ServiceAccount { metadata: within(namespace, name), ..ServiceAccount::default() }
}

/// What may be done with resources of a group.
pub(super) fn rule(group: &str, resources: &[&str], verbs: &[&str]) -> PolicyRule {
    let owned = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    PolicyRule {
        api_groups: Some(vec![group.to_owned()]),
        resources: Some(owned(resources)),
        verbs: owned(verbs),
        ..PolicyRule::default()
    }
}

pub(super) fn cluster_role(name: &str, rules: Vec<PolicyRule>) -> ClusterRole {
    ClusterRole { metadata: named(name), rules: Some(rules), ..ClusterRole::default() }
}

pub(super) fn role(namespace: &str, name: &str, rules: Vec<PolicyRule>) -> Role {
    Role { metadata: within(namespace, name), rules: Some(rules) }
}

pub(super) fn cluster_role_binding(
    name: &str,
    role: &str,
    namespace: &str,
    account: &str,
) -> ClusterRoleBinding {
    ClusterRoleBinding {
        metadata: named(name),
        role_ref: role_ref("ClusterRole", role),
        subjects: Some(vec![subject(namespace, account)]),
    }
}

pub(super) fn role_binding(namespace: &str, name: &str, role: &str, account: &str) -> RoleBinding {
    RoleBinding {
        metadata: within(namespace, name),
        role_ref: role_ref("Role", role),
        subjects: Some(vec![subject(namespace, account)]),
    }
}

fn role_ref(kind: &str, name: &str) -> RoleRef {
    RoleRef {
        api_group: "rbac.authorization.k8s.io".to_owned(),
        kind: kind.to_owned(),
        name: name.to_owned(),
    }
}

fn subject(namespace: &str, account: &str) -> Subject {
    Subject {
        kind: "ServiceAccount".to_owned(),
        name: account.to_owned(),
        namespace: Some(namespace.to_owned()),
        ..Subject::default()
    }
}
