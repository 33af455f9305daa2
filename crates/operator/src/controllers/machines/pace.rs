//! How long things may take.

use std::time::Duration;

/// Times of the controller.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// After a first failure of a Machine; each further one doubles it.
    pub first: Duration,
    /// The longest pause after a failure.
    pub longest: Duration,
    /// What no change stream told is noticed after this time.
    pub resync: Duration,
    /// Between two looks that have to agree that a machine is gone.
    pub second_look: Duration,
    /// How long a guest may take to shut down.
    pub shutdown: Duration,
    /// How long volumes may take to be detached, from when the node was drained.
    pub volumes: Duration,
    /// How long what machines share is taken as it was seen.
    pub site: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Pace {
            first: Duration::from_secs(5),
            longest: Duration::from_mins(5),
            resync: Duration::from_mins(10),
            second_look: Duration::from_secs(10),
            shutdown: Duration::from_mins(3),
            volumes: Duration::from_mins(6),
            site: Duration::from_mins(10),
        }
    }
}

impl Pace {
    /// The pause after the n-th failure in a row.
    pub fn pause(&self, failures: u32) -> Duration {
        self.first.saturating_mul(1 << failures.saturating_sub(1).min(16)).min(self.longest)
    }
}
