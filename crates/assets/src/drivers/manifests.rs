//! Objects that a matrix carries as text. They are parsed to types and patched as types; what a driver may not consist of
//! is refused, all of it at once.

mod pods;
mod rights;

use k8s_openapi::api::apps::v1::{DaemonSet, Deployment};
use k8s_openapi::api::core::v1::{ConfigMap, Service, ServiceAccount};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use k8s_openapi::api::storage::v1::CSIDriver;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::{Metadata, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use slipway_config::yaml::from_yaml;

use super::object::Objects;
use super::operator::names::covers;
use super::settings::{DriverError, DriverSettings, NodeMark};
use super::storage;

/// Kinds that a driver may consist of, in the order they are applied.
const KINDS: [(&str, &str); 11] = [
    ("storage.k8s.io/v1", "CSIDriver"),
    ("v1", "ServiceAccount"),
    ("rbac.authorization.k8s.io/v1", "ClusterRole"),
    ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"),
    ("rbac.authorization.k8s.io/v1", "Role"),
    ("rbac.authorization.k8s.io/v1", "RoleBinding"),
    ("v1", "ConfigMap"),
    ("v1", "Service"),
    ("policy/v1", "PodDisruptionBudget"),
    ("apps/v1", "Deployment"),
    ("apps/v1", "DaemonSet"),
];

/// Kinds that are in no namespace.
const OF_CLUSTER: [&str; 3] = ["CSIDriver", "ClusterRole", "ClusterRoleBinding"];

/// What is changed in the objects.
#[derive(Debug)]
pub(super) struct Patch<'a> {
    pub(super) settings: &'a DriverSettings<'a>,
    pub(super) namespace: &'static str,
    /// Of the configuration that the operator makes.
    pub(super) hash: String,
    /// Workloads that there must be, by kind and name.
    pub(super) workloads: &'static [(&'static str, &'static str)],
    /// Objects that the operator makes itself.
    pub(super) own: &'static [(&'static str, &'static str)],
    pub(super) on: Purpose<'a>,
}

/// Which driver it is, and what only that one needs.
#[derive(Debug)]
pub(super) enum Purpose<'a> {
    Cloud,
    Storage { node_mark: NodeMark, kubelet_path: &'a str, volumes_per_node: u32 },
}

/// Adds the objects of a text.
pub(super) fn add(text: &str, patch: &Patch<'_>, objects: &mut Objects) -> Result<(), DriverError> {
    let mut problems = Vec::new();
    let mut documents = documents(text, &mut problems);
    documents.sort_by_key(rank);
    let mut roles: Vec<String> = Vec::new();
    for document in &documents {
        if let Err(problem) = one(document, patch, &mut roles, objects) {
            problems.push(format!("{}: {problem}", describe(document)));
        }
    }
    for (kind, name) in patch.workloads {
        let is = |one: &&Value| one["kind"] == *kind && one["metadata"]["name"] == *name;
        if !documents.iter().any(|document| is(&document)) {
            problems.push(format!("there is no {kind} `{name}`"));
        }
    }
    if problems.is_empty() {
        return Ok(());
    }
    Err(DriverError::Manifests { version: patch.settings.row.version.clone(), problems })
}

/// All images in a text, wherever they are; nothing of what cannot be read.
pub(super) fn images(text: &str) -> Vec<String> {
    let documents = documents(text, &mut Vec::new());
    let mut found = Vec::new();
    for document in &documents {
        for list in ["containers", "initContainers"] {
            let containers =
                document.pointer(&format!("/spec/template/spec/{list}")).and_then(Value::as_array);
            let images = containers.into_iter().flatten().filter_map(|one| one["image"].as_str());
            found.extend(images.map(str::to_owned));
        }
    }
    found.sort();
    found.dedup();
    found
}

/// The image of a container, wherever it is.
pub(super) fn image_of(text: &str, container: &str) -> Option<String> {
    documents(text, &mut Vec::new()).iter().find_map(|document| {
        let containers = document.pointer("/spec/template/spec/containers")?.as_array()?;
        let found = containers.iter().find(|one| one["name"] == container)?;
        found["image"].as_str().map(str::to_owned)
    })
}

/// The documents of a text, with those inside of lists; what cannot be read is among the problems.
pub fn documents(text: &str, problems: &mut Vec<String>) -> Vec<Value> {
    let mut documents = Vec::new();
    let mut current = String::new();
    let ends = |line: &str| line == "---" || line.starts_with("--- ");
    for line in text.lines().chain(["---"]) {
        if !ends(line) {
            current.push_str(line);
            current.push('\n');
            continue;
        }
        let empty = current.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#'));
        match from_yaml(&std::mem::take(&mut current)) {
            _ if empty => {}
            Ok(Value::Object(mut list)) if list.get("kind").is_some_and(|kind| kind == "List") => {
                let items = list.remove("items");
                documents.extend(items.and_then(|items| items.as_array().cloned()).into_iter().flatten());
            }
            Ok(document) => documents.push(document),
            Err(report) => problems.extend(report.findings.iter().map(|finding| finding.message.clone())),
        }
    }
    documents
}

fn describe(document: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or("?").to_owned();
    format!("{} `{}`", text(&document["kind"]), text(&document["metadata"]["name"]))
}

fn rank(document: &Value) -> usize {
    let is = |kind: &&(&str, &str)| document["apiVersion"] == kind.0 && document["kind"] == kind.1;
    KINDS.iter().position(|kind| is(&kind)).unwrap_or(KINDS.len())
}

/// One object.
fn one(
    document: &Value,
    patch: &Patch<'_>,
    roles: &mut Vec<String>,
    objects: &mut Objects,
) -> Result<(), String> {
    let (kind, name) = (text(&document["kind"])?, text(&document["metadata"]["name"])?);
    if patch.own.contains(&(kind, name)) || (kind, name) == ("Namespace", patch.namespace) {
        return Ok(());
    }
    let Some((_, kind)) = KINDS.get(rank(document)) else {
        let kinds: Vec<&str> = KINDS.iter().map(|(_, kind)| *kind).collect();
        return Err(format!("a driver consists of {} only", kinds.join(", ")));
    };
    // Foreign objects are not taken over.
    let place = (!OF_CLUSTER.contains(kind)).then_some(patch.namespace);
    if !covers(kind, place, name) {
        return Err("it is none of the objects that the operator has the right to write".to_owned());
    }
    match *kind {
        "CSIDriver" if name != storage::DRIVER => Err(format!("the driver is called {}", storage::DRIVER)),
        "CSIDriver" => add_one::<CSIDriver>(document, None, objects, |_| Ok(())),
        "ServiceAccount" => add_one::<ServiceAccount>(document, Some(patch), objects, |_| Ok(())),
        "ConfigMap" => add_one::<ConfigMap>(document, Some(patch), objects, |_| Ok(())),
        "Service" => add_one::<Service>(document, Some(patch), objects, |_| Ok(())),
        "PodDisruptionBudget" => add_one::<PodDisruptionBudget>(document, Some(patch), objects, |_| Ok(())),
        "ClusterRole" => {
            roles.push(format!("ClusterRole {name}"));
            add_one::<ClusterRole>(document, None, objects, |role| {
                rights::of_role(role.rules.as_mut(), patch)
            })
        }
        "Role" => {
            roles.push(format!("Role {name}"));
            add_one::<Role>(document, Some(patch), objects, |role| {
                rights::of_role(role.rules.as_mut(), patch)
            })
        }
        "ClusterRoleBinding" => add_one::<ClusterRoleBinding>(document, None, objects, |binding| {
            rights::of_binding(&binding.role_ref, binding.subjects.as_mut(), roles, patch)
        }),
        "RoleBinding" => add_one::<RoleBinding>(document, Some(patch), objects, |binding| {
            rights::of_binding(&binding.role_ref, binding.subjects.as_mut(), roles, patch)
        }),
        "Deployment" => add_one::<Deployment>(document, Some(patch), objects, |object| {
            let spec = object.spec.as_mut().ok_or("the object has no `spec`")?;
            spec.replicas = Some(pods::replicas(spec.replicas, patch));
            pods::of_template(&mut spec.template, patch, false);
            Ok(())
        }),
        _ => add_one::<DaemonSet>(document, Some(patch), objects, |object| {
            let spec = object.spec.as_mut().ok_or("the object has no `spec`")?;
            pods::of_template(&mut spec.template, patch, true);
            Ok(())
        }),
    }
}

fn text(value: &Value) -> Result<&str, String> {
    value.as_str().ok_or_else(|| "it has no kind or no name".to_owned())
}

/// Reads an object as its type, changes it, and adds it. Those of a namespace are in the driver's.
fn add_one<K>(
    document: &Value,
    namespaced: Option<&Patch<'_>>,
    objects: &mut Objects,
    change: impl FnOnce(&mut K) -> Result<(), String>,
) -> Result<(), String>
where
    K: Resource + Metadata<Ty = ObjectMeta> + Serialize + DeserializeOwned,
{
    let mut object: K = serde_json::from_value(document.clone()).map_err(|error| error.to_string())?;
    let back = serde_json::to_value(&object).map_err(|error| error.to_string())?;
    if let Some(path) = lost(document, &back, "") {
        return Err(format!("there is no field `{path}`"));
    }
    let metadata = object.metadata_mut();
    if let Some(patch) = namespaced {
        let given = metadata.namespace.get_or_insert_with(|| patch.namespace.to_owned());
        if given != patch.namespace {
            return Err(format!("it is in namespace `{given}`, and the driver is in `{}`", patch.namespace));
        }
    } else if metadata.namespace.is_some() {
        return Err("it is of the whole cluster, and has a namespace".to_owned());
    }
    change(&mut object)?;
    objects.add(object).map_err(|error| error.to_string())
}

/// The first field that a type does not know. What says nothing may be lost.
fn lost(given: &Value, back: &Value, path: &str) -> Option<String> {
    match (given, back) {
        (Value::Object(given), back) => given.iter().find_map(|(key, value)| {
            let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            match back.get(key) {
                Some(back) => lost(value, back, &path),
                None => (!says_nothing(value)).then_some(path),
            }
        }),
        (Value::Array(given), Value::Array(back)) => {
            let pairs = given.iter().zip(back).enumerate();
            pairs.into_iter().find_map(|(at, (given, back))| lost(given, back, &format!("{path}[{at}]")))
        }
        _ => None,
    }
}

fn says_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(members) => members.values().all(says_nothing),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}
