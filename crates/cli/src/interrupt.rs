//! Ctrl-C, SIGTERM and SIGHUP. Sessions on vCenters are few and outlive a process by half an hour, so a command that is
//! interrupted ends in its own way; a second wish ends it at once. Nothing else in the process listens for signals.

use std::sync::mpsc;
use std::sync::{LazyLock, OnceLock};
use std::time::Duration;

use crossterm::terminal::disable_raw_mode;
use tokio::runtime::Builder;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

use crate::args::Output;
use crate::exit::Exit;
use crate::output::Printer;

/// A terminal that accepts no output must not keep the process from ending.
const TERMINAL_TIMEOUT: Duration = Duration::from_millis(500);
/// The bit of SIGHUP in what the kernel says about a process.
const HANGUP_BIT: u64 = 1;

/// What most commands have to finish.
pub(crate) const CALLS: &str = "the calls that are under way";

/// What a wish to end meets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moment {
    /// There is nothing to be finished: the process ends.
    Free,
    /// Something asks for wishes, and so many have been noted.
    Held { wishes: u32, finishing: Option<&'static str> },
}

/// Signals are about the process, and so is this.
static MOMENT: LazyLock<watch::Sender<Moment>> = LazyLock::new(|| watch::channel(Moment::Free).0);
static PRINTER: OnceLock<Printer> = OnceLock::new();

/// Listens from now on, on a thread of its own.
pub(crate) fn listen(printer: &Printer) -> std::io::Result<()> {
    let runtime = Builder::new_current_thread().enable_io().build()?;
    // Until this returns a signal ends the process by itself.
    let mut signals = {
        let _inside = runtime.enter();
        signals()?
    };
    // A second call, as in tests, changes nothing.
    let _ = PRINTER.set(printer.clone());
    std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        runtime.block_on(async {
            loop {
                let [interrupt, terminate, hangup] = &mut signals;
                tokio::select! {
                    () = next(interrupt) => {}
                    () = next(terminate) => {}
                    () = next(hangup) => {}
                }
                wish();
            }
        });
    })?;
    Ok(())
}

fn signals() -> std::io::Result<[Option<Signal>; 3]> {
    // Who starts it under nohup wants it to outlive the terminal.
    let hangup = if hangup_is_ignored() { None } else { Some(signal(SignalKind::hangup())?) };
    Ok([Some(signal(SignalKind::interrupt())?), Some(signal(SignalKind::terminate())?), hangup])
}

async fn next(signal: &mut Option<Signal>) {
    if let Some(signal) = signal
        && signal.recv().await.is_some()
    {
        return;
    }
    std::future::pending::<()>().await;
}

fn hangup_is_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let bits = ignored.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok());
    bits.is_some_and(|bits| bits & HANGUP_BIT != 0)
}

/// The user wants the command to end: by a signal, or by a key where Ctrl-C is none.
pub(crate) fn wish() {
    let mut met = Moment::Free;
    MOMENT.send_modify(|moment| {
        met = *moment;
        if let Moment::Held { wishes, .. } = moment {
            *wishes += 1;
        }
    });
    match met {
        Moment::Free => leave(true),
        Moment::Held { wishes: 0, finishing } => {
            if let (Some(printer), Some(finishing)) = (PRINTER.get(), finishing) {
                let printer = printer.clone();
                last_words(move || printer.warn_interrupted(finishing));
            }
        }
        Moment::Held { .. } => leave(false),
    }
}

/// Ends the process.
fn leave(say_so: bool) {
    // A prompt may have the terminal.
    let _ = disable_raw_mode();
    if let Some(printer) = PRINTER.get() {
        let printer = printer.clone();
        last_words(move || {
            printer.clear_bars();
            if say_so {
                printer.below_the_key();
                printer.error(&anyhow::anyhow!("interrupted"));
                printer.finish();
            }
        });
    }
    std::process::exit(Exit::Interrupted as i32);
}

/// Says something on a thread of its own: the interrupted thread may be blocked while writing.
fn last_words(say: impl FnOnce() + Send + 'static) {
    let (done, said) = mpsc::channel();
    std::thread::spawn(move || {
        say();
        done.send(())
    });
    let _ = said.recv_timeout(TERMINAL_TIMEOUT);
}

/// From now on the first signal only leads to a line that says what is being finished; `None`: the command says so itself.
pub(crate) fn defer(what: Option<&'static str>) {
    MOMENT.send_modify(|moment| match moment {
        Moment::Free => *moment = Moment::Held { wishes: 0, finishing: what },
        Moment::Held { finishing, .. } => *finishing = what,
    });
}

/// There is nothing to be finished any more. Whether there was a wish.
pub(crate) fn release() -> bool {
    matches!(MOMENT.send_replace(Moment::Free), Moment::Held { wishes: 1.., .. })
}

/// Whether the command should end.
pub(crate) fn is_wished() -> bool {
    is_wish(&MOMENT.borrow())
}

fn is_wish(moment: &Moment) -> bool {
    matches!(moment, Moment::Held { wishes: 1.., .. })
}

/// Ready when the user wants the command to end, now or before. Once this was asked, signals no longer end the process by
/// themselves: everything that takes its time after that has to ask as well.
pub(crate) async fn interrupted() {
    MOMENT.send_if_modified(|moment| {
        let free = *moment == Moment::Free;
        if free {
            *moment = Moment::Held { wishes: 0, finishing: Some(CALLS) };
        }
        free
    });
    if MOMENT.subscribe().wait_for(is_wish).await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// Does something unless the user wants it to end: then it is given up where it is.
pub(crate) async fn unless_interrupted<T>(work: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        done = work => Some(done),
        () = interrupted() => None,
    }
}

/// Says that a command was interrupted, and what that means.
pub(crate) fn report(consequence: &str, printer: &Printer) -> anyhow::Result<Exit> {
    if printer.output == Output::Json {
        printer.json(&serde_json::json!({"error": {"message": "interrupted", "hint": consequence}}))?;
    }
    printer.error(&anyhow::anyhow!("interrupted"));
    printer.hint(consequence);
    Ok(Exit::Interrupted)
}
