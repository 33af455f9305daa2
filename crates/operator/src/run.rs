//! Puts everything together.

use std::io::Write;
use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Context;
use axum::Router;
use jiff::Timestamp;
use prometheus_client::registry::Registry;
use secrecy::ExposeSecret;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use crate::args::{Args, Command, CsrApprover, MachineConfigServer, MachineConfigToken};
use crate::csr::approve::connect;
use crate::csr::{self, Bootstrapper, controller};
use crate::log;
use crate::machine_config::directory::Directory;
use crate::machine_config::metrics::Metrics;
use crate::machine_config::routes::{Demand, router};
use crate::machine_config::source::Source;
use crate::net::health::health_router;
use crate::net::{self, Limits, Transport, tls};

/// Runs a command until it is done or told to end.
pub fn run(args: Args) -> anyhow::Result<()> {
    let Args { command, log_format, log_level } = args;
    log::install(log_format, log_level);
    match command {
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
