//! The loop of every controller: a pass, then rest until something changes, the next pass is due, or it has to end.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep, sleep_until};

use super::stop::until_stopped;

/// What is done over and over.
pub trait Controller: Send {
    /// Compares everything there is with what is wanted, and acts. Says when it is due again at the latest.
    fn pass(&mut self) -> impl Future<Output = Instant> + Send;
}

/// Wakes one controller. Clones wake the same one.
#[derive(Debug, Clone)]
pub struct Trigger {
    changed: Arc<Notify>,
    /// Changes within this time lead to one pass.
    debounce: Duration,
}

impl Trigger {
    pub fn new(debounce: Duration) -> Self {
        Trigger { changed: Arc::default(), debounce }
    }

    /// Something changed.
    pub fn wake(&self) {
        self.changed.notify_one();
    }

    /// Passes until the stop.
    pub async fn run(&self, stop: watch::Receiver<bool>, controller: &mut impl Controller) {
        let work = async {
            loop {
                // Some passes are large; on the heap they are so once.
                let due = Box::pin(controller.pass()).await;
                self.rest(due).await;
            }
        };
        until_stopped(stop, work).await;
    }

    /// Waits for a change, and for those that follow closely; or until the time has come.
    async fn rest(&self, due: Instant) {
        tokio::select! {
            () = self.changed.notified() => sleep(self.debounce).await,
            () = sleep_until(due) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::sync::watch;
    use tokio::time::{Instant, sleep_until};

    use super::{Controller, Trigger};

    const SECOND: Duration = Duration::from_secs(1);

    /// Notes when it had a pass, in milliseconds.
    struct Noting {
        begun: Instant,
        pause: Duration,
        passes: Vec<u128>,
    }

    impl Controller for Noting {
        async fn pass(&mut self) -> Instant {
            self.passes.push(self.begun.elapsed().as_millis());
            Instant::now() + self.pause
        }
    }

    /// Runs for ten seconds.
    async fn passes(pause: Duration, wake: &[u64]) -> Vec<u128> {
        let trigger = Trigger::new(SECOND / 2);
        let (sender, stop) = watch::channel(false);
        let begun = Instant::now();
        let mut noting = Noting { begun, pause, passes: Vec::new() };
        let outside = async {
            for at in wake {
                sleep_until(begun + Duration::from_millis(*at)).await;
                trigger.wake();
            }
            sleep_until(begun + 10 * SECOND).await;
            sender.send(true).unwrap();
        };
        tokio::join!(trigger.run(stop, &mut noting), outside);
        noting.passes
    }

    #[tokio::test(start_paused = true)]
    async fn without_changes_passes_come_when_they_are_due() {
        assert_eq!(passes(4 * SECOND, &[]).await, [0, 4000, 8000]);
    }

    #[tokio::test(start_paused = true)]
    async fn changes_that_follow_closely_lead_to_one_pass() {
        // The second comes in the pause after the first. It is kept: the pass may have been too early for it.
        assert_eq!(passes(60 * SECOND, &[1000, 1200, 5000]).await, [0, 1500, 2000, 5500]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_sender_that_is_gone_ends_it() {
        let (sender, stop) = watch::channel(false);
        drop(sender);
        let mut noting = Noting { begun: Instant::now(), pause: SECOND, passes: Vec::new() };
        Trigger::new(SECOND).run(stop, &mut noting).await;
        assert!(noting.passes.len() <= 1);
    }
}
