//! Puts everything together.

use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use axum::Router;
use jiff::Timestamp;
use prometheus_client::registry::Registry;
use secrecy::ExposeSecret;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use slipway_api::slipway::vdo_config::Images;
use slipway_assess::csr::{Bootstrapper, Roster};
use slipway_assets::kubernetes::ClusterFacts;
use slipway_assets::names::MACHINES_NAMESPACE;
use slipway_providers::cluster::{connect, connect_within};
use slipway_providers::text::chain;
use tokio_rustls::TlsAcceptor;

use crate::agents::bootstrap::publish::with_record;
use crate::agents::bootstrap::{self, Agent, Ledger, drive};
use crate::agents::node as node_agent;
use crate::args::{
    Args, Bootstrap, Command, Controller, CsrApprover, MachineConfigServer, MachineConfigToken, Node,
    OnControlPlane, Run,
};
use crate::controllers::csr::{self, controller};
use crate::controllers::{
    address_pools, certificates, checks, connections, control_plane, drain, drivers, machine_health_checks,
    machine_metrics, machine_sets, machines, node_links, out_of_service,
};
use crate::manager;
use crate::runtime::host::{Files, Processes};
use crate::runtime::net::health::{health_router, with_readiness};
use crate::runtime::net::{self, Limits, Transport, tls};
use crate::runtime::stop::stopped;
use crate::runtime::watches::{SHORT_WATCH_TIMEOUT, Watches};
use crate::runtime::{lease, log};
use crate::server::machine_config::cluster::ClusterSource;
use crate::server::machine_config::directory::Directory;
use crate::server::machine_config::metrics::Metrics;
use crate::server::machine_config::rotate::{MASTER_TOKEN_LIFETIME, Rotated, rotate};
use crate::server::machine_config::routes::{Demand, router};
use crate::server::machine_config::source::Source;

/// How long the API server may take before the operator does not call itself ready.
const READY_TIMEOUT: Duration = Duration::from_secs(5);
/// A watch of the operator's that is silent for longer is at a server that is gone: servers end each after 290 seconds.
const SILENCE_TIMEOUT: Duration = Duration::from_mins(5);
/// Between two tries to read the certificate of the machine-config server.
const CERTIFICATE_INTERVAL: Duration = Duration::from_secs(2);

/// Runs a command until it is done or told to end.
pub fn run(args: Args) -> anyhow::Result<()> {
    let Args { command, log_format, log_level } = args;
    log::install(log_format, log_level);
    match command {
        Command::Run(args) => runtime()?.block_on(operator(args)),
        Command::MachineConfigServer(args) => runtime()?.block_on(machine_config_server(args)),
        Command::MachineConfigToken(args) => runtime()?.block_on(machine_config_token(&args)),
        Command::CsrApprover(args) => runtime()?.block_on(csr_approver(args)),
        Command::Bootstrap(args) => runtime()?.block_on(bootstrap(args)),
        Command::Node(args) => runtime()?.block_on(node(args)),
        Command::Certificates(args) => runtime()?.block_on(certificates(args)),
        Command::ControlPlane(args) => runtime()?.block_on(control_plane(args)),
    }
}

fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    tokio::runtime::Runtime::new().context("starting the runtime")
}

async fn machine_config_server(args: MachineConfigServer) -> anyhow::Result<()> {
    let MachineConfigServer {
        dir,
        from_cluster,
        role,
        listen,
        tls_cert,
        tls_key,
        health_listen,
        allow_network,
        without_token,
        max_connections,
        max_connections_per_address,
    } = args;
    let limits = Limits {
        connections: max_connections,
        per_address: max_connections_per_address,
        networks: allow_network,
        ..Limits::default()
    };
    let demand = if without_token { Demand::Nothing } else { Demand::Token };
    if without_token {
        tracing::warn!(
            "no token is required: every client that reaches the port can read every configuration"
        );
    }
    let mut registry = Registry::default();
    let metrics = Metrics::register(&mut registry);
    let stop = on_signal()?;
    let serving = Serving { listen, health_listen, limits, demand, metrics, registry, stop };
    match (dir, tls_cert, tls_key) {
        (Some(dir), Some(tls_cert), Some(tls_key)) if !from_cluster => {
            let acceptor = tls::acceptor(&tls_cert, &tls_key)?;
            serving.serve(Directory::new(dir), async |_: Directory| Ok(acceptor)).await
        }
        _ => {
            let source = ClusterSource::new(connect(None, None).await?, &own_name(), role);
            serving.serve(source, certificate_of).await
        }
    }
}

/// Waits for the certificate: a server that starts while the API server is away serves once that is back.
async fn certificate_of(source: ClusterSource) -> anyhow::Result<TlsAcceptor> {
    loop {
        match source.tls().await {
            Ok((certificate, key)) => {
                return tls::acceptor_from(&certificate, &key, ("tls.crt", "tls.key"));
            }
            Err(error) => {
                tracing::warn!(reason = chain(&error), "there is no certificate to serve with yet");
                tokio::time::sleep(CERTIFICATE_INTERVAL).await;
            }
        }
    }
}

/// A machine-config server that is about to serve.
struct Serving {
    listen: SocketAddr,
    health_listen: Option<SocketAddr>,
    limits: Limits,
    demand: Demand,
    metrics: Metrics,
    registry: Registry,
    stop: watch::Receiver<bool>,
}

impl Serving {
    async fn serve<S, F>(self, source: S, acceptor: F) -> anyhow::Result<()>
    where
        S: Source + Clone,
        F: AsyncFnOnce(S) -> anyhow::Result<TlsAcceptor>,
    {
        let Serving { listen, health_listen, limits, demand, metrics, registry, mut stop } = self;
        let ready = source.clone();
        let ready = move || {
            let source = ready.clone();
            async move { source.is_ready().await.then_some(()).ok_or("configurations cannot be read") }
        };
        let routes = with_readiness(health_router(registry), ready);
        let health = serve_health(health_listen, routes, &stop).await?;
        let acceptor = tokio::select! {
            acceptor = acceptor(source.clone()) => acceptor?,
            () = stopped(&mut stop) => return Ok(()),
        };
        let listener = bind(listen).await?;
        tracing::info!(address = %listener.local_addr()?, "machine-config server listening");
        let routes = router(source, demand, metrics.clone());
        net::serve(listener, Transport::Tls(acceptor), routes, limits, metrics, stop).await;
        health.await.context("serving health")?;
        tracing::info!("shut down");
        Ok(())
    }
}

async fn bootstrap(args: Bootstrap) -> anyhow::Result<()> {
    let Bootstrap { dir, listen, health_listen } = args;
    let files = Files::below("/");
    let facts = read_facts(&dir.join("cluster.json"))?;
    let ledger = Arc::new(Ledger::open(files.clone(), Timestamp::now()).context("opening the record")?);
    if ledger.record().is_over() {
        tracing::info!("bootstrap is already complete");
        return Ok(());
    }
    let stop = on_signal()?;
    let mut registry = Registry::default();
    let requests = Metrics::register(&mut registry);
    let verdicts = csr::metrics::Metrics::register(&mut registry);
    let health = serve_health(health_listen, health_router(registry), &stop).await?;
    let tls = |name: &str| dir.join("tls").join(format!("machine-config-server.{name}"));
    let transport = Transport::Tls(tls::acceptor(&tls("crt"), &tls("key"))?);
    let source = Directory::new(dir.join("machine-config"));
    let routes = router(source.clone(), Demand::Token, requests.clone());
    let routes = with_record(routes, source, ledger.follow());
    let listener = bind(listen).await?;
    tracing::info!(address = %listener.local_addr()?, "machine-config server listening");
    let (ended, end) = watch::channel(false);
    let seen = requests.clone();
    let server =
        tokio::spawn(net::serve(listener, transport, routes, Limits::default(), requests, end.clone()));
    let publisher = tokio::spawn(bootstrap::publish::keep_published(Arc::clone(&ledger), files.clone(), end));
    let agent =
        Agent::new(dir, files.clone(), Processes, facts, Arc::clone(&ledger), verdicts).beside_server(seen);
    let done = drive(&agent, &ledger, stop).await.context("writing the record");
    agent.end_beside().await;
    let _ = ended.send(true);
    server.await.context("serving machines")?;
    publisher.await.context("publishing the record")?;
    health.abort();
    if done? {
        tracing::info!("bootstrap complete; this machine is no longer needed");
    }
    Ok(())
}

async fn node(args: Node) -> anyhow::Result<()> {
    let Node { name, facts, kubeconfig } = args;
    let facts = read_facts(&facts)?;
    let stop = on_signal()?;
    let client = connect_within(kubeconfig.as_deref(), None, SHORT_WATCH_TIMEOUT).await?;
    tracing::info!(node = name, "the machines of the cluster are followed");
    node_agent::follow(client, facts, &name, Files::below("/"), Processes, stop).await;
    Ok(())
}

fn read_facts(path: &Path) -> anyhow::Result<ClusterFacts> {
    let text = fs_err::read_to_string(path)?;
    serde_json::from_str(&text).with_context(|| format!("`{}` has no facts about a cluster", path.display()))
}

async fn machine_config_token(args: &MachineConfigToken) -> anyhow::Result<()> {
    let MachineConfigToken { dir, from_cluster: _, kubeconfig, context, role, keep, expires_after } = args;
    let now = Timestamp::now();
    let token = if let Some(dir) = dir {
        Directory::new(dir).rotate(role, now, *keep)?
    } else {
        let client = connect(kubeconfig.as_deref(), context.as_deref()).await?;
        let is_master = role.as_str() == slipway_assets::names::Role::Master.as_str();
        let life = expires_after.or_else(|| is_master.then_some(MASTER_TOKEN_LIFETIME));
        let Rotated { token, pointer } = rotate(&client, role, now, *keep, life).await?;
        match pointer {
            Some(secret) => tracing::info!(secret, "new machines get the new token"),
            None => {
                tracing::warn!(%role, "there is no user-data Secret of this role: put the token into the pointers");
            }
        }
        token
    };
    writeln!(std::io::stdout(), "{}", token.expose_secret())?;
    Ok(())
}

async fn csr_approver(args: CsrApprover) -> anyhow::Result<()> {
    let CsrApprover {
        kubeconfig,
        context,
        bootstrapper,
        namespace,
        remove_binding,
        named_alike,
        after_bootstrap,
        vip,
        health_listen,
    } = args;
    let bootstrappers = bootstrappers(&bootstrapper)?;
    let mut registry = Registry::default();
    let metrics = csr::metrics::Metrics::register(&mut registry);
    let stop = on_signal()?;
    let health = serve_health(health_listen, health_router(registry), &stop).await?;
    let silence = SHORT_WATCH_TIMEOUT;
    let client = connect_within(kubeconfig.as_deref(), context.as_deref(), silence).await?;
    let held_masters = after_bootstrap.then(|| csr::completion::WAITING.to_owned());
    let (sender, roster) = watch::channel(Roster { named_alike, held_masters, ..Roster::default() });
    let refused = watch::Sender::default();
    let settings =
        controller::Settings { bootstrappers, namespace: namespace.clone(), vips: vip, roster, refused };
    tracing::info!("approving certificate requests of kubelets");
    let watches = Watches::new(client.clone());
    tokio::join!(
        csr::bindings::keep_away(client.clone(), remove_binding, stop.clone()),
        csr::hosts::follow(watches.clone(), namespace, sender.clone(), stop.clone()),
        async {
            if after_bootstrap {
                csr::completion::follow(client.clone(), sender, stop.clone()).await;
            }
        },
        controller::run(watches, settings, metrics, stop.clone()),
    );
    health.await.context("serving health")?;
    tracing::info!("shut down");
    Ok(())
}

/// Who may ask for first certificates.
fn bootstrappers(texts: &[String]) -> anyhow::Result<Vec<Bootstrapper>> {
    let bootstrapper = |text: &String| {
        Bootstrapper::of(text).with_context(|| {
            format!(
                "`{text}` is neither `system:serviceaccount:<namespace>:<name>` nor `system:bootstrap:<id>`, nor one of them after \
                 `master=` or `worker=`"
            )
        })
    };
    texts.iter().map(bootstrapper).collect()
}

async fn certificates(args: OnControlPlane) -> anyhow::Result<()> {
    let OnControlPlane { name, root, kubeconfig, health_listen } = args;
    let mut registry = Registry::default();
    let metrics = certificates::Metrics::register(&mut registry);
    let stop = on_signal()?;
    let health = serve_health(health_listen, health_router(registry), &stop).await?;
    let client = connect(kubeconfig.as_deref(), None).await?;
    tracing::info!(node = name, "the certificates of this machine's control plane are followed");
    let renewer = certificates::Renewer::new(client, &name, Files::below(root), Processes, metrics);
    renewer.run(stop).await;
    health.await.context("serving health")?;
    Ok(())
}

async fn control_plane(args: OnControlPlane) -> anyhow::Result<()> {
    let OnControlPlane { name, root, kubeconfig, health_listen } = args;
    let stop = on_signal()?;
    let health = serve_health(health_listen, health_router(Registry::default()), &stop).await?;
    let client = connect_within(kubeconfig.as_deref(), None, SHORT_WATCH_TIMEOUT).await?;
    tracing::info!(node = name, "the machines of the control plane are followed");
    let etcd = control_plane::LocalEtcd::new(Files::below(&root));
    control_plane::run(client, &name, Files::below(root), Processes, etcd, stop).await;
    health.await.context("serving health")?;
    Ok(())
}

async fn operator(args: Run) -> anyhow::Result<()> {
    let Run {
        kubeconfig,
        context,
        namespace,
        identity,
        controllers,
        allow_insecure,
        matrix,
        matrix_key,
        matrix_ca,
        matrix_proxy,
        registry: images_from,
        pull_secret,
        upgrade_patience,
        bootstrapper,
        vip: vips,
        health_listen,
    } = args;
    let mut registry = Registry::default();
    let metrics = crate::runtime::metrics::Metrics::register(&mut registry);
    let has = |controller| controllers.contains(&controller);
    let csr = has(Controller::Csr).then(|| {
        let bootstrappers = bootstrappers(&bootstrapper)?;
        let metrics = csr::metrics::Metrics::register(&mut registry);
        // The objects of the cluster are all there is to know about its machines.
        let (_, roster) = watch::channel(Roster::default());
        let (namespace, refused) = (namespace.clone(), watch::Sender::default());
        anyhow::Ok((
            controller::Settings { bootstrappers, namespace, vips: vips.clone(), roster, refused },
            metrics,
        ))
    });
    let insecure =
        if allow_insecure { connections::Insecure::Allowed } else { connections::Insecure::Refused };
    let pace = drivers::DriverTimeouts {
        step: upgrade_patience.try_into().context("the longest time for a step of an upgrade is negative")?,
        ..drivers::DriverTimeouts::default()
    };
    let drivers = drivers::Settings {
        namespace: namespace.clone(),
        matrix: drivers::matrix::Source {
            place: matrix,
            keys: matrix_key,
            authorities: matrix_ca,
            proxy: matrix_proxy,
            ..drivers::matrix::Source::default()
        },
        images: Images { registry: images_from, pull_secrets: pull_secret },
        pace,
        insecure,
        checked: has(Controller::Checks),
    };
    let checks = checks::Settings {
        namespace: namespace.clone(),
        options: slipway_assess::check::Options::default(),
        pace: checks::CheckIntervals::default(),
        insecure,
    };
    let machines =
        machines::Settings { namespace: namespace.clone(), insecure, vips, pace: machines::Pace::default() };
    let machine_metrics = machines::Metrics::register(&mut registry);
    let settings = manager::Settings {
        namespace,
        identity: identity.unwrap_or_else(own_name),
        lease: lease::LeaseTimeouts::default(),
        connections: has(Controller::Connections).then(connections::ConnectionIntervals::default),
        insecure,
        drivers: has(Controller::Drivers).then_some(drivers),
        checks: has(Controller::Checks).then_some(checks),
        machines: has(Controller::Machines).then_some((machines, machine_metrics)),
        csr: csr.transpose()?,
        machine_metrics: machine_metrics::Metrics::register(&mut registry),
        machine_sets: has(Controller::MachineSets)
            .then(|| machine_sets::Settings { namespace: MACHINES_NAMESPACE.to_owned() }),
        machine_health_checks: has(Controller::MachineHealthChecks)
            .then(|| machine_health_checks::Settings { namespace: MACHINES_NAMESPACE.to_owned() }),
        node_links: has(Controller::NodeLinks)
            .then(|| node_links::Settings { namespace: MACHINES_NAMESPACE.to_owned() }),
        drain: has(Controller::Drain).then(|| drain::Settings::new(MACHINES_NAMESPACE)),
        out_of_service: has(Controller::OutOfService)
            .then(|| out_of_service::Settings { namespace: MACHINES_NAMESPACE.to_owned() }),
        address_pools: has(Controller::AddressPools)
            .then(|| address_pools::Settings { namespace: MACHINES_NAMESPACE.to_owned() }),
    };
    let stop = on_signal()?;
    let client = connect_within(kubeconfig.as_deref(), context.as_deref(), SILENCE_TIMEOUT).await?;
    let asked = client.clone();
    let ready = move || {
        let client = asked.clone();
        async move {
            let version = tokio::time::timeout(READY_TIMEOUT, client.apiserver_version()).await;
            version.is_ok_and(|version| version.is_ok()).then_some(()).ok_or("the API server does not answer")
        }
    };
    let routes = with_readiness(health_router(registry), ready);
    let health = serve_health(Some(health_listen), routes, &stop).await?;
    match manager::run(client, settings, metrics, stop).await {
        manager::End::Stopped => {}
        // Whoever starts it again starts with nothing that is out of date.
        manager::End::LeaseLost => anyhow::bail!("the lease was lost"),
        manager::End::Failed(reason) => anyhow::bail!("{reason}"),
    }
    health.await.context("serving health")?;
    tracing::info!("shut down");
    Ok(())
}

/// The name of the machine, and a number: pods have names, other copies need not.
fn own_name() -> String {
    let name = fs_err::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    format!("{}-{}", name.trim(), std::process::id())
}

async fn bind(address: SocketAddr) -> anyhow::Result<TcpListener> {
    TcpListener::bind(address).await.with_context(|| format!("listening on {address}"))
}

/// Serves health and metrics beside the rest; without an address it is over at once.
async fn serve_health(
    address: Option<SocketAddr>,
    router: Router,
    stop: &watch::Receiver<bool>,
) -> anyhow::Result<tokio::task::JoinHandle<()>> {
    let Some(address) = address else { return Ok(tokio::spawn(async {})) };
    let listener = bind(address).await?;
    tracing::info!(address = %listener.local_addr()?, "health and metrics are served");
    let limits = Limits { connections: 64, connection: Duration::from_secs(20), ..Limits::default() };
    Ok(tokio::spawn(net::serve(listener, Transport::Plain, router, limits, (), stop.clone())))
}

/// Becomes true when somebody ends the process.
fn on_signal() -> anyhow::Result<watch::Receiver<bool>> {
    let (sender, receiver) = watch::channel(false);
    let mut terminate = signal(SignalKind::terminate()).context("waiting for SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("waiting for SIGINT")?;
    tokio::spawn(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        // Nobody waits for it if everything has ended already.
        let _ = sender.send(true);
    });
    Ok(receiver)
}
