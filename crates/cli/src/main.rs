//! The `slipway` command.

use std::process::ExitCode;

use clap::Parser;
use slipway_cli::{Args, run};

fn main() -> ExitCode {
    run(Args::parse())
}
