//! Cluster API and its provider for vSphere, from the same files.

use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use serde_json::json;
use slipway_testkit::cluster_api::{self, Flags};
use slipway_testkit::control_plane::ControlPlane;

use super::site::{self, Files};
use super::{Measured, peak_memory};

const NAMESPACE: &str = "openshift-cluster-api-guests";

/// After that long, what has been made counts, and the output says so.
const LIMIT: Duration = Duration::from_secs(270);
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// What was measured, and how long `kubectl apply` took of it.
pub(super) fn create(
    files: &Files,
    plane: &mut ControlPlane,
    flags: Flags,
) -> anyhow::Result<(Measured, Duration)> {
    let vcenters = site::start(files.vcenters, plane)?;
    let managers = cluster_api::start_with(plane, flags)?;
    // An installer makes the folder and the Secrets; that is not what is measured.
    for vcenter in &vcenters {
        let folder = json!({"datacenters": [{"name": "dc", "folders": {"vm": [files.infra_id]}}]});
        vcenter.control("POST", "/inventory/apply", &folder)?;
    }
    let kubectl = plane.kubectl();
    kubectl.run(&["create", "namespace", NAMESPACE])?;
    for role in ["bootstrap", "master"] {
        let ignition = fs_err::read_to_string(files.folder().join(format!("{role}.ign")))?;
        kubectl.apply_value(&json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": {"name": format!("{}-{role}", files.infra_id), "namespace": NAMESPACE},
            "stringData": {"format": "ignition", "value": ignition},
        }))?;
    }
    site::forget_calls(&vcenters)?;

    let began = Instant::now();
    let folder = files.cluster_api();
    let folder = folder.to_str().context("a path in UTF-8")?;
    kubectl.run(&["apply", "--server-side", "--force-conflicts", "--recursive", "--filename", folder])?;
    let applied = began.elapsed();
    let ready = "jsonpath={.items[*].status.ready}";
    let arguments = ["get", "vspheremachines", "--namespace", NAMESPACE, "--output", ready];
    let made = loop {
        let made = kubectl.run(&arguments)?.split(' ').filter(|word| *word == "true").count();
        if made >= files.machines || began.elapsed() > LIMIT {
            break made;
        }
        std::thread::sleep(POLL_INTERVAL);
    };
    let took = began.elapsed();
    if made == 0 {
        bail!("the provider made no machine in {} s", took.as_secs());
    }
    let calls = site::calls(&vcenters)?;
    let running = site::running(&vcenters)?;
    if running < made {
        bail!("the provider says that {made} machines are ready, and {running} run");
    }
    let memory_kib = [managers.core, managers.vsphere]
        .into_iter()
        .map(|id| peak_memory(id).context("a manager has ended"))
        .sum::<anyhow::Result<u64>>()?;
    Ok((Measured { wanted: files.machines, made, took, calls, memory_kib }, applied))
}
