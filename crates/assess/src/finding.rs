//! What was found, and how much it matters.

use std::collections::BTreeMap;

use serde::Serialize;

/// How a check ended, the worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// Something does not work, or will not.
    Failure,
    /// It could not be found out.
    Unknown,
    /// It works, but people should know.
    Warning,
    /// It is too early to say.
    Pending,
    Pass,
}

impl Outcome {
    pub fn as_str(self) -> &'static str {
        match self {
            Outcome::Failure => "failure",
            Outcome::Unknown => "unknown",
            Outcome::Warning => "warning",
            Outcome::Pending => "pending",
            Outcome::Pass => "pass",
        }
    }
}

/// What a rule says, whichever check asked for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    pub outcome: Outcome,
    pub message: String,
    pub details: Vec<String>,
    pub remedy: Option<String>,
}

impl Judgement {
    fn new(outcome: Outcome, message: impl Into<String>) -> Self {
        Judgement { outcome, message: message.into(), details: Vec::new(), remedy: None }
    }

    pub fn pass(message: impl Into<String>) -> Self {
        Judgement::new(Outcome::Pass, message)
    }

    pub fn failure(message: impl Into<String>) -> Self {
        Judgement::new(Outcome::Failure, message)
    }

    pub fn warning(message: impl Into<String>) -> Self {
        Judgement::new(Outcome::Warning, message)
    }

    pub fn pending(message: impl Into<String>) -> Self {
        Judgement::new(Outcome::Pending, message)
    }

    pub fn unknown(message: impl Into<String>) -> Self {
        let remedy = "run it again; if it stays, look after the vCenter, or find it out by hand";
        Judgement::new(Outcome::Unknown, message).remedy(remedy)
    }

    /// What to do about it.
    #[must_use]
    pub fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }

    #[must_use]
    pub fn details(mut self, details: impl IntoIterator<Item = String>) -> Self {
        self.details.extend(details);
        self
    }
}

/// One thing that was looked at: `C` are the checks of a front end, `M` is what a finding means beyond being shown.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding<C, M = ()> {
    pub outcome: Outcome,
    pub check: C,
    /// The endpoint; none for what is about the configuration, the cluster, or the network around them.
    pub endpoint: Option<String>,
    /// The node it is about.
    pub node: Option<String>,
    /// What was looked at: an inventory path, a name, an address.
    pub object: String,
    pub meaning: M,
    pub message: String,
    /// More about it, line by line.
    pub details: Vec<String>,
    /// What to do about it, in one line.
    pub remedy: Option<String>,
    /// Whose machines it is about; empty where it is about all of them.
    pub failure_domains: Vec<String>,
}

impl<C, M: Default> Finding<C, M> {
    /// What a rule said of an object.
    pub fn judged(check: C, object: impl Into<String>, judgement: Judgement) -> Self {
        let Judgement { outcome, message, details, remedy } = judgement;
        Finding {
            outcome,
            check,
            endpoint: None,
            node: None,
            object: object.into(),
            meaning: M::default(),
            message,
            details,
            remedy,
            failure_domains: Vec::new(),
        }
    }

    pub fn pass(check: C, object: impl Into<String>, message: impl Into<String>) -> Self {
        Finding::judged(check, object, Judgement::pass(message))
    }

    pub fn failure(check: C, object: impl Into<String>, message: impl Into<String>) -> Self {
        Finding::judged(check, object, Judgement::failure(message))
    }

    pub fn warning(check: C, object: impl Into<String>, message: impl Into<String>) -> Self {
        Finding::judged(check, object, Judgement::warning(message))
    }

    pub fn pending(check: C, object: impl Into<String>, message: impl Into<String>) -> Self {
        Finding::judged(check, object, Judgement::pending(message))
    }

    pub fn unknown(check: C, object: impl Into<String>, message: impl Into<String>) -> Self {
        Finding::judged(check, object, Judgement::unknown(message))
    }

    /// A task that panicked.
    pub(crate) fn broken_off(check: C) -> Self {
        let message = "a check broke off, which is a mistake in slipway";
        Finding::unknown(check, "slipway", message).remedy("please report it")
    }
}

impl<C, M> Finding<C, M> {
    /// What to do about it.
    #[must_use]
    pub fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }

    #[must_use]
    pub(crate) fn details(mut self, details: impl IntoIterator<Item = String>) -> Self {
        self.details.extend(details);
        self
    }

    #[must_use]
    pub fn at(mut self, endpoint: &str) -> Self {
        self.endpoint = Some(endpoint.to_owned());
        self
    }

    #[must_use]
    pub fn domain(mut self, name: &str) -> Self {
        self.failure_domains = vec![name.to_owned()];
        self
    }
}

/// How many findings ended so.
pub fn count<C, M>(findings: &[Finding<C, M>], outcome: Outcome) -> usize {
    findings.iter().filter(|finding| finding.outcome == outcome).count()
}

/// Whether nothing is wrong, as far as is known.
pub fn is_clear<C, M>(findings: &[Finding<C, M>]) -> bool {
    count(findings, Outcome::Failure) == 0 && count(findings, Outcome::Unknown) == 0
}

/// Findings of one place together, the worst first; places by their worst finding, those that are `first` before all others.
/// The same about several failure domains is said once, for all of them.
pub(crate) fn in_order<C: Ord, M: Ord, P: Ord + Clone>(
    findings: Vec<Finding<C, M>>,
    place: impl Fn(&Finding<C, M>) -> P,
    first: impl Fn(&Finding<C, M>) -> bool,
) -> Vec<Finding<C, M>> {
    let mut domains: BTreeMap<Finding<C, M>, Vec<String>> = BTreeMap::new();
    for mut finding in findings {
        let own = std::mem::take(&mut finding.failure_domains);
        domains.entry(finding).or_default().extend(own);
    }
    let mut worst: BTreeMap<P, Outcome> = BTreeMap::new();
    let mut findings = Vec::new();
    for (mut finding, mut domains) in domains {
        domains.sort();
        domains.dedup();
        finding.failure_domains = domains;
        let outcome = worst.entry(place(&finding)).or_insert(finding.outcome);
        *outcome = (*outcome).min(finding.outcome);
        findings.push(finding);
    }
    findings.sort_by_cached_key(|finding| {
        let place = place(finding);
        (!first(finding), worst.get(&place).copied(), place)
    });
    findings
}

#[cfg(test)]
mod tests {
    use super::{Finding, Outcome, in_order, is_clear};

    #[test]
    fn the_worst_comes_first_and_endpoints_stay_together() {
        let shared = || Finding::pass("datacenter", "/dc", "is there").at("b");
        let findings: Vec<Finding<&str>> = vec![
            Finding::pass("clock", "clock", "fine").at("a"),
            shared().domain("two"),
            Finding::warning("hosts", "esx", "old").at("a"),
            shared().domain("one"),
            Finding::failure("network", "net", "gone").at("b"),
            Finding::failure("network", "net", "gone").at("b"),
            Finding::pass("config", "file", "fine"),
        ];
        let ordered =
            in_order(findings, |finding| finding.endpoint.clone(), |finding| finding.check == "config");
        let order: Vec<_> =
            ordered.iter().map(|f| (f.endpoint.as_deref().unwrap_or(""), f.outcome)).collect();
        let expected = [
            ("", Outcome::Pass),
            ("b", Outcome::Failure),
            ("b", Outcome::Pass),
            ("a", Outcome::Warning),
            ("a", Outcome::Pass),
        ];
        assert_eq!(order, expected);
        assert_eq!(ordered[2].failure_domains, ["one", "two"]);
        assert!(!is_clear(&ordered) && is_clear(&ordered[2..]));
    }
}
