//! Whether the bootstrap machine has done its part. Until then it lets control-plane machines in, one after the other, and
//! no other approver does: two approvers would let in two at once, and etcd could lose its majority.

use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, Client};
use slipway_assess::csr::Roster;
use slipway_assets::kubernetes::COMPLETION_NAME;
use slipway_assets::kubernetes::rights::SYSTEM;
use slipway_providers::cluster::{AccessError, call};
use slipway_providers::text::chain;
use tokio::sync::watch;

use crate::runtime::stop::until_stopped;

const LOOK_INTERVAL: Duration = Duration::from_secs(5);
/// What machines that have to wait are told.
pub const WAITING: &str = "the bootstrap machine lets in control-plane machines one by one, until the ConfigMap \
                           kube-system/bootstrap says that it is complete";

/// ConditionStatus back control-plane machines until the bootstrap machine has done its part.
pub async fn follow(client: Client, roster: watch::Sender<Roster>, stop: watch::Receiver<bool>) {
    let work = async {
        loop {
            match is_complete(&client).await {
                Ok(true) => break,
                Ok(false) => {}
                Err(error) => tracing::warn!(error = %chain(&error), "control-plane machines have to wait"),
            }
            tokio::time::sleep(LOOK_INTERVAL).await;
        }
        roster.send_modify(|roster| roster.held_masters = None);
    };
    until_stopped(stop, work).await;
}

async fn is_complete(client: &Client) -> Result<bool, AccessError> {
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), SYSTEM);
    let found =
        call("asking whether the bootstrap machine has done its part", maps.get_opt(COMPLETION_NAME)).await?;
    let data = found.and_then(|map| map.data).unwrap_or_default();
    Ok(data.get("status").is_some_and(|status| status == "complete"))
}
