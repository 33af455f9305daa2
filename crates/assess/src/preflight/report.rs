//! Findings of a preflight: their codes, and what they come to together.

use serde::{Serialize, Serializer};

use crate::finding;
pub use crate::finding::Outcome;

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
    InfraVersion,
    Namespace,
    Quota,
    Objects,
}

impl Check {
    pub const ALL: [Check; 35] = [
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
        Check::InfraVersion,
        Check::Namespace,
        Check::Quota,
        Check::Objects,
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
            Check::InfraVersion => "infra-version",
            Check::Namespace => "namespace",
            Check::Quota => "quota",
            Check::Objects => "objects",
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

/// A finding of a preflight.
pub type Finding = finding::Finding<Check>;

impl Serialize for Finding {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Shown<'a> {
            outcome: Outcome,
            check: Check,
            endpoint: &'a Option<String>,
            object: &'a str,
            message: &'a str,
            #[serde(skip_serializing_if = "<[String]>::is_empty")]
            details: &'a [String],
            #[serde(skip_serializing_if = "Option::is_none")]
            remedy: &'a Option<String>,
            #[serde(skip_serializing_if = "<[String]>::is_empty")]
            failure_domains: &'a [String],
        }
        let Finding {
            outcome,
            check,
            endpoint,
            node: _,
            object,
            meaning: (),
            message,
            details,
            remedy,
            failure_domains,
        } = self;
        let (outcome, check) = (*outcome, *check);
        Shown { outcome, check, endpoint, object, message, details, remedy, failure_domains }
            .serialize(serializer)
    }
}

impl Finding {
    /// What it is found in: a vCenter, or what there is besides.
    pub fn place(&self) -> &str {
        match &self.endpoint {
            Some(endpoint) => endpoint,
            None if self.check.is_about_config() => "install-config.yaml",
            None if self.check == Check::Platform => "the platform",
            None => "the network",
        }
    }
}

/// What a report comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Readiness {
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
        let first = |finding: &Finding| finding.check.is_about_config();
        let findings = finding::in_order(findings, |finding| finding.place().to_owned(), first);
        Report { cluster: cluster.into(), findings }
    }

    pub fn count(&self, outcome: Outcome) -> usize {
        finding::count(&self.findings, outcome)
    }

    pub fn verdict(&self) -> Readiness {
        let failed = |finding: &Finding| finding.outcome == Outcome::Failure;
        if self.findings.iter().any(|finding| failed(finding) && finding.check.is_about_config()) {
            Readiness::Incomplete
        } else if !self.is_clear() {
            Readiness::NotReady
        } else if self.findings.is_empty() || self.findings.iter().any(|f| f.check == Check::Platform) {
            Readiness::NotChecked
        } else {
            Readiness::Ready
        }
    }

    /// Whether nothing stands in the way, as far as is known.
    pub fn is_clear(&self) -> bool {
        finding::is_clear(&self.findings)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{Check, Finding, Readiness, Report};

    #[test]
    fn codes_are_unique() {
        let codes: BTreeSet<&str> = Check::ALL.iter().map(|check| check.code()).collect();
        assert_eq!(codes.len(), Check::ALL.len());
    }

    #[test]
    fn nothing_is_ready_that_was_not_looked_at() {
        let pass = || Finding::pass(Check::VipFree, "10.0.0.10", "nothing answers");
        let platform = || Finding::warning(Check::Platform, "ovirt", "not checked");
        let failure = || Finding::failure(Check::VipFree, "10.0.0.10", "taken");
        let config = || Finding::failure(Check::ReleaseImage, "payload.releaseImage", "not given");
        for (findings, expected) in [
            (vec![], Readiness::NotChecked),
            (vec![pass()], Readiness::Ready),
            (vec![pass(), platform()], Readiness::NotChecked),
            (vec![failure(), platform()], Readiness::NotReady),
            (vec![failure(), config()], Readiness::Incomplete),
        ] {
            assert_eq!(Report::new("harbour", findings.clone()).verdict(), expected, "{findings:?}");
        }
    }
}
