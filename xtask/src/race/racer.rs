//! Controllers of machines, each with a cluster and vCenters of its own.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use serde_json::{Value, json};
use slipway_testkit::cluster_api::Flags;
use slipway_testkit::control_plane::ControlPlane;
use slipway_testkit::kubectl::stream;
use slipway_testkit::machine_api::{self, Controller, NAMESPACE};
use slipway_testkit::nodes;
use slipway_testkit::process::eventually;
use slipway_testkit::vcenter::VCenter;

use crate::bench::vsphere::capv::Running;
use crate::bench::vsphere::{control_plane, peak_memory};
use crate::command::run as run_command;
use crate::site::{self, Files};
use crate::testbed::{Cluster, is_made, name, text};

/// Machines that were there before: how long they may take to be known.
const KNOWN_TIMEOUT: Duration = Duration::from_mins(15);

/// Whose controller it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Slipway,
    Openshift,
    ClusterApi,
}

impl Kind {
    pub(super) const ALL: [Kind; 3] = [Kind::Slipway, Kind::Openshift, Kind::ClusterApi];

    pub(super) fn title(self) -> &'static str {
        match self {
            Kind::Slipway => "slipway",
            Kind::Openshift => "OpenShift's machine-api-operator",
            Kind::ClusterApi => "Cluster API and CAPV",
        }
    }
}

enum Stage {
    Machines { cluster: Cluster, process: Option<u32> },
    ClusterApi { running: Running, plane: ControlPlane },
}

pub(super) struct Racer {
    pub(super) kind: Kind,
    operator: PathBuf,
    files: Files,
    stage: Stage,
    /// Machines that run before the first one is asked for: Cluster API makes those of the cluster, too.
    pub(super) own: usize,
}

impl Racer {
    /// With its cluster, and without the controller of Machines.
    pub(super) fn prepare(kind: Kind, operator: &Path, vcenters: u8) -> anyhow::Result<Self> {
        let files = Files::make(&site::debug(), vcenters, 0)?;
        let stage = if kind == Kind::ClusterApi {
            let mut plane = control_plane()?;
            let running = Running::start(&files, &mut plane, Flags::default())?;
            // The cluster and its own machines come first.
            running.make(&files, &plane, files.machines)?;
            Stage::ClusterApi { running, plane }
        } else {
            Stage::Machines { cluster: Cluster::start(&files, &[])?, process: None }
        };
        let own = if kind == Kind::ClusterApi { files.machines } else { 0 };
        Ok(Racer { kind, operator: operator.to_owned(), files, stage, own })
    }

    /// Ready to make machines.
    pub(super) fn start(kind: Kind, operator: &Path, vcenters: u8) -> anyhow::Result<Self> {
        let mut racer = Self::prepare(kind, operator, vcenters)?;
        racer.run()?;
        Ok(racer)
    }

    /// Starts the controller of Machines; one that runs is ended before.
    pub(super) fn run(&mut self) -> anyhow::Result<()> {
        let Stage::Machines { cluster, process } = &mut self.stage else { return Ok(()) };
        *process = Some(if self.kind == Kind::Slipway {
            cluster.start_operator(&self.operator, "machines,drain")?.id()
        } else {
            if let Some(process) = process {
                run_command(Command::new("kill").args(["-KILL", &process.to_string()]))?;
            }
            machine_api::start(&mut cluster.plane, Controller::VSphere, &[])?.id()
        });
        Ok(())
    }

    pub(super) fn vcenters(&self) -> &[VCenter] {
        match &self.stage {
            Stage::Machines { cluster, .. } => &cluster.vcenters,
            Stage::ClusterApi { running, .. } => &running.vcenters,
        }
    }

    /// The most memory that the controllers of Machines have had.
    pub(super) fn memory_kib(&self) -> anyhow::Result<u64> {
        match &self.stage {
            Stage::Machines { process, .. } => {
                process.and_then(peak_memory).context("the controller has ended")
            }
            Stage::ClusterApi { running, .. } => running.memory_kib(),
        }
    }

    /// Asks for machines, spread over the vCenters.
    pub(super) fn add(&self, numbers: Range<usize>) -> anyhow::Result<()> {
        match &self.stage {
            Stage::Machines { cluster, .. } => {
                let machines =
                    numbers.map(|number| self.machine(number)).collect::<anyhow::Result<Vec<_>>>()?;
                cluster.plane.kubectl().apply(&machines.join("---\n")).map(drop)
            }
            Stage::ClusterApi { plane, .. } => {
                let mut arguments =
                    ["apply", "--server-side", "--force-conflicts"].map(str::to_owned).to_vec();
                for number in numbers {
                    for file in self.files.add_machine(number)? {
                        arguments.push(format!("--filename={}", file.display()));
                    }
                }
                let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
                plane.kubectl().run(&arguments).map(drop)
            }
        }
    }

    fn machine(&self, number: usize) -> anyhow::Result<String> {
        self.files.machine(number % usize::from(self.files.vcenters), &self.machine_name(number))
    }

    fn machine_name(&self, number: usize) -> String {
        format!("{}-worker-{number:04}", self.files.infra_id)
    }

    /// Machines, on one vCenter, that were made long ago: each has its virtual machine. The controller must not run.
    pub(super) fn seed(&self, count: usize) -> anyhow::Result<()> {
        let Stage::Machines { cluster, .. } = &self.stage else { bail!("only Machines can be seeded") };
        self.add(0..count)?;
        let machines = cluster.list("machines.machine.openshift.io")?;
        let vms: Vec<Value> = machines
            .iter()
            .enumerate()
            .map(|(number, machine)| self.virtual_machine(number, machine))
            .collect();
        let estate = json!({"datacenters": [{"name": "dc", "vms": vms}]});
        cluster.vcenters[0].control("POST", "/inventory/apply", &estate).map(drop)
    }

    fn virtual_machine(&self, number: usize, machine: &Value) -> Value {
        let uid = text(machine, "/metadata/uid");
        site::site(0).machine(&json!({
            "name": name(machine), "folder": self.files.infra_id, "power": "on", "hostname": name(machine),
            "ips": [format!("10.20.{}.{}", 100 + number / 250, 1 + number % 250)],
            "uuid": format!("42000000-0000-4000-8000-{number:012x}"), "instance_uuid": uid,
            "cpus": 4, "memory_mb": 16384, "disks_gb": [120], "hardware_version": "vmx-19",
            "extra_config": {"slipway.dev/cluster": self.files.infra_id, "slipway.dev/id": uid},
        }))
    }

    /// Gives every Machine a node, and waits until all run. Cluster API does without.
    pub(super) fn settle(&self) -> anyhow::Result<()> {
        let Stage::Machines { cluster, .. } = &self.stage else { return Ok(()) };
        let known = |machines: &[Value]| machines.iter().all(is_made);
        let mut machines = cluster.wait_for_machines("addresses", KNOWN_TIMEOUT, known)?;
        machines.retain(|machine| machine["status"]["nodeRef"].is_null());
        let nodes: Vec<Value> = machines.iter().map(node).collect();
        let links: Vec<Value> = machines.iter().map(link).collect();
        let (nodes, links) = (stream(&nodes), stream(&links));
        let scratch = cluster.plane.scratch();
        let file = |name: &str, text: &str| -> anyhow::Result<String> {
            Ok(scratch.write(name, text)?.to_string_lossy().into_owned())
        };
        let (nodes, links) = (file("nodes.yaml", &nodes)?, file("links.yaml", &links)?);
        let kubectl = cluster.plane.kubectl();
        if !machines.is_empty() {
            kubectl.run(&["create", "--filename", &nodes])?;
            let status =
                ["--subresource=status", "--validate=false", "--field-manager=links", "--force-conflicts"];
            kubectl.run(&[&["apply", "--server-side", "--filename", &links], &status[..]].concat())?;
        }
        let run = |machines: &[Value]| machines.iter().all(|one| text(one, "/status/phase") == "Running");
        cluster.wait_for_machines("all run", KNOWN_TIMEOUT, run).map(drop)
    }

    /// From the question for one more machine to the first call that clones it.
    pub(super) fn first_clone(&self, number: usize, limit: Duration) -> anyhow::Result<Option<Duration>> {
        let clones = || site::calls_of(self.vcenters(), "CloneVM_Task");
        let (before, began) = (clones()?, Instant::now());
        self.add(number..number + 1)?;
        loop {
            if clones()? > before {
                return Ok(Some(began.elapsed()));
            }
            if began.elapsed() > limit {
                return Ok(None);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

fn node(machine: &Value) -> Value {
    let id = text(machine, "/spec/providerID");
    let mut node = nodes::node(name(machine), id.trim_start_matches("vsphere://"));
    node["spec"]["providerID"] = json!(id);
    node
}

fn link(machine: &Value) -> Value {
    json!({
        "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine",
        "metadata": {"name": name(machine), "namespace": NAMESPACE},
        "status": {"nodeRef": {"kind": "Node", "name": name(machine)}},
    })
}

/// Waits until so many virtual machines run on some of its vCenters, asked past their API. How long that took.
pub(super) fn wait_until_running(
    vcenters: &[VCenter],
    count: usize,
    limit: Duration,
) -> anyhow::Result<Option<Duration>> {
    let began = Instant::now();
    let run = || Ok((site::running(vcenters)? >= count).then(|| began.elapsed()));
    match eventually("machines run", limit, run) {
        Err(error) if began.elapsed() < limit => Err(error),
        answer => Ok(answer.ok()),
    }
}
