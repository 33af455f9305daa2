//! The `slipway-operator` command.

use std::process::ExitCode;

use clap::Parser;
use slipway_lifecycle::text::said;
use slipway_operator::args::Args;
use slipway_operator::run::run;

fn main() -> ExitCode {
    match run(Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            for cause in error.chain().skip(1) {
                eprintln!("  Caused by: {}", said(cause));
            }
            ExitCode::FAILURE
        }
    }
}
