//! What commands that talk to others run on.

use anyhow::Context;
use tokio::runtime::{Builder, Handle};

/// A runtime that waits for no task when it ends: a name that is still being resolved must not delay the end after
/// Ctrl-C. What has to be finished was awaited before.
#[derive(Debug)]
pub(crate) struct Runtime {
    handle: Handle,
    /// Taken when it ends.
    threads: Option<tokio::runtime::Runtime>,
}

impl Runtime {
    pub(crate) fn new() -> anyhow::Result<Self> {
        let threads = Builder::new_multi_thread().enable_all().build().context("starting to work")?;
        Ok(Runtime { handle: threads.handle().clone(), threads: Some(threads) })
    }

    pub(crate) fn block_on<T>(&self, work: impl Future<Output = T>) -> T {
        self.handle.block_on(work)
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        if let Some(threads) = self.threads.take() {
            threads.shutdown_background();
        }
    }
}
