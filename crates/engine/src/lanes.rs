//! The lane to each endpoint: how much may go on there at once, and whether it is left alone. Runs share it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::futures::OwnedNotified;
use tokio::time::Instant;

use crate::breaker::Breaker;
use crate::budget::Budgets;
use crate::resource::Endpoint;
use crate::retry::Pauses;

/// Budgets and breakers, by endpoint. Clones are the same lanes: an endpoint that is dead for one run is dead for all, and
/// what one run uses of a budget the others cannot.
#[derive(Debug, Clone, Default)]
pub struct Lanes {
    pub budgets: Budgets,
    breakers: Arc<Mutex<BTreeMap<Endpoint, Breaker>>>,
}

impl Lanes {
    pub fn new(budgets: Budgets) -> Self {
        Lanes { budgets, breakers: Arc::default() }
    }

    /// Ready when a part of a budget was given back, or something is known about an endpoint.
    pub(crate) fn freed(&self) -> OwnedNotified {
        self.budgets.freed.clone().notified_owned()
    }

    /// Why nothing is sent to an endpoint until a look at it has succeeded.
    pub(crate) fn blocked(&self, endpoint: &Endpoint) -> Option<String> {
        let breakers = self.breakers.lock().unwrap_or_else(PoisonError::into_inner);
        breakers.get(endpoint).filter(|breaker| breaker.probing()).map(|breaker| breaker.reason.clone())
    }

    /// Until when an endpoint is left alone.
    pub(crate) fn rests_until(&self, endpoint: &Endpoint) -> Option<Instant> {
        let breakers = self.breakers.lock().unwrap_or_else(PoisonError::into_inner);
        breakers.get(endpoint).and_then(Breaker::rests_until)
    }

    /// Whether an endpoint may be looked at now. Of all runs one does, where it is not known to answer.
    pub(crate) fn may_look(&self, endpoint: &Endpoint) -> bool {
        let mut breakers = self.breakers.lock().unwrap_or_else(PoisonError::into_inner);
        breakers.get_mut(endpoint).is_none_or(Breaker::may_probe)
    }

    /// Why an endpoint is not waited for any longer: it has not answered for longer than that, also not just now, to another
    /// run.
    pub(crate) fn given_up(&self, endpoint: &Endpoint, patience: Duration) -> Option<String> {
        let breakers = self.breakers.lock().unwrap_or_else(PoisonError::into_inner);
        let breaker = breakers.get(endpoint)?;
        let given_up = breaker.open_until().is_some() && breaker.silent_for() > patience;
        given_up.then(|| breaker.reason.clone())
    }

    /// Why an endpoint does not answer, if it has not done so for that long.
    pub(crate) fn silent_for(&self, endpoint: &Endpoint, patience: Duration) -> Option<String> {
        let breakers = self.breakers.lock().unwrap_or_else(PoisonError::into_inner);
        let breaker = breakers.get(endpoint)?;
        (breaker.silent_for() >= patience).then(|| breaker.reason.clone())
    }

    /// An endpoint did not answer.
    pub(crate) fn failed<T>(
        &self,
        endpoint: &Endpoint,
        pauses: Pauses,
        note: impl FnOnce(&mut Breaker) -> T,
    ) -> T {
        let mut breakers = self.breakers.lock().unwrap_or_else(PoisonError::into_inner);
        let noted = note(breakers.entry(endpoint.clone()).or_insert_with(|| Breaker::new(pauses)));
        // Other runs may have waited for it.
        self.budgets.freed.notify_waiters();
        noted
    }

    /// An endpoint answered: it is not silent for as long as the slowest call to it takes. Whether it had been left alone.
    pub(crate) fn answered(&self, endpoint: &Endpoint, pauses: Pauses) -> bool {
        let mut breakers = self.breakers.lock().unwrap_or_else(PoisonError::into_inner);
        let breaker = breakers.entry(endpoint.clone()).or_insert_with(|| Breaker::new(pauses));
        let back = breaker.probing();
        breaker.succeeded();
        if back {
            self.budgets.freed.notify_waiters();
        }
        back
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Lanes;
    use crate::resource::Endpoint;
    use crate::retry::Pauses;

    #[tokio::test(start_paused = true)]
    async fn a_slow_call_is_no_silence_while_others_are_answered() {
        let (lanes, endpoint, pauses) = (Lanes::default(), Endpoint::from("vc"), Pauses::default());
        tokio::time::advance(Duration::from_secs(9)).await;
        assert!(!lanes.answered(&endpoint, pauses), "it was not left alone");
        tokio::time::advance(Duration::from_secs(1)).await;
        lanes.failed(&endpoint, pauses, |breaker| breaker.failed("slow".into(), Duration::from_secs(8)));
        assert_eq!(lanes.silent_for(&endpoint, Duration::from_secs(2)), None);
        assert!(lanes.silent_for(&endpoint, Duration::from_secs(1)).is_some());
    }
}
