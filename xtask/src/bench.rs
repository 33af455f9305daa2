//! `cargo xtask bench`: figures beside goals.

pub(crate) mod vsphere;

use crate::command::{cargo, run};

pub(crate) fn config() -> anyhow::Result<()> {
    run(&mut cargo(&["bench", "--quiet", "--package", "slipway-config", "--bench", "load"]))
}

pub(crate) fn assets() -> anyhow::Result<()> {
    run(&mut cargo(&["bench", "--quiet", "--package", "slipway-assets", "--bench", "assets"]))
}

pub(crate) fn machine_config() -> anyhow::Result<()> {
    run(&mut cargo(&["bench", "--quiet", "--package", "slipway-operator", "--bench", "machine_config"]))
}
