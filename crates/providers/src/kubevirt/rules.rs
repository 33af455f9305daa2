//! The Role that a user of the namespace needs, and which of its rules are missing.

use futures_util::future::try_join_all;
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec,
};
use kube::Api;
use kube::api::PostParams;
use serde_json::{Value, json};

use super::infra::Infra;
use crate::cluster::{AccessError, call};

/// What may be done to the objects of a kind, and what for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    pub group: &'static str,
    pub resource: &'static str,
    pub verbs: &'static [&'static str],
    /// The end of a sentence that begins with "needed to".
    pub purpose: &'static str,
}

/// Everything that creating, watching and destroying a cluster needs.
pub const RULES: [Rule; 8] = [
    Rule {
        group: "",
        resource: "limitranges",
        verbs: &["list"],
        purpose: "tell beforehand which machines are too large",
    },
    Rule {
        group: "",
        resource: "namespaces",
        verbs: &["get"],
        purpose: "tell this namespace from another one of its name",
    },
    Rule {
        group: "",
        resource: "resourcequotas",
        verbs: &["list"],
        purpose: "tell beforehand whether there is room",
    },
    Rule {
        group: "",
        resource: "secrets",
        verbs: &["create", "delete", "get", "list", "patch", "watch"],
        purpose: "keep what machines boot from",
    },
    Rule {
        group: "cdi.kubevirt.io",
        resource: "datavolumes",
        verbs: &["create", "delete", "get", "list", "watch"],
        purpose: "import the image and remove disks",
    },
    Rule {
        group: "k8s.cni.cncf.io",
        resource: "network-attachment-definitions",
        verbs: &["list"],
        purpose: "see the networks machines can be on",
    },
    Rule {
        group: "kubevirt.io",
        resource: "virtualmachineinstances",
        verbs: &["delete", "get", "list", "watch"],
        purpose: "see which machines run",
    },
    Rule {
        group: "kubevirt.io",
        resource: "virtualmachines",
        verbs: &["create", "delete", "get", "list", "patch", "watch"],
        purpose: "create, start, stop and remove machines",
    },
];

/// Something that is not allowed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct MissingRule {
    /// `virtualmachines.kubevirt.io`.
    pub object: String,
    pub verbs: Vec<String>,
    pub purpose: &'static str,
}

impl Rule {
    /// As plans name it.
    pub fn object(&self) -> String {
        if self.group.is_empty() {
            self.resource.to_owned()
        } else {
            format!("{}.{}", self.resource, self.group)
        }
    }
}

/// The Role as a manifest, without a namespace: it is applied to the tenant's.
pub fn role() -> Value {
    let rule =
        |rule: &Rule| json!({"apiGroups": [rule.group], "resources": [rule.resource], "verbs": rule.verbs});
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": {"name": "slipway-tenant"},
        "rules": RULES.iter().map(rule).collect::<Vec<_>>(),
    })
}

impl Infra {
    /// Whether the user may do something in the namespace.
    pub async fn may(&self, group: &str, resource: &str, verb: &str) -> Result<bool, AccessError> {
        let reviews: Api<SelfSubjectAccessReview> = Api::all(self.client().await?.clone());
        let attributes = ResourceAttributes {
            namespace: Some(self.namespace().to_owned()),
            group: Some(group.to_owned()),
            resource: Some(resource.to_owned()),
            verb: Some(verb.to_owned()),
            // The namespace itself is asked for by its name.
            name: (resource == "namespaces").then(|| self.namespace().to_owned()),
            ..ResourceAttributes::default()
        };
        let spec = SelfSubjectAccessReviewSpec {
            resource_attributes: Some(attributes),
            ..SelfSubjectAccessReviewSpec::default()
        };
        let review = SelfSubjectAccessReview { spec, ..SelfSubjectAccessReview::default() };
        let doing = format!("asking whether {verb} of {resource} is allowed");
        let answer = call(&doing, reviews.create(&PostParams::default(), &review)).await?;
        Ok(answer.status.is_some_and(|status| status.allowed))
    }

    /// The rules that are missing, all at once.
    pub async fn missing_rules(&self) -> Result<Vec<MissingRule>, AccessError> {
        let ask = |rule: Rule| async move {
            let verbs = rule.verbs.iter().map(|verb| async move {
                Ok::<_, AccessError>((*verb, self.may(rule.group, rule.resource, verb).await?))
            });
            let answers = try_join_all(verbs).await?;
            let verbs: Vec<String> =
                answers.into_iter().filter(|(_, may)| !may).map(|(verb, _)| verb.to_owned()).collect();
            Ok::<_, AccessError>(MissingRule { object: rule.object(), verbs, purpose: rule.purpose })
        };
        let asked = try_join_all(RULES.into_iter().map(ask)).await?;
        Ok(asked.into_iter().filter(|rule| !rule.verbs.is_empty()).collect())
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::role;

    #[test]
    fn the_role_that_is_shipped_is_the_one_that_is_checked() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/kubevirt/role.yaml");
        let shipped = fs_err::read_to_string(file).unwrap();
        let shipped = slipway_config::yaml::from_yaml(&shipped).unwrap_or_else(|_| panic!("not YAML"));
        assert_eq!(shipped, role());
    }
}
