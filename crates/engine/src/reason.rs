//! Why something is not as it should be: a constant for programs beside every sentence for people.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

/// One word in `CamelCase`: the reason of a condition, the label of a metric. It stays the same when sentences change.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Reason(Cow<'static, str>);

impl Reason {
    /// It was made before and is not there now.
    pub const VANISHED: Reason = Reason::new("Vanished");
    /// It must be left alone.
    pub const HELD: Reason = Reason::new("Held");
    /// It has not been looked at.
    pub const NOT_OBSERVED: Reason = Reason::new("NotObserved");
    /// Its endpoint cannot be asked.
    pub const UNREACHABLE: Reason = Reason::new("Unreachable");
    /// It was made, and the journal says how in a form that this build cannot read.
    pub const JOURNAL_UNREADABLE: Reason = Reason::new("JournalUnreadable");
    /// A step took longer than it may.
    pub const TIMED_OUT: Reason = Reason::new("TimedOut");
    /// It was changed, and cannot be changed back.
    pub const NOT_RESTORABLE: Reason = Reason::new("NotRestorable");
    /// It does not come to an end.
    pub const TOO_MANY_STEPS: Reason = Reason::new("TooManySteps");
    /// A task that an earlier run began may still be running.
    pub const TASK_RUNNING: Reason = Reason::new("TaskRunning");
    /// A task is over, and does not say what it did.
    pub const TASK_OVER: Reason = Reason::new("TaskOver");
    /// As much as may go on at its endpoint is under way.
    pub const BUDGET_EXHAUSTED: Reason = Reason::new("BudgetExhausted");
    /// It waits for another resource, which has a reason of its own.
    pub const BLOCKED: Reason = Reason::new("Blocked");

    pub const fn new(word: &'static str) -> Self {
        Reason(Cow::Borrowed(word))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A reason, and the sentence that says it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cause {
    pub reason: Reason,
    pub message: String,
}

impl Cause {
    pub fn new(reason: Reason, message: impl Into<String>) -> Self {
        Cause { reason, message: message.into() }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
