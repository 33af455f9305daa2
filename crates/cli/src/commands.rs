//! The commands, one module each.

mod completion;
mod explain;
mod schema;
mod validate;
mod version;

use crate::args::Command;
use crate::exit::Exit;
use crate::output::Printer;

pub(crate) fn run(command: Command, printer: &Printer) -> anyhow::Result<Exit> {
    match command {
        Command::Validate { file, strict } => validate::run(&file, strict, printer),
        Command::Explain { path } => explain::run(path.as_deref(), printer),
        Command::Schema => schema::run(printer),
        Command::Completion { shell } => completion::run(shell, printer),
        Command::Version => version::run(printer),
    }
}
