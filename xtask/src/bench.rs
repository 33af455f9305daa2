//! `cargo xtask bench`: figures beside goals.

mod first_run;
pub(crate) mod vsphere;

use std::path::PathBuf;

use crate::command::{cargo, root, run};
use crate::peers;

pub(crate) fn config() -> anyhow::Result<()> {
    run(&mut cargo(&["bench", "--quiet", "--package", "slipway-config", "--bench", "load"]))
}

pub(crate) fn assets() -> anyhow::Result<()> {
    build_slipway()?;
    run(&mut cargo(&["bench", "--quiet", "--package", "slipway-assets", "--bench", "assets"]))?;
    first_run::measure()
}

/// As it is released.
pub(crate) fn build_slipway() -> anyhow::Result<()> {
    run(&mut cargo(&["build", "--quiet", "--release", "--package", "slipway-cli", "--bin", "slipway"]))
}

pub(crate) fn machine_config() -> anyhow::Result<()> {
    run(&mut cargo(&["bench", "--quiet", "--package", "slipway-operator", "--bench", "machine_config"]))
}

/// The memory of the operator, built as for its image, with three connections and two thousand nodes.
pub(crate) fn operator() -> anyhow::Result<()> {
    peers::need(&["vcsim", "etcd", "kubernetes"])?;
    let program = build_operator()?;
    // The whole workspace decides on features: what the tests have built is good for this, too.
    let arguments = ["test", "--quiet", "--workspace", "--test", "it", "--"];
    let which = ["--exact", "--ignored", "--nocapture", "drivers::memory::bench"];
    run(cargo(&[&arguments[..], &which].concat()).env("SLIPWAY_OPERATOR", program))
}

/// As for its image.
pub(crate) fn build_operator() -> anyhow::Result<PathBuf> {
    let package = ["--package", "slipway-operator", "--bin", "slipway-operator"];
    run(cargo(&["build", "--quiet", "--locked", "--profile", "operator"]).args(package))?;
    Ok(root().join("target/operator/slipway-operator"))
}

/// Calls and time of a round of checks, and a vCenter that is cut off in the middle of one.
pub(crate) fn checks(nodes: &str) -> anyhow::Result<()> {
    peers::need(&["vcsim", "etcd", "kubernetes"])?;
    for test in ["calls::bench", "outage::three_thousand_nodes_and_one_vcenter_cut_off"] {
        let arguments =
            ["test", "--quiet", "--release", "--package", "slipway-assess", "--test", "check", "--"];
        let which = ["--exact", "--ignored", "--nocapture", test];
        run(cargo(&[&arguments[..], &which].concat()).env("SLIPWAY_BENCH_NODES", nodes))?;
    }
    Ok(())
}
