//! `cargo xtask scale`: many Machines on three simulated vCenters, made and removed by the operator's controller.

use anyhow::Context;

use crate::command::{self, cargo};
use crate::peers;

pub(crate) fn run(machines: u32) -> anyhow::Result<()> {
    peers::need(&["vcsim"])?;
    // The whole workspace decides on features: what the tests have built is good for this, too.
    let arguments =
        ["test", "--workspace", "--test", "it", "--", "--nocapture", "machines::clocked::scale::"];
    command::run(cargo(&arguments).env("SLIPWAY_MACHINES", machines.to_string()))
        .context("the machines are not as they should be")
}
