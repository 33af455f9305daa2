//! The one policy of trying again.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

const FIRST: Duration = Duration::from_millis(500);
const LONGEST: Duration = Duration::from_secs(30);

/// How long to wait before attempt `attempt + 1`: twice as long each time, and a little different for each resource, so
/// that those that failed together do not all come back together.
pub(crate) fn pause(attempt: u32, of: &impl Hash) -> Duration {
    let pause = FIRST.saturating_mul(1 << attempt.saturating_sub(1).min(10)).min(LONGEST);
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    let share = u32::try_from(hasher.finish() % 25).unwrap_or_default();
    pause + pause * share / 100
}
