//! Why something could not be done about a Machine, and what that means for it.

use std::time::Duration;

use slipway_engine::{End, Id, Reason};
use slipway_providers::cluster::AccessError;
use slipway_providers::text::chain;
use thiserror::Error;

use super::journal::JournalError;
use crate::runtime::sessions::NoSession;

/// What is known of the machine then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sight {
    /// The vCenter was asked: it is as it was seen.
    Clear,
    /// The vCenter could not be asked. Nothing is decided.
    Blind,
}

/// Something that keeps a Machine from getting on. It is tried again, unless it is `terminal`.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct Problem {
    /// One word, for conditions, Events and metrics.
    pub reason: Reason,
    pub message: String,
    pub sight: Sight,
    /// Only another spec could help.
    pub terminal: bool,
    /// When to try again, where that is known.
    pub after: Option<Duration>,
}

/// The spec cannot be used.
pub const INVALID: Reason = Reason::new("InvalidConfiguration");
/// It was made, and two looks did not find it.
pub const MISSING: Reason = Reason::new("InstanceMissing");

impl Problem {
    pub fn new(reason: Reason, message: impl Into<String>) -> Self {
        Problem { reason, message: message.into(), sight: Sight::Clear, terminal: false, after: None }
    }

    /// The vCenter cannot be asked.
    pub fn blind(reason: Reason, message: impl Into<String>) -> Self {
        Problem { sight: Sight::Blind, ..Problem::new(reason, message) }
    }

    /// Only another spec could help.
    pub fn terminal(reason: Reason, message: impl Into<String>) -> Self {
        Problem { terminal: true, ..Problem::new(reason, message) }
    }

    #[must_use]
    pub fn again_after(self, time: Duration) -> Self {
        Problem { after: Some(time), ..self }
    }

    /// Why a run did not reach its end, by what became of its resources: the first that has a reason of its own.
    pub fn of_ends<'a>(ends: impl IntoIterator<Item = (&'a Id, &'a End)>) -> Option<Self> {
        let mut blocked = None;
        for (id, end) in ends {
            match end {
                End::Done { .. } => {}
                End::Failed { reason, verb, error, remedy } => {
                    let remedy = remedy.as_ref().map(|remedy| format!(". {remedy}")).unwrap_or_default();
                    let message = format!("{verb} of {id}: {error}{remedy}");
                    let problem = Problem::new(reason.clone(), message);
                    let blind = *reason == Reason::UNREACHABLE;
                    return Some(Problem {
                        sight: if blind { Sight::Blind } else { Sight::Clear },
                        ..problem
                    });
                }
                End::Stopped(cause) => {
                    return Some(Problem::new(cause.reason.clone(), format!("{id}: {cause}")));
                }
                End::Unknown(cause) => {
                    return Some(Problem::blind(cause.reason.clone(), format!("{id}: {cause}")));
                }
                End::Unfinished => {
                    blocked = Some(Problem::blind(Reason::NOT_OBSERVED, format!("{id}: it was interrupted")));
                }
                End::Blocked { by } => {
                    let message = format!("{id} waits for {by}");
                    blocked = blocked.or(Some(Problem::new(Reason::BLOCKED, message)));
                }
            }
        }
        blocked
    }
}

impl From<NoSession> for Problem {
    fn from(error: NoSession) -> Self {
        Problem::blind(error.reason, error.message)
    }
}

/// Another writer came between. It is tried again at once, and not told.
pub const CONFLICT: Reason = Reason::new("Conflict");

const CONFLICT_PAUSE: Duration = Duration::from_millis(200);

impl From<AccessError> for Problem {
    fn from(error: AccessError) -> Self {
        if error.is_conflict() {
            return Problem::blind(CONFLICT, chain(&error)).again_after(CONFLICT_PAUSE);
        }
        Problem::blind(Reason::new("ClusterNotAnswering"), chain(&error))
    }
}

impl From<JournalError> for Problem {
    fn from(error: JournalError) -> Self {
        if matches!(error, JournalError::Changed(_) | JournalError::Replaced(_)) {
            return Problem::blind(CONFLICT, error.to_string()).again_after(CONFLICT_PAUSE);
        }
        Problem::blind(Reason::new("JournalNotWritten"), chain(&error))
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use slipway_engine::{Cause, End, Endpoint, Id, Reason};

    use super::{Problem, Sight};

    fn failed(reason: &'static str) -> End {
        End::Failed {
            reason: Reason::new(reason),
            verb: "clone".into(),
            error: "no space".to_owned(),
            remedy: None,
        }
    }

    #[rstest]
    #[case::well(vec![End::Done { changed: true }, End::Done { changed: false }], None)]
    #[case::failed(vec![failed("VCenterFault"), End::Done { changed: false }], Some(("VCenterFault", Sight::Clear)))]
    #[case::silent(vec![failed("Unreachable")], Some(("Unreachable", Sight::Blind)))]
    #[case::cause_before_effect(
        vec![End::Blocked { by: Id::new(&Endpoint::from("vc"), "machine", "m") }, failed("VCenterFault")],
        Some(("VCenterFault", Sight::Clear))
    )]
    #[case::unknown(vec![End::Unknown(Cause::new(Reason::UNREACHABLE, "x"))], Some(("Unreachable", Sight::Blind)))]
    #[case::stopped(vec![End::Stopped(Cause::new(Reason::VANISHED, "x"))], Some(("Vanished", Sight::Clear)))]
    #[case::interrupted(vec![End::Unfinished], Some(("NotObserved", Sight::Blind)))]
    fn the_reason_of_a_run(#[case] ends: Vec<End>, #[case] expected: Option<(&str, Sight)>) {
        let id = Id::new(&Endpoint::from("vc"), "machine", "m");
        let problem = Problem::of_ends(ends.iter().map(|end| (&id, end)));
        assert_eq!(problem.as_ref().map(|problem| (problem.reason.as_str(), problem.sight)), expected);
    }
}
