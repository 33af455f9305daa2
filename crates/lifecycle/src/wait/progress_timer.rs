//! When to give up.

use std::collections::HashSet;
use std::time::{Duration, Instant};

/// However much progress there is, a wait ends after so many times the timeout.
const MAX_TIMEOUTS: u32 = 6;
/// More different states than this are no progress but noise.
const STATES: usize = 500;

/// Gives up when nothing has moved for a while. Going back to what was seen before is not moving.
#[derive(Debug)]
pub struct ProgressTimer {
    timeout: Duration,
    began: Instant,
    moved: Instant,
    seen: HashSet<String>,
}

impl ProgressTimer {
    pub fn new(timeout: Duration, now: Instant) -> Self {
        ProgressTimer { timeout, began: now, moved: now, seen: HashSet::new() }
    }

    /// Whether to give up, things being as they are.
    pub fn is_over(&mut self, state: &str, now: Instant) -> bool {
        if self.seen.len() < STATES && self.seen.insert(state.to_owned()) {
            self.moved = now;
        }
        now.duration_since(self.moved) >= self.timeout
            || now.duration_since(self.began) >= self.timeout * MAX_TIMEOUTS
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::ProgressTimer;

    #[test]
    fn what_moves_gets_more_time() {
        let began = Instant::now();
        let minute = |minutes| began + Duration::from_mins(minutes);
        let mut timer = ProgressTimer::new(Duration::from_mins(10), began);
        assert!(!timer.is_over("a", minute(0)));
        assert!(!timer.is_over("a", minute(9)));
        assert!(!timer.is_over("b", minute(9)), "something moved");
        assert!(!timer.is_over("a", minute(15)), "back again");
        assert!(!timer.is_over("b", minute(18)));
        assert!(timer.is_over("a", minute(19)), "to and fro is no progress");
    }

    #[test]
    fn not_for_ever() {
        let began = Instant::now();
        let mut timer = ProgressTimer::new(Duration::from_mins(10), began);
        let over =
            (0..120).find(|minute| timer.is_over(&minute.to_string(), began + Duration::from_mins(*minute)));
        assert_eq!(over, Some(60));
    }
}
