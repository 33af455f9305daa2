//! Tasks: what a vCenter does in the background.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use super::client::Client;
use super::error::{Cause, Error};
use super::fault::Fault;
use super::moref::{MoRef, Reference};
use super::properties::Wanted;
use super::soap::{Body, Element};
use super::watch::ChangeKind;

/// A task that was accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    pub moref: MoRef,
    /// The method that started it.
    pub method: Box<str>,
}

/// How a task ended: what it made, or why it failed.
pub type Outcome = Result<Option<MoRef>, Fault>;

impl Client {
    /// Calls a `…_Task` method.
    pub async fn start(&self, this: &MoRef, method: &str, body: &Body) -> Result<Task, Error> {
        let reply = self.call(this, method, body).await?;
        let task = reply.need("returnval").map_err(|cause| self.error(method, cause))?;
        Ok(Task { moref: self.moref(Reference::of(task)), method: method.into() })
    }

    /// Waits for one task; a task that fails is an error of its method.
    pub async fn finish(&self, task: &Task, limit: Duration) -> Result<Option<MoRef>, Error> {
        let mut outcomes = self.finish_all(std::slice::from_ref(task), limit).await?;
        match outcomes.remove(&task.moref) {
            Some(Ok(result)) => Ok(result),
            Some(Err(fault)) => Err(self.error(&task.method, fault)),
            None => Err(self.error(&task.method, Cause::Timeout(limit))),
        }
    }

    /// Waits for all of several tasks with one waiting call, whatever becomes of each. Those that have not ended
    /// in time are missing in the answer.
    pub async fn finish_all(
        &self,
        tasks: &[Task],
        limit: Duration,
    ) -> Result<BTreeMap<MoRef, Outcome>, Error> {
        let mut outcomes = BTreeMap::new();
        if tasks.is_empty() {
            return Ok(outcomes);
        }
        let end = Instant::now() + limit;
        let morefs: Vec<MoRef> = tasks.iter().map(|task| task.moref.clone()).collect();
        let properties = ["info.state", "info.error", "info.result"];
        let wanted = [Wanted { kind: "Task", properties: &properties }];
        let mut watch = self.watch(&morefs, &wanted).await?;
        let mut known: BTreeMap<MoRef, BTreeMap<Box<str>, Element>> = BTreeMap::new();
        while outcomes.len() < tasks.len() {
            let Ok(changes) = tokio::time::timeout_at(end, watch.next()).await else { break };
            for change in changes? {
                let fields = known.entry(change.moref.clone()).or_default();
                for (name, value) in change.properties {
                    fields.insert(name, value.unwrap_or_default());
                }
                if let Some(outcome) = outcome(self, change.kind, fields) {
                    outcomes.insert(change.moref, outcome);
                }
            }
        }
        watch.end().await;
        Ok(outcomes)
    }
}

/// `None` while it runs. A task that disappears left no word: its effects must be looked at.
fn outcome(client: &Client, kind: ChangeKind, fields: &BTreeMap<Box<str>, Element>) -> Option<Outcome> {
    let state = fields.get("info.state").map_or("", |state| &*state.text);
    match state {
        "success" => {
            let result = fields.get("info.result").filter(|result| !result.kind().is_empty());
            // A result can be anything; references have the type of a managed object.
            let result = result.filter(|result| result.children.is_empty() && !result.text.is_empty());
            Some(Ok(result.map(|result| client.moref(Reference::of(result)))))
        }
        "error" => Some(Err(fields.get("info.error").map_or_else(Fault::unknown, Fault::of_method))),
        _ if kind == ChangeKind::Leave => Some(Err(Fault::unknown())),
        _ => None,
    }
}
