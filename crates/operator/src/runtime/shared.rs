//! Something that takes time to get: got once for all that ask at the same moment, kept while it is good, and not asked for
//! again at once after it failed.

use std::fmt::{self, Debug};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::OnceCell;
use tokio::time::Instant;

/// What was got, or why not, and until when that stands.
type Answer<T, E> = (Result<T, E>, Option<Instant>);

struct Slot<T, E> {
    answer: OnceCell<Answer<T, E>>,
    /// How often it failed before, in a row.
    failures: u32,
}

/// A value that many ask for. No lock is held while it is got.
pub struct Shared<T, E> {
    slot: Mutex<Arc<Slot<T, E>>>,
}

impl<T, E> Default for Shared<T, E> {
    fn default() -> Self {
        Shared { slot: Mutex::new(fresh(0)) }
    }
}

impl<T: Debug, E: Debug> Debug for Shared<T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Shared").field(&self.current().answer.get()).finish()
    }
}

fn fresh<T, E>(failures: u32) -> Arc<Slot<T, E>> {
    Arc::new(Slot { answer: OnceCell::new(), failures })
}

impl<T, E> Shared<T, E> {
    fn lock(&self) -> MutexGuard<'_, Arc<Slot<T, E>>> {
        self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn current(&self) -> Arc<Slot<T, E>> {
        self.lock().clone()
    }

    /// The slot to ask: a new one when the answer of the last is too old.
    fn slot(&self) -> Arc<Slot<T, E>> {
        let mut slot = self.lock();
        if let Some((answer, until)) = slot.answer.get()
            && until.is_some_and(|until| until <= Instant::now())
        {
            let failures = if answer.is_err() { slot.failures + 1 } else { 0 };
            *slot = fresh(failures);
        }
        slot.clone()
    }
}

impl<T: Clone, E: Clone> Shared<T, E> {
    /// The value. The first to ask gets it, the others wait. `stands` says how long an answer is kept, by it and by how
    /// often getting it failed in a row before; `None`: for good.
    pub async fn get(
        &self,
        get: impl Future<Output = Result<T, E>>,
        stands: impl FnOnce(&Result<T, E>, u32) -> Option<Duration>,
    ) -> Result<T, E> {
        let slot = self.slot();
        let failures = slot.failures;
        let answer = || async {
            let answer = get.await;
            let until = stands(&answer, failures).map(|time| Instant::now() + time);
            (answer, until)
        };
        slot.answer.get_or_init(answer).await.0.clone()
    }

    /// The value, if it is there and good.
    pub fn known(&self) -> Option<T> {
        self.current().answer.get().and_then(|(answer, _)| answer.clone().ok())
    }

    /// It turned out to be no good: the next to ask gets it anew.
    pub fn forget(&self) {
        *self.lock() = fresh(0);
    }

    /// It turned out not to be had, for this time.
    pub fn fail(&self, error: E, time: Duration) {
        let answer = (Err(error), Some(Instant::now() + time));
        *self.lock() = Arc::new(Slot { answer: OnceCell::new_with(Some(answer)), failures: 0 });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::Duration;

    use tokio::time::sleep;

    use super::Shared;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn it_is_got_once_for_all_and_again_after_it_failed() {
        let (shared, asked) = (Shared::<u32, &str>::default(), AtomicU32::new(0));
        let ask = || {
            let get = async {
                sleep(SECOND).await;
                if asked.fetch_add(1, Ordering::SeqCst) < 2 { Err("not yet") } else { Ok(7) }
            };
            shared.get(get, |answer, failures| answer.is_err().then(|| SECOND * 10 * (failures + 1)))
        };
        assert_eq!(tokio::join!(ask(), ask(), ask()), (Err("not yet"), Err("not yet"), Err("not yet")));
        assert_eq!(asked.load(Ordering::SeqCst), 1);
        sleep(SECOND * 9).await;
        assert_eq!(
            (ask().await, asked.load(Ordering::SeqCst)),
            (Err("not yet"), 1),
            "it is left alone for a while"
        );
        sleep(SECOND * 2).await;
        assert_eq!((ask().await, asked.load(Ordering::SeqCst)), (Err("not yet"), 2));
        sleep(SECOND * 11).await;
        assert_eq!(asked.load(Ordering::SeqCst), 2, "twice as long");
        assert_eq!(ask().await, Err("not yet"));
        sleep(SECOND * 10).await;
        assert_eq!((ask().await, shared.known()), (Ok(7), Some(7)));
        sleep(Duration::from_hours(9)).await;
        assert_eq!((ask().await, asked.load(Ordering::SeqCst)), (Ok(7), 3), "kept for good");
        shared.fail("gone", SECOND);
        assert_eq!((ask().await, shared.known()), (Err("gone"), None));
        shared.forget();
        assert_eq!((ask().await, asked.load(Ordering::SeqCst)), (Ok(7), 4));
    }
}
