//! Requests that arrive at the same moment become one call.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use thiserror::Error;
use tokio::sync::oneshot;

/// How long the first request waits for others. Next to a round trip it is nothing.
const GATHER_TIME: Duration = Duration::from_millis(5);

type Answer<R, E> = oneshot::Sender<Result<R, Arc<E>>>;

type Open<T, R, E> = Vec<(T, Answer<R, E>)>;

/// Why a request has no answer.
#[derive(Debug, Error)]
pub enum BatchError<E> {
    /// The call that was made for several failed.
    #[error("{0}")]
    Failed(Arc<E>),
    #[error("the batched call ended without a result")]
    Lost,
}

/// Collects requests; the first of a moment starts the work for all that came with it.
#[derive(Debug)]
pub struct Batch<T, R, E> {
    waiting: Arc<Mutex<Open<T, R, E>>>,
}

impl<T, R, E> Default for Batch<T, R, E> {
    fn default() -> Self {
        Batch { waiting: Arc::default() }
    }
}

/// Requests, and where the answer to each goes.
#[derive(Debug)]
pub struct Turn<T, R, E> {
    open: Open<T, R, E>,
}

impl<T, R, E> Turn<T, R, E> {
    pub fn requests(&self) -> impl Iterator<Item = &T> {
        self.open.iter().map(|(request, _)| request)
    }

    /// Answers some of the requests; the others go on waiting.
    pub fn answer(&mut self, which: impl Fn(&T) -> bool, answer: impl Fn() -> R) {
        let (answered, open) =
            std::mem::take(&mut self.open).into_iter().partition(|(request, _)| which(request));
        self.open = open;
        for (_, sender) in answered {
            // The one that asked may have gone.
            let _ = sender.send(Ok(answer()));
        }
    }

    /// Answers all requests, in their order.
    pub fn answer_each(self, answers: impl IntoIterator<Item = R>) {
        for ((_, sender), answer) in self.open.into_iter().zip(answers) {
            let _ = sender.send(Ok(answer));
        }
    }

    /// What is still open has failed.
    pub fn fail(self, error: E) {
        let error = Arc::new(error);
        for (_, sender) in self.open {
            let _ = sender.send(Err(error.clone()));
        }
    }
}

impl<T: Send + 'static, R: Send + 'static, E: Send + Sync + 'static> Batch<T, R, E> {
    /// Asks for something, and waits for the answer. `work` is called for one request of a moment only, with all; `detach`
    /// gets to do it, also when the first request is not waited for any more.
    pub async fn ask<F: Future<Output = ()> + Send + 'static>(
        &self,
        request: T,
        detach: impl FnOnce(Pin<Box<dyn Future<Output = ()> + Send>>),
        work: impl FnOnce(Turn<T, R, E>) -> F + Send + 'static,
    ) -> Result<R, BatchError<E>> {
        let (sender, receiver) = oneshot::channel();
        let first = {
            let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            waiting.push((request, sender));
            waiting.len() == 1
        };
        if first {
            let waiting = self.waiting.clone();
            detach(Box::pin(async move {
                tokio::time::sleep(GATHER_TIME).await;
                let open = std::mem::take(&mut *waiting.lock().unwrap_or_else(PoisonError::into_inner));
                work(Turn { open }).await;
            }));
        }
        match receiver.await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(BatchError::Failed(error)),
            Err(_) => Err(BatchError::Lost),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::{Batch, Turn};

    #[tokio::test(start_paused = true)]
    async fn requests_of_a_moment_are_one_call() {
        let (batch, calls) = (Arc::new(Batch::<u32, u32, String>::default()), Arc::new(AtomicUsize::new(0)));
        let mut asks = tokio::task::JoinSet::new();
        for number in 0..50 {
            let (batch, calls) = (batch.clone(), calls.clone());
            asks.spawn(async move {
                let work = move |mut turn: Turn<u32, u32, String>| async move {
                    calls.fetch_add(1, Ordering::SeqCst);
                    for request in turn.requests().copied().collect::<Vec<_>>() {
                        if request != 13 {
                            turn.answer(|other| *other == request, || request * 2);
                        }
                    }
                    turn.fail("unlucky".to_owned());
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
