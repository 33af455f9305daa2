//! A cluster in a namespace of its own, and everything a test does to it.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;
use slipway_assets::Pki;
use slipway_assets::random::{OsRandom, Random};
use slipway_config::ids::InfraId;
use slipway_engine::progress::Nobody;
use slipway_engine::{Options, Outcome};
use slipway_lifecycle::create::{Generators, Request, create_ignition_with};
use slipway_lifecycle::environment::Environment;
use slipway_lifecycle::install::{Directly, Error, PlannedRun, Purpose, Run, Through, Timeouts};
use slipway_lifecycle::platform::kubevirt::{self, KubeVirtSpec};
use slipway_lifecycle::preflight;
use slipway_lifecycle::preflight::network::Probe;
use slipway_lifecycle::preflight::report::Report;
use slipway_lifecycle::workspace::Workspace;
use slipway_providers::kubevirt::KubeVirt;
use slipway_providers::kubevirt::kinds::State;
use slipway_providers::vsphere::Proxy;
use slipway_testkit::control_plane::ControlPlane;
use slipway_testkit::kubevirt::{self as infrastructure, StandIn, Tenant};
use tempfile::TempDir;

use crate::mortal::{Death, Moment, has_died};

pub(crate) const TIMEOUTS: Timeouts = Timeouts {
    call: Duration::from_mins(1),
    address: Duration::from_mins(1),
    silence: Duration::from_mins(1),
};

/// Kinds that a cluster could leave something of.
const KINDS: &str = "virtualmachines,virtualmachineinstances,datavolumes,secrets";

/// The infrastructure cluster of this test binary.
pub(crate) fn plane() -> &'static ControlPlane {
    static PLANE: OnceLock<ControlPlane> = OnceLock::new();
    PLANE.get_or_init(|| infrastructure::start().unwrap())
}

/// A namespace with a user who has a Role in it.
pub(crate) struct Tenancy {
    pub(crate) namespace: String,
    tenant: Tenant,
}

impl Tenancy {
    /// With the Role that is shipped.
    pub(crate) fn new() -> Self {
        let role = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/kubevirt/role.yaml");
        Self::with_role(&fs_err::read_to_string(role).unwrap())
    }

    pub(crate) fn with_role(role: &str) -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let namespace = format!("tenant-{}", NEXT.fetch_add(1, Ordering::Relaxed));
        let tenant = Tenant::new(plane(), &namespace, role).unwrap();
        Tenancy { namespace, tenant }
    }

    pub(crate) fn kubectl(&self, arguments: &[&str]) -> String {
        plane().kubectl().run(&[arguments, &["--namespace", &self.namespace]].concat()).unwrap()
    }

    /// Everything that is in the namespace, as `kind/name`.
    pub(crate) fn contents(&self) -> BTreeSet<String> {
        self.kubectl(&["get", KINDS, "--output=name"]).lines().map(ToOwned::to_owned).collect()
    }

    pub(crate) fn object(&self, kind: &str, name: &str) -> Value {
        serde_json::from_str(&self.kubectl(&["get", kind, name, "--output=json"])).unwrap()
    }
}

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

/// A cluster and its directory.
pub(crate) struct Bench {
    _stand_in: StandIn,
    pub(crate) tenancy: Tenancy,
    pub(crate) directory: TempDir,
    pub(crate) infra_id: String,
}

impl Bench {
    pub(crate) fn new(name: &str) -> Self {
        Self::edited(Tenancy::new(), name, |text| text).unwrap()
    }

    /// With another install-config.
    pub(crate) fn edited(
        tenancy: Tenancy,
        name: &str,
        edit: impl FnOnce(String) -> String,
    ) -> Result<Self, slipway_lifecycle::create::Error> {
        let directory = tempfile::tempdir().unwrap();
        let text = tenancy.tenant.install_config(name);
        fs_err::write(directory.path().join("install-config.yaml"), edit(text)).unwrap();
        let stand_in = StandIn::start(plane().kubectl(), &tenancy.namespace);
        let bench = Bench { _stand_in: stand_in, tenancy, directory, infra_id: String::new() };
        let infra_id = bench.write_files()?;
        Ok(Bench { infra_id, ..bench })
    }

    /// Everything that is made from the install-config. The cluster's id.
    pub(crate) fn write_files(&self) -> Result<String, slipway_lifecycle::create::Error> {
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

    pub(crate) fn environment(&self) -> Environment {
        [("KUBECONFIG", self.tenancy.tenant.kubeconfig.to_str().unwrap())].into_iter().collect()
    }

    fn request<T>(&self, work: impl FnOnce(&Request<'_>) -> T) -> T {
        work(&Request {
            directory: self.directory.path(),
            force: false,
            now: Timestamp::now(),
            random: &Fixed,
            environment: &self.environment(),
            command: "a test",
        })
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn name(&self, role: &str) -> String {
        format!("{}-{role}", self.infra_id)
    }

    pub(crate) fn open(&self, purpose: Purpose) -> Result<Run<KubeVirtSpec>, Error> {
        self.request(|request| match purpose {
            Purpose::Create => kubevirt::open(&mut Workspace::open(request)?, TIMEOUTS),
            _ => kubevirt::open_to_destroy(&mut Workspace::open(request)?, None, TIMEOUTS),
        })
    }

    pub(crate) fn plan(&self, purpose: Purpose) -> Result<PlannedRun<KubeVirt>, Error> {
        process(async {
            let mut run = self.open(purpose)?;
            let planned = run.plan(purpose, &[]).await;
            run.close().await;
            planned
        })
    }

    pub(crate) fn run_with(
        &self,
        purpose: Purpose,
        through: &impl Through<State>,
    ) -> Result<Outcome<State>, Error> {
        process(async {
            let mut run = self.open(purpose)?;
            let planned = run.plan(purpose, &[]).await?;
            let options = Options { ..planned.options(&[], TIMEOUTS) };
            let end = std::future::pending();
            let outcome = run.apply_through(through, planned, &options, &Nobody, end).await?;
            run.close().await;
            Ok(outcome)
        })
    }

    /// Does it, and says how many steps that took.
    pub(crate) fn run(&self, purpose: Purpose) -> usize {
        let outcome = self.run_with(purpose, &Directly).unwrap();
        let bad: Vec<_> = outcome.ends.iter().filter(|(_, end)| !end.is_done()).collect();
        assert!(bad.is_empty(), "{bad:#?}");
        outcome.performed.len()
    }

    /// The directory is lost; the id is known.
    pub(crate) fn destroy_by_id(&self, infra_id: &str) -> Result<Outcome<State>, Error> {
        let infra_id = InfraId::try_from(infra_id.to_owned()).unwrap();
        process(async {
            let open = |request: &Request<'_>| {
                kubevirt::open_to_destroy(&mut Workspace::open(request)?, Some(infra_id), TIMEOUTS)
            };
            let mut run = self.request(open)?;
            let planned = run.plan(Purpose::Destroy, &[]).await?;
            let end = std::future::pending();
            let outcome = run.apply(planned, &[], TIMEOUTS, &Nobody, end).await?;
            run.close().await;
            Ok(outcome)
        })
    }

    /// Dies at a moment of a step. Whether it did not get to its end before.
    pub(crate) fn die_at(&self, purpose: Purpose, at: usize, moment: Moment) -> bool {
        match self.run_with(purpose, &Death { at, moment }) {
            Ok(_) => false,
            Err(error) if has_died(&error) => true,
            Err(error) => panic!("{error}"),
        }
    }

    /// What `slipway preflight` says of the directory.
    pub(crate) fn preflight(&self) -> Report {
        process(async {
            let opened = preflight::open(self.directory.path(), &self.environment()).unwrap();
            let options = preflight::Options { proxy: Proxy::None, ..preflight::Options::default() };
            preflight::examine(opened.request, options, Deaf, std::future::pending()).await.unwrap()
        })
    }
}
