//! Everything an engine knows, and the work that is under way.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::access::Access;
use super::fault::Refusal;
use super::imageio::Imageio;
use super::kind::Kind;
use super::work::Queue;

/// An object.
#[derive(Debug, Clone)]
pub(super) struct Record {
    pub(super) id: String,
    /// The object it is part of, if it is.
    pub(super) parent: String,
    /// Its representation, without what follows from its place: links, actions, `href`s.
    pub(super) doc: Map<String, Value>,
}

impl Record {
    pub(super) fn text(&self, field: &str) -> &str {
        self.doc.get(field).and_then(Value::as_str).unwrap_or_default()
    }

    pub(super) fn name(&self) -> &str {
        self.text("name")
    }

    pub(super) fn number(&self, field: &str) -> u64 {
        self.text(field).parse().unwrap_or_default()
    }

    /// The id of what a field refers to.
    pub(super) fn reference(&self, field: &str) -> &str {
        self.doc.get(field).and_then(|value| value["id"].as_str()).unwrap_or_default()
    }

    pub(super) fn set(&mut self, field: &str, value: impl Into<Value>) {
        self.doc.insert(field.to_owned(), value.into());
    }
}

/// What is inside of a machine.
#[derive(Debug, Clone, Default)]
pub(super) struct Guest {
    /// Whether it was ever started with its initialization.
    pub(super) is_initialized: bool,
    /// On its configuration drive.
    pub(super) user_data: Option<String>,
    pub(super) addresses: Vec<String>,
}

#[derive(Debug)]
pub(super) struct World {
    pub(super) records: BTreeMap<Kind, Vec<Record>>,
    /// Which tags which objects carry.
    pub(super) tagged: BTreeSet<(String, String)>,
    /// Machines and hosts of affinity groups and labels, in the order they came.
    pub(super) members: Vec<(String, String)>,
    pub(super) guests: BTreeMap<String, Guest>,
    pub(super) access: Access,
    pub(super) queue: Queue,
    pub(super) imageio: Imageio,
    /// The authority's certificate, which hosts have, too.
    pub(super) ca: String,
    pub(super) events_to_lose: u32,
    offset: Duration,
    drawn: u64,
    pub(super) next_event: u64,
    pub(super) next_mac: u64,
}

/// Who asks, and under which correlation id.
#[derive(Debug, Clone)]
pub(super) struct Caller {
    pub(super) user: String,
    pub(super) correlation: String,
    /// Whether lists are to have only what the user has rights on.
    pub(super) is_filtered: bool,
    pub(super) all_content: bool,
}

impl World {
    pub(super) fn new(access: Access, imageio: Imageio, ca: String) -> Self {
        World {
            records: BTreeMap::new(),
            tagged: BTreeSet::new(),
            members: Vec::new(),
            guests: BTreeMap::new(),
            access,
            queue: Queue::default(),
            imageio,
            ca,
            events_to_lose: 0,
            offset: Duration::ZERO,
            drawn: 0,
            next_event: 1,
            next_mac: 0,
        }
    }

    /// Milliseconds since 1970.
    pub(super) fn now(&self) -> i64 {
        Timestamp::now().as_millisecond() + i64::try_from(self.offset.as_millis()).unwrap_or(i64::MAX / 2)
    }

    pub(super) fn advance(&mut self, by: Duration) {
        self.offset += by;
    }

    /// Ids that look like the engine's, the same in every run.
    pub(super) fn draw(&mut self) -> String {
        self.drawn += 1;
        let digest = Sha256::digest(self.drawn.to_be_bytes());
        let hex: String = digest[..16].iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{}-{}-4{}-a{}-{}", &hex[..8], &hex[8..12], &hex[13..16], &hex[17..20], &hex[20..32])
    }

    pub(super) fn all(&self, kind: Kind) -> &[Record] {
        self.records.get(&kind).map_or(&[], Vec::as_slice)
    }

    pub(super) fn parts(&self, kind: Kind, parent: &str) -> impl Iterator<Item = &Record> {
        self.all(kind).iter().filter(move |record| record.parent == parent)
    }

    pub(super) fn find(&self, kind: Kind, id: &str) -> Option<&Record> {
        self.all(kind).iter().find(|record| record.id == id)
    }

    pub(super) fn get(&self, kind: Kind, id: &str) -> Result<&Record, Refusal> {
        self.find(kind, id).ok_or(Refusal::Missing)
    }

    pub(super) fn part(&self, kind: Kind, parent: &str, id: &str) -> Result<&Record, Refusal> {
        self.parts(kind, parent).find(|record| record.id == id).ok_or(Refusal::Missing)
    }

    pub(super) fn change(&mut self, kind: Kind, id: &str) -> Option<&mut Record> {
        self.records.get_mut(&kind)?.iter_mut().find(|record| record.id == id)
    }

    pub(super) fn named(&self, kind: Kind, name: &str) -> Option<&Record> {
        self.all(kind).iter().find(|record| record.name() == name)
    }

    pub(super) fn add(&mut self, kind: Kind, id: &str, parent: &str, doc: Value) {
        let Value::Object(doc) = doc else { return };
        self.records.entry(kind).or_default().push(Record {
            id: id.to_owned(),
            parent: parent.to_owned(),
            doc,
        });
    }

    pub(super) fn remove(&mut self, kind: Kind, keep: impl Fn(&Record) -> bool) {
        if let Some(records) = self.records.get_mut(&kind) {
            records.retain(|record| keep(record));
        }
    }

    /// What a body refers to, by id or by name.
    pub(super) fn meant(&self, kind: Kind, reference: &Value, class: &str) -> Result<&Record, Refusal> {
        if let Some(id) = reference["id"].as_str() {
            return self.find(kind, id).ok_or_else(|| Refusal::entity(class, "id", id));
        }
        let name = reference["name"].as_str().unwrap_or_default();
        self.named(kind, name).ok_or_else(|| Refusal::entity(class, "name", name))
    }

    pub(super) fn data_center_of(&self, cluster: &str) -> String {
        self.find(Kind::Cluster, cluster)
            .map(|cluster| cluster.reference("data_center").to_owned())
            .unwrap_or_default()
    }

    /// A job that is done or fails with what it stands for.
    pub(super) fn job(&mut self, description: &str, caller: &Caller) -> String {
        let (id, now) = (self.draw(), self.now());
        let owner = self.access.user_id(&caller.user);
        self.add(
            Kind::Job,
            &id,
            "",
            json!({"auto_cleared": "true", "external": "false", "last_updated": now, "start_time": now, "status": "started",
                   "owner": {"id": owner}, "description": description}),
        );
        if let Some(record) = self.change(Kind::Job, &id) {
            // Jobs are found by it, but do not show it.
            record.set(CORRELATION, caller.correlation.clone());
        }
        for (number, kind) in ["validating", "executing"].into_iter().enumerate() {
            let step = self.draw();
            let description = if number == 0 { "Validating" } else { "Executing" };
            let status = if number == 0 { "finished" } else { "started" };
            let mut doc = json!({"external": "false", "number": number.to_string(), "start_time": now, "status": status,
                                 "type": kind, "job": {"id": id}, "description": description});
            if number == 0 {
                doc["end_time"] = now.into();
            }
            self.add(Kind::Step, &step, &id, doc);
        }
        id
    }

    pub(super) fn job_ends(&mut self, id: &str, status: &str) {
        let now = self.now();
        let end = |record: &mut Record| {
            record.set("status", status);
            record.set("end_time", now);
        };
        if let Some(job) = self.change(Kind::Job, id) {
            end(job);
            job.set("last_updated", now);
        }
        let steps = self.records.entry(Kind::Step).or_default().iter_mut();
        steps.filter(|step| step.parent == id && step.text("status") == "started").for_each(end);
    }

    /// Writes an event about a machine, template or disk.
    pub(super) fn event(&mut self, event: &Event<'_>) {
        let index = self.next_event;
        self.next_event += 1;
        if self.events_to_lose > 0 {
            self.events_to_lose -= 1;
            return;
        }
        let mut doc = json!({"code": event.code.to_string(), "custom_id": "-1", "flood_rate": "0", "index": index.to_string(),
                             "origin": "oVirt", "severity": event.severity, "time": self.now(), "description": event.text});
        if let Some(caller) = event.by {
            doc["correlation_id"] = caller.correlation.clone().into();
            doc["user"] =
                json!({"name": format!("{}-authz", caller.user), "id": self.access.user_id(&caller.user)});
        }
        for (kind, id) in event.about {
            let name = self.find(*kind, id).map(|record| record.name().to_owned()).unwrap_or_default();
            doc[kind.item()] = json!({"name": name, "id": id});
        }
        self.add(Kind::Event, &index.to_string(), "", doc);
    }

    /// A login that failed is told without a user that there may not be.
    pub(super) fn login_failed(&mut self, user: &str, text: String) {
        self.event(&Event { code: 114, severity: "error", text, by: None, about: &[] });
        if let Some(event) = self.records.entry(Kind::Event).or_default().last_mut() {
            event.set("user", json!({"name": user}));
        }
    }

    /// A machine, with everything that an event about it names.
    pub(super) fn around_vm(&self, vm: &str) -> Vec<(Kind, String)> {
        let Some(record) = self.find(Kind::Vm, vm) else { return Vec::new() };
        let cluster = record.reference("cluster").to_owned();
        let mut about = vec![
            (Kind::DataCenter, self.data_center_of(&cluster)),
            (Kind::Cluster, cluster),
            (Kind::Template, record.reference("template").to_owned()),
            (Kind::Vm, vm.to_owned()),
        ];
        if record.doc.contains_key("host") {
            about.push((Kind::Host, record.reference("host").to_owned()));
        }
        about
    }
}

impl World {
    /// The same where a template is made of it: then that one is named.
    pub(super) fn around_template(&self, template: &str, vm: &str) -> Vec<(Kind, String)> {
        let mut about = self.around_vm(vm);
        for (kind, id) in &mut about {
            if *kind == Kind::Template {
                template.clone_into(id);
            }
        }
        about
    }
}

/// Kept with a job, not shown.
pub(super) const CORRELATION: &str = " correlation_id";

/// What is to be written about.
#[derive(Debug)]
pub(super) struct Event<'a> {
    pub(super) code: u32,
    pub(super) severity: &'static str,
    pub(super) text: String,
    pub(super) by: Option<&'a Caller>,
    pub(super) about: &'a [(Kind, String)],
}
