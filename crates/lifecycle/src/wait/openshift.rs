//! Until the cluster's operators are stable.

use jiff::{SignedDuration, Timestamp};
use kube::Api;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, ListParams};
use serde_json::Value;
use slipway_providers::cluster::AccessError;

use super::{Goal, View, WaitTarget};

/// An operator that has rested for so long is stable.
const STABLE_TIME: SignedDuration = SignedDuration::from_secs(30);
/// How many operators are named.
const NAMED: usize = 4;

pub(super) async fn look(subject: &WaitTarget) -> View {
    let kind = |kind: &str, plural: &str| {
        ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk("config.openshift.io", "v1", kind), plural)
    };
    let read = async {
        let client = subject.client().await?;
        let versions: Api<DynamicObject> =
            Api::all_with(client.clone(), &kind("ClusterVersion", "clusterversions"));
        let operators: Api<DynamicObject> =
            Api::all_with(client, &kind("ClusterOperator", "clusteroperators"));
        let version =
            subject.call("reading the ClusterVersion", async { versions.get_opt("version").await }).await?;
        let operators = subject
            .call("listing cluster operators", async { operators.list(&ListParams::default()).await })
            .await?;
        let operators = operators
            .items
            .into_iter()
            .map(|operator| (operator.metadata.name.clone().unwrap_or_default(), operator.data));
        Ok::<_, AccessError>((version.map(|version| version.data), operators.collect::<Vec<_>>()))
    };
    match read.await {
        Ok((version, operators)) => judge(version.as_ref(), &operators, Timestamp::now()),
        Err(error) => {
            let why = subject.explain(&error);
            View { waiting: vec![format!("the API ({why})")], cause: Some(why), ..View::of(Goal::Install) }
        }
    }
}

fn condition<'a>(object: &'a Value, kind: &str) -> Option<&'a Value> {
    let conditions = object.pointer("/status/conditions")?.as_array()?;
    conditions.iter().find(|condition| condition["type"] == kind)
}

fn is(object: &Value, kind: &str, status: &str) -> bool {
    condition(object, kind).is_some_and(|condition| condition["status"] == status)
}

fn message<'a>(object: &'a Value, kind: &str) -> &'a str {
    condition(object, kind)
        .and_then(|condition| condition["message"].as_str())
        .unwrap_or("no reason is given")
}

/// What is waited for: first the version, then its operators.
pub fn judge(version: Option<&Value>, operators: &[(String, Value)], now: Timestamp) -> View {
    let mut view = View::of(Goal::Install);
    let Some(version) = version else {
        view.waiting.push("the ClusterVersion `version`".to_owned());
        return view;
    };
    let failing = is(version, "Failing", "True");
    if failing || !is(version, "Available", "True") || !is(version, "Progressing", "False") {
        let why = if failing { message(version, "Failing") } else { message(version, "Progressing") };
        view.waiting.push(format!("the cluster version: {why}"));
        let bad = operators.iter().find(|(_, operator)| is(operator, "Degraded", "True"));
        view.cause = Some(match bad {
            Some((name, operator)) => {
                format!("the cluster operator {name} is degraded: {}", message(operator, "Degraded"))
            }
            None => why.to_owned(),
        });
        view.hint = Some("oc get clusterversion,clusteroperators; or run `slipway gather`".to_owned());
        return view;
    }
    view.goal = Goal::Operators;
    let unstable: Vec<String> =
        operators.iter().filter_map(|(name, operator)| unrest(name, operator, now)).collect();
    view.cause = unstable.first().cloned();
    let more = unstable.len().saturating_sub(NAMED);
    view.waiting.extend(unstable.into_iter().take(NAMED));
    if more > 0 {
        view.waiting.push(format!("{more} more cluster operators"));
    }
    view
}

fn unrest(name: &str, operator: &Value, now: Timestamp) -> Option<String> {
    for (kind, good, bad) in [
        ("Available", "True", "is not available"),
        ("Degraded", "False", "is degraded"),
        ("Progressing", "False", "is at work"),
    ] {
        if !is(operator, kind, good) {
            return Some(format!("the cluster operator {name} {bad}: {}", message(operator, kind)));
        }
    }
    let since =
        condition(operator, "Progressing")?["lastTransitionTime"].as_str()?.parse::<Timestamp>().ok()?;
    let rested = now.duration_since(since) >= STABLE_TIME;
    (!rested).then(|| format!("the cluster operator {name} became stable only a moment ago"))
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::judge;
    use crate::wait::Goal;

    fn object(conditions: &[(&str, &str, &str)]) -> Value {
        let conditions: Vec<Value> = conditions
            .iter()
            .map(|(kind, status, time)| {
                json!({"type": kind, "status": status, "message": format!("{kind} is {status}"), "lastTransitionTime": time})
            })
            .collect();
        json!({"status": {"conditions": conditions}})
    }

    const LONG_AGO: &str = "2026-11-16T11:00:00Z";
    const JUST_NOW: &str = "2026-11-16T11:59:45Z";

    fn now() -> Timestamp {
        "2026-11-16T12:00:00Z".parse().unwrap()
    }

    #[rstest]
    #[case::well("True", "False", "False", LONG_AGO, None)]
    #[case::unavailable("False", "False", "False", LONG_AGO, Some("is not available"))]
    #[case::degraded("True", "True", "False", LONG_AGO, Some("is degraded"))]
    #[case::at_work("True", "False", "True", LONG_AGO, Some("is at work"))]
    #[case::restless("True", "False", "False", JUST_NOW, Some("became stable only a moment ago"))]
    fn operators(
        #[case] available: &str,
        #[case] degraded: &str,
        #[case] progressing: &str,
        #[case] time: &str,
        #[case] says: Option<&str>,
    ) {
        let version = object(&[("Available", "True", LONG_AGO), ("Progressing", "False", LONG_AGO)]);
        let operator = object(&[
            ("Available", available, time),
            ("Degraded", degraded, time),
            ("Progressing", progressing, time),
        ]);
        let view = judge(Some(&version), &[("etcd".to_owned(), operator)], now());
        assert_eq!(view.goal, Goal::Operators);
        match says {
            None => assert!(view.is_done()),
            Some(says) => assert!(view.waiting[0].contains(says), "{:?}", view.waiting),
        }
    }

    #[test]
    fn a_version_on_its_way_names_who_is_degraded() {
        let version = object(&[("Available", "False", LONG_AGO), ("Progressing", "True", LONG_AGO)]);
        let operator = object(&[("Degraded", "True", LONG_AGO)]);
        let view = judge(Some(&version), &[("ingress".to_owned(), operator)], now());
        assert_eq!(view.goal, Goal::Install);
        assert_eq!(view.waiting, ["the cluster version: Progressing is True"]);
        assert_eq!(view.cause.unwrap(), "the cluster operator ingress is degraded: Degraded is True");
        assert!(!judge(None, &[], now()).is_done());
    }
}
