//! Events, for people who look at an object.

use std::time::Duration;

use kube::Resource;
use kube::runtime::events::{Event, EventType, Recorder};
use tokio::time::timeout;

/// How long an event may take.
const PUBLISH_TIMEOUT: Duration = Duration::from_secs(10);

/// Tells what is new about an object. That it could not be told changes nothing.
pub(crate) async fn publish_event<K>(
    recorder: &Recorder,
    object: &K,
    good: bool,
    reason: &str,
    message: &str,
    action: &str,
) where
    K: Resource<DynamicType = ()>,
{
    let event = Event {
        type_: if good { EventType::Normal } else { EventType::Warning },
        reason: reason.to_owned(),
        // The API server takes at most 1024 bytes.
        note: Some(message.chars().take(250).collect()),
        action: action.to_owned(),
        secondary: None,
    };
    match timeout(PUBLISH_TIMEOUT, recorder.publish(&event, &object.object_ref(&()))).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::warn!(reason, %error, "publishing an Event failed"),
        Err(_) => tracing::warn!(reason, "publishing an Event timed out"),
    }
}
