//! A terminal while no question is shown: keys that are typed ahead, a password among them, are neither shown nor kept,
//! and a wish to stop is never lost, whenever it comes.

use std::time::Duration;

use crossterm::event::{self, Event, KeyCode, KeyModifiers};
use crossterm::terminal::{disable_raw_mode, enable_raw_mode};

use crate::interrupt;

/// How often keys are looked at: quick for people, rare for machines.
const LOOK_INTERVAL: Duration = Duration::from_millis(25);

/// Until it ends, the terminal shows no keys, and a first wish to stop is noted. A second one ends the process.
#[derive(Debug)]
pub(super) struct RawModeGuard {
    /// Without a terminal there is nothing to hide, and signals do the rest.
    raw: bool,
}

impl RawModeGuard {
    pub(super) fn new() -> Self {
        interrupt::defer(None);
        RawModeGuard { raw: enable_raw_mode().is_ok() }
    }

    /// Ready once the user wants to stop: by Ctrl-C as a key of this terminal, or by a signal.
    pub(super) async fn wished(&self) {
        while !self.is_wished() {
            // A signal wakes this task; a key does not, so that keys are polled.
            let _ = tokio::time::timeout(LOOK_INTERVAL, interrupt::interrupted()).await;
        }
    }

    /// All keys are taken for that, and none but Ctrl-C means anything.
    fn is_wished(&self) -> bool {
        while self.raw && event::poll(Duration::ZERO).unwrap_or(false) {
            if let Ok(Event::Key(key)) = event::read()
                && key.code == KeyCode::Char('c')
                && key.modifiers.contains(KeyModifiers::CONTROL)
            {
                interrupt::wish();
            }
        }
        interrupt::is_wished()
    }

    /// Ready when the process should not wait any longer, which never comes: it ends with a second wish.
    pub(super) async fn watched(&self) {
        loop {
            self.is_wished();
            tokio::time::sleep(LOOK_INTERVAL).await;
        }
    }

    /// Gives the terminal back: whether the user wanted to stop, even in the last moment.
    pub(super) fn end(mut self) -> bool {
        self.is_wished();
        self.release()
    }

    /// From here on Ctrl-C is a signal, until a prompt sets the terminal up anew.
    fn release(&mut self) -> bool {
        if std::mem::take(&mut self.raw) {
            let _ = disable_raw_mode();
        }
        interrupt::release()
    }
}

impl Drop for RawModeGuard {
    fn drop(&mut self) {
        self.release();
    }
}
