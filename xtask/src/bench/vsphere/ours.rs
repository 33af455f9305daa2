//! Slipway, as a user runs it.

use std::fs::File;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use serde_json::Value;
use slipway_testkit::control_plane::ControlPlane;
use slipway_testkit::vcenter::VCenter;

use super::{Measured, peak_memory};
use crate::site::{self, Files};

/// How often the memory of a running command is looked at; its last moments may be missed.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

pub(super) fn create(
    files: &Files,
    vcenters: &[VCenter],
    plane: &ControlPlane,
) -> anyhow::Result<(Measured, Vec<Value>)> {
    site::forget_calls(vcenters)?;
    let (took, memory_kib, said) =
        run(files, plane, &["create", "cluster", "--skip-preflight", "--no-wait", "--output", "json"])?;
    let calls = site::calls(vcenters)?;
    let running = site::running(vcenters)?;
    if running != files.machines {
        bail!("slipway says it is done, and {running} of {} machines run", files.machines);
    }
    let said: Value = serde_json::from_str(&said).context("what slipway says")?;
    let stages = said["stages"].as_array().cloned().unwrap_or_default();
    Ok((Measured { wanted: files.machines, made: files.machines, took, calls, memory_kib }, stages))
}

pub(super) fn destroy(files: &Files, vcenters: &[VCenter], plane: &ControlPlane) -> anyhow::Result<Measured> {
    site::forget_calls(vcenters)?;
    let (took, memory_kib, _) = run(files, plane, &["destroy", "cluster", "--yes"])?;
    let calls = site::calls(vcenters)?;
    let left = site::running(vcenters)?;
    if left != 0 {
        bail!("slipway says it is done, and {left} machines are left");
    }
    Ok(Measured { wanted: files.machines, made: files.machines, took, calls, memory_kib })
}

/// Runs a command in the network of the vCenters: how long it took, its peak of memory, and what it printed.
fn run(files: &Files, plane: &ControlPlane, arguments: &[&str]) -> anyhow::Result<(Duration, u64, String)> {
    let network = plane.network().context("the control plane has no network of its own")?;
    let (output, errors) = (files.folder().join("stdout.log"), files.folder().join("stderr.log"));
    let mut command = site::slipway(network.command(&site::release()));
    command.args(arguments).arg("--dir").arg(files.folder());
    command.stdout(File::create(&output)?).stderr(File::create(&errors)?);
    let began = Instant::now();
    let mut child = command.spawn().context("starting slipway")?;
    let mut memory = 0;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        // Before it is slipway it is a shell, which needs less.
        memory = memory.max(peak_memory(child.id()).unwrap_or(0));
        std::thread::sleep(POLL_INTERVAL);
    };
    let took = began.elapsed();
    if !status.success() {
        let said = fs_err::read_to_string(&errors)?;
        let from = said.floor_char_boundary(said.len().saturating_sub(3000));
        bail!("slipway {} ended with {status}:\n{}", arguments.join(" "), &said[from..]);
    }
    Ok((took, memory, fs_err::read_to_string(&output)?))
}
