//! An asset directory, and what tests do with it on any platform.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

use jiff::Timestamp;
use slipway_assets::Pki;
use slipway_assets::random::{OsRandom, Random};
use slipway_engine::progress::Nobody;
use slipway_engine::retry::Pauses;
use slipway_engine::{Options, Outcome};
use slipway_lifecycle::create::{self, Generators, Request, create_ignition_with};
use slipway_lifecycle::environment::Environment;
use slipway_lifecycle::install::{Directly, Error, PlannedRun, Purpose, Run, Through, Timeouts};
use slipway_lifecycle::platform::{ClusterSpec, StateOf};
use slipway_lifecycle::preflight;
use slipway_lifecycle::preflight::network::Probe;
use slipway_lifecycle::preflight::report::Report;
use slipway_providers::vsphere::Proxy;
use tempfile::TempDir;

use crate::mortal::{Death, Moment, has_died};

pub(crate) const TIMEOUTS: Timeouts = Timeouts {
    call: Duration::from_mins(1),
    address: Duration::from_mins(1),
    silence: Duration::from_mins(1),
};

pub(crate) const PAUSES: Pauses = Pauses {
    first: Duration::from_millis(20),
    rest: Duration::from_millis(50),
    longest: Duration::from_millis(400),
};

/// Always the same letters, so that ids can be foretold.
struct Fixed;

impl Random for Fixed {
    fn fill(&self, buffer: &mut [u8]) {
        buffer.fill(7);
    }
}

/// Keys take long, and no test here looks at them.
fn keys(make: impl Fn() -> Pki) -> Pki {
    static KEYS: OnceLock<Pki> = OnceLock::new();
    KEYS.get_or_init(make).clone()
}

/// A network without answers.
#[derive(Debug)]
struct Deaf;

impl Probe for Deaf {
    async fn resolve(&self, _: &str) -> Result<Vec<IpAddr>, String> {
        Ok(vec![IpAddr::from([127, 0, 0, 1])])
    }

    async fn answers(&self, _: SocketAddr) -> bool {
        false
    }
}

/// Runs something like a process of its own: when it ends, everything it has started ends.
pub(crate) fn process<T>(work: impl Future<Output = T>) -> T {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_all().build().unwrap().block_on(work)
}

/// An asset directory with an install-config.
#[derive(Debug)]
pub(crate) struct Directory {
    folder: TempDir,
    environment: Environment,
    /// What the environment names.
    _files: TempDir,
}

impl Directory {
    /// `files` has what the environment names.
    pub(crate) fn new(install_config: &str, environment: Environment, files: TempDir) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs_err::write(folder.path().join("install-config.yaml"), install_config).unwrap();
        Directory { folder, environment, _files: files }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn request<T>(&self, work: impl FnOnce(&Request<'_>) -> T) -> T {
        work(&Request {
            directory: self.folder.path(),
            force: false,
            now: Timestamp::now(),
            random: &Fixed,
            environment: &self.environment,
            command: "a test",
        })
    }

    /// Everything that is made from the install-config. The cluster's id.
    pub(crate) fn write_files(&self) -> Result<String, create::Error> {
        let draw = |pki: &mut Pki, config: &_, extent, _: &dyn Random| {
            let drawn = keys(|| {
                let mut pki = pki.clone();
                pki.draw(config, extent, &OsRandom).unwrap();
                pki
            });
            *pki = drawn;
            Ok(())
        };
        let generators = Generators { keys: &draw, ..Generators::default() };
        Ok(self.request(|request| create_ignition_with(request, &generators))?.infra_id)
    }

    /// What `slipway preflight` says of the directory.
    pub(crate) fn preflight(&self) -> Report {
        process(async {
            let opened = preflight::open(self.folder.path(), &self.environment).unwrap();
            let options = preflight::Options { proxy: Proxy::None, ..preflight::Options::default() };
            preflight::examine(opened.request, options, Deaf, std::future::pending()).await.unwrap()
        })
    }
}

/// A cluster that is made and removed again and again.
pub(crate) trait Subject {
    type Spec: ClusterSpec;

    fn open(&self, purpose: Purpose) -> Result<Run<Self::Spec>, Error>;

    /// Everything of it that is there, and of others.
    fn contents(&self) -> BTreeSet<String>;

    fn plan(&self, purpose: Purpose) -> Result<PlannedRun<<Self::Spec as ClusterSpec>::Provider>, Error> {
        process(async {
            let mut run = self.open(purpose)?;
            let planned = run.plan(purpose, &[]).await;
            run.close().await;
            planned
        })
    }

    fn run_with(
        &self,
        purpose: Purpose,
        through: &impl Through<StateOf<Self::Spec>>,
    ) -> Result<Outcome<StateOf<Self::Spec>>, Error> {
        self.run_within(purpose, through, TIMEOUTS)
    }

    fn run_within(
        &self,
        purpose: Purpose,
        through: &impl Through<StateOf<Self::Spec>>,
        timeouts: Timeouts,
    ) -> Result<Outcome<StateOf<Self::Spec>>, Error> {
        process(async {
            let mut run = self.open(purpose)?;
            let planned = run.plan(purpose, &[]).await?;
            let options = Options { pauses: PAUSES, ..planned.options(&[], timeouts) };
            let end = std::future::pending();
            let outcome = run.apply_through(through, planned, &options, &Nobody, end).await?;
            run.close().await;
            Ok(outcome)
        })
    }

    /// Does it, and says how many steps that took.
    fn run(&self, purpose: Purpose) -> usize {
        let outcome = self.run_with(purpose, &Directly).unwrap();
        let bad: Vec<_> = outcome.ends.iter().filter(|(_, end)| !end.is_done()).collect();
        assert!(bad.is_empty(), "{bad:#?}");
        outcome.performed.len()
    }

    /// Dies at a moment of a step. Whether it did not get to its end before.
    fn die_at(&self, purpose: Purpose, at: usize, moment: Moment) -> bool {
        match self.run_with(purpose, &Death { at, moment }) {
            Ok(_) => false,
            Err(error) if has_died(&error) => true,
            Err(error) => panic!("{error}"),
        }
    }
}
