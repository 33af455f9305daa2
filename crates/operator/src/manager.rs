//! The controllers of a cluster under one lease: whoever holds it acts, the others wait.

use std::time::Duration;

use kube::Client;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::controllers::csr;
use crate::controllers::{
    address_pools, checks, connections, drain, drivers, machine_health_checks, machine_metrics, machine_sets,
    machines, node_links, out_of_service,
};
use crate::runtime::lease::{self, Lock};
use crate::runtime::metrics::Metrics;
use crate::runtime::sessions::Sessions;
use crate::runtime::stop::stopped;
use crate::runtime::watches::Watches;

/// How long controllers may take to end, unless another copy may start before that.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);

/// What runs.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where the operator is, with its lease, its connections and their Secrets.
    pub namespace: String,
    /// Tells copies of the operator apart.
    pub identity: String,
    pub lease: lease::LeaseTimeouts,
    pub connections: Option<connections::ConnectionIntervals>,
    /// Whether connections may do without verifying certificates.
    pub insecure: connections::Insecure,
    pub drivers: Option<drivers::Settings>,
    pub checks: Option<checks::Settings>,
    pub machines: Option<(machines::Settings, machines::Metrics)>,
    pub csr: Option<(csr::controller::Settings, csr::metrics::Metrics)>,
    /// Of the controllers of machines that follow.
    pub machine_metrics: machine_metrics::Metrics,
    pub machine_sets: Option<machine_sets::Settings>,
    pub machine_health_checks: Option<machine_health_checks::Settings>,
    pub node_links: Option<node_links::Settings>,
    pub drain: Option<drain::Settings>,
    pub out_of_service: Option<out_of_service::Settings>,
    pub address_pools: Option<address_pools::Settings>,
}

/// Why the controllers ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// Somebody wanted it.
    Stopped,
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
    let Settings {
        namespace,
        identity,
        lease,
        connections,
        insecure,
        drivers,
        checks,
        machines,
        csr,
        machine_metrics,
        machine_sets,
        machine_health_checks,
        node_links,
        drain,
        out_of_service,
        address_pools,
    } = settings;
    let mut lock = Lock::new(client.clone(), &namespace, "slipway-operator", &identity, lease);
    tracing::info!(identity, "waiting for the lease");
    tokio::select! {
        () = lock.acquire() => {}
        () = stopped(&mut stop) => return End::Stopped,
    }
    tracing::info!(identity, "leading");
    metrics.leading(true);
    let (sender, receiver) = watch::channel(false);
    let watches = Watches::new(client);
    let sessions = Sessions::default();
    let mut controllers: JoinSet<Result<(), String>> = JoinSet::new();
    if let Some(pace) = connections {
        let (watches, metrics, stop) = (watches.clone(), metrics.clone(), receiver.clone());
        let namespace = namespace.clone();
        controllers.spawn(async move {
            connections::run(watches, namespace, pace, insecure, metrics, stop).await;
            Ok(())
        });
    }
    if let Some(settings) = drivers {
        let (watches, metrics, stop) = (watches.clone(), metrics.clone(), receiver.clone());
        controllers.spawn(drivers::run(watches, settings, sessions.pool().clone(), metrics, stop));
    }
    if let Some(settings) = checks {
        let (watches, metrics, stop) = (watches.clone(), metrics.clone(), receiver.clone());
        let pool = sessions.pool().clone();
        controllers.spawn(async move {
            checks::run(watches, settings, pool, metrics, stop).await;
            Ok(())
        });
    }
    if let Some((settings, counters)) = machines {
        let (watches, sessions, stop) = (watches.clone(), sessions.clone(), receiver.clone());
        controllers.spawn(async move {
            machines::run(watches, settings, sessions, counters, stop).await;
            Ok(())
        });
    }
    if let Some((settings, counters)) = csr {
        let (watches, stop, namespace) = (watches.clone(), receiver.clone(), namespace.clone());
        controllers.spawn(async move {
            let (sender, roster) = watch::channel(settings.roster.borrow().clone());
            let hosts = csr::hosts::follow(watches.clone(), namespace, sender, stop.clone());
            let settings = csr::controller::Settings { roster, ..settings };
            tokio::join!(csr::controller::run(watches, settings, counters, stop), hosts);
            Ok(())
        });
    }
    if let Some(settings) = machine_sets {
        spawn(
            &mut controllers,
            machine_sets::run(watches.clone(), settings, machine_metrics.clone(), receiver.clone()),
        );
    }
    if let Some(settings) = machine_health_checks {
        spawn(
            &mut controllers,
            machine_health_checks::run(watches.clone(), settings, machine_metrics.clone(), receiver.clone()),
        );
    }
    if let Some(settings) = node_links {
        spawn(
            &mut controllers,
            node_links::run(watches.clone(), settings, machine_metrics.clone(), receiver.clone()),
        );
    }
    if let Some(settings) = drain {
        spawn(
            &mut controllers,
            drain::run(watches.clone(), settings, machine_metrics.clone(), receiver.clone()),
        );
    }
    if let Some(settings) = out_of_service {
        spawn(&mut controllers, out_of_service::run(watches.clone(), settings, receiver.clone()));
    }
    if let Some(settings) = address_pools {
        spawn(&mut controllers, address_pools::run(watches.clone(), settings, receiver.clone()));
    }
    let end = tokio::select! {
        () = lock.hold() => End::LeaseLost,
        () = stopped(&mut stop) => End::Stopped,
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
        if end == End::LeaseLost { lease.duration.saturating_sub(lease.deadline) } else { STOP_TIMEOUT };
    let ended = async {
        while controllers.join_next().await.is_some() {}
        sessions.close().await;
    };
    let _ = tokio::time::timeout(farewell, ended).await;
    controllers.abort_all();
    if end != End::LeaseLost {
        lock.release().await;
    }
    end
}

/// Runs a controller that only ends when it is told to.
fn spawn(
    controllers: &mut JoinSet<Result<(), String>>,
    controller: impl Future<Output = ()> + Send + 'static,
) {
    controllers.spawn(async move {
        controller.await;
        Ok(())
    });
}
