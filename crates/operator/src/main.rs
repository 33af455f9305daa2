//! The `slipway-operator` command.

use std::process::ExitCode;

use clap::Parser;
use slipway_operator::args::Args;
use slipway_operator::run::run;
use slipway_providers::text::words;

fn main() -> ExitCode {
    match run(Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let words = words(&*error);
            eprintln!("error: {}", words.join("\n  Caused by: "));
            ExitCode::FAILURE
        }
    }
}
