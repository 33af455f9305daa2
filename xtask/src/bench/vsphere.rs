//! `cargo xtask bench vsphere`: many machines on simulated vCenters, made by us and by Cluster API's provider.

pub(crate) mod capv;
mod ours;

use std::time::{Duration, Instant};

use slipway_testkit::cluster_api::Flags;
use slipway_testkit::control_plane::{ControlPlane, Network, Options};

use crate::peers;
use crate::site::{self, CALL_MS, CLONE_MS, CLONES_PER_HOST, Files, HOSTS, TASK_MS};

const GENERATED: usize = 200;
const DESTROYED: usize = 500;

/// The goals: so many times as fast as the provider with its defaults, and with 100 workers; calls per machine.
const DEFAULT_RATIO: f64 = 10.0;
const WORKERS_RATIO: f64 = 3.0;
const CALLS: f64 = 12.0;

/// As many workers as half of the machines, and no limit of the managers' own on what they ask of the API server: with
/// the default of 20 calls per second, most workers would wait.
const WORKERS: Flags = Flags {
    core: &["--machine-concurrency=100", "--kube-api-qps=1000", "--kube-api-burst=1000"],
    vsphere: &[
        "--vspheremachine-concurrency=100",
        "--vspherevm-concurrency=100",
        "--kube-api-qps=1000",
        "--kube-api-burst=1000",
    ],
};

/// What became of a leg.
#[derive(Debug, Clone, Copy)]
struct Measured {
    wanted: usize,
    /// Fewer than wanted if time ran out.
    made: usize,
    took: Duration,
    calls: u64,
    memory_kib: u64,
}

#[expect(clippy::cast_precision_loss, reason = "the numbers are small")]
impl Measured {
    fn per_second(&self) -> f64 {
        self.made as f64 / self.took.as_secs_f64()
    }

    fn calls_each(&self) -> f64 {
        self.calls as f64 / self.made as f64
    }

    fn memory_mib(&self) -> f64 {
        self.memory_kib as f64 / 1024.0
    }

    fn row(&self, name: &str, beside: &Measured) -> String {
        let Measured { wanted, made, took, .. } = self;
        let cut = if made < wanted { "  (time ran out)" } else { "" };
        format!(
            "  {name:<22} {:>9} {:>8.1} {:>8.2} {:>8.1} {:>8.0} {:>7.1}{cut}",
            format!("{made}/{wanted}"),
            took.as_secs_f64(),
            self.per_second(),
            self.calls_each(),
            self.memory_mib(),
            beside.per_second() / self.per_second(),
        )
    }
}

/// The most memory a process has had, in KiB.
pub(crate) fn peak_memory(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse().ok()
}

pub(crate) fn control_plane() -> anyhow::Result<ControlPlane> {
    ControlPlane::start(Options { network: Network::Private(site::hosts()), ..Options::default() })
}

/// The comparison over some vCenters.
struct Comparison {
    vcenters: u8,
    ours: Measured,
    /// The provider with its defaults, and with 100 workers.
    provider: Option<(Measured, Measured)>,
}

pub(crate) fn run(vcenters: &[u8], alone: bool) -> anyhow::Result<()> {
    let began = Instant::now();
    println!("building what is needed: slipway, the simulator of vCenters, Cluster API and its provider");
    peers::need(&["vcsim", "etcd", "kubernetes", "crds", "cluster-api", "capv"])?;
    super::build_slipway()?;
    println!(
        "every vCenter: {HOSTS} hosts with {CLONES_PER_HOST} clones at once each (our budget: 16 units per host, 4 per \
         clone), {CLONE_MS} ms per clone, {TASK_MS} ms per other task, {CALL_MS} ms per call, addresses by DHCP"
    );
    let comparisons: Vec<Comparison> =
        vcenters.iter().map(|count| compare(*count, alone)).collect::<anyhow::Result<_>>()?;
    let destroyed = destroy(vcenters.iter().copied().max().unwrap_or(1))?;
    summarise(&comparisons, &destroyed);
    println!("the benchmark took {:.0} s", began.elapsed().as_secs_f64());
    Ok(())
}

fn compare(vcenters: u8, alone: bool) -> anyhow::Result<Comparison> {
    let files = Files::make(&site::release(), vcenters, GENERATED)?;
    println!(
        "\n{vcenters} vCenter(s), {GENERATED} generated machines and the cluster's own {}, from the same cluster-api files",
        files.machines - GENERATED
    );
    println!(
        "  {:<22} {:>9} {:>8} {:>8} {:>8} {:>8} {:>7}",
        "", "machines", "seconds", "per s", "calls", "MiB", "ratio"
    );
    let mut plane = control_plane()?;
    let (ours, stages) = {
        let running = site::start(vcenters, &plane)?;
        ours::create(&files, &running, &plane)?
    };
    println!("{}", ours.row("slipway", &ours));
    for stage in stages {
        println!(
            "    {:<20} {:>9} {:>8.1}",
            stage["name"].as_str().unwrap_or_default(),
            stage["count"].as_u64().unwrap_or_default(),
            stage["seconds"].as_f64().unwrap_or_default()
        );
    }
    if alone {
        return Ok(Comparison { vcenters, ours, provider: None });
    }
    let (default, applied) = capv::create(&files, &mut plane, Flags::default())?;
    println!("{}", default.row("provider, defaults", &ours));
    println!("    {:<20} {:>9} {:>8.1}", "kubectl apply", "", applied.as_secs_f64());
    drop(plane);
    let (workers, applied) = capv::create(&files, &mut control_plane()?, WORKERS)?;
    println!("{}", workers.row("provider, 100 workers", &ours));
    println!("    {:<20} {:>9} {:>8.1}", "kubectl apply", "", applied.as_secs_f64());
    Ok(Comparison { vcenters, ours, provider: Some((default, workers)) })
}

fn destroy(vcenters: u8) -> anyhow::Result<Measured> {
    let files = Files::make(&site::release(), vcenters, DESTROYED - 4)?;
    println!("\n{vcenters} vCenter(s), {DESTROYED} machines made by slipway and destroyed again");
    let plane = control_plane()?;
    let running = site::start(vcenters, &plane)?;
    let (made, _) = ours::create(&files, &running, &plane)?;
    println!("{}", made.row("slipway create", &made));
    let destroyed = ours::destroy(&files, &running, &plane)?;
    println!("{}", destroyed.row("slipway destroy", &destroyed));
    Ok(destroyed)
}

fn summarise(comparisons: &[Comparison], destroyed: &Measured) {
    println!("\n{:<44} {:>8} {:>10}", "", "figure", "goal");
    let verdict = |met: bool| if met { "met" } else { "MISSED" };
    let least = |what: &str, figure: f64, goal: f64| {
        println!("{what:<44} {figure:>8.1} {:>10} {}", format!(">= {goal}"), verdict(figure >= goal));
    };
    let mut ratio: Option<f64> = None;
    for Comparison { vcenters, ours, provider } in comparisons {
        if let Some((default, workers)) = provider {
            let times = |other: &Measured| ours.per_second() / other.per_second();
            let (default, workers) = (times(default), times(workers));
            ratio = Some(ratio.map_or(default, |least| least.min(default)));
            least(&format!("{vcenters} vCenter(s): times the provider's defaults"), default, DEFAULT_RATIO);
            least(&format!("{vcenters} vCenter(s): times 100 workers"), workers, WORKERS_RATIO);
        }
        let calls = ours.calls_each();
        let what = format!("{vcenters} vCenter(s): calls per machine");
        println!("{what:<44} {calls:>8.1} {:>10} {}", format!("<= {CALLS}"), verdict(calls <= CALLS));
    }
    println!(
        "{:<44} {:>8.1}",
        format!("destroy of {DESTROYED} machines, seconds"),
        destroyed.took.as_secs_f64()
    );
    if let Some(ratio) = ratio {
        println!("ratio: {ratio:.1}");
    }
}
