//! `cargo xtask strangers`: suites against programs that the default run does not build. What comes of them is written to
//! `docs/guides/strangers.md`, and nowhere by hand.

mod autoscaler;
mod guide;
mod machine_api;

use std::path::Path;
use std::time::Instant;

use anyhow::{Context, bail};
use slipway_testkit::peers::Peer;
use slipway_testkit::python;

use crate::command::{cargo, run as run_command};
use crate::peers;

/// What is tried with a stranger.
pub(crate) struct Suite {
    /// Also that of its peer.
    name: &'static str,
    /// What it is, in a few words.
    title: &'static str,
    /// The Go module whose version it has.
    module: &'static str,
    /// What is needed beside it, of the peers of the default run.
    beside: &'static [&'static str],
    run: fn(&mut Shown) -> anyhow::Result<()>,
    /// What it cannot show, whatever comes of it.
    limits: &'static [&'static str],
}

const SUITES: [&Suite; 2] = [&autoscaler::SUITE, &machine_api::SUITE];

/// What a suite has shown so far.
#[derive(Debug, Default)]
pub(crate) struct Shown {
    steps: Vec<&'static str>,
    /// The step that is under way.
    trying: Option<&'static str>,
}

impl Shown {
    /// One thing that is to be shown.
    fn step<T>(&mut self, what: &'static str, act: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<T> {
        let began = Instant::now();
        self.trying = Some(what);
        let answer = act().with_context(|| what.to_owned())?;
        println!("  {what} ... ok ({:.0} s)", began.elapsed().as_secs_f64());
        self.steps.push(what);
        self.trying = None;
        Ok(answer)
    }
}

impl Suite {
    fn peer(&self) -> anyhow::Result<&'static Peer> {
        Peer::named(self.name)
    }

    fn version(&self) -> anyhow::Result<String> {
        self.peer()?.version_of(self.module)
    }
}

pub(crate) fn run(names: &[String], list: bool) -> anyhow::Result<()> {
    let known = || SUITES.map(|suite| suite.name).join(", ");
    let named = |name: &String| {
        let suite = SUITES.into_iter().find(|suite| suite.name == name);
        suite.with_context(|| format!("no stranger `{name}`; there are {}", known()))
    };
    let chosen: Vec<&Suite> = if names.is_empty() {
        SUITES.to_vec()
    } else {
        names.iter().map(named).collect::<anyhow::Result<_>>()?
    };
    if list {
        for suite in chosen {
            let state = if suite.peer()?.is_built()? { "built" } else { "not built" };
            println!("{:<18} {state:<10} {} {}", suite.name, suite.title, suite.version()?);
        }
        return Ok(());
    }
    python::build()?;
    run_command(&mut cargo(&[
        "build",
        "--quiet",
        "--package",
        "slipway-cli",
        "--package",
        "slipway-operator",
        "--bins",
    ]))?;
    let mut failed = Vec::new();
    for suite in chosen {
        peers::need(suite.beside)?;
        suite.peer()?.build()?;
        println!("{}: {} {}", suite.name, suite.module, suite.version()?);
        let mut shown = Shown::default();
        let outcome = (suite.run)(&mut shown);
        if let Err(error) = &outcome {
            println!("  FAILED: {error:#}");
            failed.push(suite.name);
        }
        guide::note(suite, &shown, outcome.is_ok())?;
    }
    println!("the results are in {}", Path::new(guide::PATH).display());
    if !failed.is_empty() {
        bail!("failed: {}", failed.join(", "));
    }
    Ok(())
}

/// Peers of every suite that makes machines.
const MACHINES: &[&str] = &["vcsim", "etcd", "kubernetes", "kubectl", "kwok", "crds"];
