//! Lines of the log that anybody on the network can cause: some, and how many there were beside them.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How many lines there may be in a window of time. The metrics count all.
const MAX_LINES: u32 = 20;
const WINDOW: Duration = Duration::from_secs(10);

/// Lets some lines through.
#[derive(Debug, Default)]
pub(super) struct Throttle {
    window: Mutex<Option<Window>>,
}

#[derive(Debug)]
struct Window {
    began: Instant,
    lines: u32,
    untold: u64,
}

impl Throttle {
    /// If a line may be written: how many were not since the last one.
    pub(super) fn pass(&self) -> Option<u64> {
        self.pass_at(Instant::now())
    }

    fn pass_at(&self, now: Instant) -> Option<u64> {
        let mut slot = self.window.lock().unwrap_or_else(PoisonError::into_inner);
        let window = slot.get_or_insert(Window { began: now, lines: 0, untold: 0 });
        if now.duration_since(window.began) >= WINDOW {
            (window.began, window.lines) = (now, 0);
        }
        if window.lines == MAX_LINES {
            window.untold += 1;
            return None;
        }
        window.lines += 1;
        Some(std::mem::take(&mut window.untold))
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::{MAX_LINES, Throttle};

    #[test]
    fn a_flood_is_a_few_lines_and_a_number() {
        let throttle = Throttle::default();
        let now = Instant::now();
        let told = (0..1000).filter(|_| throttle.pass_at(now).is_some()).count();
        assert_eq!(told, MAX_LINES as usize);
        assert_eq!(throttle.pass_at(now + Duration::from_secs(9)), None);
        assert_eq!(throttle.pass_at(now + Duration::from_secs(10)), Some(981));
        assert_eq!(throttle.pass_at(now + Duration::from_secs(10)), Some(0));
    }
}
