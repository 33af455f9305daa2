//! Cluster API and its provider for vSphere, from the same files.

use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use serde_json::json;
use slipway_testkit::cluster_api::{self, Flags, Managers};
use slipway_testkit::control_plane::ControlPlane;
use slipway_testkit::vcenter::VCenter;

use super::{Measured, peak_memory};
use crate::site::{self, Files};

const NAMESPACE: &str = "openshift-cluster-api-guests";

/// After that long, what has been made counts, and the output says so.
const LIMIT: Duration = Duration::from_secs(270);
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// The managers, beside vCenters that have all but machines.
pub(crate) struct Running {
    pub(crate) vcenters: Vec<VCenter>,
    managers: Managers,
}

impl Running {
    /// Starts both. An installer makes the folder and the Secrets; that is not what is measured.
    pub(crate) fn start(files: &Files, plane: &mut ControlPlane, flags: Flags) -> anyhow::Result<Self> {
        let vcenters = site::start(files.vcenters, plane)?;
        let managers = cluster_api::start_with(plane, flags)?;
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
        Ok(Running { vcenters, managers })
    }

    /// Applies the files, and waits until so many machines are ready. How long that took, `kubectl apply` alone, and how many.
    pub(crate) fn make(
        &self,
        files: &Files,
        plane: &ControlPlane,
        wanted: usize,
    ) -> anyhow::Result<(Duration, Duration, usize)> {
        let (kubectl, began) = (plane.kubectl(), Instant::now());
        let folder = files.cluster_api();
        let folder = folder.to_str().context("a path in UTF-8")?;
        kubectl.run(&["apply", "--server-side", "--force-conflicts", "--recursive", "--filename", folder])?;
        let applied = began.elapsed();
        let ready = "jsonpath={.items[*].status.ready}";
        let arguments = ["get", "vspheremachines", "--namespace", NAMESPACE, "--output", ready];
        let made = loop {
            let made = kubectl.run(&arguments)?.split(' ').filter(|word| *word == "true").count();
            if made >= wanted || began.elapsed() > LIMIT {
                break made;
            }
            std::thread::sleep(POLL_INTERVAL);
        };
        let took = began.elapsed();
        if made == 0 {
            bail!("the provider made no machine in {} s", took.as_secs());
        }
        let running = site::running(&self.vcenters)?;
        if running < made {
            bail!("the provider says that {made} machines are ready, and {running} run");
        }
        Ok((took, applied, made))
    }

    /// The most memory that both have had.
    pub(crate) fn memory_kib(&self) -> anyhow::Result<u64> {
        let Managers { core, vsphere } = self.managers;
        [core, vsphere].into_iter().map(|id| peak_memory(id).context("a manager has ended")).sum()
    }
}

/// What was measured, and how long `kubectl apply` took of it.
pub(super) fn create(
    files: &Files,
    plane: &mut ControlPlane,
    flags: Flags,
) -> anyhow::Result<(Measured, Duration)> {
    let running = Running::start(files, plane, flags)?;
    site::forget_calls(&running.vcenters)?;
    let (took, applied, made) = running.make(files, plane, files.machines)?;
    let calls = site::calls(&running.vcenters)?;
    let memory_kib = running.memory_kib()?;
    Ok((Measured { wanted: files.machines, made, took, calls, memory_kib }, applied))
}
