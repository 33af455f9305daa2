//! `slipway drivers matrix`.

pub(crate) mod pin;
pub(crate) mod show;
pub(crate) mod sign;
pub(crate) mod validate;

use slipway_config::findings::Report;

use crate::output::Printer;
use crate::report;

/// Shows what is wrong with a matrix, and why a command ends.
pub(super) fn refused(found: &Report, name: &str, printer: &Printer) -> anyhow::Error {
    printer.say(&report::text(found, name));
    anyhow::anyhow!("`{name}` is not a compatibility matrix ({})", report::plain_tally(found))
}
