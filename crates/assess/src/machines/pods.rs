//! Which pods have to leave a node that is drained, as `kubectl drain` has it.

use k8s_openapi::api::core::v1::Pod;

/// Pods that stay, because the kubelet has them from a file.
const MIRROR: &str = "kubernetes.io/config.mirror";

/// Why a pod stays on a node that is drained.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stays {
    /// Its DaemonSet would put it there again.
    DaemonSet,
    /// The kubelet has it from a file.
    Mirror,
}

/// Why a pod stays; `None` for one that has to leave.
pub fn stays(pod: &Pod) -> Option<Stays> {
    if pod.metadata.annotations.as_ref().is_some_and(|all| all.contains_key(MIRROR)) {
        return Some(Stays::Mirror);
    }
    let owners = pod.metadata.owner_references.iter().flatten();
    let mut controllers = owners.filter(|owner| owner.controller == Some(true));
    let is_over = is_over(pod);
    controllers.any(|owner| owner.kind == "DaemonSet" && !is_over).then_some(Stays::DaemonSet)
}

/// Whether a pod has ended: no budget counts it.
pub fn is_over(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    matches!(phase, Some("Succeeded" | "Failed"))
}

/// Whether a pod serves.
pub fn is_ready(pod: &Pod) -> bool {
    let conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions.into_iter().any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

/// `namespace/name`.
pub fn called(pod: &Pod) -> String {
    let part = |text: &Option<String>| text.clone().unwrap_or_default();
    format!("{}/{}", part(&pod.metadata.namespace), part(&pod.metadata.name))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::{Stays, stays};

    fn owned(kind: &str, controller: bool) -> Value {
        let owner =
            json!({"apiVersion": "apps/v1", "kind": kind, "name": "a", "uid": "1", "controller": controller});
        json!({"metadata": {"ownerReferences": [owner]}})
    }

    #[rstest]
    #[case::bare(json!({"metadata": {}}), None)]
    #[case::mirror(json!({"metadata": {"annotations": {"kubernetes.io/config.mirror": "a"}}}), Some(Stays::Mirror))]
    #[case::daemon(owned("DaemonSet", true), Some(Stays::DaemonSet))]
    #[case::not_its_controller(owned("DaemonSet", false), None)]
    #[case::replica_set(owned("ReplicaSet", true), None)]
    fn some_stay(#[case] pod: Value, #[case] expected: Option<Stays>) {
        assert_eq!(stays(&serde_json::from_value(pod).unwrap()), expected);
    }

    #[test]
    fn a_daemon_that_is_over_goes() {
        let mut pod = owned("DaemonSet", true);
        pod["status"] = json!({"phase": "Failed"});
        assert_eq!(stays(&serde_json::from_value(pod).unwrap()), None);
    }
}
