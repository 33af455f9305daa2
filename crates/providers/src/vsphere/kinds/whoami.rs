//! Which vCenters answer at all. One that does not would be waited for again and again, and everybody else with it.

use std::collections::BTreeMap;

use slipway_engine::Endpoint;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::VSphere;
use crate::vsphere::Client;

impl VSphere {
    /// Who we are on each vCenter, or why it cannot be asked. All are asked at once, and one that is silent costs the time of
    /// one call.
    pub async fn whoami(&self) -> BTreeMap<Endpoint, Result<String, String>> {
        let mut greetings = JoinSet::new();
        for (endpoint, vcenter) in &self.vcenters {
            let (endpoint, client) = (endpoint.clone(), vcenter.client.clone());
            greetings.spawn(async move { (endpoint, user(&client).await) });
        }
        greetings.join_all().await.into_iter().collect()
    }
}

async fn user(client: &Client) -> Result<String, String> {
    let limit = client.parts().0.timeout;
    let late = |_| format!("no answer within {limit:?}");
    timeout(limit, client.content()).await.map_err(late)?.map_err(|error| words(&error))?;
    timeout(limit, client.user()).await.map_err(late)?.map_err(|error| words(&error))
}

/// What failed, why, and the innermost reason: those between are names of layers.
pub(super) fn words(error: &crate::vsphere::Error) -> String {
    let text = format!("{error}: {}", error.source);
    let first = std::error::Error::source(&error.source);
    match std::iter::successors(first, |cause| cause.source()).last().map(ToString::to_string) {
        Some(reason) if !text.contains(&reason) => format!("{text}: {reason}"),
        _ => text,
    }
}
