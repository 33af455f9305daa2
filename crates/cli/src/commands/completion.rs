//! `slipway completion`.

use clap_complete::Shell;

use crate::args;
use crate::exit::Exit;
use crate::output::Printer;

pub(crate) fn run(shell: Shell, printer: &Printer) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut args::command(), "slipway", &mut script);
    printer.data(&String::from_utf8(script)?)?;
    Ok(Exit::Ok)
}
