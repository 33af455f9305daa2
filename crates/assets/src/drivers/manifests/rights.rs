//! What roles and bindings of a text may say.

use k8s_openapi::api::rbac::v1::{PolicyRule, RoleRef, Subject};

use super::{Patch, Purpose};
use crate::drivers::pods::texts;

/// A role of the API server's own, by which the driver's server learns whom to believe.
const AUTHENTICATION_READER: &str = "extension-apiserver-authentication-reader";

/// No rights by wildcard, none to get more rights; and the cloud provider deletes no node.
pub(super) fn of_role(rules: Option<&mut Vec<PolicyRule>>, patch: &Patch<'_>) -> Result<(), String> {
    let Some(rules) = rules else { return Ok(()) };
    if matches!(patch.on, Purpose::Cloud) {
        // It reads its login by a role of ours, where nothing else is.
        rules
            .iter_mut()
            .flat_map(|rule| &mut rule.resources)
            .for_each(|all| all.retain(|one| one != "secrets"));
        rules.retain(|rule| rule.resources.as_ref().is_none_or(|all| !all.is_empty()));
    }
    for rule in rules {
        let nodes = rule.resources.iter().flatten().any(|resource| resource == "nodes");
        if nodes && matches!(patch.on, Purpose::Cloud) {
            // A node that no vCenter knows may be a machine of another kind.
            rule.verbs = texts(["get", "list", "watch", "patch", "update"]);
        }
        let lists = [rule.api_groups.as_ref(), rule.resources.as_ref(), Some(&rule.verbs)];
        if lists.into_iter().flatten().flatten().any(|word| word == "*" || word.ends_with("/*")) {
            return Err("it gives rights by a wildcard".to_owned());
        }
        if let Some(verb) =
            rule.verbs.iter().find(|verb| ["escalate", "bind", "impersonate"].contains(&verb.as_str()))
        {
            return Err(format!("it gives the right to `{verb}`"));
        }
    }
    Ok(())
}

/// A role of the same text, for accounts of the driver.
pub(super) fn of_binding(
    role: &RoleRef,
    subjects: Option<&mut Vec<Subject>>,
    roles: &[String],
    patch: &Patch<'_>,
) -> Result<(), String> {
    let named = format!("{} {}", role.kind, role.name);
    if !roles.contains(&named) && role.name != AUTHENTICATION_READER {
        return Err(format!("it binds {named}, which is not among these objects"));
    }
    let Some(subjects) = subjects else { return Ok(()) };
    // The cloud provider's own manifests name, beside its account, a user that does not exist.
    subjects.retain(|subject| {
        (subject.kind.as_str(), subject.name.as_str()) != ("User", "cloud-controller-manager")
    });
    for subject in subjects {
        let namespace = subject.namespace.get_or_insert_with(|| patch.namespace.to_owned());
        if subject.kind != "ServiceAccount" || namespace != patch.namespace {
            return Err(format!(
                "it gives rights to {} `{}`, which is not an account of the driver",
                subject.kind, subject.name
            ));
        }
    }
    Ok(())
}
