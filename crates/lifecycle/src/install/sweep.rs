//! Removing a cluster that may still be making machines.
//!
//! Controllers in the cluster make compute machines. The control plane is therefore switched off before any other machine, and
//! the platform is searched again afterwards: a clone that was under way at that moment appears late.

use std::collections::BTreeSet;
use std::time::Duration;

use slipway_config::ids::InfraId;
use slipway_engine::{Endpoint, Id, Outcome, Plan, Resource};
use slipway_providers::provider::Provider;

/// How many searches in a row must find nothing before a cluster is called gone.
pub(super) const CLEAN_SEARCHES: u32 = 2;
/// How often machines that appear late are removed before the rest is left to another run.
pub(super) const MAX_SWEEPS: u32 = 8;
/// Between two searches that find nothing.
pub(super) const SEARCH_INTERVAL: Duration = Duration::from_millis(500);
/// Between two searches while the platform is still making machines.
pub(super) const BUSY_INTERVAL: Duration = Duration::from_secs(5);
/// How long machines that are being made are waited for.
pub(super) const BUSY_TIMEOUT: Duration = Duration::from_mins(10);

/// Makes every other machine wait until the control plane is off. `known` are the names of control-plane machines as the
/// cluster's files say; where the files are lost, names say it.
pub(super) fn stop_control_plane_first<P: Provider>(
    resources: &mut [Resource<P::Desired>],
    known: &BTreeSet<String>,
    infra_id: &InfraId,
) {
    let prefix = format!("{infra_id}-master-");
    let is_power = |id: &Id| P::is_machine(id) && *id != P::machine_id(&id.endpoint, &id.name);
    let is_control_plane = |id: &Id| known.contains(&*id.name) || id.name.starts_with(&prefix);
    let others: Vec<Id> = resources
        .iter()
        .map(|resource| &resource.id)
        .filter(|id| is_power(id) && !is_control_plane(id))
        .cloned()
        .collect();
    // Of two that go, the one that is depended on waits.
    for resource in resources.iter_mut().filter(|one| is_power(&one.id) && is_control_plane(&one.id)) {
        resource.depends_on.extend(others.iter().cloned());
    }
}

/// Whether a search found something that an earlier one did not.
pub(super) fn is_new<A, S>(plan: &Plan<A>, outcome: &Outcome<S>) -> bool {
    plan.steps.iter().any(|planned| !outcome.ends.contains_key(&planned.step.resource))
}

/// One outcome of two runs, the later one last.
pub(super) fn join<S>(earlier: &mut Outcome<S>, later: Outcome<S>) {
    let Outcome { ends, performed, cancelled, world } = later;
    earlier.ends.extend(ends);
    earlier.performed.extend(performed);
    earlier.cancelled |= cancelled;
    earlier.world = world;
}

/// Endpoints that are still making machines for this user. One that does not say is not waited for: the search will tell.
pub(super) async fn busy<P: Provider>(platform: &P) -> BTreeSet<Endpoint> {
    let mut busy = BTreeSet::new();
    for endpoint in platform.endpoints() {
        if platform.is_busy(&endpoint, &[]).await == Ok(true) {
            busy.insert(endpoint);
        }
    }
    busy
}
