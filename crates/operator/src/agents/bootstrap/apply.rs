//! Manifests: read from a folder, and applied until all of them are taken.

use std::io;
use std::time::Duration;

use kube::Client;
use serde_json::Value;
use slipway_config::yaml::from_yaml;
use slipway_providers::cluster::Applier;
use slipway_providers::text::chain;
use tokio::time::Instant;

use super::MANAGER;
use crate::runtime::host::Files;

/// How long nothing may get better before it is given up, and begun again.
const PROGRESS_TIMEOUT: Duration = Duration::from_mins(5);
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// Manifests that cannot be used, or that the cluster does not take.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    #[error("reading manifests")]
    Unreadable(#[from] io::Error),
    #[error("{file}, document {number}: {reason}")]
    Malformed { file: String, number: usize, reason: String },
    #[error("{} of {all} objects are not taken: {}", refused.len(), refused.join("; "))]
    Refused { all: usize, refused: Vec<String> },
}

/// An object and where it was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Manifest {
    origin: String,
    kind: String,
    name: String,
    object: Value,
}

impl Manifest {
    /// Reads an object; `origin` names it in messages.
    pub fn new(origin: &str, object: Value) -> Result<Self, String> {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).map(ToOwned::to_owned);
        text("/apiVersion").ok_or("it has no apiVersion")?;
        let kind = text("/kind").ok_or("it has no kind")?;
        let name = text("/metadata/name").ok_or("it has no name")?;
        Ok(Manifest { origin: origin.to_owned(), kind, name, object })
    }

    fn title(&self) -> String {
        format!("{} `{}` ({})", self.kind, self.name, self.origin)
    }

    /// What others need comes first.
    fn rank(&self) -> u8 {
        match self.kind.as_str() {
            "Namespace" => 0,
            "CustomResourceDefinition" => 1,
            "ServiceAccount" | "Secret" | "ConfigMap" => 2,
            "ClusterRole" | "Role" | "ClusterRoleBinding" | "RoleBinding" => 3,
            _ => 4,
        }
    }
}

/// All objects in the files of some folders, in the order they are to be applied.
pub fn read(files: &Files, folders: &[&str]) -> Result<Vec<Manifest>, ApplyError> {
    let mut manifests = Vec::new();
    for folder in folders {
        for name in files.list(folder)? {
            if !["yaml", "yml", "json"].iter().any(|end| name.ends_with(&format!(".{end}"))) {
                continue;
            }
            let file = format!("{folder}/{name}");
            let text = files.read(&file)?;
            for (index, document) in documents(&text).into_iter().enumerate() {
                let malformed =
                    |reason: String| ApplyError::Malformed { file: file.clone(), number: index + 1, reason };
                let value = from_yaml(&document).map_err(|_| malformed("it is not YAML".to_owned()))?;
                for object in objects(value) {
                    manifests.push(Manifest::new(&file, object).map_err(malformed)?);
                }
            }
        }
    }
    manifests.sort_by_key(Manifest::rank);
    Ok(manifests)
}

/// The documents of a file, without those that say nothing. Tools for Kubernetes divide files before they read them.
fn documents(text: &str) -> Vec<String> {
    let mut documents = vec![String::new()];
    for line in text.lines() {
        let divides =
            line.strip_prefix("---").is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t']));
        match documents.last_mut() {
            Some(last) if !divides => {
                last.push_str(line);
                last.push('\n');
            }
            _ => documents.push(String::new()),
        }
    }
    let says = |document: &String| {
        document.lines().any(|line| !line.trim().is_empty() && !line.trim_start().starts_with('#'))
    };
    documents.retain(says);
    documents
}

/// The objects of a document: one, or those of a list.
fn objects(value: Value) -> Vec<Value> {
    let is_list = value["kind"].as_str().is_some_and(|kind| kind.ends_with("List"));
    match value {
        Value::Null => Vec::new(),
        Value::Object(mut members) if is_list && members.contains_key("items") => {
            match members.remove("items") {
                Some(Value::Array(items)) => items,
                _ => Vec::new(),
            }
        }
        other => vec![other],
    }
}

/// Applies everything, again and again as long as it gets better: definitions take a moment until their objects are taken.
pub async fn apply(client: &Client, manifests: Vec<Manifest>, say: impl Fn(&str)) -> Result<(), ApplyError> {
    let all = manifests.len();
    let mut left = manifests;
    let applier = Applier::new(client, MANAGER);
    let mut since = Instant::now();
    while !left.is_empty() {
        let before = left.len();
        let (mut again, mut refused) = (Vec::new(), Vec::new());
        for manifest in left {
            if let Err(error) = applier.apply(&manifest.object).await {
                refused.push(format!("{}: {}", manifest.title(), chain(&error)));
                again.push(manifest);
            }
        }
        left = again;
        let Some(first) = refused.first() else { break };
        say(&format!("{} of {all} objects applied; {first}", all - left.len()));
        if left.len() < before {
            since = Instant::now();
        } else if since.elapsed() > PROGRESS_TIMEOUT {
            return Err(ApplyError::Refused { all, refused });
        }
        tokio::time::sleep(RETRY_INTERVAL).await;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{documents, read};
    use crate::runtime::host::Files;

    #[test]
    fn files_are_divided_as_kubectl_does() {
        let text = "# a comment\n---\nkind: A\n--- # another\nkind: B\ndata: |\n  ----\n  text\n---\n\n";
        assert_eq!(documents(text), ["kind: A\n", "kind: B\ndata: |\n  ----\n  text\n"]);
    }

    #[test]
    fn what_others_need_comes_first() {
        let folder = tempfile::tempdir().unwrap();
        let files = Files::below(folder.path());
        let write = |name: &str, text: &str| files.write(format!("/m/{name}"), 0o600, text).unwrap();
        write("10.yaml", "{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: d, namespace: one}}");
        write(
            "20.yaml",
            "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: c}}\n\
             - {apiVersion: v1, kind: Namespace, metadata: {name: one}}\n",
        );
        write("README.md", "not a manifest");
        let titles: Vec<String> =
            read(&files, &["/m", "/nowhere"]).unwrap().iter().map(super::Manifest::title).collect();
        assert_eq!(
            titles,
            ["Namespace `one` (/m/20.yaml)", "ConfigMap `c` (/m/20.yaml)", "DaemonSet `d` (/m/10.yaml)"]
        );
        write("30.yaml", "kind: A\n---\n{apiVersion: v1, kind: A}\n");
        let error = read(&files, &["/m"]).unwrap_err();
        assert_eq!(error.to_string(), "/m/30.yaml, document 1: it has no apiVersion");
    }
}
