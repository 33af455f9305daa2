//! The `slipway` command.

use std::process::ExitCode;

use slipway_cli::{parse, run};

fn main() -> ExitCode {
    parse(std::env::args_os()).map_or_else(|exit| exit, run)
}
