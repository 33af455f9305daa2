//! `slipway node`.

mod add;
mod approve;
mod confirm;
mod show;

use slipway_operator::csr::Bootstrapper;

use crate::args::{Known, Node};
use crate::exit::Exit;
use crate::output::Printer;

pub(crate) fn run(args: &Node, printer: &Printer) -> anyhow::Result<Exit> {
    match args {
        Node::Add(args) => add::run(args, printer),
        Node::Approve(args) => approve::run(args, printer),
    }
}

/// Who asks for first certificates, where it was said.
fn given(known: &Known) -> anyhow::Result<Option<Bootstrapper>> {
    let Some(username) = known.bootstrapper.as_deref() else { return Ok(None) };
    match Bootstrapper::of(username) {
        Some(given) => Ok(Some(given)),
        None => anyhow::bail!(
            "`--bootstrapper {username}` is neither `system:serviceaccount:<namespace>:<name>` nor `system:bootstrap:<id>`"
        ),
    }
}
