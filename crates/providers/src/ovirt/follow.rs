//! The engine's events tell what has changed, so that nothing has to be listed again and again.

use std::time::Duration;

use serde_json::Value;
use slipway_engine::feed::{Changes, Followed};

use super::kinds::{Desired, KindError, State};
use super::read::{items, number, text};
use super::scope::Scope;

/// Between two questions for events: the engine has no call that waits for one.
const POLL_INTERVAL: Duration = Duration::from_secs(2);
/// Events of one answer. More come with the next.
const MAX_EVENTS: usize = 200;

impl Scope {
    pub(super) async fn follow(
        &self,
        resources: &[Followed<Desired, State>],
        changes: &Changes,
    ) -> Result<(), KindError> {
        let doing = "asking for events";
        let newest = self.client.get(doing, "events?max=1").await?;
        let mut seen = newest_index(&newest).unwrap_or_default();
        loop {
            tokio::time::sleep(POLL_INTERVAL).await;
            let answer = self.client.get(doing, &format!("events?from={seen}&max={MAX_EVENTS}")).await?;
            seen = newest_index(&answer).unwrap_or(seen).max(seen);
            let events = items(&answer, "/event");
            for followed in resources.iter().filter(|one| events.iter().any(|event| is_about(event, one))) {
                changes.tell(&followed.resource.id);
            }
        }
    }
}

fn newest_index(answer: &Value) -> Option<u64> {
    items(answer, "/event").iter().filter_map(|event| number(event, "/index")).max()
}

/// Whether an event names a resource: by the engine's id, its name, or the correlation id of the call that began it.
fn is_about(event: &Value, followed: &Followed<Desired, State>) -> bool {
    let desired = &followed.resource.desired;
    let machine = match &followed.observed {
        Some(State::Power(power)) => Some(power.machine.as_str()),
        Some(state) => state.object().map(|object| object.id.as_str()),
        None => None,
    };
    text(event, "/correlation_id") == desired.mark.to_string()
        || text(event, "/vm/name") == desired.name
        || machine.is_some_and(|id| !id.is_empty() && text(event, "/vm/id") == id)
}
