//! A cluster in a namespace of its own, and everything a test does to it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;
use slipway_config::ids::InfraId;
use slipway_engine::Outcome;
use slipway_engine::progress::Nobody;
use slipway_lifecycle::create::Request;
use slipway_lifecycle::install::{Error, Purpose, Run};
use slipway_lifecycle::platform::kubevirt::{self, KubeVirtSpec};
use slipway_lifecycle::preflight::report::Report;
use slipway_lifecycle::workspace::Workspace;
use slipway_providers::kubevirt::kinds::State;
use slipway_testkit::control_plane::ControlPlane;
use slipway_testkit::kubevirt::{self as infrastructure, StandIn, Tenant};

use crate::directory::{Directory, Subject, TIMEOUTS, process};

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

/// A cluster and its directory.
pub(crate) struct Bench {
    _stand_in: StandIn,
    pub(crate) tenancy: Tenancy,
    pub(crate) directory: Directory,
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
        let text = tenancy.tenant.install_config(name);
        let environment = [("KUBECONFIG", tenancy.tenant.kubeconfig.to_str().unwrap())].into_iter().collect();
        let directory = Directory::new(&edit(text), environment, tempfile::tempdir().unwrap());
        let stand_in = StandIn::start(plane().kubectl(), &tenancy.namespace);
        let bench = Bench { _stand_in: stand_in, tenancy, directory, infra_id: String::new() };
        let infra_id = bench.write_files()?;
        Ok(Bench { infra_id, ..bench })
    }

    pub(crate) fn write_files(&self) -> Result<String, slipway_lifecycle::create::Error> {
        self.directory.write_files()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path(name)
    }

    pub(crate) fn name(&self, role: &str) -> String {
        format!("{}-{role}", self.infra_id)
    }

    /// The directory is lost; the id is known.
    pub(crate) fn destroy_by_id(&self, infra_id: &str) -> Result<Outcome<State>, Error> {
        let infra_id = InfraId::try_from(infra_id.to_owned()).unwrap();
        process(async {
            let open = |request: &Request<'_>| {
                kubevirt::open_to_destroy(&mut Workspace::open(request)?, Some(infra_id), TIMEOUTS)
            };
            let mut run = self.directory.request(open)?;
            let planned = run.plan(Purpose::Destroy, &[]).await?;
            let end = std::future::pending();
            let outcome = run.apply(planned, &[], TIMEOUTS, &Nobody, end).await?;
            run.close().await;
            Ok(outcome)
        })
    }

    /// What `slipway preflight` says of the directory.
    pub(crate) fn preflight(&self) -> Report {
        self.directory.preflight()
    }
}

impl Subject for Bench {
    type Spec = KubeVirtSpec;

    fn open(&self, purpose: Purpose) -> Result<Run<KubeVirtSpec>, Error> {
        self.directory.request(|request| match purpose {
            Purpose::Create => kubevirt::open(&mut Workspace::open(request)?, TIMEOUTS),
            _ => kubevirt::open_to_destroy(&mut Workspace::open(request)?, None, TIMEOUTS),
        })
    }

    fn contents(&self) -> BTreeSet<String> {
        self.tenancy.contents()
    }
}
