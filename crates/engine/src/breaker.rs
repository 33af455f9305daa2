//! When to leave an endpoint alone.

use std::time::Duration;

use tokio::time::Instant;

use crate::retry::Pauses;

/// Failures in a row that open it.
const THRESHOLD: u32 = 3;

/// How long the answer to a probe is waited for: the run that sent it may have ended.
const PROBE_TIMEOUT: Duration = Duration::from_mins(1);

/// One endpoint's breaker. After some failures in a row nothing is sent for a while; then one probe decides.
#[derive(Debug)]
pub(crate) struct Breaker {
    pauses: Pauses,
    failures: u32,
    pause: Duration,
    rests_until: Option<Instant>,
    silent_since: Option<Instant>,
    answered: Option<Instant>,
    /// Until when the answer to a probe that is out is waited for.
    probe: Option<Instant>,
    pub(crate) reason: String,
}

impl Breaker {
    pub(crate) fn new(pauses: Pauses) -> Self {
        Breaker {
            pauses,
            failures: 0,
            pause: pauses.rest,
            rests_until: None,
            silent_since: None,
            answered: None,
            probe: None,
            reason: String::new(),
        }
    }

    pub(crate) fn succeeded(&mut self) {
        *self = Breaker { answered: Some(Instant::now()), ..Breaker::new(self.pauses) };
    }

    /// Whether this failure opened it. `silence` is how long there had been no answer when it was noticed.
    pub(crate) fn failed(&mut self, reason: String, silence: Duration) -> bool {
        let now = Instant::now();
        self.failures += 1;
        self.reason = reason;
        self.probe = None;
        // Another call may have been answered while this one was not.
        let since = now.checked_sub(silence).unwrap_or(now);
        self.silent_since.get_or_insert(self.answered.map_or(since, |answered| since.max(answered)));
        if self.failures < THRESHOLD || self.rests_until.is_some_and(|until| until > now) {
            return false;
        }
        let first = self.rests_until.is_none();
        self.rests_until = Some(now + self.pause);
        self.pause = (self.pause * 2).min(self.pauses.longest);
        first
    }

    /// Until when nothing may be sent.
    pub(crate) fn open_until(&self) -> Option<Instant> {
        self.rests_until.filter(|until| *until > Instant::now())
    }

    /// Whether a look may go. While it is opened, one at a time: the others wait for what becomes of it.
    pub(crate) fn may_probe(&mut self) -> bool {
        let now = Instant::now();
        if !self.probing() {
            return true;
        }
        if self.rests_until().is_some_and(|until| until > now) {
            return false;
        }
        self.probe = Some(now + PROBE_TIMEOUT);
        true
    }

    /// Until when nothing is sent, or a probe is out.
    pub(crate) fn rests_until(&self) -> Option<Instant> {
        self.open_until().or(self.probe.filter(|until| *until > Instant::now()))
    }

    /// Whether it has been opened and no call has succeeded since: only a probe may go.
    pub(crate) fn probing(&self) -> bool {
        self.rests_until.is_some()
    }

    /// How long there has been no answer.
    pub(crate) fn silent_for(&self) -> Duration {
        self.silent_since.map_or(Duration::ZERO, |since| since.elapsed())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Breaker;
    use crate::retry::Pauses;

    #[tokio::test(start_paused = true)]
    async fn opens_after_failures_in_a_row_and_pauses_longer_each_time() {
        let mut breaker = Breaker::new(Pauses::default());
        assert!(!breaker.failed("no route".into(), Duration::ZERO));
        breaker.succeeded();
        assert!(!breaker.failed("a".into(), Duration::ZERO) && !breaker.failed("b".into(), Duration::ZERO));
        assert!(breaker.failed("c".into(), Duration::ZERO), "the third in a row");
        assert!(breaker.open_until().is_some() && breaker.probing());
        tokio::time::advance(Duration::from_millis(1001)).await;
        assert!(breaker.open_until().is_none() && breaker.probing(), "one probe may go");
        assert!(breaker.may_probe() && !breaker.may_probe(), "one");
        assert!(!breaker.failed("d".into(), Duration::ZERO), "it was open before");
        tokio::time::advance(Duration::from_millis(1500)).await;
        assert!(breaker.open_until().is_some(), "two seconds now");
        assert!(breaker.silent_for() >= Duration::from_secs(2));
        breaker.succeeded();
        assert!(!breaker.probing());
        tokio::time::advance(Duration::from_secs(9)).await;
        breaker.failed("late".into(), Duration::from_secs(8));
        assert_eq!(breaker.silent_for(), Duration::from_secs(8), "it was silent before that was noticed");
        breaker.succeeded();
        tokio::time::advance(Duration::from_secs(1)).await;
        breaker.failed("slow".into(), Duration::from_secs(8));
        assert_eq!(breaker.silent_for(), Duration::from_secs(1), "another call was answered in the meantime");
    }
}
