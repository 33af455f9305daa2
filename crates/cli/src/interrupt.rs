//! Ctrl-C and SIGTERM. Sessions on vCenters are few and outlive a process by half an hour, so a command that is
//! interrupted ends in its own way; a second wish ends it at once.

use std::sync::{OnceLock, mpsc};

use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use crate::args::Output;
use crate::exit::Exit;
use crate::output::Printer;

/// Ready when somebody wants the command to end, from the first time this was asked, or [`hear`], on. Since then signals no
/// longer end the process by themselves: everything that takes its time after that has to ask as well.
pub(crate) async fn interrupted() {
    if hear().wait_for(|wished| *wished).await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// Sees to it that a wish is not missed from now on: before somebody is shown what they could interrupt.
pub(crate) fn hear() -> watch::Receiver<bool> {
    /// Signals are about the process, and so is this.
    static WISH: OnceLock<watch::Receiver<bool>> = OnceLock::new();
    WISH.get_or_init(listen).clone()
}

/// Does something unless somebody wants it to end: then it is given up where it is.
pub(crate) async fn unless_interrupted<T>(work: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        done = work => Some(done),
        () = interrupted() => None,
    }
}

/// Listens until the process ends, on a thread of its own: runtimes come and go with what they are for.
fn listen() -> watch::Receiver<bool> {
    let (wish, wished) = watch::channel(false);
    let (tell, listening) = mpsc::channel();
    std::thread::spawn(move || {
        let Ok(runtime) = Builder::new_current_thread().enable_all().build() else { return };
        runtime.block_on(async move {
            let (Ok(mut interrupt), Ok(mut terminate)) =
                (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
            else {
                return;
            };
            // Whoever asked waits for this.
            let _ = tell.send(());
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
    });
    // Until somebody listens a signal ends the process; so it does if nobody can.
    let _ = listening.recv();
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
