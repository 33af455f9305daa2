//! Our objects beside those of the drivers' own manifests. Every difference has a reason, and every reason a
//! difference.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use slipway_api::slipway::vdo_config::{CloudProvider, StorageProvider};
use slipway_assets::drivers::Object;
use slipway_config::matrix::{Driver, Source};
use slipway_config::yaml::from_yaml;
use slipway_testkit::peers;

use super::differences::{CLOUD, Explained, STORAGE};
use super::estate::Estate;

#[test]
fn the_cloud_provider_differs_for_good_reasons() {
    let estate = Estate::new();
    for row in estate.matrix.rows(Driver::CloudProvider) {
        let Source::Line { line, .. } = &row.source else { panic!("{}", row.version) };
        let ours = estate.cloud(&row.version.to_string(), &CloudProvider::default()).unwrap();
        judge(&format!("cpi-{line}"), &["manager"], &ours, CLOUD);
        assert!(row.proven, "{line} has been compared: the matrix should say so");
    }
}

#[test]
fn the_storage_driver_differs_for_good_reasons() {
    let estate = Estate::new();
    for (version, line) in [("3.3.1", "3.3"), ("3.7.0", "3.7")] {
        let ours = estate.storage(version, &StorageProvider::default()).unwrap();
        judge(&format!("csi-{line}"), &["namespace", "driver", "webhook"], &ours, STORAGE);
    }
    let proven = |row: &&slipway_config::matrix::Row| row.proven;
    let rows = estate.matrix.rows(Driver::StorageProvider).iter().filter(proven);
    let versions: Vec<String> = rows.map(|row| row.version.to_string()).collect();
    assert_eq!(versions, ["3.7.0", "3.3.1"], "what has been compared, the matrix says is proven");
}

fn judge(folder: &str, files: &[&str], ours: &[Object], explained: &[Explained]) {
    let theirs = theirs(folder, files);
    let ours: BTreeMap<String, BTreeMap<String, String>> =
        ours.iter().map(|object| described(&object.value)).collect();
    assert!(theirs.len() > 5, "{folder}: {theirs:?}");
    let differences = differences(&theirs, &ours);
    let mut used = BTreeSet::new();
    let mut unexplained = Vec::new();
    for difference in &differences {
        match explained.iter().position(|(pattern, _)| matches(pattern, difference)) {
            Some(index) => drop(used.insert(index)),
            None => unexplained.push(difference.as_str()),
        }
    }
    assert!(unexplained.is_empty(), "{folder}: without a reason:\n{}", unexplained.join("\n"));
    let unused = explained.iter().enumerate().filter(|(index, _)| !used.contains(index));
    let unused: Vec<&str> = unused.map(|(_, (pattern, _))| *pattern).collect();
    assert!(unused.is_empty(), "{folder}: reasons without a difference:\n{}", unused.join("\n"));
}

type Objects = BTreeMap<String, BTreeMap<String, String>>;

fn theirs(folder: &str, files: &[&str]) -> Objects {
    let folder = peers::find("driver-manifest-files").unwrap().join(folder);
    let mut objects = Objects::new();
    for file in files {
        let text = fs_err::read_to_string(folder.join(format!("{file}.yaml"))).unwrap();
        for document in text.split("\n---").filter(|document| document.contains("kind:")) {
            let value = from_yaml(document).unwrap_or_else(|report| panic!("{:#?}", report.findings));
            objects.extend([described(&value)]);
        }
    }
    objects
}

/// What an object is called, and its values by path.
fn described(object: &Value) -> (String, BTreeMap<String, String>) {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let kind = text(&object["kind"]);
    let mut values = BTreeMap::new();
    for (key, value) in object.as_object().unwrap() {
        match (key.as_str(), &*kind) {
            ("rules", "Role" | "ClusterRole") => rights(value, &mut values),
            _ => flatten(value, key, &mut values),
        }
    }
    (format!("{kind} {}", text(&object["metadata"]["name"])), values)
}

/// One line per right, however they are grouped.
fn rights(rules: &Value, values: &mut BTreeMap<String, String>) {
    let list = |value: &Value| -> Vec<String> {
        value.as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
    };
    for rule in rules.as_array().unwrap() {
        for group in list(&rule["apiGroups"]) {
            for resource in list(&rule["resources"]) {
                for verb in list(&rule["verbs"]) {
                    values.insert(format!("rules: {verb} {resource}.{group}"), String::new());
                }
            }
        }
    }
}

/// Lists are sets, or maps by name: their order means nothing here.
fn flatten(value: &Value, path: &str, values: &mut BTreeMap<String, String>) {
    match value {
        Value::Object(members) if members.is_empty() => drop(values.insert(path.to_owned(), "{}".to_owned())),
        Value::Object(members) => {
            for (key, member) in members {
                flatten(member, &format!("{path}.{key}"), values);
            }
        }
        Value::Array(items) => {
            for item in items {
                match (item["kind"].as_str(), item["name"].as_str()) {
                    (Some(kind), Some(name)) => flatten(item, &format!("{path}[{kind} {name}]"), values),
                    (None, Some(name)) => flatten(item, &format!("{path}[{name}]"), values),
                    (_, None) => drop(values.insert(format!("{path}[{}]", sorted(item)), String::new())),
                }
            }
        }
        Value::String(text) => drop(values.insert(path.to_owned(), text.clone())),
        other => drop(values.insert(path.to_owned(), other.to_string())),
    }
}

/// The same text for the same value, whatever the order of its keys.
fn sorted(value: &Value) -> String {
    let mut values = BTreeMap::new();
    match value {
        Value::Object(_) => flatten(value, "", &mut values),
        Value::String(text) => return text.clone(),
        other => return other.to_string(),
    }
    values.into_iter().map(|(path, text)| format!("{path}={text}")).collect::<Vec<_>>().join(" ")
}

fn differences(theirs: &Objects, ours: &Objects) -> Vec<String> {
    let mut differences = Vec::new();
    let names: BTreeSet<&String> = theirs.keys().chain(ours.keys()).collect();
    for name in names {
        match (theirs.get(name), ours.get(name)) {
            (Some(_), None) => differences.push(format!("- {name}")),
            (None, Some(_)) => differences.push(format!("+ {name}")),
            (Some(theirs), Some(ours)) => {
                let paths: BTreeSet<&String> = theirs.keys().chain(ours.keys()).collect();
                for path in paths {
                    match (theirs.get(path), ours.get(path)) {
                        (Some(a), Some(b)) if a == b => {}
                        (Some(a), Some(b)) => differences.push(format!("~ {name}: {path}: {a} -> {b}")),
                        (Some(a), None) => differences.push(format!("- {name}: {path}: {a}")),
                        (None, Some(b)) => differences.push(format!("+ {name}: {path}: {b}")),
                        (None, None) => {}
                    }
                }
            }
            (None, None) => {}
        }
    }
    differences.iter().map(|line| line.trim_end_matches(": ").to_owned()).collect()
}

/// A star stands for anything.
fn matches(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((start, rest)) => text.strip_prefix(start).is_some_and(|tail| {
            tail.char_indices().map(|(at, _)| at).chain([tail.len()]).any(|at| matches(rest, &tail[at..]))
        }),
    }
}

#[test]
fn differences_are_found() {
    let theirs = Objects::from([
        described(
            &from_yaml("{kind: A, metadata: {name: x}, spec: {list: [{name: a, v: 1}, {name: b}], n: 1}}")
                .unwrap(),
        ),
        described(&from_yaml("{kind: B, metadata: {name: x}}").unwrap()),
    ]);
    let ours = Objects::from([
        described(
            &from_yaml("{kind: A, metadata: {name: x}, spec: {list: [{name: a, v: 2}], n: 1, m: [z]}}")
                .unwrap(),
        ),
        described(&from_yaml("{kind: C, metadata: {name: x}}").unwrap()),
    ]);
    let expected = [
        "~ A x: spec.list[a].v: 1 -> 2",
        "- A x: spec.list[b].name: b",
        "+ A x: spec.m[z]",
        "- B x",
        "+ C x",
    ];
    assert_eq!(differences(&theirs, &ours), expected);
    assert!(matches("- A *.name: b", expected[1]) && !matches("- A *.name", expected[1]));
}
