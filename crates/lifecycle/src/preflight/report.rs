//! What was found, and how much it matters.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

/// What was looked at. The codes never change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Check {
    ReleaseImage,
    OsImage,
    Files,
    Connection,
    Certificate,
    Clock,
    VCenterVersion,
    Names,
    Datacenter,
    ComputeCluster,
    ResourcePool,
    Folder,
    Datastore,
    Network,
    HostGroup,
    Hosts,
    Template,
    RegionTag,
    ZoneTag,
    TagIds,
    Privileges,
    AntiAffinity,
    Cpu,
    Memory,
    Storage,
    Collisions,
    Dns,
    LoadBalancer,
    VipFree,
    VipNetwork,
    Platform,
}

impl Check {
    pub const ALL: [Check; 31] = [
        Check::ReleaseImage,
        Check::OsImage,
        Check::Files,
        Check::Connection,
        Check::Certificate,
        Check::Clock,
        Check::VCenterVersion,
        Check::Names,
        Check::Datacenter,
        Check::ComputeCluster,
        Check::ResourcePool,
        Check::Folder,
        Check::Datastore,
        Check::Network,
        Check::HostGroup,
        Check::Hosts,
        Check::Template,
        Check::RegionTag,
        Check::ZoneTag,
        Check::TagIds,
        Check::Privileges,
        Check::AntiAffinity,
        Check::Cpu,
        Check::Memory,
        Check::Storage,
        Check::Collisions,
        Check::Dns,
        Check::LoadBalancer,
        Check::VipFree,
        Check::VipNetwork,
        Check::Platform,
    ];

    /// How scripts know it.
    pub fn code(self) -> &'static str {
        match self {
            Check::ReleaseImage => "release-image",
            Check::OsImage => "os-image",
            Check::Files => "files",
            Check::Connection => "connection",
            Check::Certificate => "certificate",
            Check::Clock => "clock",
            Check::VCenterVersion => "vcenter-version",
            Check::Names => "names",
            Check::Datacenter => "datacenter",
            Check::ComputeCluster => "compute-cluster",
            Check::ResourcePool => "resource-pool",
            Check::Folder => "folder",
            Check::Datastore => "datastore",
            Check::Network => "network",
            Check::HostGroup => "host-group",
            Check::Hosts => "hosts",
            Check::Template => "template",
            Check::RegionTag => "region-tag",
            Check::ZoneTag => "zone-tag",
            Check::TagIds => "tag-ids",
            Check::Privileges => "privileges",
            Check::AntiAffinity => "anti-affinity",
            Check::Cpu => "cpu",
            Check::Memory => "memory",
            Check::Storage => "storage",
            Check::Collisions => "collisions",
            Check::Dns => "dns",
            Check::LoadBalancer => "load-balancer",
            Check::VipFree => "vip-free",
            Check::VipNetwork => "vip-network",
            Check::Platform => "platform",
        }
    }

    /// Whether it is about the install-config alone, whatever the world is like.
    pub fn is_about_config(self) -> bool {
        matches!(self, Check::ReleaseImage | Check::OsImage)
    }
}

impl Serialize for Check {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.code())
    }
}

/// How a check ended, the worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// The cluster would not come up.
    Failure,
    /// It could not be found out.
    Unknown,
    /// It works, but somebody should know.
    Warning,
    Pass,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    pub outcome: Outcome,
    pub check: Check,
    /// The vCenter; none for what is about the install-config, or the network around them.
    pub endpoint: Option<String>,
    /// What was looked at: an inventory path, a name, an address.
    pub object: String,
    pub message: String,
    /// More about it, line by line.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<String>,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
    /// Whose machines it is about; empty where it is about all of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failure_domains: Vec<String>,
}

impl Finding {
    pub fn new(
        outcome: Outcome,
        check: Check,
        object: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        Finding {
            outcome,
            check,
            endpoint: None,
            object: object.into(),
            message: message.into(),
            details: Vec::new(),
            remedy: None,
            failure_domains: Vec::new(),
        }
    }

    pub fn pass(check: Check, object: impl Into<String>, message: impl Into<String>) -> Self {
        Finding::new(Outcome::Pass, check, object, message)
    }

    pub fn failure(check: Check, object: impl Into<String>, message: impl Into<String>) -> Self {
        Finding::new(Outcome::Failure, check, object, message)
    }

    pub fn warning(check: Check, object: impl Into<String>, message: impl Into<String>) -> Self {
        Finding::new(Outcome::Warning, check, object, message)
    }

    pub fn unknown(check: Check, object: impl Into<String>, message: impl Into<String>) -> Self {
        let finding = Finding::new(Outcome::Unknown, check, object, message);
        finding.remedy("run it again; if it stays, look after the vCenter, or find it out by hand")
    }

    /// What it is found in: a vCenter, or what there is besides.
    pub fn place(&self) -> &str {
        match &self.endpoint {
            Some(endpoint) => endpoint,
            None if self.check.is_about_config() => "install-config.yaml",
            None if self.check == Check::Platform => "the platform",
            None => "the network",
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }

    #[must_use]
    pub(super) fn details(mut self, details: impl IntoIterator<Item = String>) -> Self {
        self.details.extend(details);
        self
    }

    #[must_use]
    pub(super) fn domain(mut self, name: &str) -> Self {
        self.failure_domains = vec![name.to_owned()];
        self
    }
}

/// What a report comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    Ready,
    /// The install-config lacks what machines need; what else is wrong does not matter before.
    Incomplete,
    NotReady,
    /// Nothing is known to be wrong, but the platform was not asked.
    NotChecked,
}

/// All findings of a run: those of one vCenter together, and of everything the worst first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// The name of the cluster.
    pub cluster: String,
    pub findings: Vec<Finding>,
}

impl Report {
    /// Puts findings in order. What several failure domains share is said once, for all of them.
    pub fn new(cluster: impl Into<String>, findings: Vec<Finding>) -> Self {
        let mut domains: BTreeMap<Finding, Vec<String>> = BTreeMap::new();
        for mut finding in findings {
            let own = std::mem::take(&mut finding.failure_domains);
            domains.entry(finding).or_default().extend(own);
        }
        let mut worst: BTreeMap<String, Outcome> = BTreeMap::new();
        let mut findings = Vec::new();
        for (mut finding, mut domains) in domains {
            domains.sort();
            domains.dedup();
            finding.failure_domains = domains;
            let outcome = worst.entry(finding.place().to_owned()).or_insert(finding.outcome);
            *outcome = (*outcome).min(finding.outcome);
            findings.push(finding);
        }
        findings.sort_by_cached_key(|finding| {
            let place = finding.place();
            (!finding.check.is_about_config(), worst.get(place).copied(), place.to_owned())
        });
        Report { cluster: cluster.into(), findings }
    }

    pub fn count(&self, outcome: Outcome) -> usize {
        self.findings.iter().filter(|finding| finding.outcome == outcome).count()
    }

    pub fn verdict(&self) -> Verdict {
        let failed = |finding: &Finding| finding.outcome == Outcome::Failure;
        if self.findings.iter().any(|finding| failed(finding) && finding.check.is_about_config()) {
            Verdict::Incomplete
        } else if !self.is_clear() {
            Verdict::NotReady
        } else if self.findings.is_empty() || self.findings.iter().any(|f| f.check == Check::Platform) {
            Verdict::NotChecked
        } else {
            Verdict::Ready
        }
    }

    /// Whether nothing stands in the way, as far as is known.
    pub fn is_clear(&self) -> bool {
        self.count(Outcome::Failure) == 0 && self.count(Outcome::Unknown) == 0
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{Check, Finding, Outcome, Report, Verdict};

    #[test]
    fn codes_are_unique() {
        let codes: BTreeSet<&str> = Check::ALL.iter().map(|check| check.code()).collect();
        assert_eq!(codes.len(), Check::ALL.len());
    }

    #[test]
    fn nothing_is_ready_that_was_not_looked_at() {
        let pass = || Finding::pass(Check::VipFree, "10.0.0.10", "nobody answers");
        let platform = || Finding::warning(Check::Platform, "ovirt", "not checked");
        let failure = || Finding::failure(Check::VipFree, "10.0.0.10", "taken");
        let config = || Finding::failure(Check::ReleaseImage, "payload.releaseImage", "not given");
        for (findings, expected) in [
            (vec![], Verdict::NotChecked),
            (vec![pass()], Verdict::Ready),
            (vec![pass(), platform()], Verdict::NotChecked),
            (vec![failure(), platform()], Verdict::NotReady),
            (vec![failure(), config()], Verdict::Incomplete),
        ] {
            assert_eq!(Report::new("harbour", findings.clone()).verdict(), expected, "{findings:?}");
        }
    }

    #[test]
    fn the_worst_comes_first_and_vcenters_stay_together() {
        let of = |endpoint: &str, finding: Finding| Finding { endpoint: Some(endpoint.into()), ..finding };
        let shared = || of("b", Finding::pass(Check::Datacenter, "/dc", "is there"));
        let report = Report::new(
            "harbour",
            vec![
                of("a", Finding::pass(Check::Clock, "clock", "fine")),
                shared().domain("two"),
                of("a", Finding::warning(Check::Hosts, "esx", "old")),
                shared().domain("one"),
                of("b", Finding::failure(Check::Network, "net", "gone")),
            ],
        );
        let order: Vec<_> =
            report.findings.iter().map(|f| (f.endpoint.as_deref().unwrap_or(""), f.outcome)).collect();
        assert_eq!(
            order,
            [("b", Outcome::Failure), ("b", Outcome::Pass), ("a", Outcome::Warning), ("a", Outcome::Pass)]
        );
        assert_eq!(report.findings[1].failure_domains, ["one", "two"]);
        assert!(!report.is_clear());
    }
}
