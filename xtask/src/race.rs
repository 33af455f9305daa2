//! `cargo xtask race`: the same vCenters and machines for slipway, OpenShift's vSphere controller and Cluster API's provider.
//! What was measured goes into one table of `docs/guides/benchmarks.md`.

mod legs;
mod racer;
mod table;

use std::time::Instant;

use clap::ValueEnum;

use self::legs::Figures;
use self::racer::{Kind, Racer};
use crate::bench;
use crate::command::{cargo, run as run_command};
use crate::peers;

/// A part of the race.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Leg {
    /// 200 machines, the first clone before and after them, calls while they are settled
    Make,
    /// 1,000 settled machines, and one more
    Settled,
    /// One of three vCenters stops answering
    Dead,
    /// Every login is refused
    Password,
}

pub(crate) fn run(legs: &[Leg]) -> anyhow::Result<()> {
    let began = Instant::now();
    let runs = |leg: Leg| legs.is_empty() || legs.contains(&leg);
    println!("building what is needed: slipway, the simulator of vCenters, the other controllers");
    peers::need(&["vcsim", "etcd", "kubernetes", "kubectl", "crds", "cluster-api", "capv", "machine-api"])?;
    run_command(&mut cargo(&["build", "--quiet", "--package", "slipway-cli", "--bin", "slipway"]))?;
    let operator = bench::build_operator()?;
    let mut figures = Kind::ALL.map(|kind| (kind, Figures::default()));
    let mut settled: Vec<Racer> = Vec::new();
    if runs(Leg::Make) {
        for (kind, figures) in &mut figures {
            settled.push(legs::make(*kind, &operator, figures)?);
        }
    }
    // What stands still is only counted; the next legs may run beside it.
    let quiet = legs::Quiet::begin(&settled)?;
    for (kind, figures) in &mut figures {
        if runs(Leg::Password) {
            legs::password(*kind, &operator, figures)?;
        }
        if runs(Leg::Settled) && *kind != Kind::ClusterApi {
            legs::settled(*kind, &operator, figures)?;
        }
    }
    let counted = quiet.end(&settled)?;
    for (count, (_, figures)) in counted.into_iter().zip(&mut figures) {
        figures.settled_calls = Some(count);
    }
    drop(settled);
    if runs(Leg::Dead) {
        for (kind, figures) in &mut figures {
            legs::dead(*kind, &operator, figures)?;
        }
    }
    let minutes = began.elapsed().as_secs() / 60;
    table::write(&figures, minutes)?;
    println!("the race took {minutes} minutes; the table is in {}", table::GUIDE);
    Ok(())
}
