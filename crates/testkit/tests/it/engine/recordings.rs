//! Exchanges recorded from a real engine of version 4.5.8, played again: the same requests have to have the same answers, but for
//! ids, times and what only a real engine's files would say.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use slipway_testkit::engine::inventory::{
    Cluster, DataCenter, Host, Inventory, Network, StorageDomain, VnicProfile,
};
use slipway_testkit::engine::{ADMIN, Engine, judge};

use super::client::Wire;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/engine/recordings");

/// One of them.
struct Recording {
    method: String,
    path: String,
    body: String,
    status: u16,
    answer: String,
}

fn recording(name: &str) -> Recording {
    let text = std::fs::read_to_string(format!("{FOLDER}/{name}.txt")).unwrap();
    let (request, answer) = text.split_once("<<<").unwrap();
    let mut lines = request.trim().lines();
    let mut first = lines.next().unwrap().trim_start_matches(">>> ").split(' ');
    let (method, path) = (first.next().unwrap().to_owned(), first.next().unwrap().to_owned());
    let status = answer.rsplit_once("[HTTP ").unwrap().1.split(']').next().unwrap().parse().unwrap();
    let said: Vec<&str> = answer.lines().filter(|line| !line.starts_with("[HTTP ")).collect();
    let path = path.trim_start_matches("/ovirt-engine/api").to_owned();
    Recording { method, path, body: lines.collect(), status, answer: said.join("\n").trim().to_owned() }
}

/// The engine that was recorded.
fn engine() -> Engine {
    let id = |id: &str| Some(id.to_owned());
    let inventory = Inventory {
        data_centers: vec![DataCenter {
            id: id("82f59e7a-e121-11f1-aa63-02fc00000001"),
            ..DataCenter::new("Default")
        }],
        clusters: vec![Cluster {
            id: id("8335e7dc-e121-11f1-91ee-02fc00000001"),
            ..Cluster::new("Default", "Default")
        }],
        hosts: vec![Host {
            id: id("f9314080-2b35-4e75-b7f1-a2d752bab76d"),
            cores: 2,
            ..Host::new("h1", "Default")
        }],
        storage_domains: vec![StorageDomain {
            id: id("11043699-e4bf-4fa6-83e5-60196027d3c3"),
            available: 60_129_542_144,
            used: 0,
            ..StorageDomain::new("data1", "Default")
        }],
        networks: vec![Network {
            id: id("00000000-0000-0000-0000-000000000009"),
            description: "Management Network".to_owned(),
            ..Network::new("ovirtmgmt", "Default")
        }],
        vnic_profiles: vec![VnicProfile {
            id: id("0000000a-000a-000a-000a-000000000398"),
            ..VnicProfile::new("ovirtmgmt", "ovirtmgmt")
        }],
        ..Inventory::default()
    };
    Engine::start(&inventory).unwrap()
}

/// Plays recordings to an engine, and knows which of its ids stand for which of theirs.
struct Stage {
    engine: Engine,
    wire: Wire,
    ours: BTreeMap<String, String>,
    theirs: BTreeMap<String, String>,
    differences: Vec<String>,
    played: Vec<String>,
}

impl Stage {
    fn play(&mut self, names: &[&str]) {
        for name in names {
            self.play_as(name, &[], true);
        }
    }

    fn play_as(&mut self, name: &str, instead: &[(&str, &str)], are_values_equal: bool) {
        self.played.push(name.to_owned());
        let recorded = recording(name);
        let (mut path, mut body) = (recorded.path, recorded.body);
        for (theirs, ours) in &self.ours {
            path = path.replace(theirs, ours);
            body = body.replace(theirs, ours);
        }
        for (old, new) in instead {
            path = path.replace(old, new);
        }
        let headers: &[(&str, &str)] = match name {
            "vm-create" => &[("correlation-id", "corr-w0")],
            "vm-stop" => &[("correlation-id", "corr-stop3")],
            _ => &[],
        };
        let answer = self.wire.ask_with(&recorded.method, &path, &body, headers).unwrap();
        if answer.status != recorded.status {
            self.differences.push(format!(
                "{name}: status {} instead of {}: {}",
                answer.status, recorded.status, answer.text
            ));
            return;
        }
        let text = recorded.answer.replace("localhost:18443", self.engine.address());
        match serde_json::from_str::<Value>(&text) {
            Ok(theirs) => self.compare(name, &theirs, &answer.json(), are_values_equal),
            Err(_) if text == answer.text => {}
            Err(_) => self.differences.push(format!("{name}: {:?} instead of {text:?}", answer.text)),
        }
    }

    fn compare(&mut self, place: &str, theirs: &Value, ours: &Value, are_values_equal: bool) {
        match (theirs, ours) {
            (Value::Object(a), Value::Object(b)) => {
                for key in a.keys().filter(|key| !b.contains_key(*key)) {
                    self.differences.push(format!("{place}: {key} is missing"));
                }
                for key in b.keys().filter(|key| !a.contains_key(*key)) {
                    self.differences.push(format!("{place}: {key} is too much"));
                }
                let is_event = a.contains_key("custom_id");
                for (key, theirs) in a {
                    // Events are numbered; how many there were before is not what is compared.
                    if let Some(ours) = b.get(key)
                        && !(is_event && matches!(key.as_str(), "id" | "href" | "index"))
                    {
                        self.compare(&format!("{place}.{key}"), theirs, ours, are_values_equal);
                    }
                }
            }
            (Value::Array(a), Value::Array(b)) => {
                if are_values_equal && a.len() != b.len() {
                    self.differences.push(format!("{place}: {} items instead of {}", b.len(), a.len()));
                }
                let (mut a, mut b) = (a.clone(), b.clone());
                // The real engine lists links in no order.
                if place.ends_with("link") {
                    let rel = |link: &Value| link["rel"].as_str().unwrap_or_default().to_owned();
                    a.sort_by_key(rel);
                    b.sort_by_key(rel);
                }
                for (index, (theirs, ours)) in a.iter().zip(&b).enumerate() {
                    self.compare(&format!("{place}[{index}]"), theirs, ours, are_values_equal);
                }
            }
            (Value::Number(_), Value::Number(_)) if place.ends_with("time") || place.ends_with("updated") => {
            }
            (Value::String(theirs), Value::String(ours)) => {
                let is_free =
                    [".configuration.data", ".certificate.content"].iter().any(|end| place.ends_with(end));
                if are_values_equal && !is_free && !self.is_same(theirs, ours) {
                    self.differences.push(format!("{place}: {ours:?} instead of {theirs:?}"));
                }
            }
            (theirs, ours) if theirs == ours => {}
            (theirs, ours) => self.differences.push(format!("{place}: {ours} instead of {theirs}")),
        }
    }

    /// The same text, if each of their ids always stands for the same one of ours.
    fn is_same(&mut self, theirs: &str, ours: &str) -> bool {
        let (their_ids, our_ids) = (ids(theirs), ids(ours));
        if their_ids.len() != our_ids.len() {
            return false;
        }
        let mut text = theirs.to_owned();
        for (id, own) in their_ids.iter().zip(&our_ids) {
            let is_known = self.ours.entry(id.clone()).or_insert_with(|| own.clone()) == own
                && self.theirs.entry(own.clone()).or_insert_with(|| id.clone()) == id;
            if !is_known {
                return false;
            }
            text = text.replace(id, own);
        }
        text == ours
    }
}

/// All UUIDs of a text.
fn ids(text: &str) -> Vec<String> {
    let is_id = |part: &str| {
        let groups: Vec<usize> = part.split('-').map(str::len).collect();
        groups == [8, 4, 4, 4, 12] && part.chars().all(|one| one.is_ascii_hexdigit() || one == '-')
    };
    text.split(|one: char| !one.is_ascii_alphanumeric() && one != '-')
        .filter(|part| is_id(part))
        .map(str::to_owned)
        .collect()
}

#[test]
fn recorded_exchanges_are_answered_alike() {
    let engine = engine();
    let wire = Wire::new(&engine);
    let none = BTreeMap::new;
    let mut stage =
        Stage { engine, wire, ours: none(), theirs: none(), differences: Vec::new(), played: Vec::new() };
    stage.play(&["vm-create-blank", "disk-attach-new", "storagedomains", "template-create"]);
    stage.play(&[
        "templates-search",
        "template-diskattachments",
        "clusters-search",
        "networks",
        "vnicprofiles",
    ]);
    stage.play(&["vm-create", "vm-get", "events", "vm-update", "vm-by-name", "diskattachments"]);
    stage.play(&["tag-create", "tag-create-dup", "vm-tag", "vm-tags", "vms-by-tag"]);
    stage.play(&["ag-create", "ag-add-vm", "ag-add-vm-twice", "ag-list", "nic-add", "nics-list"]);
    stage.play(&["fault-vm-start-scheduling"]);
    let vm = stage.engine.id("vms", "worker-0").unwrap();
    let smaller = json!({"memory": "1073741824", "cpu": {"topology": {"cores": 2}}});
    stage.wire.ask("PUT", &format!("/vms/{vm}"), &smaller.to_string()).unwrap();
    stage.play(&["vm-start", "vm-get-up", "fault-update-running-delete", "vm-stop", "jobs-by-corr"]);
    stage.play(&["nic-del", "vm-untag", "ag-del-vm", "ag-delete", "disk-extend"]);
    stage.engine.freeze();
    stage.play(&["vm-create-clone", "vm-create-full", "vm-delete-detach"]);
    stage.engine.thaw();
    stage.play(&["vm-delete", "vm-delete-again", "empty-search"]);
    stage.play(&[
        "fault-404",
        "fault-ag-404",
        "fault-bad-uuid",
        "fault-badjson",
        "fault-badname",
        "fault-dup-vm",
        "fault-missing",
    ]);
    stage.play(&[
        "fault-nocluster",
        "fault-nopath",
        "fault-notemplate",
        "fault-search",
        "fault-unknown-field",
    ]);
    // The first two jobs of that engine were others: what they consist of is compared.
    stage.play_as("jobs", &[], false);
    end_another_machine(&stage);
    stage.play(&["page1", "page2"]);
    stage.play_as("events-from", &[("from=70", "from=7")], true);

    assert!(
        stage.differences.is_empty(),
        "{} differences:\n{}",
        stage.differences.len(),
        stage.differences.join("\n")
    );
    let mut all: Vec<String> = names();
    all.sort();
    stage.played.sort();
    assert_eq!(stage.played, all);
}

fn names() -> Vec<String> {
    let files =
        std::fs::read_dir(FOLDER).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
    files.map(|name| name.trim_end_matches(".txt").to_owned()).collect()
}

/// What the last events of the recorded engine are about.
fn end_another_machine(stage: &Stage) {
    let body = json!({"name": "sdk-vm", "cluster": {"name": "Default"}, "template": {"name": "rhcos"}});
    let vm = stage.wire.post("/vms", &body)["id"].as_str().unwrap().to_owned();
    stage.wire.post(&format!("/vms/{vm}/start"), &json!({}));
    stage.wire.post(&format!("/vms/{vm}/stop"), &json!({}));
    assert_eq!(stage.wire.ask("DELETE", &format!("/vms/{vm}"), "").unwrap().status, 200);
    assert_eq!(stage.wire.log_in(&stage.engine, ADMIN.0, "wrong").status, 400);
}

/// Without this the judge could be anything.
#[test]
fn the_published_model_agrees_with_what_was_recorded_and_finds_what_was_changed() {
    let judge = judge::published().expect("the model is fetched with the peers");
    let (mut mutants, mut caught) = (0, 0);
    for name in names() {
        let recorded = recording(&name);
        let Ok(answer) = serde_json::from_str::<Value>(&recorded.answer) else { continue };
        if recorded.status >= 400 {
            continue;
        }
        let (path, query) = recorded.path.split_once('?').unwrap_or((&recorded.path, ""));
        let segments: Vec<String> =
            path.split('/').filter(|one| !one.is_empty()).map(str::to_owned).collect();
        let query: Vec<(String, String)> = query
            .split('&')
            .filter(|one| !one.is_empty())
            .map(|one| (one.split('=').next().unwrap().to_owned(), String::new()))
            .collect();
        let said = serde_json::from_str(&recorded.body).ok();
        let found = judge.judge(&recorded.method, &segments, &query, said.as_ref(), &answer);
        assert!(found.is_empty(), "{name}: {found:?}");
        for pointer in pointers(&answer, "") {
            let mut mutant = answer.clone();
            let Some(object) = mutant.pointer_mut(&pointer).and_then(Value::as_object_mut) else { continue };
            let Some(key) = object.keys().next().cloned() else { continue };
            let value = object.shift_remove(&key).unwrap();
            object.insert(format!("{key}x"), value);
            mutants += 1;
            caught += usize::from(
                !judge.judge(&recorded.method, &segments, &query, said.as_ref(), &mutant).is_empty(),
            );
        }
    }
    assert!(mutants > 100 && caught * 10 > mutants * 9, "{caught} of {mutants}");
}

/// Every object in a value.
fn pointers(value: &Value, at: &str) -> Vec<String> {
    match value {
        Value::Object(object) => {
            // What objects link to is not in the model.
            let inner = object.iter().filter(|(key, _)| !matches!(key.as_str(), "link" | "actions"));
            let inner = inner.flat_map(|(key, inner)| pointers(inner, &format!("{at}/{key}")));
            inner.chain([at.to_owned()]).collect()
        }
        Value::Array(items) => items
            .iter()
            .enumerate()
            .flat_map(|(index, inner)| pointers(inner, &format!("{at}/{index}")))
            .collect(),
        _ => Vec::new(),
    }
}
