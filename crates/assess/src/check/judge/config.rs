//! Whether the cluster's configurations agree with each other.

use super::super::catalog::Check;
use super::super::report::{Finding, Verdicts};
use super::super::target::{CheckTarget, Declared, absolute};
use crate::text::listed;

/// Servers are the same in any case.
fn lists(declared: &Declared, server: &str) -> bool {
    declared.vcenters.iter().any(|(name, _)| name.eq_ignore_ascii_case(server))
}

pub(in crate::check) fn judge(subject: &CheckTarget) -> Verdicts {
    let mut verdicts = Verdicts::default();
    verdicts.add(Check::InfraConfig, servers(subject));
    verdicts.add(Check::DatacenterConsistency, datacenters(subject));
    verdicts
}

fn servers(subject: &CheckTarget) -> Vec<Finding> {
    let check = Check::InfraConfig;
    let mut findings = Vec::new();
    for one in &subject.declared {
        for other in subject.declared.iter().filter(|other| other.by != one.by) {
            let missing: Vec<&str> = one
                .vcenters
                .iter()
                .map(|(name, _)| name.as_str())
                .filter(|name| !lists(other, name))
                .collect();
            for server in missing {
                let message =
                    format!("{} names vCenter `{server}`, and {} does not", one.by.name(), other.by.name());
                let remedy =
                    format!("add `{server}` to {}, or remove it from {}", other.by.name(), one.by.name());
                findings.push(Finding::failure(check, server, message).remedy(remedy).at(server));
            }
        }
    }
    for domain in &subject.domains {
        if !subject.vcenters.iter().any(|vcenter| vcenter.server.eq_ignore_ascii_case(&domain.server)) {
            let message = format!(
                "failure domain `{}` is on vCenter `{}`, which is not configured",
                domain.name, domain.server
            );
            let remedy = format!("add `{}` to the vCenters, or correct the failure domain", domain.server);
            findings.push(Finding::failure(check, &domain.name, message).remedy(remedy));
        }
    }
    if subject.domains.is_empty() {
        return findings;
    }
    for vcenter in &subject.vcenters {
        let server = &vcenter.server;
        if !subject.domains.iter().any(|domain| domain.server.eq_ignore_ascii_case(server)) {
            let message = format!("no failure domain is on vCenter `{server}`");
            let remedy = "add a failure domain, or remove the vCenter";
            findings.push(Finding::warning(check, server, message).remedy(remedy).at(server));
        }
    }
    findings
}

fn datacenters(subject: &CheckTarget) -> Vec<Finding> {
    let mut findings = Vec::new();
    for domain in &subject.domains {
        for declared in &subject.declared {
            let listed_there = declared
                .vcenters
                .iter()
                .find(|(name, _)| name.eq_ignore_ascii_case(&domain.server))
                .map(|(_, datacenters)| datacenters);
            // No list means all datacenters.
            let Some(known) = listed_there.filter(|known| !known.is_empty()) else { continue };
            if known.iter().any(|name| absolute(name) == domain.datacenter) {
                continue;
            }
            let name = domain.datacenter.trim_start_matches('/');
            let message = format!(
                "failure domain `{}` is in datacenter `{name}`, and {} lists only {} for `{}`",
                domain.name,
                declared.by.name(),
                listed(known),
                domain.server
            );
            let remedy =
                format!("add `{name}` to the datacenters of `{}` in {}", domain.server, declared.by.name());
            let finding = Finding::failure(Check::DatacenterConsistency, &domain.name, message);
            findings.push(finding.remedy(remedy).at(&domain.server));
        }
    }
    findings
}
