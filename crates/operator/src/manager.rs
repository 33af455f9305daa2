//! The controllers of a cluster under one lease: whoever holds it acts, the others wait.

use std::time::Duration;

use kube::Client;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::controllers::csr;
use crate::controllers::{checks, connections, drivers};
use crate::runtime::lease::{self, Lock};
use crate::runtime::metrics::Metrics;
use crate::runtime::nodes::Nodes;

/// How long controllers may take to end, unless another copy may start before that.
const FAREWELL: Duration = Duration::from_secs(10);

/// What runs.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where the operator is, with its lease, its connections and their Secrets.
    pub namespace: String,
    /// Tells copies of the operator apart.
    pub identity: String,
    pub lease: lease::Pace,
    pub connections: Option<connections::Pace>,
    /// Whether connections may do without verifying certificates.
    pub insecure: connections::Insecure,
    pub drivers: Option<drivers::Settings>,
    pub checks: Option<checks::Settings>,
    pub csr: Option<(csr::controller::Settings, csr::metrics::Metrics)>,
}

/// Why the controllers ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// Somebody wanted it.
    Told,
    /// Another copy may act now.
    LeaseLost,
    /// A controller could not go on.
    Failed(String),
}

/// Waits for the lease, runs the controllers, and gives the lease up again.
pub async fn run(
    client: Client,
    settings: Settings,
    metrics: Metrics,
    mut stop: watch::Receiver<bool>,
) -> End {
    let Settings { namespace, identity, lease, connections, insecure, drivers, checks, csr } = settings;
    let mut lock = Lock::new(client.clone(), &namespace, "slipway-operator", &identity, lease);
    tracing::info!(identity, "waiting for the lease");
    tokio::select! {
        () = lock.acquire() => {}
        _ = stop.wait_for(|stop| *stop) => return End::Told,
    }
    tracing::info!(identity, "leading");
    metrics.leading(true);
    let (sender, receiver) = watch::channel(false);
    let mut controllers: JoinSet<Result<(), String>> = JoinSet::new();
    if let Some(pace) = connections {
        let (client, metrics, stop) = (client.clone(), metrics.clone(), receiver.clone());
        let namespace = namespace.clone();
        controllers.spawn(async move {
            connections::run(client, namespace, pace, insecure, metrics, stop).await;
            Ok(())
        });
    }
    let mut watches = JoinSet::new();
    let watched = drivers.is_some() || checks.is_some();
    let nodes = watched.then(|| Nodes::follow(client.clone(), &mut watches));
    if let Some((settings, nodes)) = drivers.zip(nodes.clone()) {
        controllers.spawn(drivers::run(client.clone(), settings, nodes, metrics.clone(), receiver.clone()));
    }
    if let Some((settings, nodes)) = checks.zip(nodes) {
        let (client, metrics, stop) = (client.clone(), metrics.clone(), receiver.clone());
        controllers.spawn(async move {
            checks::run(client, settings, nodes, metrics, stop).await;
            Ok(())
        });
    }
    if let Some((settings, counters)) = csr {
        let (client, stop, namespace) = (client.clone(), receiver.clone(), namespace.clone());
        controllers.spawn(async move {
            let (sender, roster) = watch::channel(settings.roster.borrow().clone());
            let hosts = csr::hosts::follow(client.clone(), namespace, sender, stop.clone());
            let settings = csr::controller::Settings { roster, ..settings };
            tokio::join!(csr::controller::run(client, settings, counters, stop), hosts);
            Ok(())
        });
    }
    let end = tokio::select! {
        () = lock.hold() => End::LeaseLost,
        _ = stop.wait_for(|stop| *stop) => End::Told,
        Some(ended) = controllers.join_next() => End::Failed(match ended {
            Ok(Ok(())) => "a controller ended by itself".to_owned(),
            Ok(Err(reason)) => reason,
            Err(error) => error.to_string(),
        }),
    };
    metrics.leading(false);
    // Nobody listens if all have ended already.
    let _ = sender.send(true);
    let farewell =
        if end == End::LeaseLost { lease.duration.saturating_sub(lease.deadline) } else { FAREWELL };
    let _ = tokio::time::timeout(farewell, async { while controllers.join_next().await.is_some() {} }).await;
    controllers.abort_all();
    if end != End::LeaseLost {
        lock.release().await;
    }
    end
}
