//! Hosts without a machine that their administrator confirmed, followed for the renewals of their certificates.

use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use slipway_assess::csr::Roster;
use slipway_assess::csr::host::Host;
use slipway_assess::csr::hosts::read;
use slipway_assets::kubernetes::BARE_METAL_HOSTS;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::runtime::trigger::{Controller, Trigger};
use crate::runtime::watches::{Mirror, Watches, short};

/// The watch tells of every change.
const RESYNC_INTERVAL: Duration = Duration::from_hours(1);

/// Keeps a roster up to date with the hosts, until it is told to end.
pub async fn follow(
    watches: Watches,
    namespace: String,
    roster: watch::Sender<Roster>,
    stop: watch::Receiver<bool>,
) {
    let trigger = Trigger::new(Duration::ZERO);
    let only = short().fields(&format!("metadata.name={BARE_METAL_HOSTS}"));
    let maps: Api<ConfigMap> = Api::namespaced(watches.client().clone(), &namespace);
    let maps = watches.keep_some(maps, only, &trigger);
    trigger.run(stop, &mut Hosts { maps, roster }).await;
}

struct Hosts {
    maps: Mirror<ConfigMap>,
    roster: watch::Sender<Roster>,
}

impl Controller for Hosts {
    async fn pass(&mut self) -> Instant {
        // The writer lives as long as the watch does.
        let _ = self.maps.wait_until_ready().await;
        let hosts: Vec<Host> = self.maps.state().iter().flat_map(|map| read(map)).collect();
        self.roster.send_if_modified(|roster| {
            let new = roster.hosts != hosts;
            roster.hosts = hosts;
            new
        });
        Instant::now() + RESYNC_INTERVAL
    }
}
