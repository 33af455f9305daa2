//! Reading resources: one list per kind, by the mark of the cluster, however many there are.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use futures_util::future::try_join_all;
use kube::api::{DynamicObject, ListParams};
use kube::{Api, ResourceExt};
use serde_json::Value;
use slipway_config::ids::{CLUSTER_MARK, OBJECT_MARK};
use slipway_engine::platform::Query;
use slipway_engine::{Cause, Observation};

use super::error::KindError;
use super::infra::Infra;
use super::kinds::{Desired, Kind, PowerState, State, object_state, reason};
use crate::cluster::{AccessError, call};

/// Objects of an answer: more come in further ones.
const PAGE: u32 = 500;

/// All objects of a cluster of some kinds. Where two kinds are of the same objects, one of them has them.
pub(super) type Listed = BTreeMap<Kind, Vec<DynamicObject>>;

/// The kind under which objects are listed.
pub(super) fn listed_as(kind: Kind) -> Kind {
    match kind {
        Kind::Disk => Kind::Image,
        Kind::Power => Kind::Machine,
        other => other,
    }
}

impl Infra {
    /// Objects that carry a label. Of Secrets only the metadata: what is in them is not asked for.
    pub(super) async fn list(&self, kind: Kind, selector: &str) -> Result<Vec<DynamicObject>, AccessError> {
        let api = self.objects(&kind.resource()).await?;
        let doing = format!("listing {}", kind.plural());
        pages(&api, &doing, ListParams::default().labels(selector), kind == Kind::Secret).await
    }

    /// All lists at once.
    pub(super) async fn list_all(
        &self,
        kinds: &BTreeSet<Kind>,
        selector: &str,
    ) -> Result<Listed, AccessError> {
        let list = |kind: Kind| async move { Ok((kind, self.list(kind, selector).await?)) };
        Ok(try_join_all(kinds.iter().copied().map(list)).await?.into_iter().collect())
    }

    pub(super) async fn observe(
        &self,
        queries: &[Query<'_, Desired, State>],
    ) -> Result<Vec<Observation<State>>, KindError> {
        let namespace = self.instance().await?.to_owned();
        let mut kinds: BTreeSet<Kind> =
            queries.iter().map(|query| listed_as(query.resource.desired.kind)).collect();
        if queries.iter().any(|query| query.resource.desired.kind == Kind::Power) {
            kinds.insert(Kind::Instance);
        }
        let clusters: BTreeSet<&str> =
            queries.iter().map(|query| query.resource.desired.infra_id.as_str()).collect();
        let clusters: Vec<&str> = clusters.into_iter().collect();
        let listed = self.list_all(&kinds, &format!("{CLUSTER_MARK} in ({})", clusters.join(","))).await?;
        let mut observations = Vec::with_capacity(queries.len());
        for Query { resource, made } in queries {
            let seen = seen(&namespace, &resource.desired, &listed);
            observations.push(match (seen, made) {
                (Some(state), _) => Observation::Known(Some(state)),
                (None, Some(State::Object(made))) if made.namespace != namespace => {
                    let message = "the namespace is another one than when it was created";
                    Observation::Unknown(Cause::new(reason::ANOTHER_NAMESPACE, message))
                }
                (None, Some(State::Object(made))) => self.proof(&resource.desired, &made.uid).await?,
                (None, _) => Observation::Known(None),
            });
        }
        Ok(observations)
    }

    /// Whether something that was made is gone, or only out of the lists: its labels may have been removed.
    async fn proof(&self, desired: &Desired, uid: &str) -> Result<Observation<State>, KindError> {
        if !self.is_there(desired.kind, &desired.name, uid).await? {
            return Ok(Observation::Known(None));
        }
        let message = format!(
            "it is there and lacks the labels {CLUSTER_MARK} and {OBJECT_MARK}; put them back: {CLUSTER_MARK}={}, \
             {OBJECT_MARK}={}",
            desired.infra_id, desired.mark
        );
        Ok(Observation::Unknown(Cause::new(reason::MARKS_LOST, message)))
    }

    /// Whether the very object is there.
    pub(super) async fn is_there(&self, kind: Kind, name: &str, uid: &str) -> Result<bool, AccessError> {
        let api = self.objects(&kind.resource()).await?;
        match call(&format!("reading {kind} {name}"), api.get_metadata(name)).await {
            Err(error) if error.is_absent() => Ok(false),
            found => Ok(found?.metadata.uid.as_deref() == Some(uid)),
        }
    }
}

/// All pages of a list, of objects or of their metadata alone.
pub(super) async fn pages(
    api: &Api<DynamicObject>,
    doing: &str,
    parameters: ListParams,
    bare: bool,
) -> Result<Vec<DynamicObject>, AccessError> {
    let mut parameters = parameters.limit(PAGE);
    let mut objects = Vec::new();
    loop {
        let next = if bare {
            let page = call(doing, api.list_metadata(&parameters)).await?;
            let bare = |metadata| DynamicObject { types: None, metadata, data: Value::Null };
            objects.extend(page.items.into_iter().map(|object| bare(object.metadata)));
            page.metadata.continue_
        } else {
            let page = call(doing, api.list(&parameters)).await?;
            objects.extend(page.items);
            page.metadata.continue_
        };
        match next.filter(|token| !token.is_empty()) {
            Some(token) => parameters = parameters.continue_token(&token),
            None => return Ok(objects),
        }
    }
}

/// A resource among the objects of its cluster.
fn seen(namespace: &str, desired: &Desired, listed: &Listed) -> Option<State> {
    let of = |kind: Kind| {
        let objects = listed.get(&kind).map(Vec::as_slice).unwrap_or_default();
        objects.iter().find(|object| object.name_any() == desired.name && desired.is(object.labels()))
    };
    let object = of(listed_as(desired.kind))?;
    Some(match desired.kind {
        Kind::Power => State::Power(power_state(object, of(Kind::Instance))),
        _ => State::Object(object_state(namespace, object)),
    })
}

/// Whether a machine runs, from its VirtualMachine and its instance.
pub(super) fn power_state(machine: &DynamicObject, instance: Option<&DynamicObject>) -> PowerState {
    let strategy = machine.data.pointer("/spec/runStrategy").and_then(Value::as_str);
    let running = machine.data.pointer("/spec/running").and_then(Value::as_bool).unwrap_or_default();
    let phase = |instance: &DynamicObject| {
        let phase = instance.data.pointer("/status/phase").and_then(Value::as_str);
        phase.filter(|phase| !phase.is_empty()).unwrap_or("Pending").to_owned()
    };
    PowerState {
        machine: machine.uid().unwrap_or_default(),
        on: running || strategy.is_some_and(|strategy| strategy != "Halted"),
        phase: instance.map(phase),
        addresses: instance.map(addresses).unwrap_or_default(),
        problem: problem(machine),
    }
}

fn addresses(instance: &DynamicObject) -> Vec<IpAddr> {
    let interfaces = instance.data.pointer("/status/interfaces").and_then(Value::as_array);
    let mut addresses = Vec::new();
    for interface in interfaces.into_iter().flatten() {
        let several = interface["ipAddresses"].as_array().into_iter().flatten();
        for text in several.chain([&interface["ipAddress"]]).filter_map(Value::as_str) {
            if let Ok(address) = text.parse()
                && !addresses.contains(&address)
            {
                addresses.push(address);
            }
        }
    }
    addresses
}

/// What KubeVirt says is wrong with a machine that does not run.
fn problem(machine: &DynamicObject) -> Option<String> {
    let conditions = machine.data.pointer("/status/conditions")?.as_array()?;
    let is_failure = |condition: &&Value| match condition["type"].as_str() {
        Some("Failure") => condition["status"] == "True",
        Some("Ready" | "PodScheduled") => condition["status"] == "False",
        _ => false,
    };
    let mut told = conditions.iter().filter(is_failure).filter_map(|condition| condition["message"].as_str());
    told.find(|message| !message.is_empty()).map(ToOwned::to_owned)
}

#[cfg(test)]
mod tests {
    use kube::api::DynamicObject;
    use serde_json::{Value, json};

    use super::{object_state, power_state};

    fn object(mut data: Value) -> DynamicObject {
        data["metadata"] = json!({"name": "m", "uid": "u"});
        serde_json::from_value(data).unwrap()
    }

    #[test]
    fn a_machine_runs_when_its_instance_does() {
        let machine = object(json!({"spec": {"runStrategy": "Always"}}));
        let waiting = power_state(&machine, None);
        assert!(waiting.on && !waiting.is_running());
        let instance = object(json!({"status": {"phase": "Running", "interfaces": [
            {"ipAddress": "10.0.0.5", "ipAddresses": ["10.0.0.5", "fd00::5"]}, {"name": "no address"},
        ]}}));
        let running = power_state(&machine, Some(&instance));
        assert!(running.is_running());
        assert_eq!(
            running.addresses,
            ["10.0.0.5", "fd00::5"].map(|address| address.parse::<std::net::IpAddr>().unwrap())
        );
        let halted = power_state(&object(json!({"spec": {"runStrategy": "Halted"}})), None);
        assert!(!halted.on);
        let older = power_state(&object(json!({"spec": {"running": true}})), None);
        assert!(older.on);
    }

    /// CDI tries for ever, and its phase says so: only a condition says why.
    #[test]
    fn a_volume_that_does_not_get_on_says_why() {
        let conditions = json!([
            {"type": "Bound", "status": "True", "reason": "Bound", "message": "bound"},
            {"type": "Running", "status": "False", "reason": "Error", "message": "no such host"},
        ]);
        let volume = object(json!({"status": {"phase": "ImportInProgress", "conditions": conditions}}));
        assert_eq!(object_state("n", &volume).problem.as_deref(), Some("no such host"));
        let filled = json!([
            {"type": "Running", "status": "False", "reason": "Completed", "message": "import complete"},
        ]);
        let volume = object(json!({"status": {"phase": "Succeeded", "conditions": filled}}));
        assert_eq!(object_state("n", &volume).problem, None);
    }

    #[test]
    fn a_machine_that_does_not_run_says_why() {
        let conditions = json!([
            {"type": "Ready", "status": "False", "message": ""},
            {"type": "Failure", "status": "True", "message": "no storage class"},
        ]);
        let machine =
            object(json!({"spec": {"runStrategy": "Always"}, "status": {"conditions": conditions}}));
        assert_eq!(power_state(&machine, None).problem.as_deref(), Some("no storage class"));
    }
}
