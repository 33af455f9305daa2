//! etcd and a Kubernetes API server, with RBAC; controllers, scheduler and kwok if asked.

use std::collections::HashSet;
use std::ffi::OsString;
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::Context;
use serde_json::json;

use crate::kubectl::Kubectl;
use crate::network::{Hosts, PrivateNetwork, free_port};
use crate::peers;
use crate::pki::{Authority, Identity, key_pair};
use crate::process::{Process, Start, eventually, seldom};
use crate::scratch::Scratch;

/// How long a server may take to start on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(90);

/// What can run beside the API server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beside {
    /// kube-controller-manager: service accounts, deployments, garbage collection.
    Controllers,
    Scheduler,
    /// Nodes with the annotation `kwok.x-k8s.io/node=fake` and their pods come to life.
    Kwok,
}

/// Where everything listens.
#[derive(Debug, Clone, Default)]
pub enum Network {
    /// On the machine's loopback interface.
    #[default]
    Shared,
    /// In a network of its own, where these names can be resolved. Needs root, or user namespaces that everybody
    /// may make.
    Private(Hosts),
}

/// What a control plane consists of.
#[derive(Debug, Clone, Default)]
pub struct Options {
    pub beside: &'static [Beside],
    pub network: Network,
}

/// A running control plane.
#[derive(Debug)]
pub struct ControlPlane {
    // Ended in this order: clients before servers.
    others: Vec<Process>,
    api_server: Option<Process>,
    _etcd: Process,
    etcd_port: u16,
    network: Option<PrivateNetwork>,
    authority: Authority,
    port: u16,
    kubeconfig: PathBuf,
    kubectl: Kubectl,
    scratch: Scratch,
}

impl ControlPlane {
    pub fn start(options: Options) -> anyhow::Result<Self> {
        let scratch = Scratch::new("control-plane")?;
        let Options { beside, network } = options;
        let network = match network {
            Network::Shared => None,
            Network::Private(hosts) => Some(PrivateNetwork::new(&scratch, hosts)?),
        };
        let network_of = network.as_ref().map(PrivateNetwork::holder);
        let authority = Authority::new("test-ca")?;
        let etcd_port = free_port()?;
        let mut etcd = start_etcd(&scratch, etcd_port, network_of)?;
        let port = free_port()?;
        let mut api_server = start_api_server(&scratch, &authority, etcd_port, port, network_of)?;
        let admin = authority.issue("admin", Some("system:masters"), &[])?;
        let kubeconfig = write_kubeconfig(&scratch, "admin", &authority, &admin, port)?;
        let kubectl = Kubectl::new(&kubeconfig, network_of)?;
        api_server.wait_until_with(&mut [&mut etcd], TIMEOUT, || is_ready(&kubectl, port, network_of))?;
        let mut plane = ControlPlane {
            others: Vec::new(),
            api_server: Some(api_server),
            _etcd: etcd,
            etcd_port,
            network,
            authority,
            port,
            kubeconfig,
            kubectl,
            scratch,
        };
        plane.start_others(beside)?;
        plane.scratch.settle();
        Ok(plane)
    }

    /// The one control plane of this test binary, with controllers, scheduler and kwok.
    pub fn shared() -> &'static ControlPlane {
        static SHARED: OnceLock<Result<ControlPlane, String>> = OnceLock::new();
        // A failure is kept as well: starting it again for every test would take minutes.
        let started = SHARED.get_or_init(|| {
            let beside = &[Beside::Controllers, Beside::Scheduler, Beside::Kwok];
            let options = Options { beside, network: Network::Shared };
            ControlPlane::start(options).map_err(|error| format!("{error:#}"))
        });
        started.as_ref().unwrap_or_else(|error| panic!("the control plane did not start: {error}"))
    }

    /// A namespace that no other test uses.
    pub fn namespace(&self) -> anyhow::Result<String> {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("test-{}", NEXT.fetch_add(1, Ordering::Relaxed));
        self.kubectl.run(&["create", "namespace", &name])?;
        Ok(name)
    }

    /// Installs real resource definitions, given as `project/plural.group`, and waits until they are served.
    /// Each costs the API server memory, so install only what is needed.
    pub fn install_definitions(&self, names: &[&str]) -> anyhow::Result<()> {
        let mut files = Vec::new();
        for name in names {
            let project = name.split('/').next().unwrap_or_default();
            let folder = if project == "kubevirt" { "kubevirt-crd-files" } else { "crd-files" };
            let file = peers::find(folder)?.join(format!("{name}.yaml"));
            files.push(format!("--filename={}", file.to_str().context("a path in UTF-8")?));
        }
        let files: Vec<&str> = files.iter().map(String::as_str).collect();
        self.kubectl.run(&[&["apply", "--server-side"], &files[..]].concat())?;
        self.wait_for_definitions()
    }

    /// Waits until all definitions that were applied are served.
    pub fn wait_for_definitions(&self) -> anyhow::Result<()> {
        let wait =
            ["wait", "--for=condition=Established", "--timeout=10s", "customresourcedefinitions", "--all"];
        // kubectl gives up at once on a definition that has no status yet. What is established is listed a little later,
        // and what is not listed kubectl does not know.
        eventually("the definitions are served", TIMEOUT, || {
            self.kubectl.run(&wait)?;
            let defined = self.kubectl.run(&["get", "customresourcedefinitions", "--output=name"])?;
            let listed = self.kubectl.run(&["api-resources", "--output=name"])?;
            let listed: HashSet<&str> = listed.lines().collect();
            let names = defined.lines().filter_map(|line| line.split('/').next_back());
            let missing: Vec<&str> = names.filter(|name| !listed.contains(name)).collect();
            anyhow::ensure!(missing.is_empty(), "not listed yet: {}", missing.join(", "));
            Ok(Some(()))
        })
    }

    pub fn kubectl(&self) -> &Kubectl {
        &self.kubectl
    }

    /// Access as cluster administrator.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// Access as somebody else, with the rights RBAC gives them.
    pub fn kubeconfig_for(&self, user: &str, group: Option<&str>) -> anyhow::Result<PathBuf> {
        let identity = self.authority.issue(user, group, &[])?;
        write_kubeconfig(&self.scratch, &user.replace([':', '/'], "-"), &self.authority, &identity, self.port)
    }

    pub fn authority(&self) -> &Authority {
        &self.authority
    }

    pub fn scratch(&self) -> &Scratch {
        &self.scratch
    }

    /// The network it has for itself, if it was given one.
    pub fn network(&self) -> Option<&PrivateNetwork> {
        self.network.as_ref()
    }

    /// Ends the API server and starts it again, as an upgrade of it does. Whoever talks to it is cut off.
    pub fn restart_api_server(&mut self) -> anyhow::Result<()> {
        // The port is free only when the old one has ended.
        drop(self.api_server.take());
        let started =
            start_api_server(&self.scratch, &self.authority, self.etcd_port, self.port, self.network_of())?;
        let (kubectl, port, network_of) = (&self.kubectl, self.port, self.network_of());
        self.api_server.insert(started).wait_until(TIMEOUT, || is_ready(kubectl, port, network_of))
    }

    pub(crate) fn network_of(&self) -> Option<u32> {
        self.network.as_ref().map(PrivateNetwork::holder)
    }

    /// Starts a further program in the control plane's network; it ends with the control plane.
    pub(crate) fn run_beside(
        &mut self,
        name: &str,
        program: &str,
        arguments: Vec<OsString>,
        environment: Vec<(&str, OsString)>,
    ) -> anyhow::Result<&mut Process> {
        let process = Process::start(Start {
            name,
            program: &peers::find(program)?,
            arguments,
            environment,
            log: self.scratch.join(&format!("{name}.log")),
            network_of: self.network_of(),
        })?;
        self.others.insert(0, process);
        self.others.first_mut().context("just added")
    }

    /// Starts what was not asked for from the beginning, once there is what it looks for only then.
    pub fn start_beside(&mut self, beside: &[Beside]) -> anyhow::Result<()> {
        self.start_others(beside)
    }

    fn start_others(&mut self, beside: &[Beside]) -> anyhow::Result<()> {
        let certificates = self.scratch.join("generated");
        if beside.contains(&Beside::Controllers) {
            let kubeconfig = self.kubeconfig_for("system:kube-controller-manager", None)?;
            let mut arguments = component(&kubeconfig, &certificates)?;
            let file = |name: &str| self.scratch.join(name).into_os_string();
            for (flag, name) in [
                ("--service-account-private-key-file", "sa.key"),
                ("--root-ca-file", "ca.crt"),
                ("--cluster-signing-cert-file", "ca.crt"),
                ("--cluster-signing-key-file", "ca.key"),
                ("--client-ca-file", "ca.crt"),
                ("--requestheader-client-ca-file", "ca.crt"),
            ] {
                arguments.extend([flag.into(), file(name)]);
            }
            arguments.extend(["--use-service-account-credentials=true", "--controllers=*"].map(Into::into));
            self.run_beside("controllers", "kube-controller-manager", arguments, vec![seldom()])?;
        }
        if beside.contains(&Beside::Scheduler) {
            let kubeconfig = self.kubeconfig_for("system:kube-scheduler", None)?;
            let arguments = component(&kubeconfig, &certificates)?;
            self.run_beside("scheduler", "kube-scheduler", arguments, vec![seldom()])?;
        }
        if beside.contains(&Beside::Kwok) {
            let mut arguments: Vec<OsString> = vec!["--kubeconfig".into(), self.kubeconfig.clone().into()];
            let server = format!("--server-address=127.0.0.1:{}", free_port()?);
            arguments.extend(
                [
                    "--manage-all-nodes=false",
                    "--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake",
                    "--cidr=10.0.0.1/24",
                    "--node-ip=127.0.0.1",
                    "--node-lease-duration-seconds=40",
                    &server,
                ]
                .map(Into::into),
            );
            self.run_beside("kwok", "kwok", arguments, vec![seldom()])?;
        }
        Ok(())
    }
}

/// Flags that controller manager and scheduler share.
fn component(kubeconfig: &Path, certificates: &Path) -> anyhow::Result<Vec<OsString>> {
    let mut arguments: Vec<OsString> = Vec::new();
    for flag in ["--kubeconfig", "--authentication-kubeconfig", "--authorization-kubeconfig"] {
        arguments.extend([flag.into(), kubeconfig.into()]);
    }
    arguments.extend(["--cert-dir".into(), certificates.into()]);
    arguments.extend(["--bind-address=127.0.0.1".into(), "--leader-elect=false".into()]);
    arguments.push(format!("--secure-port={}", free_port()?).into());
    Ok(arguments)
}

fn start_etcd(scratch: &Scratch, port: u16, network_of: Option<u32>) -> anyhow::Result<Process> {
    let client = format!("http://127.0.0.1:{port}");
    let peer = format!("http://127.0.0.1:{}", free_port()?);
    let mut arguments: Vec<OsString> = vec!["--data-dir".into(), scratch.join("etcd").into()];
    for (flag, value) in [
        ("--name", "test"),
        ("--listen-client-urls", &client),
        ("--advertise-client-urls", &client),
        ("--listen-peer-urls", &peer),
        ("--initial-advertise-peer-urls", &peer),
        ("--initial-cluster", &format!("test={peer}")),
        ("--log-level", "warn"),
    ] {
        arguments.extend([flag.into(), value.into()]);
    }
    // The data is thrown away; there is no need to wait for the disk.
    arguments.push("--unsafe-no-fsync".into());
    Process::start(Start {
        name: "etcd",
        program: &peers::find("etcd")?,
        arguments,
        environment: vec![seldom()],
        log: scratch.join("etcd.log"),
        network_of,
    })
}

fn start_api_server(
    scratch: &Scratch,
    authority: &Authority,
    etcd: u16,
    port: u16,
    network_of: Option<u32>,
) -> anyhow::Result<Process> {
    let names =
        ["127.0.0.1", "10.96.0.1", "localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"];
    let server = authority.issue("kube-apiserver", None, &names)?;
    let proxy = authority.issue("front-proxy-client", None, &[])?;
    // Tokens that were given out before a restart stay good.
    let (private, public) = match fs_err::read_to_string(scratch.join("sa.key")) {
        Ok(private) => (private, fs_err::read_to_string(scratch.join("sa.pub"))?),
        Err(_) => key_pair()?,
    };
    let file =
        |name: &str, content: &str| -> anyhow::Result<OsString> { Ok(scratch.write(name, content)?.into()) };
    file("ca.key", &authority.key())?;
    let ca = file("ca.crt", &authority.certificate())?;
    let service_accounts = file("sa.key", &private)?;
    let files = [
        ("--tls-cert-file", file("apiserver.crt", &server.certificate)?),
        ("--tls-private-key-file", file("apiserver.key", &server.key)?),
        ("--client-ca-file", ca.clone()),
        ("--requestheader-client-ca-file", ca),
        ("--proxy-client-cert-file", file("proxy.crt", &proxy.certificate)?),
        ("--proxy-client-key-file", file("proxy.key", &proxy.key)?),
        ("--service-account-signing-key-file", service_accounts),
        ("--service-account-key-file", file("sa.pub", &public)?),
        ("--cert-dir", scratch.join("generated").into()),
    ];
    let mut arguments: Vec<OsString> = Vec::new();
    for (flag, value) in files {
        arguments.extend([flag.into(), value]);
    }
    arguments.push(format!("--etcd-servers=http://127.0.0.1:{etcd}").into());
    arguments.push(format!("--secure-port={port}").into());
    arguments.extend(
        [
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            "--endpoint-reconciler-type=none",
            "--requestheader-allowed-names=front-proxy-client",
            "--requestheader-extra-headers-prefix=X-Remote-Extra-",
            "--requestheader-group-headers=X-Remote-Group",
            "--requestheader-username-headers=X-Remote-User",
            "--service-account-issuer=https://kubernetes.default.svc",
            "--api-audiences=https://kubernetes.default.svc",
            "--authorization-mode=Node,RBAC",
            "--enable-bootstrap-token-auth",
            "--service-cluster-ip-range=10.96.0.0/16",
            "--allow-privileged=true",
            "--profiling=false",
        ]
        .map(Into::into),
    );
    Process::start(Start {
        name: "kube-apiserver",
        program: &peers::find("kube-apiserver")?,
        arguments,
        environment: vec![seldom()],
        log: scratch.join("kube-apiserver.log"),
        network_of,
    })
}

/// Whether an API server is ready. kubectl is not started before somebody listens.
fn is_ready(kubectl: &Kubectl, port: u16, network_of: Option<u32>) -> bool {
    let listens = || TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok();
    (network_of.is_some() || listens())
        && kubectl.run(&["get", "--raw", "/readyz"]).is_ok_and(|answer| answer == "ok")
        // It is ready before this one is made.
        && kubectl.run(&["get", "namespace", "default"]).is_ok()
}

fn write_kubeconfig(
    scratch: &Scratch,
    user: &str,
    authority: &Authority,
    identity: &Identity,
    port: u16,
) -> anyhow::Result<PathBuf> {
    let certificate = scratch.write(&format!("{user}.crt"), &identity.certificate)?;
    let key = scratch.write(&format!("{user}.key"), &identity.key)?;
    let ca = scratch.write("ca.crt", authority.certificate())?;
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "test", "cluster": {"server": format!("https://127.0.0.1:{port}"), "certificate-authority": ca}}],
        "users": [{"name": user, "user": {"client-certificate": certificate, "client-key": key}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": user}}],
        "current-context": "test",
    });
    scratch.write(&format!("{user}.kubeconfig"), config.to_string())
}
