//! The one policy of trying again.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

/// How long to wait before trying again; twice as long each time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pauses {
    /// After the first failure of a step.
    pub first: Duration,
    /// When an endpoint is left alone for the first time.
    pub rest: Duration,
    pub longest: Duration,
}

impl Default for Pauses {
    fn default() -> Self {
        Pauses {
            first: Duration::from_millis(500),
            rest: Duration::from_secs(1),
            longest: Duration::from_secs(30),
        }
    }
}

/// How long to wait before attempt `attempt + 1`: a little different for each resource, so that those that failed
/// together do not all come back together.
pub(crate) fn pause(pauses: &Pauses, attempt: u32, of: &impl Hash) -> Duration {
    let pause = pauses.first.saturating_mul(1 << attempt.saturating_sub(1).min(10)).min(pauses.longest);
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    let share = u32::try_from(hasher.finish() % 25).unwrap_or_default();
    pause + pause * share / 100
}
