//! Whether a tenant cluster can be made in a namespace of an infrastructure cluster, as its user.

use std::sync::Arc;

use slipway_providers::cluster::{AccessError, Cause};
use slipway_providers::kubevirt::Infra;
use slipway_providers::kubevirt::rules::MissingRule;
use slipway_providers::text::chain;

use crate::preflight::inspect::{Answer, Inspect, Target};
use crate::preflight::report::{Check, Finding};
use crate::runner::Options;

/// What the configuration wants of the infrastructure cluster.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// Why its network cannot work.
    pub network_refused: Option<String>,
    /// Its disks allow machines to move to another node while they run.
    pub migrates: bool,
}

/// A namespace of an infrastructure cluster that is asked.
#[derive(Debug)]
pub struct InfraNamespace {
    pub endpoint: String,
    pub infra: Arc<Infra>,
    pub wanted: Wanted,
}

/// What was read of it.
#[derive(Debug, Default)]
pub struct Read {
    missing: Option<Vec<MissingRule>>,
}

impl Inspect for InfraNamespace {
    type Session = Arc<Infra>;
    type Observed = Read;

    fn targets(&self) -> Vec<Target> {
        vec![Target::from(self.endpoint.as_str())]
    }

    fn connect(&self, _: usize, _: &Options) -> Result<Arc<Infra>, Box<Finding>> {
        Ok(self.infra.clone())
    }

    async fn observe(&self, _: usize, infra: &Arc<Infra>, _: &Options, read: &mut Read) -> Answer {
        let failed = |error: AccessError| Box::new(unreached(&self.endpoint, &error));
        let user = infra.user().await.map_err(failed)?;
        read.missing = Some(infra.missing_rules().await.map_err(failed)?);
        match infra.instance().await {
            Err(error) if error.is_absent() => {
                let message = format!("the namespace `{}` is not there", infra.namespace());
                let remedy = "ask the administrator of the infrastructure cluster for the namespace, or correct its name";
                Err(Box::new(Finding::failure(Check::Platform, infra.namespace(), message).remedy(remedy)))
            }
            // Said as a missing rule.
            Err(error) if error.cause() == Cause::Forbidden => Ok(Some(user)),
            Err(error) => Err(failed(error)),
            Ok(_) => Ok(Some(user)),
        }
    }

    fn judge(&self, _: usize, read: &Read, _: &Options) -> Vec<Finding> {
        judge(self.infra.namespace(), &self.wanted, read)
    }
}

fn unreached(endpoint: &str, error: &AccessError) -> Finding {
    let remedy = match error.cause() {
        Cause::Unauthorized => {
            "the token or certificate of the kubeconfig is not accepted; get a new one, as it may have expired"
        }
        Cause::Untrusted(_) => "check `certificate-authority-data` of the cluster in the kubeconfig",
        _ => "check the server of the kubeconfig's current context, and that this machine reaches it",
    };
    Finding::failure(Check::Connection, endpoint, chain(error)).remedy(remedy)
}

fn judge(namespace: &str, wanted: &Wanted, read: &Read) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Some(reason) = &wanted.network_refused {
        findings.push(Finding::failure(Check::Network, namespace, reason.as_str()));
    }
    if !wanted.migrates {
        let message = "machines cannot move to another node while they run: their disks are ReadWriteOnce. They are shut down \
                       when their node is drained";
        let remedy = "use a storage class with ReadWriteMany where the infrastructure cluster has one";
        findings.push(Finding::warning(Check::Storage, namespace, message).remedy(remedy));
    }
    match read.missing.as_deref() {
        None => {}
        Some([]) => {
            findings.push(Finding::pass(Check::Privileges, namespace, "the user may do all that is needed"));
        }
        Some(missing) => {
            let message = "the user may not do all that is needed in the namespace";
            let remedy = "ask the administrator of the infrastructure cluster to apply deploy/kubevirt/role.yaml to the \
                          namespace and to bind it to the user";
            let finding = Finding::failure(Check::Privileges, namespace, message).remedy(remedy);
            findings.push(finding.details(table(missing)));
        }
    }
    findings
}

/// One line for each kind of objects, in columns.
fn table(missing: &[MissingRule]) -> Vec<String> {
    let verbs: Vec<String> = missing.iter().map(|rule| rule.verbs.join(", ")).collect();
    let objects = missing.iter().map(|rule| rule.object.len()).max().unwrap_or_default();
    let widest = verbs.iter().map(String::len).max().unwrap_or_default();
    let line = |(MissingRule { object, purpose, .. }, verbs): (&MissingRule, &String)| {
        format!("{object:objects$}  {verbs:widest$}  to {purpose}")
    };
    missing.iter().zip(&verbs).map(line).collect()
}

#[cfg(test)]
mod tests {
    use slipway_providers::kubevirt::rules::MissingRule;

    use super::{Read, Wanted, judge};
    use crate::finding::Outcome;
    use crate::preflight::report::Check;

    fn rule(object: &str, verbs: &[&str]) -> MissingRule {
        let verbs = verbs.iter().map(|verb| (*verb).to_owned()).collect();
        MissingRule { object: object.to_owned(), verbs, purpose: "do it" }
    }

    #[test]
    fn all_missing_rules_are_one_table() {
        let missing =
            vec![rule("secrets", &["create", "list"]), rule("virtualmachines.kubevirt.io", &["get"])];
        let wanted = Wanted { migrates: true, ..Wanted::default() };
        let findings = judge("tenant", &wanted, &Read { missing: Some(missing) });
        let [finding] = findings.as_slice() else { panic!("{findings:?}") };
        assert_eq!((finding.check, finding.outcome), (Check::Privileges, Outcome::Failure));
        assert_eq!(
            finding.details,
            [
                "secrets                      create, list  to do it",
                "virtualmachines.kubevirt.io  get           to do it",
            ]
        );
    }

    #[test]
    fn what_cannot_work_is_said_before_anything_is_made() {
        let wanted = Wanted { network_refused: Some("no".to_owned()), migrates: false };
        let outcomes: Vec<(Check, Outcome)> = judge("tenant", &wanted, &Read { missing: Some(Vec::new()) })
            .iter()
            .map(|finding| (finding.check, finding.outcome))
            .collect();
        assert_eq!(
            outcomes,
            [
                (Check::Network, Outcome::Failure),
                (Check::Storage, Outcome::Warning),
                (Check::Privileges, Outcome::Pass),
            ]
        );
    }
}
