//! A host that is no machine of a vCenter joins the cluster that booted.

use std::path::Path;

use anyhow::bail;
use serde_json::Value;
use slipway_testkit::kubectl::Kubectl;
use slipway_testkit::lab::Firmware;
use slipway_testkit::lab::harbour::Harbour;
use slipway_testkit::process::eventually;

use super::boot::{LIMIT, is_ready};
use crate::command::run as run_command;

const NAME: &str = "metal-0";

/// Prepares it, switches it on, and lets it in. Its kubelet waits for no cloud provider.
pub(super) fn join(harbour: &Harbour, kubectl: &Kubectl) -> anyhow::Result<()> {
    let host = harbour.lab().machine(NAME)?;
    let file = harbour.lab().scratch().join("metal-0.ign");
    add(harbour, &host.address().to_string(), &file, "--no-wait")?;
    host.power_on(&Firmware::with_ignition(fs_err::read(&file)?))?;
    add(harbour, &host.address().to_string(), &file, "--yes")?;
    let node = eventually("the host is a node", LIMIT, || {
        let node = kubectl.json(&["get", "node", NAME, "--request-timeout=5s"])?;
        Ok(is_ready(&node).then_some(node))
    })?;
    check(&node)?;
    println!("{NAME} is Ready, with no taint of a cloud provider and no id of a machine");
    Ok(())
}

/// `slipway node add`, by the same words as an administrator.
fn add(harbour: &Harbour, address: &str, file: &Path, until: &str) -> anyhow::Result<()> {
    let arguments = ["node", "add", "--bare-metal", NAME, "--address", address, "--timeout", "5m", until];
    let mut command = harbour.slipway(&arguments);
    command.arg("--kubeconfig").arg(harbour.folder().join("auth/kubeconfig")).arg("--write").arg(file);
    println!("\u{1b}[32m$\u{1b}[0m slipway {}", arguments.join(" "));
    run_command(&mut command)
}

fn check(node: &Value) -> anyhow::Result<()> {
    let taints = node["spec"]["taints"].as_array().into_iter().flatten();
    let waits =
        taints.into_iter().any(|taint| taint["key"] == "node.cloudprovider.kubernetes.io/uninitialized");
    let labels = &node["metadata"]["labels"];
    if waits || !node["spec"]["providerID"].is_null() || !labels["node.kubernetes.io/instance-type"].is_null()
    {
        bail!("the host is taken for a machine of a vCenter: {} {labels}", node["spec"]);
    }
    Ok(())
}

/// It stays when the cluster is destroyed: it is nobody's machine.
pub(super) fn remove(harbour: &Harbour) -> anyhow::Result<()> {
    harbour.lab().scrap(NAME)
}
