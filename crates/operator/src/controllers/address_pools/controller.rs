//! The loop: all pools at once, whenever a pool, a claim or an address changes, and when an address has rested.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use kube::api::{DeleteParams, PostParams, Preconditions};
use kube::core::DeserializeGuard;
use kube::{Api, ResourceExt};
use serde_json::json;
use slipway_api::cluster_api::{IpAddress, IpAddressClaim};
use slipway_api::slipway::{AddressPool, AddressPoolStatus};
use slipway_providers::cluster::{AccessError, call, merge, merge_part, or_absent};
use slipway_providers::text::chain;
use tokio::sync::watch;
use tokio::time::Instant;

use super::decide::{CLAIM_UID, KIND, Plan, RELEASED, Step, is_of, object_name, plan};
use super::range::Range;
use crate::runtime::conditions::{ConditionUpdate, merge as with_times};
use crate::runtime::trigger::{Controller, Trigger};
use crate::runtime::watches::{Mirror, Watches};

/// The condition of a pool.
const READY: &str = "Ready";
/// Changes within this time lead to one pass.
const DEBOUNCE: Duration = Duration::from_millis(200);
/// What failed is tried again after this time.
const RETRY_INTERVAL: Duration = Duration::from_secs(5);
/// The watches tell of every change.
const RESYNC_INTERVAL: Duration = Duration::from_mins(10);
/// Messages name this many claims.
const MAX_NAMED: usize = 5;

/// What the controller is told.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where Machines, their claims, and the pools are.
    pub namespace: String,
}

/// Runs until it is told to end.
pub async fn run(watches: Watches, settings: Settings, stop: watch::Receiver<bool>) {
    let Settings { namespace } = settings;
    let trigger = Trigger::new(DEBOUNCE);
    let client = watches.client().clone();
    let mut pools = Pools {
        pools: watches.keep(Api::namespaced(client.clone(), &namespace), &trigger),
        claims: watches.keep(Api::namespaced(client.clone(), &namespace), &trigger),
        addresses: watches.keep(Api::namespaced(client.clone(), &namespace), &trigger),
        pools_api: Api::namespaced(client.clone(), &namespace),
        claims_api: Api::namespaced(client.clone(), &namespace),
        addresses_api: Api::namespaced(client, &namespace),
    };
    trigger.run(stop, &mut pools).await;
}

struct Pools {
    pools: Mirror<DeserializeGuard<AddressPool>>,
    claims: Mirror<DeserializeGuard<IpAddressClaim>>,
    addresses: Mirror<DeserializeGuard<IpAddress>>,
    pools_api: Api<AddressPool>,
    claims_api: Api<IpAddressClaim>,
    addresses_api: Api<IpAddress>,
}

impl Controller for Pools {
    async fn pass(&mut self) -> Instant {
        let pools = self.pools.wait_until_ready();
        let ready = tokio::join!(pools, self.claims.wait_until_ready(), self.addresses.wait_until_ready());
        if matches!(ready, (Err(_), _, _) | (_, Err(_), _) | (_, _, Err(_))) {
            return Instant::now() + RETRY_INTERVAL;
        }
        let mut all: Vec<Arc<DeserializeGuard<AddressPool>>> = self.pools.state();
        all.sort_by_key(|pool| pool.name_any());
        let mut due = Instant::now() + RESYNC_INTERVAL;
        for pool in all.iter().filter_map(|pool| pool.0.as_ref().ok()) {
            match self.keep(pool).await {
                Ok(None) => {}
                Ok(Some(pause)) => due = due.min(Instant::now() + pause),
                Err(error) => {
                    if !error.is_conflict() {
                        tracing::warn!(pool = pool.name_any(), error = %chain(&error), "the pool is kept later");
                    }
                    due = due.min(Instant::now() + RETRY_INTERVAL);
                }
            }
        }
        due
    }
}

impl Pools {
    /// Keeps a pool. When it is due again.
    async fn keep(&self, pool: &AddressPool) -> Result<Option<Duration>, AccessError> {
        let name = pool.name_any();
        let range = match Range::read(&pool.spec) {
            Ok(range) => range,
            Err(problem) => {
                let invalid = ConditionUpdate::new(READY, false, "InvalidSpec", problem.to_string());
                let old = pool.status.clone().unwrap_or_default();
                self.tell(pool, AddressPoolStatus { conditions: Vec::new(), ..old }, invalid).await?;
                return Ok(None);
            }
        };
        let (claims, addresses, now) = (self.claims.state(), self.addresses.state(), Timestamp::now());
        let claims: Vec<&IpAddressClaim> = claims
            .iter()
            .filter_map(|claim| claim.0.as_ref().ok())
            .filter(|claim| is_of(&claim.spec.pool_ref, &name))
            .collect();
        let addresses: Vec<&IpAddress> = addresses
            .iter()
            .filter_map(|address| address.0.as_ref().ok())
            .filter(|address| is_of(&address.spec.pool_ref, &name))
            .collect();
        let plan = plan(&range, &claims, &addresses, now);
        for step in &plan.steps {
            self.carry_out(&name, &range, step, &claims, now).await?;
        }
        let Plan { used, quarantined, waiting, due, .. } = plan;
        let count = |number: usize| i64::try_from(number).ok();
        let status = AddressPoolStatus {
            observed_generation: pool.metadata.generation,
            capacity: count(range.capacity()),
            used: count(used),
            quarantined: count(quarantined),
            conditions: Vec::new(),
        };
        let ready = if waiting.is_empty() {
            ConditionUpdate::new(READY, true, "Ready", "")
        } else {
            let first =
                waiting.iter().take(MAX_NAMED).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
            let rest = if quarantined > 0 {
                format!("; {quarantined} rest after their machines have gone")
            } else {
                String::new()
            };
            let message = format!("no address is free for {} claims: {first}{rest}", waiting.len());
            ConditionUpdate::new(READY, false, "Exhausted", message)
        };
        self.tell(pool, status, ready).await?;
        Ok(due.map(|due| {
            Duration::try_from(due.duration_since(now)).unwrap_or_default() + Duration::from_secs(1)
        }))
    }

    async fn carry_out(
        &self,
        pool: &str,
        range: &Range,
        step: &Step,
        claims: &[&IpAddressClaim],
        now: Timestamp,
    ) -> Result<(), AccessError> {
        match step {
            Step::Give { claim, address } => {
                let Some(claim) = claims.iter().find(|one| one.name_any() == *claim) else { return Ok(()) };
                let object = object_name(pool, *address);
                let new = json!({
                    "apiVersion": "ipam.cluster.x-k8s.io/v1beta1", "kind": "IPAddress",
                    "metadata": {"name": object, "annotations": {CLAIM_UID: claim.uid()}},
                    "spec": {
                        "claimRef": {"name": claim.name_any()},
                        "poolRef": {"apiGroup": slipway_api::slipway::GROUP, "kind": KIND, "name": pool},
                        "address": address.to_string(), "prefix": range.prefix,
                        "gateway": range.gateway.map(|gateway| gateway.to_string()),
                    },
                });
                // Made of fixed words and texts: it can always be read.
                let Ok(new) = serde_json::from_value::<IpAddress>(new) else { return Ok(()) };
                let doing = format!("making the IPAddress `{object}`");
                // A name that is taken is a conflict: what there is now is looked at again.
                call(&doing, self.addresses_api.create(&PostParams::default(), &new)).await?;
                tracing::info!(pool, claim = claim.name_any(), %address, "given");
                self.point(claim, &object).await
            }
            Step::Tell { claim, object } => {
                let Some(claim) = claims.iter().find(|one| one.name_any() == *claim) else { return Ok(()) };
                self.point(claim, object).await
            }
            Step::Release { object } => {
                // Not from a copy: the claim may be newer than what is known of claims.
                let reading = format!("reading the IPAddress `{object}`");
                let Some(found) = call(&reading, self.addresses_api.get_opt(object)).await? else {
                    return Ok(());
                };
                let claim = &found.spec.claim_ref.name;
                let reading = format!("reading the IPAddressClaim `{claim}`");
                let claim = call(&reading, self.claims_api.get_opt(claim)).await?;
                let uid = found.annotations().get(CLAIM_UID);
                let has_it = |claim: IpAddressClaim| {
                    let own = claim.status.as_ref().map(|status| status.address_ref.name.as_str());
                    claim.uid().as_ref() == uid && own.is_none_or(|own| own.is_empty() || own == object)
                };
                if claim.is_some_and(has_it) {
                    return Ok(());
                }
                let change = json!({"metadata": {
                    "uid": found.uid(), "resourceVersion": found.resource_version(),
                    "annotations": {RELEASED: now.to_string()},
                }});
                merge(&self.addresses_api, object, &format!("letting the IPAddress `{object}` rest"), &change)
                    .await
            }
            Step::Forget { object } => {
                let reading = format!("reading the IPAddress `{object}`");
                let Some(found) = call(&reading, self.addresses_api.get_opt(object)).await? else {
                    return Ok(());
                };
                if !found.annotations().contains_key(RELEASED) {
                    return Ok(());
                }
                let exactly = Preconditions { uid: found.uid(), resource_version: found.resource_version() };
                let exactly = DeleteParams::default().preconditions(exactly);
                let doing = format!("removing the IPAddress `{object}`");
                or_absent(call(&doing, self.addresses_api.delete(object, &exactly)).await.map(|_| ()))
            }
        }
    }

    /// Tells a claim its address, if it is the one that was seen.
    async fn point(&self, claim: &IpAddressClaim, object: &str) -> Result<(), AccessError> {
        let name = claim.name_any();
        let change = json!({
            "metadata": {"uid": claim.uid(), "resourceVersion": claim.resource_version()},
            "status": {"addressRef": {"name": object}},
        });
        let doing = format!("telling the IPAddressClaim `{name}` its address");
        or_absent(merge_part(&self.claims_api, "status", &name, &doing, &change).await)
    }

    async fn tell(
        &self,
        pool: &AddressPool,
        status: AddressPoolStatus,
        ready: ConditionUpdate,
    ) -> Result<(), AccessError> {
        let old = pool.status.clone().unwrap_or_default();
        let conditions = with_times(&old.conditions, vec![ready], pool.metadata.generation, Timestamp::now());
        let new = AddressPoolStatus { conditions, ..status };
        if pool.status.as_ref() == Some(&new) {
            return Ok(());
        }
        let name = pool.name_any();
        let change = json!({"metadata": {"uid": pool.uid()}, "status": new});
        let doing = format!("writing the status of the AddressPool `{name}`");
        or_absent(merge_part(&self.pools_api, "status", &name, &doing, &change).await)
    }
}
