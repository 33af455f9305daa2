//! How far the agent of the bootstrap machine is. The agent writes it; those who wait, and who look for a cause, read it.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// What the agent does, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// Virtual addresses and names on this machine.
    Network,
    /// kubeadm makes the first member of the control plane.
    ControlPlane,
    /// The API answers.
    Api,
    /// The network plugin's manifests.
    NetworkPlugin,
    /// The cluster's own manifests.
    Manifests,
    /// The control-plane machines come in, one after the other.
    Machines,
    /// The completion is written.
    Complete,
    /// The virtual address goes to the control plane.
    HandOver,
    /// This machine's member leaves etcd.
    LeaveEtcd,
    /// Its node goes, and its kubelet stops.
    Leave,
}

impl Stage {
    pub const ALL: [Stage; 10] = [
        Stage::Network,
        Stage::ControlPlane,
        Stage::Api,
        Stage::NetworkPlugin,
        Stage::Manifests,
        Stage::Machines,
        Stage::Complete,
        Stage::HandOver,
        Stage::LeaveEtcd,
        Stage::Leave,
    ];

    /// As it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Stage::Network => "network",
            Stage::ControlPlane => "control-plane",
            Stage::Api => "api",
            Stage::NetworkPlugin => "network-plugin",
            Stage::Manifests => "manifests",
            Stage::Machines => "machines",
            Stage::Complete => "complete",
            Stage::HandOver => "hand-over",
            Stage::LeaveEtcd => "leave-etcd",
            Stage::Leave => "leave",
        }
    }

    /// What is being done, for people.
    pub fn sentence(self) -> &'static str {
        match self {
            Stage::Network => "preparing virtual addresses and names",
            Stage::ControlPlane => "starting the first control plane with kubeadm",
            Stage::Api => "waiting for the API server",
            Stage::NetworkPlugin => "applying the network plugin",
            Stage::Manifests => "applying the cluster's manifests",
            Stage::Machines => "letting the control-plane machines in",
            Stage::Complete => "writing the completion",
            Stage::HandOver => "handing the virtual address over",
            Stage::LeaveEtcd => "leaving etcd",
            Stage::Leave => "leaving the cluster",
        }
    }
}

/// What became of a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    Running,
    Done,
    /// It will be tried again.
    Failed,
}

/// A stage and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    pub stage: Stage,
    pub state: State,
    pub began: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Timestamp>,
    pub attempts: u32,
    /// What is waited for, or what went wrong.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
}

/// What the agent remembers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Record {
    /// When the agent ran for the first time.
    pub began: Timestamp,
    /// The stages so far, in their order.
    #[serde(default)]
    pub stages: Vec<Entry>,
}

impl Record {
    pub fn new(now: Timestamp) -> Self {
        Record { began: now, stages: Vec::new() }
    }

    /// The stage to go on with; `None` if there is nothing left to do.
    pub fn next(&self) -> Option<Stage> {
        let done = |stage: &Stage| {
            self.stages.iter().any(|entry| entry.stage == *stage && entry.state == State::Done)
        };
        Stage::ALL.into_iter().find(|stage| !done(stage))
    }

    pub fn is_over(&self) -> bool {
        self.next().is_none()
    }

    pub fn is_done(&self, stage: Stage) -> bool {
        self.next().is_none_or(|next| next > stage)
    }

    /// What is said about a stage.
    pub fn entry(&self, stage: Stage) -> Option<&Entry> {
        self.stages.iter().find(|entry| entry.stage == stage)
    }

    /// A stage begins, for the first time or again.
    pub fn begin(&mut self, stage: Stage, now: Timestamp) {
        match self.stages.iter_mut().find(|entry| entry.stage == stage) {
            Some(entry) => {
                entry.state = State::Running;
                entry.ended = None;
                entry.attempts = entry.attempts.saturating_add(1);
            }
            None => self.stages.push(Entry {
                stage,
                state: State::Running,
                began: now,
                ended: None,
                attempts: 1,
                message: String::new(),
            }),
        }
    }

    /// A stage waits for something; whether that is news.
    pub fn say(&mut self, stage: Stage, message: &str) -> bool {
        match self.stages.iter_mut().find(|entry| entry.stage == stage) {
            Some(entry) if entry.message != message => {
                message.clone_into(&mut entry.message);
                true
            }
            _ => false,
        }
    }

    /// A stage has ended.
    pub fn end(&mut self, stage: Stage, result: Result<(), &str>, now: Timestamp) {
        let Some(entry) = self.stages.iter_mut().find(|entry| entry.stage == stage) else { return };
        entry.ended = Some(now);
        (entry.state, entry.message) = match result {
            Ok(()) => (State::Done, String::new()),
            Err(reason) => (State::Failed, reason.to_owned()),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::{Record, Stage, State};

    #[test]
    fn stages_follow_each_other() {
        let now = "2026-11-16T12:00:00Z".parse().unwrap();
        let mut record = Record::new(now);
        for stage in Stage::ALL {
            assert_eq!(record.next(), Some(stage));
            record.begin(stage, now);
            assert!(record.say(stage, "waiting"));
            assert!(!record.say(stage, "waiting"), "no news");
            record.end(stage, Err("broken"), now);
            assert_eq!(record.next(), Some(stage), "what failed is tried again");
            record.begin(stage, now);
            record.end(stage, Ok(()), now);
            let entry = record.entry(stage).unwrap();
            assert_eq!((entry.attempts, entry.state, entry.message.as_str()), (2, State::Done, ""));
        }
        assert!(record.is_over());
        let text = serde_json::to_string(&record).unwrap();
        assert_eq!(serde_json::from_str::<Record>(&text).unwrap(), record);
    }

    #[test]
    fn names_are_those_of_the_file() {
        for stage in Stage::ALL {
            assert_eq!(serde_json::to_value(stage).unwrap(), stage.as_str());
        }
    }
}
