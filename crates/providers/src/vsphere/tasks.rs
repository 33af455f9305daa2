//! Tasks: what a vCenter does in the background. However many run, one call waits for all of them.

mod tracker;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use super::client::Client;
use super::error::{Cause, Error};
use super::moref::{MoRef, Reference};
use super::properties::{Object, PropertySpec};
use super::soap::{Body, Element};
pub(super) use tracker::Tracker;
use tracker::{End, TaskWait};

/// A task that was accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    pub moref: MoRef,
    /// The method that started it.
    pub method: Box<str>,
}

/// How a task ended: what it made, or why it failed. [`Cause::Forgotten`] means that nobody knows.
pub type Outcome = Result<Option<MoRef>, Error>;

impl Client {
    /// Calls a `…_Task` method.
    pub async fn start(&self, this: &MoRef, method: &str, body: &Body) -> Result<Task, Error> {
        let reply = self.call(this, method, body).await?;
        let task = reply.need("returnval").map_err(|cause| self.error(method, cause))?;
        Ok(Task { moref: self.moref(Reference::of(task)), method: method.into() })
    }

    /// Waits for a task; one that fails is an error of its method. Dropping the wait leaves the task alone.
    pub async fn finish(&self, task: &Task, limit: Duration) -> Outcome {
        self.finish_with(task, limit, |_| {}).await
    }

    /// The same, and says how far it is, in percent.
    pub async fn finish_with(&self, task: &Task, limit: Duration, progress: impl FnMut(u8)) -> Outcome {
        let result = self.result_of(task, limit, progress).await?;
        Ok(reference(&result).map(|reference| self.moref(reference)))
    }

    /// Starts a task and waits for it.
    pub async fn run(&self, this: &MoRef, method: &str, body: &Body, limit: Duration) -> Outcome {
        let task = self.start(this, method, body).await?;
        self.finish(&task, limit).await
    }

    /// Waits for all of several tasks, whatever becomes of each.
    pub async fn finish_all(&self, tasks: &[Task], limit: Duration) -> BTreeMap<MoRef, Outcome> {
        let end = Instant::now() + limit;
        let waits: Vec<_> = tasks.iter().map(|task| (task, self.await_task(task))).collect();
        let mut outcomes = BTreeMap::new();
        for (task, wait) in waits {
            let outcome = match wait {
                Ok(wait) => self.answer(task, wait, end, limit, |_| {}).await,
                Err(error) => Err(error),
            };
            let outcome = outcome.map(|result| reference(&result).map(|reference| self.moref(reference)));
            outcomes.insert(task.moref.clone(), outcome);
        }
        outcomes
    }

    /// Waits for a task whose result is more than a reference; without a result the element is empty.
    pub async fn result_of(
        &self,
        task: &Task,
        limit: Duration,
        progress: impl FnMut(u8),
    ) -> Result<Element, Error> {
        let wait = self.await_task(task)?;
        self.answer(task, wait, Instant::now() + limit, limit, progress).await
    }

    /// Whether machines are being copied at this user's request, in other tasks than those that are `known`. vCenter lists
    /// running tasks of all sessions.
    pub async fn is_copying(&self, known: &[&str]) -> Result<bool, Error> {
        let manager = self.manager("taskManager").await?;
        let recent = [PropertySpec { kind: "TaskManager", properties: &["recentTask"] }];
        let found = self.retrieve(std::slice::from_ref(&manager), &recent).await?;
        let tasks = found.first().map(|manager| manager.references("recentTask")).unwrap_or_default();
        let is_known = |task: &MoRef| known.contains(&&*task.reference.to_string());
        let tasks: Vec<MoRef> = tasks.into_iter().filter(|task| !is_known(task)).collect();
        let info =
            [PropertySpec { kind: "Task", properties: &["info.state", "info.descriptionId", "info.reason"] }];
        let user = self.user().await?;
        let is_ours = |task: &Object| {
            let asked = task.properties.get("info.reason").and_then(|reason| reason.child("userName"));
            asked.is_none_or(|asked| asked.text.eq_ignore_ascii_case(&user))
        };
        let is_copy = |task: &Object| {
            matches!(task.text("info.state"), "running" | "queued")
                && task.text("info.descriptionId").starts_with("VirtualMachine.clone")
        };
        Ok(self.retrieve(&tasks, &info).await?.iter().any(|task| is_copy(task) && is_ours(task)))
    }

    /// Which of some tasks are still running; one that the vCenter does not know any more is not.
    pub async fn running(&self, tasks: &[MoRef]) -> Result<BTreeSet<MoRef>, Error> {
        let info = [PropertySpec { kind: "Task", properties: &["info.state"] }];
        let found = self.retrieve(tasks, &info).await?;
        let running =
            found.into_iter().filter(|task| matches!(task.text("info.state"), "running" | "queued"));
        Ok(running.map(|task| task.moref).collect())
    }

    fn await_task(&self, task: &Task) -> Result<TaskWait, Error> {
        if task.moref.vcenter != *self.server() {
            return Err(self.error(&task.method, Cause::Stranger { object: task.moref.to_string() }));
        }
        Ok(TaskWait::new(self, &task.moref.reference))
    }

    async fn answer(
        &self,
        task: &Task,
        mut wait: TaskWait,
        end: Instant,
        limit: Duration,
        progress: impl FnMut(u8),
    ) -> Result<Element, Error> {
        let cause = match timeout_at(end, wait.wait(progress)).await {
            Ok(End::Done(result)) => return Ok(result),
            Ok(End::Failed(fault)) => Cause::Fault(fault),
            Ok(End::Forgotten) => Cause::Forgotten { task: task.moref.to_string() },
            Ok(End::Unheard(error)) => Cause::Unheard(error),
            Ok(End::LoggedOut) => Cause::LoggedOut,
            Err(_) => Cause::Timeout(limit),
        };
        Err(self.error(&task.method, cause))
    }
}

/// A result can be anything; references have the type of a managed object and nothing inside.
fn reference(result: &Element) -> Option<Reference> {
    let refers = !result.kind().is_empty() && result.children.is_empty() && !result.text.is_empty();
    // The basic types of XML are spelt with a small letter.
    let refers = refers && result.kind().starts_with(|first: char| first.is_ascii_uppercase());
    refers.then(|| Reference::of(result))
}
