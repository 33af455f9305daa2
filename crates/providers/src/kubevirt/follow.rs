//! Watches tell what has changed, so that nothing has to be listed again and again.

use std::collections::BTreeSet;
use std::pin::pin;

use futures_util::future::try_join_all;
use futures_util::{StreamExt, TryStreamExt};
use kube::ResourceExt;
use kube::api::{DynamicObject, WatchEvent, WatchParams};
use serde_json::Value;
use slipway_config::ids::CLUSTER_MARK;
use slipway_engine::feed::{Changes, Followed};

use super::error::KindError;
use super::infra::Infra;
use super::kinds::{Desired, Kind, State, object_state};
use super::look::{listed_as, power_state};
use crate::cluster::{AccessError, call};

impl Infra {
    /// One watch for each kind of objects. It ends when one of them does, and another is opened then.
    pub(super) async fn follow(
        &self,
        resources: &[Followed<Desired, State>],
        changes: &Changes,
    ) -> Result<(), KindError> {
        let mut kinds: BTreeSet<Kind> =
            resources.iter().map(|followed| listed_as(followed.resource.desired.kind)).collect();
        if resources.iter().any(|followed| followed.resource.desired.kind == Kind::Power) {
            kinds.insert(Kind::Instance);
        }
        let clusters: BTreeSet<&str> =
            resources.iter().map(|followed| followed.resource.desired.infra_id.as_str()).collect();
        let clusters: Vec<&str> = clusters.into_iter().collect();
        let selector = format!("{CLUSTER_MARK} in ({})", clusters.join(","));
        let watches = kinds.into_iter().map(|kind| self.watch(kind, &selector, resources, changes));
        try_join_all(watches).await?;
        Ok(())
    }

    async fn watch(
        &self,
        kind: Kind,
        selector: &str,
        resources: &[Followed<Desired, State>],
        changes: &Changes,
    ) -> Result<(), AccessError> {
        let api = self.objects(&kind.resource()).await?;
        let doing = format!("watching {}", kind.plural());
        let parameters = WatchParams::default().labels(selector);
        // Begins with all that is there: what changed since it was read is not missed.
        let mut events = pin!(call(&doing, api.watch(&parameters, "0")).await?.boxed());
        let failed = |source| AccessError::Api { doing: doing.clone(), source: Box::new(source) };
        while let Some(event) = events.try_next().await.map_err(failed)? {
            let (object, is_gone) = match event {
                WatchEvent::Added(object) | WatchEvent::Modified(object) => (object, false),
                WatchEvent::Deleted(object) => (object, true),
                WatchEvent::Bookmark(_) | WatchEvent::Error(_) => continue,
            };
            let named = resources.iter().filter(|one| {
                let desired = &one.resource.desired;
                let is_of_kind =
                    listed_as(desired.kind) == kind || (kind, desired.kind) == (Kind::Instance, Kind::Power);
                is_of_kind && desired.name == object.name_any()
            });
            for followed in named.filter(|one| is_gone || is_other(kind, &object, one.observed.as_ref())) {
                changes.tell(&followed.resource.id);
            }
        }
        Ok(())
    }
}

/// Whether an object is not as it was seen.
fn is_other(kind: Kind, object: &DynamicObject, observed: Option<&State>) -> bool {
    match observed {
        None => true,
        Some(State::Object(seen)) => object_state(&seen.namespace, object) != *seen,
        Some(State::Power(seen)) if kind == Kind::Instance => {
            let phase = object.data.pointer("/status/phase").and_then(Value::as_str);
            phase.unwrap_or("Pending") != seen.phase.as_deref().unwrap_or_default()
        }
        Some(State::Power(seen)) => {
            let is = power_state(object, None);
            (is.on, &is.machine, &is.problem) != (seen.on, &seen.machine, &seen.problem)
        }
    }
}
