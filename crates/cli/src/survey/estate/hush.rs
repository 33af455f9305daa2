//! A terminal while nobody is asked: keys that are typed ahead, a password among them, are neither shown nor kept, and a
//! wish to stop is never lost, whenever it comes.

use std::time::Duration;

use crossterm::event::{self, Event, KeyCode, KeyModifiers};
use crossterm::terminal::{disable_raw_mode, enable_raw_mode};
use tokio::runtime::Handle;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use crate::exit::Exit;

/// How often keys are looked at: quick for people, rare for machines.
const LOOK: Duration = Duration::from_millis(25);

/// What a wish to stop meets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moment {
    /// A question is on the screen, or will be: there is nothing to be ended first.
    Asking,
    /// A vCenter is waited for, and so many wishes have been noted.
    Waiting { wishes: u32 },
}

/// Knows of every signal that wants the command to end.
#[derive(Debug)]
pub(super) struct Signals {
    moment: watch::Sender<Moment>,
}

impl Signals {
    /// On threads that are not the caller's: prompts keep that one.
    pub(super) fn listen(runtime: &Handle) -> std::io::Result<Self> {
        let (moment, _) = watch::channel(Moment::Asking);
        let _inside = runtime.enter();
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let noted = moment.clone();
        runtime.spawn(async move {
            loop {
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
                }
                if !note(&noted) {
                    // A prompt may have the terminal.
                    let _ = disable_raw_mode();
                    eprintln!("\nstopped");
                    std::process::exit(Exit::Interrupted as i32);
                }
            }
        });
        Ok(Signals { moment })
    }
}

/// Notes a wish, if somebody will look for it.
fn note(moment: &watch::Sender<Moment>) -> bool {
    moment.send_if_modified(|moment| match moment {
        Moment::Asking => false,
        Moment::Waiting { wishes } => {
            *wishes += 1;
            true
        }
    })
}

/// Until it ends, the terminal shows no keys.
#[derive(Debug)]
pub(super) struct Hush<'a> {
    moment: &'a watch::Sender<Moment>,
    /// Without a terminal there is nothing to hide, and signals do the rest.
    raw: bool,
}

impl<'a> Hush<'a> {
    pub(super) fn new(signals: &'a Signals) -> Self {
        signals.moment.send_replace(Moment::Waiting { wishes: 0 });
        Hush { moment: &signals.moment, raw: enable_raw_mode().is_ok() }
    }

    /// Ready once somebody wants to stop, for so many times: by Ctrl-C as a key of this terminal, or by a signal.
    pub(super) async fn wished(&self, times: u32) {
        let mut moment = self.moment.subscribe();
        while self.wishes() < times {
            // Keys announce themselves to nobody; signals do.
            let _ = tokio::time::timeout(LOOK, moment.changed()).await;
        }
    }

    /// The wishes up to now. All keys are taken for that, and none but Ctrl-C means anything.
    pub(super) fn wishes(&self) -> u32 {
        while self.raw && event::poll(Duration::ZERO).unwrap_or(false) {
            if let Ok(Event::Key(key)) = event::read()
                && key.code == KeyCode::Char('c')
                && key.modifiers.contains(KeyModifiers::CONTROL)
            {
                note(self.moment);
            }
        }
        match *self.moment.borrow() {
            Moment::Asking => 0,
            Moment::Waiting { wishes } => wishes,
        }
    }

    /// Gives the terminal back: whether somebody wanted to stop, be it in the last moment.
    pub(super) fn end(mut self) -> bool {
        self.wishes();
        self.release();
        matches!(self.moment.send_replace(Moment::Asking), Moment::Waiting { wishes: 1.. })
    }

    /// From here on Ctrl-C is a signal, until a prompt sets the terminal up anew.
    fn release(&mut self) {
        if std::mem::take(&mut self.raw) {
            let _ = disable_raw_mode();
        }
    }
}

impl Drop for Hush<'_> {
    fn drop(&mut self) {
        self.release();
        self.moment.send_replace(Moment::Asking);
    }
}
