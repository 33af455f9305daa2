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

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::Context;
use clap::FromArgMatches;

pub use args::Args;
pub use exit::Exit;

use crate::output::Printer;

/// Reads the arguments. Wrong usage and help are printed here; the exit code is then the result.
pub fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Args, ExitCode> {
    let words: Vec<OsString> = words.into_iter().collect();
    let parsed =
        args::command().try_get_matches_from(&words).and_then(|found| Args::from_arg_matches(&found));
    parsed.map_err(|error| {
        // A closed pipe is not an error of ours.
        let _ = error.print();
        let yaml = wants(&words, "yaml");
        if error.use_stderr() && (yaml || wants(&words, "json")) {
            let text = error.render().to_string();
            let message = text.lines().next().unwrap_or_default();
            let message = message.strip_prefix("error: ").unwrap_or(message);
            let hint = text.lines().find_map(|line| line.trim().strip_prefix("tip: "));
            print!("{}", output::document(&output::error_json(message, &[], &[], hint), yaml));
        }
        u8::try_from(error.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from)
    })
}

/// Whether `--output` with a format is among arguments that could not be parsed.
fn wants(words: &[OsString], format: &str) -> bool {
    let is = |word: &OsString, text: &str| word == text;
    let pair = |pair: &[OsString]| (is(&pair[0], "-o") || is(&pair[0], "--output")) && is(&pair[1], format);
    let joined = ["-o", "-o=", "--output="].map(|flag| format!("{flag}{format}"));
    words.windows(2).any(pair) || words.iter().any(|word| joined.iter().any(|text| is(word, text)))
}

/// Runs a command and reports its result.
pub fn run(args: Args) -> ExitCode {
    logging::start(args.log_level());
    let Args { command, color, output, quiet, verbose, .. } = args;
    tracing::debug!(version = env!("CARGO_PKG_VERSION"), process = std::process::id(), "started");
    let printer = Printer::new(color, output, quiet, verbose > 0);
    let listening = interrupt::listen(&printer).context("listening for signals");
    let exit = listening.and_then(|()| commands::run(command, &printer)).unwrap_or_else(|error| {
        printer.error(&error);
        if error.is::<exit::Usage>() { Exit::Usage } else { Exit::Other }
    });
    if exit == Exit::Interrupted {
        printer.interrupted();
    }
    tracing::debug!(code = exit as u8, "ended");
    printer.finish();
    exit.into()
}
