//! The engine's journal in the status of a Machine: `status.providerStatus.slipway`.
//!
//! Every intent is there before its call. Whoever reads the Machine after a crash knows what was begun, and with which task.

use std::collections::BTreeMap;

use jiff::Timestamp;
use kube::{Api, ResourceExt};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use slipway_api::openshift::Machine;
use slipway_engine::journal::{Entry, Event, Journal, MemoryJournal, Record, Task, Written};
use slipway_engine::{Endpoint, Id};
use slipway_providers::cluster::{AccessError, call, merged};
use slipway_providers::vsphere::kinds::{Kind, MachineState, State};
use thiserror::Error;

/// The key in `status.providerStatus`.
pub const KEY: &str = "slipway";
/// How often a write is tried again when others changed the Machine meanwhile.
const MAX_CONFLICTS: usize = 8;

/// What is written down of a Machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Kept {
    /// The own id of the vCenter it was begun on: another one at the same address is another world.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vcenter: Option<String>,
    /// It was made to its end.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub settled: bool,
    /// The step that was begun last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<Intent>,
    /// What was made, or may have been, by kind.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub records: BTreeMap<String, KeptRecord>,
    /// Tasks whose end is not known, by kind.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tasks: BTreeMap<String, KeptTask>,
}

/// A step that is about to be made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intent {
    pub resource: String,
    pub verb: String,
    pub at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptRecord {
    /// `None`: it was about to be made, and what became of that is not known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub state: Option<Written<State>>,
    pub at: Timestamp,
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub removal: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptTask {
    pub verb: String,
    pub reference: String,
}

impl Kept {
    /// What a Machine says. What cannot be read is an error: it must not be taken for nothing.
    pub fn of(machine: &Machine) -> Result<Self, JournalError> {
        let status = machine.status.as_ref().and_then(|status| status.provider_status.as_ref());
        match status.map(|status| &status[KEY]) {
            None | Some(Value::Null) => Ok(Kept::default()),
            Some(value) => serde_json::from_value(value.clone()).map_err(|source| {
                let machine = machine.name_any();
                JournalError::Unreadable { machine, source }
            }),
        }
    }

    /// Whether anything was ever begun.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty() && self.tasks.is_empty()
    }

    /// The virtual machine, as it was made.
    pub fn machine(&self) -> Option<&MachineState> {
        match self.records.get(Kind::Machine.as_str())?.state.as_ref()?.state()? {
            State::Machine(machine) => Some(machine),
            _ => None,
        }
    }

    /// Whether a copy was begun of which neither the end nor the task is known: it may still be running.
    pub fn is_unresolved(&self) -> bool {
        let machine = Kind::Machine.as_str();
        self.records.get(machine).is_some_and(|record| record.state.is_none())
            && !self.tasks.contains_key(machine)
    }

    fn memory(&self, endpoint: &Endpoint, name: &str) -> MemoryJournal<State> {
        let id = |kind: &str| Id::new(endpoint, kind, name);
        let records = self.records.iter().map(|(kind, record)| {
            let KeptRecord { state, at, removal } = record.clone();
            (id(kind), Record { state, at, removal })
        });
        let tasks = self.tasks.iter().map(|(kind, task)| {
            let KeptTask { verb, reference } = task.clone();
            (id(kind), Task { verb: verb.into(), reference })
        });
        MemoryJournal::restored(records, tasks)
    }

    /// The same, with what a journal knows now.
    fn with(&self, memory: &MemoryJournal<State>) -> Self {
        let records = memory.records().map(|(id, record)| {
            let Record { state, at, removal } = record.clone();
            (id.kind.to_string(), KeptRecord { state, at, removal })
        });
        let tasks = memory.tasks().map(|(id, task)| {
            let Task { verb, reference } = task.clone();
            (id.kind.to_string(), KeptTask { verb: verb.into(), reference })
        });
        Kept { records: records.collect(), tasks: tasks.collect(), ..self.clone() }
    }
}

/// Why a journal was not written. Nothing is done then.
#[derive(Debug, Error)]
pub enum JournalError {
    #[error("the journal of the machine `{machine}` was not written")]
    Write { machine: String, source: AccessError },
    #[error("another writer changed the journal of the machine `{0}`")]
    Changed(String),
    #[error("the machine `{0}` is gone, or another one has its name")]
    Replaced(String),
    #[error("`status.providerStatus.{KEY}` of the machine `{machine}` cannot be read")]
    Unreadable { machine: String, source: serde_json::Error },
}

/// The journal of one Machine. There is one writer: a change by another one is an error.
#[derive(Debug)]
pub struct StatusJournal {
    api: Api<Machine>,
    name: String,
    uid: Option<String>,
    version: Option<String>,
    /// As the Machine has it.
    written: Kept,
    /// The same, with what goes with the next intent.
    kept: Kept,
    memory: MemoryJournal<State>,
}

impl StatusJournal {
    /// Of a Machine that was just read.
    pub fn open(api: Api<Machine>, machine: &Machine, endpoint: &Endpoint) -> Result<Self, JournalError> {
        let (kept, name) = (Kept::of(machine)?, machine.name_any());
        let memory = kept.memory(endpoint, &name);
        let (uid, version) = (machine.uid(), machine.resource_version());
        Ok(StatusJournal { api, name, uid, version, written: kept.clone(), kept, memory })
    }

    pub fn kept(&self) -> &Kept {
        &self.kept
    }

    /// Where it is begun; written with the first intent.
    pub fn begin_on(&mut self, vcenter: &str) {
        self.kept.vcenter.get_or_insert_with(|| vcenter.to_owned());
    }

    /// It was made to its end, like this.
    pub async fn settle(&mut self, id: &Id, state: State, at: Timestamp) -> Result<(), JournalError> {
        let entry = Entry {
            at,
            resource: id.clone(),
            verb: "settle".into(),
            event: Event::Done { state: Some(Written::State(state)) },
        };
        let settled = Kept { settled: true, ..self.kept.clone() };
        self.take(settled, vec![entry]).await
    }

    async fn take(&mut self, kept: Kept, entries: Vec<Entry<State>>) -> Result<(), JournalError> {
        let mut memory = self.memory.clone();
        let intent = entries.iter().rev().find(|entry| matches!(entry.event, Event::Intended { .. }));
        let step = intent.map(|entry| Intent {
            resource: entry.resource.kind.to_string(),
            verb: entry.verb.to_string(),
            at: entry.at,
        });
        match memory.append(entries).await {
            Ok(()) => {}
            Err(never) => match never {},
        }
        let mut next = kept.with(&memory);
        next.step = step.or(next.step);
        self.write(&next).await?;
        memory.entries.clear();
        (self.kept, self.memory) = (next, memory);
        Ok(())
    }

    /// Writes, if nothing else than this journal has written it since it was read.
    async fn write(&mut self, next: &Kept) -> Result<(), JournalError> {
        let doing = format!("writing the journal of the machine `{}`", self.name);
        let failed = |source| JournalError::Write { machine: self.name.clone(), source };
        for _ in 0..MAX_CONFLICTS {
            let change = difference(&value(&self.written), &value(next)).unwrap_or_else(|| json!({}));
            let patch = json!({
                "metadata": {"resourceVersion": self.version, "uid": self.uid},
                "status": {"providerStatus": {KEY: change}},
            });
            match merged(&self.api, Some("status"), &self.name, &doing, &patch).await {
                Ok(machine) => {
                    self.version = machine.resource_version();
                    self.written = next.clone();
                    return Ok(());
                }
                Err(error) if error.is_absent() => return Err(JournalError::Replaced(self.name.clone())),
                // Others write other parts of the Machine.
                Err(error) if error.is_conflict() => {}
                Err(error) => return Err(failed(error)),
            }
            let reading = format!("reading the machine `{}`", self.name);
            let machine = call(&reading, self.api.get_opt(&self.name)).await.map_err(failed)?;
            let machine = machine.filter(|machine| machine.uid() == self.uid);
            let machine = machine.ok_or_else(|| JournalError::Replaced(self.name.clone()))?;
            if Kept::of(&machine)? != self.written {
                return Err(JournalError::Changed(self.name.clone()));
            }
            self.version = machine.resource_version();
        }
        Err(JournalError::Changed(self.name.clone()))
    }
}

fn value(kept: &Kept) -> Value {
    // Maps with text keys: it always is a value.
    serde_json::to_value(kept).unwrap_or_default()
}

/// The merge patch that makes one value of another. `None`: they are the same.
pub fn difference(old: &Value, new: &Value) -> Option<Value> {
    let (Value::Object(old), Value::Object(new)) = (old, new) else {
        return (old != new).then(|| new.clone());
    };
    let mut change = serde_json::Map::new();
    for (key, value) in new {
        let before = old.get(key).unwrap_or(&Value::Null);
        if let Some(difference) = difference(before, value) {
            change.insert(key.clone(), difference);
        }
    }
    for key in old.keys().filter(|key| !new.contains_key(*key)) {
        change.insert(key.clone(), Value::Null);
    }
    (!change.is_empty()).then_some(Value::Object(change))
}

impl Journal<State> for StatusJournal {
    type Error = JournalError;

    async fn append(&mut self, entries: Vec<Entry<State>>) -> Result<(), JournalError> {
        self.take(self.kept.clone(), entries).await
    }

    fn record(&self, id: &Id) -> Option<&Record<State>> {
        self.memory.record(id)
    }

    fn task(&self, id: &Id) -> Option<&Task> {
        self.memory.task(id)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};
    use slipway_engine::journal::{Entry, Event, Journal, Written};
    use slipway_engine::{Endpoint, Id};
    use slipway_providers::vsphere::kinds::{Kind, MachineState, State};

    use super::super::subject::tests::machine;
    use super::{Kept, difference, value};

    #[rstest]
    #[case::same(json!({"a": 1}), json!({"a": 1}), None)]
    #[case::added(json!({}), json!({"a": {"b": 1}}), Some(json!({"a": {"b": 1}})))]
    #[case::removed(json!({"a": {"b": 1, "c": 2}}), json!({"a": {"c": 2}}), Some(json!({"a": {"b": null}})))]
    #[case::list(json!({"a": [1, 2]}), json!({"a": [2]}), Some(json!({"a": [2]})))]
    #[case::kind(json!({"a": 1}), json!({"a": {"b": 1}}), Some(json!({"a": {"b": 1}})))]
    fn a_patch_is_what_differs(#[case] old: Value, #[case] new: Value, #[case] expected: Option<Value>) {
        assert_eq!(difference(&old, &new), expected);
    }

    fn with_journal(journal: &Value) -> slipway_api::openshift::Machine {
        machine(|machine| machine["status"] = json!({"providerStatus": {"slipway": journal}}))
    }

    /// What is written is read again, event by event.
    #[tokio::test]
    async fn it_survives_the_way_through_a_status() {
        let endpoint = Endpoint::from("vc.example.com");
        let id = Kind::Machine.id(&endpoint, "worker-a");
        let mut kept = Kept::of(&machine(|_| {})).unwrap();
        assert!(kept.is_empty() && !kept.is_unresolved());
        let at = "2026-11-18T07:00:00Z".parse().unwrap();
        let state = State::Machine(MachineState {
            moref: "VirtualMachine:vm-7".to_owned(),
            ..MachineState::default()
        });
        let events = [
            (Event::Intended { mark: Some(uuid::Uuid::nil()), removal: false, before: None }, true, false),
            (Event::Task { reference: "Task:task-1".to_owned() }, false, true),
            (Event::Done { state: Some(Written::State(state)) }, false, false),
            (Event::Intended { mark: None, removal: true, before: None }, false, false),
            (Event::Done { state: None }, false, false),
        ];
        for (event, unresolved, task) in events {
            let mut memory = kept.memory(&endpoint, "worker-a");
            let entry = Entry { at, resource: id.clone(), verb: "clone".into(), event };
            memory.append(vec![entry]).await.unwrap();
            kept = kept.with(&memory);
            let read = Kept::of(&with_journal(&value(&kept))).unwrap();
            assert_eq!(read, kept);
            assert_eq!((read.is_unresolved(), read.tasks.len()), (unresolved, usize::from(task)), "{read:?}");
        }
        assert!(kept.is_empty(), "{kept:?}");
        let _ = Id::new(&endpoint, "machine", "worker-a");
    }

    /// It must not be taken for a Machine that was never begun.
    #[test]
    fn what_cannot_be_read_is_an_error() {
        assert!(Kept::of(&with_journal(&json!({"records": 7}))).is_err());
        let other =
            json!({"records": {"machine": {"at": "2026-11-18T07:00:00Z", "state": {"kind": "balloon"}}}});
        let kept = Kept::of(&with_journal(&other)).unwrap();
        assert!(!kept.is_empty() && kept.machine().is_none(), "it was made, and how is not known");
    }
}
