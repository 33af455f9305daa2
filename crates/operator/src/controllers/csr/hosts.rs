//! Hosts without a machine that their administrator confirmed, followed for the renewals of their certificates.

use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::runtime::watcher::{self, watcher};
use kube::{Api, Client};
use slipway_assets::kubernetes::CONFIRMED_HOSTS;
use slipway_lifecycle::csr::Roster;
use slipway_lifecycle::csr::host::Host;
use slipway_lifecycle::csr::hosts::read;
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;

use super::controller::{WATCH_SECONDS, keep};

/// Keeps a roster up to date with the hosts, until it is told to end.
pub async fn follow(
    client: Client,
    namespace: String,
    roster: watch::Sender<Roster>,
    mut stop: watch::Receiver<bool>,
) {
    let changed = Arc::new(Notify::new());
    let mut watches = JoinSet::new();
    let only =
        watcher::Config::default().timeout(WATCH_SECONDS).fields(&format!("metadata.name={CONFIRMED_HOSTS}"));
    let maps: Api<ConfigMap> = Api::namespaced(client, &namespace);
    let maps = keep(&mut watches, &changed, watcher(maps, only));
    let work = async {
        loop {
            changed.notified().await;
            let hosts: Vec<Host> = maps.state().iter().flat_map(|map| read(map)).collect();
            roster.send_if_modified(|roster| {
                let new = roster.hosts != hosts;
                roster.hosts = hosts;
                new
            });
        }
    };
    tokio::select! {
        () = work => {}
        _ = async { stop.wait_for(|stop| *stop).await.is_ok() } => {}
    }
}
