//! Requests that arrive at the same moment become one call.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;

use super::KindError;

/// How long the first request waits for others. Next to a round trip it is nothing.
const MOMENT: Duration = Duration::from_millis(5);

type Answer<R> = oneshot::Sender<Result<R, Arc<KindError>>>;

type Open<T, R> = Vec<(T, Answer<R>)>;

/// Collects requests; the first of a moment starts the work for all that came with it.
#[derive(Debug)]
pub(super) struct Batch<T, R> {
    waiting: Arc<Mutex<Open<T, R>>>,
}

impl<T, R> Default for Batch<T, R> {
    fn default() -> Self {
        Batch { waiting: Arc::default() }
    }
}

/// Requests, and where the answer to each goes.
#[derive(Debug)]
pub(super) struct Turn<T, R> {
    open: Open<T, R>,
}

impl<T, R> Turn<T, R> {
    pub(super) fn requests(&self) -> impl Iterator<Item = &T> {
        self.open.iter().map(|(request, _)| request)
    }

    /// Answers some of the requests; the others go on waiting.
    pub(super) fn answer(&mut self, which: impl Fn(&T) -> bool, answer: impl Fn() -> R) {
        let (answered, open) =
            std::mem::take(&mut self.open).into_iter().partition(|(request, _)| which(request));
        self.open = open;
        for (_, sender) in answered {
            // Whoever asked may have gone.
            let _ = sender.send(Ok(answer()));
        }
    }

    /// Answers those requests for which there is an answer.
    pub(super) fn answer_from(&mut self, answers: &BTreeMap<T, R>)
    where
        T: Ord,
        R: Clone,
    {
        for (request, answer) in answers {
            self.answer(|other| other == request, || answer.clone());
        }
    }

    /// What is still open has failed.
    pub(super) fn fail(self, error: KindError) {
        let error = Arc::new(error);
        for (_, sender) in self.open {
            let _ = sender.send(Err(error.clone()));
        }
    }
}

impl<T: Send + 'static, R: Send + 'static> Batch<T, R> {
    /// Asks for something, and waits for the answer. `work` is called for one request of a moment only, with all; `detach`
    /// gets to do it, whoever still waits.
    pub(super) async fn ask<F: Future<Output = ()> + Send + 'static>(
        &self,
        request: T,
        detach: impl FnOnce(Pin<Box<dyn Future<Output = ()> + Send>>),
        work: impl FnOnce(Turn<T, R>) -> F + Send + 'static,
    ) -> Result<R, KindError> {
        let (sender, receiver) = oneshot::channel();
        let first = {
            let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            waiting.push((request, sender));
            waiting.len() == 1
        };
        if first {
            let waiting = self.waiting.clone();
            detach(Box::pin(async move {
                tokio::time::sleep(MOMENT).await;
                let open = std::mem::take(&mut *waiting.lock().unwrap_or_else(PoisonError::into_inner));
                work(Turn { open }).await;
            }));
        }
        match receiver.await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(KindError::Shared(error)),
            Err(_) => {
                Err(KindError::Refused("the call that was made for several ended without a word".to_owned()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::{Batch, Turn};
    use crate::vsphere::kinds::KindError;

    #[tokio::test(start_paused = true)]
    async fn requests_of_a_moment_are_one_call() {
        let (batch, calls) = (Arc::new(Batch::<u32, u32>::default()), Arc::new(AtomicUsize::new(0)));
        let mut asks = tokio::task::JoinSet::new();
        for number in 0..50 {
            let (batch, calls) = (batch.clone(), calls.clone());
            asks.spawn(async move {
                let work = move |mut turn: Turn<u32, u32>| async move {
                    calls.fetch_add(1, Ordering::SeqCst);
                    for request in turn.requests().copied().collect::<Vec<_>>() {
                        if request != 13 {
                            turn.answer(|other| *other == request, || request * 2);
                        }
                    }
                    turn.fail(KindError::Refused("unlucky".to_owned()));
                };
                (number, batch.ask(number, |work| drop(tokio::spawn(work)), work).await)
            });
        }
        for (number, answer) in asks.join_all().await {
            match number {
                13 => assert_eq!(answer.unwrap_err().to_string(), "unlucky"),
                _ => assert_eq!(answer.unwrap(), number * 2),
            }
        }
        assert_eq!(calls.load(Ordering::SeqCst), 1);
    }
}
