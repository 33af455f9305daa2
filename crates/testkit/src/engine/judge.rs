//! The published model of the API, as a judge of what is said: paths, methods, parameters, fields, types, values.
//!
//! It comes from the project that publishes it when the peers are built, and is no part of this one. What it cannot judge are status
//! codes, faults, and what happens when.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::sync::LazyLock;

use anyhow::{Context, bail};
use serde::Deserialize;
use serde_json::Value;

use super::route::{Reply, Request};
use crate::peers::{cache, lock};

/// Pinned, so that every run has the same judge.
const ARTIFACT: &str = "org.ovirt.engine.api:model:4.6.1:jar:javadoc";
const COPY: &str = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy";
const REDUCE: &str = include_str!("../../files/engine/reduce.py");

fn folder() -> anyhow::Result<PathBuf> {
    Ok(cache()?.join("ovirt-model-4.6.1"))
}

/// Fetches the model if it is not there.
pub fn build() -> anyhow::Result<bool> {
    let folder = folder()?;
    let reduced = folder.join("model.json");
    if reduced.is_file() {
        return Ok(false);
    }
    let _lock = lock(&cache()?)?;
    if reduced.is_file() {
        return Ok(false);
    }
    println!("ovirt-model: fetching {ARTIFACT}");
    fs_err::create_dir_all(&folder)?;
    let run = |command: &mut Command| -> anyhow::Result<()> {
        let program = command.get_program().to_owned();
        let output = command
            .output()
            .with_context(|| format!("starting {}; install Maven and Python 3", program.display()))?;
        if !output.status.success() {
            bail!(
                "{command:?}: {}{}",
                String::from_utf8_lossy(&output.stdout),
                String::from_utf8_lossy(&output.stderr)
            );
        }
        Ok(())
    };
    run(Command::new("mvn")
        .args([
            "--quiet",
            "--batch-mode",
            COPY,
            &format!("-Dartifact={ARTIFACT}"),
            "-Dmdep.stripVersion=true",
        ])
        .arg(format!("-DoutputDirectory={}", folder.display())))?;
    // Complete at once, or not there.
    let draft = folder.join("draft.json");
    run(Command::new("python3").args(["-c", REDUCE]).arg(folder.join("model-javadoc.jar")).arg(&draft))?;
    fs_err::rename(draft, reduced)?;
    Ok(true)
}

/// The model, if it was fetched.
pub fn published() -> Option<&'static Judge> {
    static JUDGE: LazyLock<Option<Judge>> = LazyLock::new(|| {
        let text = std::fs::read_to_string(folder().ok()?.join("model.json")).ok()?;
        serde_json::from_str(&text).ok()
    });
    JUDGE.as_ref()
}

#[derive(Debug, Deserialize)]
pub struct Judge {
    types: BTreeMap<String, Type>,
    services: BTreeMap<String, Service>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Type {
    Enum { values: Vec<String> },
    Struct { fields: BTreeMap<String, String> },
}

#[derive(Debug, Deserialize)]
struct Service {
    locators: BTreeMap<String, String>,
    item: Option<String>,
    methods: BTreeMap<String, Method>,
}

#[derive(Debug, Deserialize)]
struct Method {
    name: String,
    #[serde(rename = "in")]
    takes: BTreeMap<String, String>,
    #[serde(rename = "out")]
    gives: BTreeMap<String, String>,
}

/// What every request may have.
const PARAMETERS: [&str; 9] =
    ["search", "max", "follow", "filter", "async", "case_sensitive", "correlation_id", "all_content", "from"];
/// What every object may have.
const FIELDS: [&str; 5] = ["id", "href", "link", "actions", "creation_status"];

/// Engines write one word otherwise than the model has it: so, and so in the model.
const WRITTEN: (&str, &str) = ("transparent_hugepages", "transparent_huge_pages");

impl Judge {
    /// Whether a struct has a field.
    pub fn has(&self, name: &str, field: &str) -> bool {
        self.field(name, field).is_some() || FIELDS.contains(&field)
    }

    fn field(&self, name: &str, field: &str) -> Option<&str> {
        let field = if field == WRITTEN.0 { WRITTEN.1 } else { field };
        match self.types.get(name)? {
            Type::Struct { fields } => fields.get(field).map(String::as_str),
            Type::Enum { .. } => None,
        }
    }

    /// What is wrong with a request that was answered, and with the answer.
    pub(super) fn objections(&self, request: &Request, reply: Option<&Reply>) -> Vec<String> {
        let Some(reply) = reply else { return Vec::new() };
        let said = (!request.is_xml && !request.body.trim().is_empty())
            .then(|| serde_json::from_str::<Value>(&request.body).unwrap_or_default());
        self.judge(&request.method, &request.segments, &request.query, said.as_ref(), &reply.value)
    }

    /// The same for any exchange in JSON.
    pub fn judge(
        &self,
        verb: &str,
        segments: &[String],
        query: &[(String, String)],
        said: Option<&Value>,
        answer: &Value,
    ) -> Vec<String> {
        let mut found = Vec::new();
        let place = format!("{verb} /{}", segments.join("/"));
        let Some(method) = self.method(verb, segments) else {
            return vec![format!("{place}: no such method")];
        };
        for (key, _) in query {
            if !method.takes.contains_key(key) && !PARAMETERS.contains(&key.as_str()) {
                found.push(format!("{place}: no parameter {key}"));
            }
        }
        let is_action = !matches!(method.name.as_str(), "get" | "list" | "add" | "update" | "remove");
        let body_of = |forms: &BTreeMap<String, String>| {
            if is_action {
                return Some("action".to_owned());
            }
            forms.values().rfind(|kind| self.is_struct(kind.trim_end_matches("[]"))).cloned()
        };
        if let (Some(said), Some(kind)) = (said, body_of(&method.takes)) {
            self.walk(said, &kind, &format!("{place} request"), &mut found);
        }
        let kind = if method.name == "remove" { Some("action".to_owned()) } else { body_of(&method.gives) };
        // The entry point has no object around what it gives.
        if let Some(kind) = kind.filter(|_| !segments.is_empty()) {
            self.walk_answer(answer, &kind, &place, &mut found);
        }
        found
    }

    fn is_struct(&self, name: &str) -> bool {
        matches!(self.types.get(name), Some(Type::Struct { .. }))
    }

    fn method(&self, verb: &str, segments: &[String]) -> Option<&Method> {
        let mut service = self.services.get("system")?;
        let mut is_collection = false;
        for (index, segment) in segments.iter().enumerate() {
            let next = service.locators.get(segment.as_str());
            match next.or_else(|| service.item.as_ref().filter(|_| is_collection)) {
                Some(name) => {
                    is_collection = next.is_some();
                    service = self.services.get(name)?;
                }
                None if index + 1 == segments.len() && verb == "POST" => {
                    return service.methods.get(segment.as_str());
                }
                None => return None,
            }
        }
        let method = |name: &str| service.methods.get(name);
        match verb {
            "GET" => method("list").or_else(|| method("get")),
            "POST" => method("add"),
            "PUT" => method("update"),
            "DELETE" => method("remove"),
            _ => None,
        }
    }

    fn walk_answer(&self, answer: &Value, kind: &str, place: &str, found: &mut Vec<String>) {
        match kind.strip_suffix("[]") {
            Some(item) => self.walk_list(answer, item, item, place, found),
            None => self.walk(answer, kind, place, found),
        }
    }

    fn walk_list(&self, value: &Value, item: &str, key: &str, place: &str, found: &mut Vec<String>) {
        for (name, items) in value.as_object().into_iter().flatten() {
            match items.as_array() {
                Some(items) if name == key => {
                    for one in items {
                        self.walk(one, item, &format!("{place}.{key}"), found);
                    }
                }
                _ if name == "href" || name == "link" => {}
                _ => found.push(format!("{place}: {name} in a list of {key}")),
            }
        }
        if !value.is_object() {
            found.push(format!("{place}: no list of {key}: {value}"));
        }
    }

    fn walk(&self, value: &Value, kind: &str, place: &str, found: &mut Vec<String>) {
        let scalar = match value {
            Value::String(text) => Some(text.clone()),
            Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
            _ => None,
        };
        let is_good = match (kind, &scalar) {
            ("string", Some(_)) => true,
            ("integer", Some(text)) => text.parse::<i64>().is_ok(),
            ("decimal", Some(text)) => text.parse::<f64>().is_ok(),
            ("boolean", Some(text)) => text == "true" || text == "false",
            ("date", Some(text)) => value.is_number() || text.contains('T'),
            ("string" | "integer" | "decimal" | "boolean" | "date", None) => false,
            (name, scalar) => match (self.types.get(name), scalar) {
                (Some(Type::Enum { values }), Some(text)) => values.contains(&text.to_lowercase()),
                (Some(Type::Struct { .. }), None) => {
                    self.walk_struct(value, name, place, found);
                    true
                }
                _ => false,
            },
        };
        if !is_good {
            found.push(format!("{place}: {value} is no {kind}"));
        }
    }

    fn walk_struct(&self, value: &Value, name: &str, place: &str, found: &mut Vec<String>) {
        for (key, inner) in value.as_object().into_iter().flatten() {
            let place = format!("{place}.{key}");
            match self.field(name, key).map(|kind| (kind, kind.strip_suffix("[]"))) {
                Some((kind, None)) => self.walk(inner, kind, &place, found),
                Some((_, Some(item))) => {
                    let singular = key.strip_suffix('s').unwrap_or(key);
                    let key = if self.is_struct(item) { item } else { singular };
                    self.walk_list(inner, item, key, &place, found);
                }
                None if FIELDS.contains(&key.as_str()) => {}
                None => found.push(format!("{place}: {name} has no such field")),
            }
        }
    }
}
