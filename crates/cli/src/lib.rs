//! The command line of Slipway: arguments, output, exit codes. What commands mean is decided elsewhere.
//!
//! | module | what it holds |
//! |---|---|
//! | [`args`] | what can be typed |
//! | `commands` | one module per command |
//! | `input` | reading files |
//! | `interrupt` | Ctrl-C and signals |
//! | `logging` | what is logged |
//! | `output` | who may write to the terminal, and in which colours |
//! | `progress` | bars, lines or JSON lines while something takes its time |
//! | `survey` | questions on a terminal |
//! | `report` | findings as text and as JSON |
//! | `runtime` | what commands that talk to others run on |
//! | `exit` | exit codes |

pub mod args;
mod commands;
mod confirm;
mod exit;
mod input;
mod interrupt;
mod logging;
mod output;
mod progress;
mod report;
mod runtime;
mod survey;

use std::process::ExitCode;

use anyhow::Context;

pub use args::Args;
pub use exit::Exit;

use crate::output::Printer;

/// Runs a command and reports what became of it.
pub fn run(args: Args) -> ExitCode {
    let Args { command, color, output, quiet, log_level } = args;
    logging::start(log_level);
    tracing::debug!(version = env!("CARGO_PKG_VERSION"), process = std::process::id(), "started");
    let printer = Printer::new(color, output, quiet);
    let listening = interrupt::listen(&printer).context("listening for signals");
    let exit = listening.and_then(|()| commands::run(command, &printer)).unwrap_or_else(|error| {
        printer.error(&error);
        Exit::Other
    });
    if exit == Exit::Interrupted {
        printer.interrupted();
    }
    tracing::debug!(code = exit as u8, "ended");
    printer.finish();
    exit.into()
}
