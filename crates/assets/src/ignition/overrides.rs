//! What the cluster version operator must leave alone until the installer's own objects are in the cluster.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use slipway_config::findings::Rule;
use slipway_config::yaml::{from_yaml, to_yaml};

use crate::{Error, File, Tree};

/// The ClusterVersion among the manifests.
pub(super) const CLUSTER_VERSION: &str = "manifests/cvo-overrides.yaml";

/// The ClusterVersion that ignores everything the installer brings, and the patch that takes this back and
/// restores the user's own overrides. `None` when there is no ClusterVersion.
pub(super) struct Overrides {
    pub(super) cluster_version: String,
    pub(super) restore: String,
}

/// Group, kind, namespace and name.
type Key = (String, String, String, String);

pub(super) fn overrides(manifests: &Tree) -> Result<Option<Overrides>, Error> {
    let mut seen: BTreeMap<Key, &str> = BTreeMap::new();
    let mut ignored = Vec::new();
    let mut cluster_version = None;
    for (path, file) in manifests.below("manifests/").chain(manifests.below("openshift/")) {
        let Some(object) = read(path, file)? else { continue };
        let key = key(path, &object)?;
        if let Some(other) = seen.get(&key) {
            let (_, kind, _, name) = &key;
            return Err(unusable(
                path,
                format!("holds {kind} `{name}`, as {other} does; remove one of them"),
            ));
        }
        if path == CLUSTER_VERSION {
            cluster_version = Some(object);
        } else {
            let (group, kind, namespace, name) = &key;
            ignored.push(json!({
                "kind": kind, "group": group, "namespace": namespace, "name": name, "unmanaged": true,
            }));
        }
        seen.insert(key, path);
    }
    let Some(mut object) = cluster_version else { return Ok(None) };
    if object.get("spec").is_none_or(Value::is_null) {
        object["spec"] = json!({});
    }
    let spec = &mut object["spec"];
    if !spec.is_object() {
        return Err(unusable(CLUSTER_VERSION, "has a `spec` that is not a mapping".to_owned()));
    }
    let original = spec["overrides"].take();
    match &original {
        Value::Null => {}
        Value::Array(overrides) => ignored.extend(overrides.iter().cloned()),
        _ => return Err(unusable(CLUSTER_VERSION, "has `spec.overrides` that are not a list".to_owned())),
    }
    spec["overrides"] = Value::Array(ignored);
    Ok(Some(Overrides {
        cluster_version: to_yaml(&object),
        restore: json!({"spec": {"overrides": original}}).to_string(),
    }))
}

/// Whether a file is named like a manifest.
pub(super) fn is_manifest(path: &str) -> bool {
    [".yaml", ".yml", ".json"].iter().any(|ending| path.ends_with(ending))
}

/// The object in a file, if it is of a kind that is read as one.
pub(super) fn read(path: &str, file: &File) -> Result<Option<Value>, Error> {
    if !is_manifest(path) {
        return Ok(None);
    }
    let text =
        std::str::from_utf8(&file.contents).map_err(|_| unusable(path, "is not text in UTF-8".to_owned()))?;
    from_yaml(text).map(Some).map_err(|report| {
        let reason = match report.findings.first() {
            Some(finding) if finding.rule == Rule::YamlDocuments => {
                "holds several documents; put each object into a separate file".to_owned()
            }
            Some(finding) => format!("line {}: {}", finding.position.line, finding.message),
            None => "is empty; remove it".to_owned(),
        };
        unusable(path, reason)
    })
}

fn key(path: &str, object: &Value) -> Result<Key, Error> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let version = text(&object["apiVersion"]);
    let group = version.split_once('/').map_or("", |(group, _)| group).to_owned();
    let metadata = &object["metadata"];
    let key = (group, text(&object["kind"]), text(&metadata["namespace"]), text(&metadata["name"]));
    if version.is_empty() || key.1.is_empty() || key.3.is_empty() {
        let reason = "is not a Kubernetes object: it needs `apiVersion`, `kind` and `metadata.name`";
        return Err(unusable(path, reason.to_owned()));
    }
    Ok(key)
}

fn unusable(path: &str, reason: String) -> Error {
    Error::Manifest { path: path.to_owned(), reason }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::{CLUSTER_VERSION, overrides};
    use crate::{Access, Tree};

    const VERSION: &str =
        "apiVersion: config.openshift.io/v1\nkind: ClusterVersion\nmetadata: {name: version}\n";
    const SECRET: &str = "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: kube-system}\n";
    const DNS: &str = "{\"apiVersion\": \"config.openshift.io/v1\", \"kind\": \"DNS\", \"metadata\": {\"name\": \"cluster\"}}";

    fn tree(files: &[(&str, &str)]) -> Tree {
        let mut tree = Tree::default();
        for (path, contents) in files {
            tree.insert(*path, *contents, Access::Group);
        }
        tree
    }

    #[test]
    fn everything_brought_is_ignored_for_a_while() {
        let version = format!(
            "{VERSION}spec:\n  channel: stable-4.20\n  overrides:\n  - {{kind: Deployment, group: apps, namespace: x, name: z, unmanaged: true}}\n"
        );
        let tree = tree(&[
            (CLUSTER_VERSION, version.as_str()),
            ("manifests/README", "no object"),
            ("manifests/dns.json", DNS),
            ("openshift/secret.yaml", SECRET),
            ("cluster-api/secret.yaml", SECRET),
        ]);
        let made = overrides(&tree).unwrap().unwrap();
        insta::assert_snapshot!(made.cluster_version, @r#"
        apiVersion: config.openshift.io/v1
        kind: ClusterVersion
        metadata:
          name: version
        spec:
          channel: stable-4.20
          overrides:
          - kind: DNS
            group: config.openshift.io
            namespace: ""
            name: cluster
            unmanaged: true
          - kind: Secret
            group: ""
            namespace: kube-system
            name: s
            unmanaged: true
          - kind: Deployment
            group: apps
            namespace: x
            name: z
            unmanaged: true
        "#);
        insta::assert_snapshot!(made.restore, @r#"{"spec":{"overrides":[{"kind":"Deployment","group":"apps","namespace":"x","name":"z","unmanaged":true}]}}"#);
    }

    #[test]
    fn without_own_overrides_they_are_removed_again() {
        let made = overrides(&tree(&[(CLUSTER_VERSION, VERSION)])).unwrap().unwrap();
        assert_eq!(made.restore, r#"{"spec":{"overrides":null}}"#);
        assert!(overrides(&tree(&[("manifests/dns.json", DNS)])).unwrap().is_none());
    }

    #[rstest]
    #[case("a: [1", "manifests/b.yaml: line 1: this is not valid YAML")]
    #[case(
        "a: 1",
        "manifests/b.yaml: is not a Kubernetes object: it needs `apiVersion`, `kind` and `metadata.name`"
    )]
    #[case(
        "a: 1\n---\na: 2\n",
        "manifests/b.yaml: holds several documents; put each object into a separate file"
    )]
    #[case(SECRET, "manifests/b.yaml: holds Secret `s`, as manifests/a.yaml does; remove one of them")]
    fn unusable_manifests_are_named(#[case] contents: &str, #[case] expected: &str) {
        let tree = tree(&[("manifests/a.yaml", SECRET), ("manifests/b.yaml", contents)]);
        let error = overrides(&tree).map(|_| ()).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
}
