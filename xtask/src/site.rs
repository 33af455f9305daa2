//! The vCenters that others are measured and tried on, and the files of a cluster on them.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail};
use serde_json::{Value, json};
use slipway_testkit::control_plane::ControlPlane;
use slipway_testkit::estate::{self, PASSWORD_VARIABLE, Server, Site};
use slipway_testkit::network::Hosts;
use slipway_testkit::scratch::Scratch;
use slipway_testkit::vcenter::{ADMINISTRATOR, VCenter};

use crate::command::root;

/// Hosts of a vCenter, and full clones that run on one at the same time; further ones wait in the vCenter's queue.
pub(crate) const HOSTS: usize = 16;
pub(crate) const CLONES_PER_HOST: usize = 4;
/// How long the vCenter takes: for a clone, for another task, and to answer any call.
pub(crate) const CLONE_MS: u32 = 500;
pub(crate) const TASK_MS: u32 = 100;
pub(crate) const CALL_MS: u32 = 5;

const HTTPS: u16 = 443;

pub(crate) fn server(index: u8) -> String {
    format!("vcenter-{index}.bench.example.com")
}

/// Where the names of the vCenters lead, in the network of the benchmark.
pub(crate) fn hosts() -> Hosts {
    (0..3).map(|index| (server(index), IpAddr::from([127, 0, 0, 10 + index]))).collect()
}

pub(crate) fn site(index: u8) -> Site {
    Site { zone: format!("site-{index}"), ..Site::new("dc") }
}

fn inventory(index: u8) -> Value {
    let mut inventory = site(index).inventory();
    inventory["vcenter"]["name"] = json!(server(index));
    inventory["vcenter"]["instance_uuid"] = json!(format!("11111111-0000-4000-8000-00000000000{index}"));
    inventory["dhcp"] = json!("10.20.0.0/16");
    let tasks = [
        "PowerOnVM_Task",
        "PowerOffVM_Task",
        "Destroy_Task",
        "UnregisterAndDestroy_Task",
        "ReconfigVM_Task",
        "ReconfigureComputeResource_Task",
    ];
    inventory["task_ms"] =
        tasks.into_iter().map(|task| (task, TASK_MS)).chain([("CloneVM_Task", CLONE_MS)]).collect();
    inventory["clone_slots_per_host"] = json!(CLONES_PER_HOST);
    let datacenter = &mut inventory["datacenters"][0];
    datacenter["clusters"][0]["hosts"][0] =
        json!({"name": "esx", "count": HOSTS, "cores": 64, "memory_mb": 2_097_152});
    datacenter["datastores"][0] = json!({"name": "vsan", "capacity_gb": 200_000, "free_gb": 190_000});
    // The provider has no use for them, nor have we.
    inventory["categories"] = json!([]);
    inventory["faults"] = json!([{"on": {}, "fault": {"delay_ms": CALL_MS}}]);
    inventory
}

/// Fresh vCenters, in the network of a control plane.
pub(crate) fn start(count: u8, plane: &ControlPlane) -> anyhow::Result<Vec<VCenter>> {
    (0..count).map(|index| VCenter::start_named(&inventory(index), plane, &server(index), HTTPS)).collect()
}

/// How often a method was called since then.
pub(crate) fn calls_of(vcenters: &[VCenter], method: &str) -> anyhow::Result<u64> {
    let mut sum = 0;
    for vcenter in vcenters {
        sum += vcenter.calls()?[method].as_u64().unwrap_or_default();
    }
    Ok(sum)
}

/// All calls since the vCenters were started or last forgot them.
pub(crate) fn calls(vcenters: &[VCenter]) -> anyhow::Result<u64> {
    let mut sum = 0;
    for vcenter in vcenters {
        let calls = vcenter.calls()?;
        let calls = calls.as_object().context("no calls by method")?;
        sum += calls.values().filter_map(Value::as_u64).sum::<u64>();
    }
    Ok(sum)
}

pub(crate) fn forget_calls(vcenters: &[VCenter]) -> anyhow::Result<()> {
    vcenters.iter().try_for_each(|vcenter| vcenter.control("DELETE", "/requests", &Value::Null).map(drop))
}

/// Machines that run and have an address, asked past the vCenters' API.
pub(crate) fn running(vcenters: &[VCenter]) -> anyhow::Result<usize> {
    let mut count = 0;
    for vcenter in vcenters {
        let objects = vcenter.objects()?;
        let is_on = |object: &&Value| {
            object["type"] == "VirtualMachine" && object["props"]["powerState"] == "poweredOn"
        };
        count += objects.iter().filter(is_on).count();
    }
    Ok(count)
}

fn install_config(count: u8) -> String {
    let sites: Vec<Site> = (0..count).map(site).collect();
    // The vCenters of every leg have certificates of their own; the files are the same.
    let servers = (0..count).map(|index| Server::named(&server(index), json!({"insecure": true})));
    let mut config = estate::install_config("bench", sites.iter().zip(servers));
    config["compute"][0]["replicas"] = json!(0);
    config["networking"]["machineNetwork"] = json!([{"cidr": "10.20.0.0/16"}]);
    config["platform"]["vsphere"]["apiVIPs"] = json!(["10.20.0.10"]);
    config["platform"]["vsphere"]["ingressVIPs"] = json!(["10.20.0.11"]);
    config.to_string()
}

/// The directory of a cluster with more machines than the installer would make.
pub(crate) struct Files {
    scratch: Scratch,
    pub(crate) vcenters: u8,
    pub(crate) infra_id: String,
    /// Of all kinds: generated, control plane, bootstrap.
    pub(crate) machines: usize,
}

impl Files {
    /// Has a build of slipway write the files of a cluster, and adds `generated` further pairs of VSphereMachine and Machine,
    /// spread over the vCenters.
    pub(crate) fn make(program: &Path, vcenters: u8, generated: usize) -> anyhow::Result<Self> {
        let scratch = Scratch::new("bench")?;
        scratch.write("install-config.yaml", install_config(vcenters))?;
        let status = slipway(Command::new(program))
            .args(["create", "ignition-configs", "--dir"])
            .arg(scratch.path())
            .stdout(Stdio::null())
            .stderr(Stdio::from(std::fs::File::create(scratch.join("files.log"))?))
            .status()?;
        if !status.success() {
            bail!("the files of a cluster: {}", fs_err::read_to_string(scratch.join("files.log"))?);
        }
        let metadata: Value = serde_json::from_slice(&fs_err::read(scratch.join("metadata.json"))?)?;
        let infra_id = metadata["infraID"].as_str().context("metadata.json has no infraID")?.to_owned();
        scratch.settle();
        let files = Files { scratch, vcenters, infra_id, machines: generated + 4 };
        for number in 0..generated {
            files.add_machine(number)?;
        }
        Ok(files)
    }

    /// A further pair, like a control-plane machine of its vCenter. Returns its files.
    pub(crate) fn add_machine(&self, number: usize) -> anyhow::Result<[PathBuf; 2]> {
        let machine = |rest: &str| format!("{}-master-{rest}", self.infra_id);
        let from = machine(&(number % usize::from(self.vcenters)).to_string());
        let to = machine(&format!("more-{number:03}"));
        let write = |kind: &str| -> anyhow::Result<PathBuf> {
            let path = |name: &str| self.cluster_api().join(format!("machines/10_{kind}_{name}.yaml"));
            let text = fs_err::read_to_string(path(&from))?;
            fs_err::write(path(&to), text.replace(&from, &to))?;
            Ok(path(&to))
        };
        Ok([write("machine")?, write("inframachine")?])
    }

    pub(crate) fn folder(&self) -> &Path {
        self.scratch.path()
    }

    pub(crate) fn cluster_api(&self) -> PathBuf {
        self.scratch.join("cluster-api")
    }

    /// A file that belongs to the control plane's Machines, or to the cluster as a whole.
    pub(crate) fn manifest(&self, path: &str) -> PathBuf {
        self.scratch.join(path)
    }

    /// A Machine like the control-plane machine of a vCenter, without its mark, under another name.
    pub(crate) fn machine(&self, vcenter: usize, name: &str) -> anyhow::Result<String> {
        let file = format!("openshift/99_openshift-cluster-api_master-machines-{vcenter}.yaml");
        let text = fs_err::read_to_string(self.manifest(&file))?;
        let lines = text.lines().filter(|line| !line.contains("slipway.dev/id"));
        let text = lines.map(|line| format!("{line}\n")).collect::<String>();
        Ok(text.replace(&format!("{}-master-{vcenter}", self.infra_id), name))
    }
}

/// As it is released.
pub(crate) fn release() -> PathBuf {
    root().join("target/release/slipway")
}

/// As tests build it.
pub(crate) fn debug() -> PathBuf {
    root().join("target/debug/slipway")
}

/// With the login every vCenter has.
pub(crate) fn slipway(mut command: Command) -> Command {
    command.env(PASSWORD_VARIABLE, ADMINISTRATOR.1).stdin(Stdio::null());
    command
}
