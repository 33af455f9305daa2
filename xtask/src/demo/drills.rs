//! `cargo xtask lab --drills`: what goes wrong while machines become a cluster, and what is said about it.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use serde_json::Value;
use slipway_testkit::lab::harbour::{ClusterOptions, Harbour};
use slipway_testkit::lab::{Firmware, Machine};
use slipway_testkit::pki::Authority;
use slipway_testkit::process::eventually;

use super::boot::{self, Size};
use crate::command::run as run_command;

const SITES: &[&str] = &["north"];
/// One machine: what goes wrong is the same with three.
const SIZE: Size = Size { control_plane: 1, compute: 0, by_hand: 0, sites: SITES };
/// How long a cluster may take that loses its power again and again.
const LIMIT: Duration = Duration::from_mins(12);
/// The exit code of a bootstrap that was given up.
const BOOTSTRAP: i32 = 5;
/// Where the agent writes down how far it is.
const RECORD: &str = "/var/lib/slipway/bootstrap.json";

/// All that the agent does, one after the other.
const STAGES: [&str; 10] = [
    "network",
    "control-plane",
    "api",
    "network-plugin",
    "manifests",
    "machines",
    "complete",
    "hand-over",
    "leave-etcd",
    "leave",
];

/// A drill and what it is about.
type Drill = (&'static str, fn() -> anyhow::Result<()>);

const DRILLS: [Drill; 2] = [
    (
        "the bootstrap machine loses its power at every stage, a control-plane machine does not come, and `create cluster` is killed",
        rough_weather,
    ),
    ("two clusters on one switch and one vCenter", two_clusters),
];

pub(crate) fn run() -> anyhow::Result<()> {
    boot::build()?;
    for (name, drill) in DRILLS {
        println!("\n\u{1b}[1m# drill: {name}\u{1b}[0m");
        let began = Instant::now();
        drill().with_context(|| format!("drill: {name}"))?;
        println!("passed in {:.0} s", began.elapsed().as_secs_f32());
    }
    Ok(())
}

fn wish(name: &'static str) -> ClusterOptions<'static> {
    ClusterOptions { name, sites: SITES, control_plane: SIZE.control_plane, compute: SIZE.compute }
}

/// A command that runs beside the drill. What it says is kept in a file.
pub(super) struct Run {
    child: Child,
    log: PathBuf,
}

impl Run {
    pub(super) fn start(harbour: &Harbour, name: &str, arguments: &[&str]) -> anyhow::Result<Self> {
        println!("$ slipway {}", arguments.join(" "));
        let log = harbour.lab().scratch().join(&format!("{name}.log"));
        let output = fs_err::File::create(&log)?.into_parts().0;
        let mut command = harbour.slipway(arguments);
        let child = command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output).spawn()?;
        Ok(Run { child, log })
    }

    pub(super) fn said(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Waits until it says something.
    pub(super) fn until(&mut self, words: &str) -> anyhow::Result<()> {
        eventually(words, LIMIT, || {
            let ended = self.child.try_wait()?.is_some();
            let said = self.said();
            if said.contains(words) {
                return Ok(Some(Ok(())));
            }
            let too_early = || anyhow::anyhow!("it ended before it said `{words}`:\n{said}");
            Ok(ended.then(|| Err(too_early())))
        })?
    }

    pub(super) fn end(&mut self) -> anyhow::Result<ExitStatus> {
        eventually("the command ends", LIMIT, || Ok(self.child.try_wait()?)).context(self.said())
    }

    /// As `kill -9` does.
    fn kill(mut self) -> anyhow::Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn prepare(harbour: &Harbour) -> anyhow::Result<()> {
    run_command(harbour.slipway(&["create", "manifests"]).stdout(Stdio::null()))?;
    boot::want_cloud_provider_only(harbour)
}

fn machine(harbour: &Harbour, ending: &str) -> Option<Machine> {
    harbour.lab().machines().into_iter().find(|machine| machine.name().ends_with(ending))
}

/// What the agent on a machine is at, by what is on its disk.
fn stage(machine: &Machine) -> Option<String> {
    let record: Value = serde_json::from_slice(&std::fs::read(machine.disk(RECORD)).ok()?).ok()?;
    let stages = record["stages"].as_array()?;
    let last = stages.iter().rev().find(|entry| entry["state"] != "done")?;
    last["stage"].as_str().map(ToOwned::to_owned)
}

/// Cuts the power of the bootstrap machine whenever it begins a stage, and switches it on again. Returns where it was cut.
fn cut_at_every_stage(harbour: &Harbour, stop: &AtomicBool) -> anyhow::Result<Vec<String>> {
    let mut seen = BTreeSet::new();
    let mut cuts = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        // Some stages are over within milliseconds.
        std::thread::sleep(Duration::from_micros(100));
        let Some(bootstrap) = machine(harbour, "-bootstrap") else { continue };
        let Some(begun) = stage(&bootstrap).filter(|stage| !seen.contains(stage)) else { continue };
        // Straight at the plug: the vCenter would take its time, and learns of it afterwards.
        bootstrap.power_off()?;
        let cut = stage(&bootstrap).unwrap_or_else(|| "its end".to_owned());
        println!("  power cut: it had begun `{begun}`, and was at `{cut}`");
        seen.extend([begun, cut.clone()]);
        cuts.push(cut);
        harbour.power_off(bootstrap.name())?;
        harbour.power_on(bootstrap.name())?;
    }
    Ok(cuts)
}

fn rough_weather() -> anyhow::Result<()> {
    let harbour = Harbour::build(&wish("harbour"), &boot::programs())?;
    prepare(&harbour)?;
    let stop = AtomicBool::new(false);
    let cuts = Mutex::new(Ok(Vec::new()));
    let outcome = std::thread::scope(|scope| {
        scope.spawn(|| {
            let result = cut_at_every_stage(&harbour, &stop);
            if let Ok(mut cuts) = cuts.lock() {
                *cuts = result;
            }
        });
        let outcome = sail(&harbour);
        stop.store(true, Ordering::Relaxed);
        outcome
    });
    if outcome.is_err() {
        boot::explain(&harbour);
    }
    outcome?;
    let cuts = cuts.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)?;
    println!("the bootstrap machine lost its power {} times, at: {}", cuts.len(), cuts.join(", "));
    for stage in STAGES {
        if !cuts.iter().any(|cut| cut == stage) {
            bail!("no cut came at `{stage}`: on a busy machine it is over too soon");
        }
    }
    boot::wait_for_nodes(&harbour.kubectl()?, 1)?;
    run_command(harbour.slipway(&["destroy", "cluster", "--yes"]).stdout(Stdio::null()))?;
    harbour.lab().scratch().settle();
    Ok(())
}

/// The pointer of the cluster's control plane, but with the authority of another cluster.
fn foreign_pointer(harbour: &Harbour) -> anyhow::Result<Firmware> {
    let mut config: Value = serde_json::from_slice(&fs_err::read(harbour.folder().join("master.ign"))?)?;
    let authority = Authority::new("root-ca")?.certificate().replace('\n', "%0A").replace(' ', "%20");
    config["ignition"]["security"]["tls"]["certificateAuthorities"][0]["source"] =
        format!("data:,{authority}").into();
    Ok(Firmware::with_ignition(config.to_string()))
}

/// What the administrator does meanwhile.
fn sail(harbour: &Harbour) -> anyhow::Result<()> {
    let mut first = Run::start(harbour, "first", &["create", "cluster", "--bootstrap-timeout", "75s"])?;
    first.until("waiting for")?;
    let master = machine(harbour, "-master-0").context("no control-plane machine")?;
    harbour.power_off(master.name())?;
    let stranger = harbour.lab().machine("stranger")?;
    stranger.power_on(&foreign_pointer(harbour)?)?;
    let status = first.end()?;
    harbour.lab().scrap(stranger.name())?;
    let said = first.said();
    let last: Vec<&str> = said.lines().rev().take(4).collect();
    for line in last.iter().rev() {
        println!("  {line}");
    }
    let names = format!("{} has not asked for a certificate: it does not run", master.name());
    if status.code() != Some(BOOTSTRAP) || !last.iter().any(|line| line.contains(&names)) {
        bail!("a machine that does not come is not named; it ended with {status}:\n{said}");
    }
    let distrust = format!("{} does not trust the machine-config server", stranger.address());
    if !said.contains(&distrust) {
        bail!("a machine with another cluster's pointer is not named:\n{said}");
    }
    harbour.power_on(master.name())?;
    let mut second = Run::start(harbour, "second", &["create", "cluster"])?;
    second.until("waiting for")?;
    second.kill()?;
    println!("  killed");
    let mut third = Run::start(harbour, "third", &["create", "cluster"])?;
    let status = third.end()?;
    if !status.success() {
        bail!("`create cluster` ended with {status}:\n{}", third.said());
    }
    Ok(())
}

/// The ids of virtual routers on a machine.
fn router_ids(machine: &Machine) -> BTreeSet<String> {
    let text =
        std::fs::read_to_string(machine.disk("/etc/slipway/onprem/keepalived.conf")).unwrap_or_default();
    let ids = text.lines().filter_map(|line| line.trim().strip_prefix("virtual_router_id "));
    ids.map(ToOwned::to_owned).collect()
}

fn two_clusters() -> anyhow::Result<()> {
    let harbours = Harbour::build_all(&[wish("harbour"), wish("marina")], &boot::programs())?;
    let outcome = side_by_side(&harbours);
    if outcome.is_err() {
        boot::explain(&harbours[0]);
    }
    outcome?;
    harbours[0].lab().scratch().settle();
    Ok(())
}

fn side_by_side(harbours: &[Harbour; 2]) -> anyhow::Result<()> {
    let [one, other] = harbours;
    let before = boot::vcenters(one)?;
    let mut runs = Vec::new();
    for (harbour, name) in harbours.iter().zip(["one", "other"]) {
        prepare(harbour)?;
        runs.push(Run::start(harbour, name, &["create", "cluster"])?);
    }
    for run in &mut runs {
        let status = run.end()?;
        if !status.success() {
            bail!("`create cluster` ended with {status}:\n{}", run.said());
        }
    }
    let mut names = BTreeSet::new();
    for harbour in harbours {
        let nodes = boot::wait_for_nodes(&harbour.kubectl()?, 1)?;
        boot::show(&nodes);
        names
            .extend(nodes.iter().filter_map(|node| node["metadata"]["name"].as_str().map(ToOwned::to_owned)));
    }
    let ids: Vec<_> = harbours[0].lab().machines().iter().map(router_ids).collect();
    println!("nodes {names:?}, ids of virtual routers {ids:?}");
    let all: BTreeSet<_> = ids.iter().flatten().collect();
    if names.len() != 2 || all.len() != ids.iter().map(BTreeSet::len).sum::<usize>() || all.is_empty() {
        bail!("the clusters meet");
    }
    run_command(one.slipway(&["destroy", "cluster", "--yes"]).stdout(Stdio::null()))?;
    if boot::answers(one) || !boot::answers(other) {
        bail!("one cluster had to go, and the other to stay");
    }
    boot::wait_for_nodes(&other.kubectl()?, 1)?;
    println!("one is destroyed, and the other is Ready");
    run_command(other.slipway(&["destroy", "cluster", "--yes"]).stdout(Stdio::null()))?;
    if boot::vcenters(one)? != before {
        bail!("the vCenter is not as it was before");
    }
    Ok(())
}
