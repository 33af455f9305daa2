//! Certificates of the control plane, where Slipway renews them, and those that nodes wait for.

use jiff::{SignedDuration, Timestamp};

use super::super::catalog::Check;
use super::super::cluster::{Cluster, PendingRequest};
use super::super::report::{Finding, Verdicts};

/// They are renewed 90 days before their end. What is left for less than this was not.
const WARN_BEFORE: SignedDuration = SignedDuration::from_hours(60 * 24);
/// What is in order is approved within seconds.
const MAX_PENDING: SignedDuration = SignedDuration::from_mins(10);
/// A kubelet asks again and again.
const MAX_NAMED: usize = 5;

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
    if let Some(finding) = pending(cluster, now) {
        verdicts.add(Check::Certificate, Some(finding));
    }
    verdicts
}

/// Pending requests: a node without a certificate does not join, or goes away when the one it has ends.
fn pending(cluster: &Cluster, now: Timestamp) -> Option<Finding> {
    let is_old = |request: &&PendingRequest| now.duration_since(request.since) > MAX_PENDING;
    let mut old: Vec<&str> =
        cluster.requests.iter().filter(is_old).map(|request| request.name.as_str()).collect();
    let count = old.len();
    old.sort_unstable();
    old.truncate(MAX_NAMED);
    let more = if count > old.len() { ", …" } else { "" };
    let message = format!(
        "certificate signing requests of nodes have been pending for more than {} minutes: {count} ({}{more})",
        MAX_PENDING.as_mins(),
        old.join(", ")
    );
    let finding = Finding::warning(Check::Certificate, "certificate signing requests", message);
    let remedy = "`slipway node approve` shows why each was not approved, and approves those that are meant";
    (count > 0).then(|| finding.remedy(remedy))
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
    use crate::check::cluster::{Cluster, ControlPlaneCertificate, Node, PendingRequest};
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

    #[test]
    fn requests_that_stay_pending() {
        let mut cluster = Cluster::default();
        let minutes = |name: &str, minute: u32| PendingRequest {
            name: name.to_owned(),
            since: format!("2026-11-16T00:{minute:02}:00Z").parse().unwrap(),
        };
        let said = |cluster: &Cluster| {
            let verdicts = judge(cluster, "2026-11-16T00:30:00Z".parse().unwrap());
            verdicts.findings.into_iter().map(|finding| finding.message).collect::<Vec<_>>()
        };
        cluster.requests.push(minutes("csr-new", 20));
        assert_eq!(said(&cluster), [""; 0]);
        cluster.requests.extend([minutes("csr-b", 19), minutes("csr-a", 1)]);
        let expected = "certificate signing requests of nodes have been pending for more than 10 minutes: 2 (csr-a, csr-b)";
        assert_eq!(said(&cluster), [expected]);
        cluster.requests.extend(["c", "d", "e", "f"].map(|name| minutes(name, 0)));
        assert!(said(&cluster)[0].ends_with("6 (c, csr-a, csr-b, d, e, …)"), "{:?}", said(&cluster));
    }
}
