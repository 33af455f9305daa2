//! A cluster on vCenters of its own, and everything a test does to it.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use slipway_assets::Pki;
use slipway_assets::random::OsRandom;
use slipway_assets::random::Random;
use slipway_config::ids::InfraId;
use slipway_engine::progress::Nobody;
use slipway_engine::retry::Pauses;
use slipway_engine::{End, Id, Options, Outcome};
use slipway_lifecycle::create::{Generators, Request, create_ignition_with};
use slipway_lifecycle::environment::Environment;
use slipway_lifecycle::install::{Directly, Error, PlannedRun, Purpose, Run, Through, Timeouts};
use slipway_lifecycle::platform::vsphere::{self, VSphereSpec};
use slipway_lifecycle::preflight;
use slipway_lifecycle::preflight::network::Probe;
use slipway_lifecycle::preflight::report::{Finding, Outcome as Judged, Report};
use slipway_lifecycle::workspace::Workspace;
use slipway_providers::vsphere::Proxy;
use slipway_providers::vsphere::kinds::{State, VSphere};
use slipway_testkit::estate::Site;
use slipway_testkit::process::eventually;
use slipway_testkit::python;
use slipway_testkit::vcenter::{ADMINISTRATOR, VCenter};
use tempfile::TempDir;

pub(crate) use crate::mortal::Moment;
use crate::mortal::{Death, has_died};

/// A cluster on vSphere.
pub(crate) type Project = Run<VSphereSpec>;
pub(crate) type VSpherePlannedRun = PlannedRun<VSphere>;

/// The addresses of vCenters; all of 127.0.0.0/8 is this machine.
const SERVERS: [&str; 3] = ["127.0.0.1", "127.0.0.2", "127.0.0.3"];
pub(crate) const ZONES: [&str; 3] = ["north", "south", "west"];

/// Longer than any machine that runs tests is busy with something else.
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

/// What a vCenter has before there is a cluster: room for many machines, and addresses for them.
pub(crate) fn inventory(position: usize) -> Value {
    let mut inventory = Site::new(ZONES[position]).inventory();
    inventory["dhcp"] = json!(format!("10.{}.0.0/16", 20 + position));
    let datacenter = &mut inventory["datacenters"][0];
    datacenter["clusters"][0]["drs"] = json!({"enabled": true});
    datacenter["datastores"] = json!([{"name": "vsan", "capacity_gb": 90000, "free_gb": 80000}]);
    datacenter["networks"] = json!([{"name": "cluster-net"}, {"name": "other-net"}]);
    inventory
}

pub(crate) fn start(position: usize, inventory: &Value, arguments: &[&str]) -> VCenter {
    let server = SERVERS[position];
    let arguments = [&["--tls-name", server], arguments].concat();
    VCenter::start_at(server.parse().unwrap(), inventory, &arguments).unwrap()
}

/// vCenters and the directory of a cluster on them.
pub(crate) struct Bench {
    pub(crate) vcenters: Arc<Vec<VCenter>>,
    pub(crate) directory: TempDir,
    pub(crate) infra_id: String,
    pub(crate) patience: Timeouts,
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

fn environment(directory: &Path) -> Environment {
    let cache = directory.join(".cache");
    [("PW", ADMINISTRATOR.1), ("WEAK", "weak"), ("XDG_CACHE_HOME", cache.to_str().unwrap())]
        .into_iter()
        .collect()
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

impl Bench {
    pub(crate) fn new(count: usize) -> Self {
        let vcenters = (0..count).map(|position| start(position, &inventory(position), &[])).collect();
        Self::on(Arc::new(vcenters), "harbour")
    }

    /// Another cluster on vCenters that are there.
    pub(crate) fn on(vcenters: Arc<Vec<VCenter>>, name: &str) -> Self {
        Self::edited(vcenters, name, |text| text)
    }

    /// The same, with another install-config.
    pub(crate) fn edited(
        vcenters: Arc<Vec<VCenter>>,
        name: &str,
        edit: impl FnOnce(String) -> String,
    ) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let bench = Bench { vcenters, directory, infra_id: String::new(), patience: TIMEOUTS };
        bench.write_config(name, "administrator@vsphere.local", "PW");
        let path = bench.path("install-config.yaml");
        fs_err::write(&path, edit(fs_err::read_to_string(&path).unwrap())).unwrap();
        Bench { infra_id: bench.write_files(), ..bench }
    }

    /// Everything that is made from the install-config. The cluster's id.
    fn write_files(&self) -> String {
        let make = |request: &Request<'_>| {
            let draw = |pki: &mut Pki, config: &_, extent, _: &dyn Random| {
                let drawn = keys(|| {
                    let mut pki = pki.clone();
                    pki.draw(config, extent, &OsRandom).unwrap();
                    pki
                });
                *pki = drawn;
                Ok(())
            };
            create_ignition_with(request, &Generators { keys: &draw, ..Generators::default() })
        };
        self.request(make).unwrap().infra_id
    }

    /// The user edits the install-config: these vCenters, in this order, each with its failure domain.
    pub(crate) fn change(&self, vcenters: &[usize], edit: impl FnOnce(String) -> String) {
        self.write_config_on("harbour", "administrator@vsphere.local", "PW", vcenters);
        let path = self.path("install-config.yaml");
        fs_err::write(&path, edit(fs_err::read_to_string(&path).unwrap())).unwrap();
        assert_eq!(self.write_files(), self.infra_id);
    }

    /// An install-config with a failure domain on each vCenter.
    pub(crate) fn write_config(&self, name: &str, user: &str, password: &str) {
        let all: Vec<usize> = (0..self.vcenters.len()).collect();
        self.write_config_on(name, user, password, &all);
    }

    fn write_config_on(&self, name: &str, user: &str, password: &str, vcenters: &[usize]) {
        let vcenters = || vcenters.iter().map(|position| (ZONES[*position], &self.vcenters[*position]));
        let mut text = format!(
            "apiVersion: v1
baseDomain: example.com
metadata: {{name: {name}}}
controlPlane: {{name: master, replicas: 3}}
compute: [{{name: worker, replicas: 2}}]
networking: {{machineNetwork: [{{cidr: 127.20.0.0/16}}]}}
pullSecret: '{{\"auths\":{{\"registry.example.com\":{{\"auth\":\"dXNlcjpwYXNzd29yZA==\"}}}}}}'
payload: {{releaseImage: \"quay.io/openshift-release-dev/ocp-release:4.20.3-x86_64\"}}
platform:
  vsphere:
    apiVIPs: [127.20.0.10]
    ingressVIPs: [127.20.0.11]
    vcenters:
"
        );
        for (zone, vcenter) in vcenters() {
            text.push_str(&format!(
                "    - {{server: {}, port: {}, user: '{user}', passwordEnv: {password}, datacenters: [{zone}], tls: \
                 {{thumbprint: '{}'}}}}\n",
                vcenter.host(),
                vcenter.port(),
                vcenter.thumbprint_sha256(),
            ));
        }
        text.push_str("    failureDomains:\n");
        for (zone, vcenter) in vcenters() {
            text.push_str(&format!(
                "    - name: {zone}
      region: europe
      zone: {zone}
      server: {}
      topology:
        datacenter: {zone}
        computeCluster: /{zone}/host/compute
        datastore: /{zone}/datastore/vsan
        networks: [cluster-net]
        template: /{zone}/vm/rhcos
",
                vcenter.host(),
            ));
        }
        fs_err::write(self.path("install-config.yaml"), text).unwrap();
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn request<T>(&self, work: impl FnOnce(&Request<'_>) -> T) -> T {
        work(&Request {
            directory: self.directory.path(),
            force: false,
            now: Timestamp::now(),
            random: &Fixed,
            environment: &environment(self.directory.path()),
            command: "a test",
        })
    }

    pub(crate) fn open(&self, purpose: Purpose) -> Result<Project, Error> {
        self.open_with(purpose, self.patience)
    }

    pub(crate) fn open_with(&self, purpose: Purpose, patience: Timeouts) -> Result<Project, Error> {
        self.request(|request| match purpose {
            Purpose::Create => vsphere::open(&mut Workspace::open(request)?, patience),
            _ => vsphere::open_to_destroy(&mut Workspace::open(request)?, None, patience),
        })
    }

    /// The directory is lost; the id is known.
    pub(crate) fn open_by_id(&self, infra_id: &str) -> Result<Project, Error> {
        let infra_id = InfraId::try_from(infra_id.to_owned()).unwrap();
        self.request(|request| {
            vsphere::open_to_destroy(&mut Workspace::open(request)?, Some(infra_id), self.patience)
        })
    }

    /// What `slipway preflight` says of the directory.
    pub(crate) fn preflight(&self) -> Report {
        process(async {
            let opened =
                preflight::open(self.directory.path(), &environment(self.directory.path())).await.unwrap();
            let options = preflight::Options { proxy: Proxy::None, ..preflight::Options::default() };
            let cancelled = std::future::pending();
            preflight::examine(opened.request, options, Deaf, cancelled).await.unwrap()
        })
    }

    /// What would keep `slipway create cluster` from going on, after its preflight.
    pub(crate) fn obstacles(&self) -> Vec<String> {
        let report = self.preflight();
        let stands_in_the_way =
            |finding: &&Finding| matches!(finding.outcome, Judged::Failure | Judged::Unknown);
        let findings = report.findings.iter().filter(stands_in_the_way);
        findings.map(|finding| format!("{}: {}", finding.check.code(), finding.message)).collect()
    }

    /// What would be done.
    pub(crate) fn plan(&self, purpose: Purpose) -> Result<VSpherePlannedRun, Error> {
        self.plan_with(purpose, &[])
    }

    pub(crate) fn plan_with(
        &self,
        purpose: Purpose,
        recreate: &[String],
    ) -> Result<VSpherePlannedRun, Error> {
        process(async {
            let mut project = self.open(purpose)?;
            let planned = project.plan(purpose, recreate).await;
            project.close().await;
            planned
        })
    }

    /// Destroys the cluster, with what the user says about it. What was shown first, and what became of it.
    pub(crate) fn destroy_as(
        &self,
        said: impl FnOnce(Project) -> Project,
    ) -> Result<(VSpherePlannedRun, Outcome<State>), Error> {
        process(async {
            let mut project = said(self.open(Purpose::Destroy)?);
            let shown = project.plan(Purpose::Destroy, &[]).await?;
            let planned = project.plan(Purpose::Destroy, &[]).await?;
            let end = std::future::pending();
            let outcome = project.apply(planned, &[], self.patience, &Nobody, end).await?;
            project.close().await;
            Ok((shown, outcome))
        })
    }

    /// Destroys the cluster, and takes these for gone.
    pub(crate) fn destroy_forgetting(&self, names: &[String]) {
        let (_, outcome) = self.destroy_as(|project| project.with_forgotten(names.to_vec())).unwrap();
        assert_done(&outcome);
    }

    /// Does it, as a process of its own.
    pub(crate) fn run(&self, purpose: Purpose) -> Result<Outcome<State>, Error> {
        self.run_with(purpose, &[], &Directly)
    }

    pub(crate) fn run_with(
        &self,
        purpose: Purpose,
        recreate: &[String],
        through: &impl Through<State>,
    ) -> Result<Outcome<State>, Error> {
        process(async {
            let mut project = self.open(purpose)?;
            let planned = project.plan(purpose, recreate).await?;
            let options = Options { pauses: PAUSES, ..planned.options(recreate, self.patience) };
            let end = std::future::pending();
            // A process that dies does not log out.
            let outcome = project.apply_through(through, planned, &options, &Nobody, end).await?;
            project.close().await;
            Ok(outcome)
        })
    }

    /// Dies at a moment of a step; what it has asked for by then is still done. Whether it did not get to its end before.
    pub(crate) fn die_at(&self, purpose: Purpose, at: (usize, Moment)) -> bool {
        let ended = self.run_with(purpose, &[], &Death { at: at.0, moment: at.1 });
        self.vcenters.iter().for_each(settle);
        match ended {
            Ok(outcome) => {
                assert_done(&outcome);
                false
            }
            Err(error) if has_died(&error) => true,
            Err(error) => panic!("{error}"),
        }
    }

    pub(crate) fn create(&self) {
        assert_done(&self.run(Purpose::Create).unwrap());
    }

    pub(crate) fn destroy(&self) {
        assert_done(&self.run(Purpose::Destroy).unwrap());
    }

    /// Everything on all vCenters, the files on their datastores included.
    pub(crate) fn snapshot(&self) -> Vec<BTreeMap<String, Value>> {
        self.vcenters.iter().map(snapshot).collect()
    }

    /// Names of the machines on a vCenter, in order, without the template.
    pub(crate) fn machines(&self, position: usize) -> Vec<String> {
        let objects = self.vcenters[position].objects().unwrap();
        let machines = objects.iter().filter(|object| object["type"] == "VirtualMachine");
        let mut names: Vec<String> =
            machines.map(|object| object["name"].as_str().unwrap().to_owned()).collect();
        names.retain(|name| name != "rhcos");
        names.sort();
        names
    }

    pub(crate) fn name(&self, role: &str) -> String {
        format!("{}-{role}", self.infra_id)
    }

    /// Where a machine of the first vCenter is.
    pub(crate) fn machine_path(&self, role: &str) -> String {
        format!("/north/vm/{}/{}", self.infra_id, self.name(role))
    }

    pub(crate) fn forget_requests(&self) {
        for vcenter in &*self.vcenters {
            vcenter.control("DELETE", "/requests", &Value::Null).unwrap();
        }
    }

    /// Requests that change something, over all vCenters: how many of each method that were let through.
    pub(crate) fn changes(&self) -> BTreeMap<String, usize> {
        let mut changes = BTreeMap::new();
        for vcenter in &*self.vcenters {
            for request in requests(vcenter) {
                if let Some(change) = change(&request) {
                    *changes.entry(change).or_default() += 1;
                }
            }
        }
        changes
    }
}

/// What was accepted is done sooner or later, whether or not a client waits for it.
pub(crate) fn settle(vcenter: &VCenter) {
    eventually("requests and tasks", Duration::from_mins(1), || {
        let stats = vcenter.control("GET", "/stats", &Value::Null)?;
        let idle = ["active_requests", "running_tasks", "queued_tasks"].iter().all(|count| stats[count] == 0);
        Ok(idle.then_some(()))
    })
    .unwrap();
}

pub(crate) fn requests(vcenter: &VCenter) -> Vec<Value> {
    let mut log = vcenter.control("GET", "/requests", &Value::Null).unwrap();
    serde_json::from_value(log["requests"].take()).unwrap()
}

/// What a request changes in the inventory, in a word.
fn change(request: &Value) -> Option<String> {
    let text = |name: &str| request[name].as_str().unwrap_or_default().to_owned();
    let (method, path, query) = (text("method"), text("path"), text("query"));
    if request["kind"] == "soap" {
        let reads = ["MarkAsTemplate", "CreateFolder"];
        return (method.ends_with("_Task") || reads.contains(&&*method)).then_some(method);
    }
    let tagging = path.split("/cis/tagging/").nth(1)?;
    let object = tagging.split('/').next()?;
    match (method.as_str(), query.as_str()) {
        ("POST", "") if !tagging.contains('/') => Some(format!("create {object}")),
        ("DELETE", _) => Some(format!("delete {object}")),
        ("POST", query) if query.contains("attach") && !query.contains("list") => Some("attach".to_owned()),
        _ => None,
    }
}

/// By path and type; without what differs between nothing and an empty list.
fn snapshot(vcenter: &VCenter) -> BTreeMap<String, Value> {
    let mut objects = BTreeMap::new();
    for mut object in vcenter.objects().unwrap() {
        if let Some(props) = object["props"].as_object_mut() {
            props.retain(|_, value| !value.is_null() && value != &json!([]));
        }
        let key = format!("{} {}", object["path"].as_str().unwrap(), object["type"].as_str().unwrap());
        assert!(objects.insert(key.clone(), object).is_none(), "two of {key}");
    }
    objects
}

/// Everything is as it was; otherwise says what is not.
pub(crate) fn assert_same(
    before: &[BTreeMap<String, Value>],
    after: &[BTreeMap<String, Value>],
    context: &str,
) {
    for (before, after) in before.iter().zip(after) {
        let keys: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        for key in keys {
            assert_eq!(before.get(key), after.get(key), "{context}: {key}");
        }
    }
}

pub(crate) fn assert_done(outcome: &Outcome<State>) {
    let bad: Vec<_> = outcome.ends.iter().filter(|(_, end)| !end.is_done()).collect();
    assert!(bad.is_empty(), "{bad:#?}");
}

/// Why resources did not end well, one line each.
pub(crate) fn reasons(outcome: &Outcome<State>) -> Vec<String> {
    let line = |(id, end): (&Id, &End)| match end {
        End::Done { .. } => None,
        End::Failed { verb, error, .. } => Some(format!("{id}: {verb}: {error}")),
        End::Stopped(cause) | End::Unknown(cause) => Some(format!("{id}: {cause}")),
        End::Blocked { by } => Some(format!("{id}: waits for {by}")),
        End::Unfinished => Some(format!("{id}: unfinished")),
    };
    outcome.ends.iter().filter_map(line).collect()
}

fn python(script: &Path, vcenter: &VCenter, arguments: &[&str]) -> String {
    let output = Command::new(python::find().unwrap())
        .arg(script)
        .args([&format!("https://{}", vcenter.address()), ADMINISTRATOR.0, ADMINISTRATOR.1])
        .arg(vcenter.ca_file())
        .args(arguments)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// What the official client sees.
pub(crate) fn read_back(vcenter: &VCenter) -> Value {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let script = root.join("peers/vcsim/testdata/readback.py");
    serde_json::from_str(&python(&script, vcenter, &[])).unwrap()
}

/// The administrator changes something, with the official client.
pub(crate) fn administrator(vcenter: &VCenter, arguments: &[&str]) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cluster/administrator.py");
    python(&script, vcenter, arguments);
}
