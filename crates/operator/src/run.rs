//! Puts everything together.

use std::io::Write;
use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Context;
use axum::Router;
use axum::http::StatusCode;
use axum::routing::get;
use jiff::Timestamp;
use prometheus_client::registry::Registry;
use secrecy::ExposeSecret;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use crate::args::{Args, Command, Controller, CsrApprover, MachineConfigServer, MachineConfigToken, Run};
use crate::csr::approve::connect;
use crate::csr::{self, Bootstrapper, controller};
use crate::machine_config::directory::Directory;
use crate::machine_config::metrics::Metrics;
use crate::machine_config::routes::{Demand, router};
use crate::machine_config::source::Source;
use crate::net::health::health_router;
use crate::net::{self, Limits, Transport, tls};
use crate::{connections, drivers, lease, log, manager};

/// Runs a command until it is done or told to end.
pub fn run(args: Args) -> anyhow::Result<()> {
    let Args { command, log_format, log_level } = args;
    log::install(log_format, log_level);
    match command {
        Command::Run(args) => runtime()?.block_on(operator(args)),
        Command::MachineConfigServer(args) => runtime()?.block_on(machine_config_server(args)),
        Command::MachineConfigToken(args) => machine_config_token(&args),
        Command::CsrApprover(args) => runtime()?.block_on(csr_approver(args)),
    }
}

fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    tokio::runtime::Runtime::new().context("starting the runtime")
}

async fn machine_config_server(args: MachineConfigServer) -> anyhow::Result<()> {
    let MachineConfigServer {
        dir,
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
        tracing::warn!("no token is demanded: whoever reaches the port reads every configuration");
    }
    let mut registry = Registry::default();
    let metrics = Metrics::register(&mut registry);
    let source = Directory::new(dir);
    let transport = Transport::Tls(tls::acceptor(&tls_cert, &tls_key)?);
    let listener = bind(listen).await?;
    let stop = on_signal()?;
    let ready = source.clone();
    let health = move || {
        let source = ready.clone();
        async move { source.is_ready().await }
    };
    let health = serve_health(health_listen, health_router(health, registry), &stop).await?;
    tracing::info!(address = %listener.local_addr()?, "machines are served");
    let routes = router(source, demand, metrics.clone());
    net::serve(listener, transport, routes, limits, metrics, stop).await;
    health.await.context("serving health")?;
    tracing::info!("the end");
    Ok(())
}

fn machine_config_token(args: &MachineConfigToken) -> anyhow::Result<()> {
    let MachineConfigToken { dir, role, keep } = args;
    let token = Directory::new(dir).rotate(role, Timestamp::now(), *keep)?;
    writeln!(std::io::stdout(), "{}", token.expose_secret())?;
    Ok(())
}

async fn csr_approver(args: CsrApprover) -> anyhow::Result<()> {
    let CsrApprover { kubeconfig, context, bootstrapper, vip, health_listen } = args;
    let bootstrapper = Bootstrapper::of(&bootstrapper).with_context(|| {
        format!("`{bootstrapper}` is neither `system:serviceaccount:<namespace>:<name>` nor `system:bootstrap:<id>`")
    })?;
    let mut registry = Registry::default();
    let metrics = csr::metrics::Metrics::register(&mut registry);
    let stop = on_signal()?;
    let health = serve_health(health_listen, health_router(|| async { true }, registry), &stop).await?;
    let client = connect(kubeconfig.as_deref(), context.as_deref()).await?;
    let settings = controller::Settings { bootstrapper, vips: vip };
    tracing::info!("requests of kubelets are judged");
    controller::run(client, settings, metrics, stop).await;
    health.await.context("serving health")?;
    tracing::info!("the end");
    Ok(())
}

async fn operator(args: Run) -> anyhow::Result<()> {
    let Run {
        kubeconfig,
        context,
        namespace,
        identity,
        controllers,
        matrix,
        matrix_key,
        upgrade_patience,
        bootstrapper,
        vip,
        health_listen,
    } = args;
    let mut registry = Registry::default();
    let metrics = crate::metrics::Metrics::register(&mut registry);
    let has = |controller| controllers.contains(&controller);
    let csr = has(Controller::Csr).then(|| {
        let bootstrapper = Bootstrapper::of(&bootstrapper).with_context(|| {
            format!("`{bootstrapper}` is neither `system:serviceaccount:<namespace>:<name>` nor `system:bootstrap:<id>`")
        })?;
        let metrics = csr::metrics::Metrics::register(&mut registry);
        anyhow::Ok((controller::Settings { bootstrapper, vips: vip }, metrics))
    });
    let pace = drivers::Pace {
        step: upgrade_patience.try_into().context("the patience with upgrades is negative")?,
        ..drivers::Pace::default()
    };
    let drivers = drivers::Settings { namespace: namespace.clone(), matrix, keys: matrix_key, pace };
    let settings = manager::Settings {
        namespace,
        identity: identity.unwrap_or_else(own_name),
        lease: lease::Pace::default(),
        connections: has(Controller::Connections).then(connections::Pace::default),
        drivers: has(Controller::Drivers).then_some(drivers),
        csr: csr.transpose()?,
    };
    let stop = on_signal()?;
    let client = connect(kubeconfig.as_deref(), context.as_deref()).await?;
    let asked = client.clone();
    let ready = move || {
        let client = asked.clone();
        async move {
            let version = tokio::time::timeout(Duration::from_secs(5), client.apiserver_version()).await;
            match version {
                Ok(Ok(_)) => (StatusCode::OK, "ok\n"),
                _ => (StatusCode::SERVICE_UNAVAILABLE, "the API server does not answer\n"),
            }
        }
    };
    let routes = health_router(|| async { true }, registry).route("/readyz", get(ready));
    let health = serve_health(Some(health_listen), routes, &stop).await?;
    match manager::run(client, settings, metrics, stop).await {
        manager::End::Told => {}
        // Whoever starts it again starts with nothing that is out of date.
        manager::End::LeaseLost => anyhow::bail!("the lease was lost"),
        manager::End::Failed(reason) => anyhow::bail!("{reason}"),
    }
    health.await.context("serving health")?;
    tracing::info!("the end");
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
