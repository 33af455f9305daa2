//! A terminal while nobody is asked: keys that are typed ahead, a password among them, are neither shown nor kept.

use std::time::Duration;

use crossterm::event::{self, Event, KeyCode, KeyModifiers};
use crossterm::terminal::{disable_raw_mode, enable_raw_mode};

/// How often keys are looked at: quick for people, rare for machines.
const LOOK: Duration = Duration::from_millis(25);

/// Until it is dropped, the terminal shows no keys.
#[derive(Debug)]
pub(super) struct Hush {
    /// Without a terminal there is nothing to hide, and signals do the rest.
    raw: bool,
}

impl Hush {
    pub(super) fn new() -> Self {
        Hush { raw: enable_raw_mode().is_ok() }
    }

    /// Waits for Ctrl-C: as a key of this terminal, or as a signal from elsewhere.
    pub(super) async fn interrupted(&self) {
        tokio::select! {
            () = self.key() => {}
            Ok(()) = tokio::signal::ctrl_c() => {}
        }
    }

    async fn key(&self) {
        if !self.raw {
            return std::future::pending().await;
        }
        loop {
            while event::poll(Duration::ZERO).unwrap_or(false) {
                if let Ok(Event::Key(key)) = event::read()
                    && key.code == KeyCode::Char('c')
                    && key.modifiers.contains(KeyModifiers::CONTROL)
                {
                    return;
                }
            }
            tokio::time::sleep(LOOK).await;
        }
    }
}

impl Drop for Hush {
    fn drop(&mut self) {
        if self.raw {
            // The next prompt sets the terminal up anew.
            let _ = disable_raw_mode();
        }
    }
}
