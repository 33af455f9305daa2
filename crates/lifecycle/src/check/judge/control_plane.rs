//! Certificates of the control plane, where Slipway renews them.

use jiff::{SignedDuration, Timestamp};

use super::super::catalog::Check;
use super::super::cluster::Cluster;
use super::super::report::{Finding, Verdicts};

/// They are renewed 90 days before their end. What is left for less than this was not.
const WARN_BEFORE: SignedDuration = SignedDuration::from_hours(60 * 24);

pub(in crate::check) fn judge(cluster: &Cluster, now: Timestamp) -> Verdicts {
    let mut verdicts = Verdicts::default();
    // A machine that is gone renews nothing.
    let there = |name: &str| cluster.nodes.iter().any(|node| node.name == name);
    for one in cluster.certificates.iter().filter(|one| there(&one.node)) {
        let left = now.duration_until(one.until);
        let (node, file, until) = (&one.node, &one.file, one.until);
        let finding = if left.is_negative() {
            let message = format!("`{file}` of the control plane on `{node}` ended at {until}");
            Some(Finding::failure(Check::Certificate, node, message))
        } else if left < WARN_BEFORE {
            let days = left.as_hours() / 24;
            let message =
                format!("`{file}` of the control plane on `{node}` expires in {days} days, at {until}");
            Some(Finding::warning(Check::Certificate, node, message))
        } else {
            None
        };
        verdicts.add(Check::Certificate, finding.map(|finding| finding.remedy(remedy(node))));
    }
    verdicts
}

fn remedy(node: &str) -> String {
    format!(
        "see why it was not renewed: kubectl describe node {node}, and the log of kube-system/slipway-certificates there"
    )
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::judge;
    use crate::check::cluster::{Cluster, ControlPlaneCertificate, Node};
    use crate::check::report::Outcome;

    #[rstest]
    #[case::new("a", "2027-11-16T00:00:00Z", None)]
    #[case::renewed_soon("a", "2027-01-15T00:00:00Z", None)]
    #[case::not_renewed("a", "2027-01-14T00:00:00Z", Some(Outcome::Warning))]
    #[case::over("a", "2026-11-15T00:00:00Z", Some(Outcome::Failure))]
    #[case::gone("b", "2026-11-15T00:00:00Z", None)]
    fn sixty_days(#[case] node: &str, #[case] until: &str, #[case] expected: Option<Outcome>) {
        let mut cluster = Cluster::default();
        cluster.nodes_mut().push(Node { name: "a".to_owned(), ..Node::default() });
        cluster.certificates.push(ControlPlaneCertificate {
            node: node.to_owned(),
            file: "pki/apiserver.crt".to_owned(),
            until: until.parse().unwrap(),
        });
        let verdicts = judge(&cluster, "2026-11-16T00:00:00Z".parse().unwrap());
        let outcomes: Vec<Outcome> = verdicts.findings.iter().map(|finding| finding.outcome).collect();
        assert_eq!(outcomes, expected.into_iter().collect::<Vec<_>>());
    }
}
