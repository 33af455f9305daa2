//! Ctrl-C and SIGTERM. Sessions on vCenters are few and outlive a process by half an hour, so a command that is
//! interrupted ends in its own way; a second wish ends it at once.

use std::sync::OnceLock;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use crate::args::Output;
use crate::exit::Exit;
use crate::output::Printer;

/// Ready when somebody wants the command to end, now or before. Once this was asked, signals no longer end the process by
/// themselves: everything that takes its time after that has to ask as well.
pub(crate) async fn interrupted() {
    /// Signals are about the process, and so is this.
    static WISH: OnceLock<watch::Receiver<bool>> = OnceLock::new();
    let mut wish = WISH.get_or_init(listen).clone();
    if wish.wait_for(|wished| *wished).await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// Does something unless somebody wants it to end: then it is given up where it is.
pub(crate) async fn unless_interrupted<T>(work: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        done = work => Some(done),
        () = interrupted() => None,
    }
}

fn listen() -> watch::Receiver<bool> {
    let (wish, wished) = watch::channel(false);
    // At once: until somebody listens a signal ends the process.
    let (Ok(mut interrupt), Ok(mut terminate)) =
        (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    else {
        return wished;
    };
    tokio::spawn(async move {
        for again in [false, true] {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            if again {
                std::process::exit(Exit::Interrupted as i32);
            }
            wish.send_replace(true);
        }
    });
    wished
}

/// Says that a command was interrupted, and what that means.
pub(crate) fn tell(consequence: &str, printer: &Printer) -> anyhow::Result<Exit> {
    if printer.output == Output::Json {
        printer.json(&serde_json::json!({"error": {"message": "interrupted", "hint": consequence}}))?;
    }
    printer.error(&anyhow::anyhow!("interrupted"));
    printer.hint(consequence);
    Ok(Exit::Interrupted)
}
