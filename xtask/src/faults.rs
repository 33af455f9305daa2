//! `cargo xtask faults`: clusters on vCenters that fail.

use anyhow::Context;

use crate::command::{self, cargo};
use crate::peers;

pub(crate) fn run(seeds: u32, seed: Option<u64>) -> anyhow::Result<()> {
    peers::need(&["vcsim"])?;
    // The whole workspace decides on features: what the tests have built is good for this, too.
    let arguments = ["test", "--workspace", "--test", "cluster", "--", "--nocapture", "faults::"];
    let mut test = cargo(&arguments);
    match seed {
        Some(seed) => test.env("SLIPWAY_SEED", seed.to_string()),
        None => test.env_remove("SLIPWAY_SEED").env("SLIPWAY_SEEDS", seeds.to_string()),
    };
    command::run(&mut test).context("a seed failed; how to run it again is said above")
}
