//! `slipway node`.

mod add;
mod approve;
mod confirm;
mod show;

use crate::args::Node;
use crate::exit::Exit;
use crate::output::Printer;

pub(crate) fn run(args: &Node, printer: &Printer) -> anyhow::Result<Exit> {
    match args {
        Node::Add(args) => add::run(args, printer),
        Node::Approve(args) => approve::run(args, printer),
    }
}
