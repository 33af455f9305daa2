//! Asking the API server to evict a pod, and what it answers.

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::policy::v1::Eviction;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{DeleteOptions, ObjectMeta, Preconditions};
use kube::api::PostParams;
use kube::core::Status;
use kube::{Api, Client};
use slipway_assess::machines::pods::called;
use slipway_providers::cluster::{AccessError, call};
use slipway_providers::text::chain;

/// What became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It is on its way.
    Leaving,
    Gone,
    /// A disruption budget keeps it, in the words of the API server.
    Kept(String),
    Failed(String),
}

impl Outcome {
    /// As metrics call it.
    pub(super) fn result(&self) -> &'static str {
        match self {
            Outcome::Leaving => "leaving",
            Outcome::Gone => "gone",
            Outcome::Kept(_) => "kept",
            Outcome::Failed(_) => "failed",
        }
    }
}

/// What cannot be left in an unreachable node's time.
const UNREACHABLE_GRACE_SECONDS: i64 = 1;

/// Evicts this very pod, not another one of its name.
pub(super) async fn evict(client: &Client, pod: &Pod, is_unreachable: bool) -> Outcome {
    let ObjectMeta { name, namespace, uid, .. } = &pod.metadata;
    let (name, namespace) = (name.as_deref().unwrap_or_default(), namespace.as_deref().unwrap_or_default());
    let eviction = Eviction {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            namespace: Some(namespace.to_owned()),
            ..ObjectMeta::default()
        },
        delete_options: Some(DeleteOptions {
            grace_period_seconds: is_unreachable.then_some(UNREACHABLE_GRACE_SECONDS),
            preconditions: Some(Preconditions { uid: uid.clone(), resource_version: None }),
            ..DeleteOptions::default()
        }),
    };
    let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
    let parameters = PostParams::default();
    let asked = pods.create_subresource::<Eviction, Status>("eviction", name, &parameters, &eviction);
    answer(call(&format!("evicting pod `{}`", called(pod)), asked).await)
}

fn answer(answer: Result<Status, AccessError>) -> Outcome {
    let Err(error) = answer else { return Outcome::Leaving };
    if let AccessError::Api { source, .. } = &error
        && let kube::Error::Api(status) = &**source
    {
        let causes = status.details.iter().flat_map(|details| &details.causes);
        let mut budgets = causes.filter(|cause| cause.reason == "DisruptionBudget");
        match status.code {
            // It is not there, or another pod of its name is.
            404 | 409 => return Outcome::Gone,
            429 => {
                if let Some(cause) = budgets.next() {
                    return Outcome::Kept(cause.message.clone());
                }
            }
            // The API server's answer for a pod that several budgets match.
            500 if status.message.contains("PodDisruptionBudget") => {
                return Outcome::Kept(status.message.clone());
            }
            _ => {}
        }
    }
    Outcome::Failed(chain(&error))
}

#[cfg(test)]
mod tests {
    use kube::core::Status;
    use rstest::rstest;
    use serde_json::{Value, json};
    use slipway_providers::cluster::AccessError;

    use super::{Outcome, answer};

    fn budget() -> Value {
        json!({"causes": [{"reason": "DisruptionBudget", "message": "The disruption budget shop needs 1"}]})
    }

    #[rstest]
    #[case::gone(404, "not found", json!({}), Outcome::Gone)]
    #[case::replaced(409, "the UID in the precondition", json!({}), Outcome::Gone)]
    #[case::budget(429, "Cannot evict pod", budget(), Outcome::Kept("The disruption budget shop needs 1".to_owned()))]
    #[case::several(
        500, "This pod has more than one PodDisruptionBudget", json!({}),
        Outcome::Kept("This pod has more than one PodDisruptionBudget".to_owned())
    )]
    fn answers_are_understood(
        #[case] code: u16,
        #[case] message: &str,
        #[case] details: Value,
        #[case] expected: Outcome,
    ) {
        assert_eq!(answer(Err(refused(code, message, &details))), expected);
    }

    #[rstest]
    #[case::busy(429)]
    #[case::forbidden(403)]
    #[case::broken(500)]
    fn everything_else_is_tried_again(#[case] code: u16) {
        assert!(matches!(answer(Err(refused(code, "no", &json!({})))), Outcome::Failed(_)));
    }

    fn refused(code: u16, message: &str, details: &Value) -> AccessError {
        let status: Status =
            serde_json::from_value(json!({"code": code, "message": message, "details": details})).unwrap();
        let source = Box::new(kube::Error::Api(Box::new(status)));
        AccessError::Api { doing: "evicting".to_owned(), source }
    }
}
