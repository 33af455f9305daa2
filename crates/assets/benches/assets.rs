//! How long the files of a cluster take and how much memory, beside the goals. Each round is a process of its
//! own, so that peaks do not mix and nothing is warm.

#![expect(clippy::expect_used, reason = "without these there is nothing to measure")]

use std::process::{Command, ExitCode};
use std::time::Instant;

use jiff::Timestamp;
use slipway_assets::pki::Extent;
use slipway_assets::random::Random;
use slipway_assets::{Cluster, Credentials, Identity, Login, Named, Pki};
use slipway_config::install_config::{Curve, Platform, SignerKey, load};

const CONFIG: &str = include_str!("../tests/configs/vsphere-everything.yaml");
const ROUNDS: usize = 15;

/// What is measured: its name, goals in milliseconds and mebibytes.
const SCENARIOS: [(&str, Option<u32>, Option<u32>); 6] = [
    ("manifests", Some(20), Some(20)),
    ("manifests-first-rsa", None, Some(20)),
    ("keys-rsa", None, None),
    ("keys-ecdsa", None, None),
    ("ignition-rsa", Some(400), Some(20)),
    ("ignition-ecdsa", None, Some(20)),
];

struct System;

impl Random for System {
    fn fill(&self, buffer: &mut [u8]) {
        getrandom::fill(buffer).expect("the system has random numbers");
    }
}

fn main() -> ExitCode {
    if let Some(scenario) = std::env::args().skip_while(|argument| argument != "--scenario").nth(1) {
        measure(&scenario);
        return ExitCode::SUCCESS;
    }
    println!("files of a cluster with static addresses on two vCenters, median of {ROUNDS} processes");
    println!(
        "manifests: keys are there already; manifests-first: with the keys they need, from nothing; ignition: drawing all \
         keys, manifests and Ignition, from nothing"
    );
    for (name, time_goal, memory_goal) in SCENARIOS {
        let mut rounds: Vec<(f64, f64)> = (0..ROUNDS).map(|_| round(name)).collect();
        rounds.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (time, _) = rounds[ROUNDS / 2];
        let memory = rounds.iter().map(|(_, memory)| *memory).fold(0.0, f64::max);
        let goal = |goal: Option<u32>, unit: &str| match goal {
            Some(goal) => format!("(goal: under {goal} {unit})"),
            None => String::new(),
        };
        println!(
            "{name:<20} {time:>8.1} ms {:<24} {memory:>6.1} MiB {}",
            goal(time_goal, "ms"),
            goal(memory_goal, "MiB")
        );
    }
    ExitCode::SUCCESS
}

/// Milliseconds and mebibytes of one process.
fn round(scenario: &str) -> (f64, f64) {
    let program = std::env::current_exe().expect("this program");
    let output = Command::new(program).args(["--scenario", scenario]).output().expect("a process");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut numbers = text.split_whitespace().map(|number| number.parse::<f64>().expect("two numbers"));
    (numbers.next().expect("a time"), numbers.next().expect("a size"))
}

fn measure(scenario: &str) {
    let start = Instant::now();
    let config = load(CONFIG).config.expect("a valid configuration");
    let now: Timestamp = "2026-03-01T12:00:00Z".parse().expect("a time");
    let Platform::VSphere(platform) = &config.platform else { panic!("not vSphere") };
    let login = |user: &String| Login { user: user.clone(), password: "password".into() };
    let credentials = Credentials::VSphere(platform.vcenters.iter().map(|it| login(&it.user)).collect());
    let mut config = config;
    if !scenario.ends_with("-rsa") {
        config.signer_key = Some(SignerKey::Ecdsa(Curve::P256));
    }
    let mut pki = Pki::new(now);
    let extent = if scenario == "manifests-first-rsa" { Extent::Manifests } else { Extent::All };
    pki.draw(&config, extent, &System).expect("keys");
    let elapsed = match scenario {
        "keys-rsa" | "keys-ecdsa" => start.elapsed(),
        _ => {
            let identity = Identity::new(&config.name, now, &System);
            let cluster = Cluster { named: Named { config, identity }, pki, credentials };
            let start = if scenario == "manifests" { Instant::now() } else { start };
            let manifests = slipway_assets::manifests(&cluster).expect("manifests");
            if scenario.starts_with("ignition") {
                std::hint::black_box(slipway_assets::ignition(&cluster, &manifests).expect("Ignition"));
            }
            std::hint::black_box(manifests);
            start.elapsed()
        }
    };
    println!("{} {}", elapsed.as_secs_f64() * 1000.0, peak());
}

/// The most memory this process ever had, in MiB.
fn peak() -> f64 {
    let status = fs_err::read_to_string("/proc/self/status").expect("the process's status");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    let kibibytes: f64 = line.trim().trim_end_matches(" kB").parse().expect("a number");
    kibibytes / 1024.0
}
