//! The rules, as a pure function of what is wanted and what was read.

use slipway_providers::kubevirt::inventory::{Inventory, Seen};
use slipway_providers::kubevirt::kinds::Kind;
use slipway_providers::kubevirt::rules::MissingRule;
use slipway_providers::kubevirt::trial::Trial;

use super::{Read, Tried, Wanted, room, storage};
use crate::preflight::report::{Check, Finding};

/// The oldest KubeVirt whose objects these are: its first stable one.
const OLDEST: u32 = 1;

/// Objects that are named one by one in a finding.
const SHOWN: usize = 5;

pub(super) fn judge(namespace: &str, wanted: &Wanted, read: &Read) -> Vec<Finding> {
    let mut findings = Vec::new();
    if let Some(reason) = &wanted.network_refused {
        findings.push(Finding::failure(Check::Network, namespace, reason.as_str()));
    }
    findings.extend(read.missing.as_deref().map(|missing| rights(namespace, missing)));
    if let Some(inventory) = &read.inventory {
        findings.push(version(inventory));
        findings.extend(attachment(namespace, wanted, inventory));
        findings.extend(storage::judge(wanted, inventory));
        let trials = read.trials.as_deref().unwrap_or_default();
        let is_made =
            |name: &str| trials.iter().any(|tried| tried.name == name && tried.trial == Trial::Made);
        findings.extend(room::judge(wanted, inventory, is_made));
    }
    if !wanted.migrates() {
        let message = "machines cannot move to another node while they run: their disks are not ReadWriteMany. They are shut \
                       down when their node is drained";
        let remedy = "use a storage class with ReadWriteMany where the infrastructure cluster has one";
        findings.push(Finding::warning(Check::Storage, namespace, message).remedy(remedy));
    }
    findings.extend(read.trials.as_deref().map(|trials| objects(namespace, trials)).unwrap_or_default());
    findings
}

fn rights(namespace: &str, missing: &[MissingRule]) -> Finding {
    if missing.is_empty() {
        return Finding::pass(Check::Privileges, namespace, "the user may do all that is needed");
    }
    let message = "the user may not do all that is needed in the namespace";
    let remedy = "ask the administrator of the infrastructure cluster to apply deploy/kubevirt/role.yaml to the namespace \
                  and to bind it to the user";
    Finding::failure(Check::Privileges, namespace, message).remedy(remedy).details(table(missing))
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

fn version(inventory: &Inventory) -> Finding {
    let object = "KubeVirt";
    let installations = match &inventory.kubevirt {
        Seen::NotServed => {
            let remedy = "use a cluster with KubeVirt or OpenShift Virtualization, or ask its administrator to install one";
            return Finding::failure(Check::InfraVersion, object, "KubeVirt is not installed there")
                .remedy(remedy);
        }
        Seen::Forbidden => {
            let message = "the user may not read which version is installed";
            let remedy = "ask the administrator whether it is v1.0 or later";
            return Finding::warning(Check::InfraVersion, object, message).remedy(remedy);
        }
        Seen::Known(installations) => installations,
    };
    let Some(installed) = installations.first() else {
        let message = "its definitions are there, and no KubeVirt object: nothing runs machines";
        return Finding::failure(Check::InfraVersion, object, message)
            .remedy("ask the administrator of the infrastructure cluster to finish its installation");
    };
    let version = installed.version.as_deref().unwrap_or("of an unknown version");
    let major = version.trim_start_matches('v').split('.').next().and_then(|major| major.parse::<u32>().ok());
    if installed.phase.as_deref() != Some("Deployed") {
        let phase = installed.phase.as_deref().unwrap_or("not known");
        let message = format!("KubeVirt {version} is being installed or changed: its phase is {phase}");
        return Finding::warning(Check::InfraVersion, object, message).remedy("wait until it is Deployed");
    }
    match major {
        Some(major) if major < OLDEST => {
            let message = format!(
                "KubeVirt {version} is older than v{OLDEST}.0, which is the oldest one that can be used"
            );
            Finding::failure(Check::InfraVersion, object, message)
                .remedy("ask the administrator of the infrastructure cluster for an upgrade")
        }
        _ => Finding::pass(Check::InfraVersion, object, format!("KubeVirt {version} is deployed")),
    }
}

fn attachment(namespace: &str, wanted: &Wanted, inventory: &Inventory) -> Option<Finding> {
    let name = wanted.attachment.as_deref()?;
    let there = match &inventory.attachments {
        Seen::Known(there) => there,
        Seen::NotServed => {
            let message =
                format!("there are no network attachments there at all, so that `{name}` is none either");
            let remedy = "ask the administrator of the infrastructure cluster whether Multus is installed";
            return Some(Finding::failure(Check::Network, name, message).remedy(remedy));
        }
        // Said as a missing rule.
        Seen::Forbidden => return None,
    };
    Some(if there.iter().any(|one| one == name) {
        Finding::pass(Check::Network, name, format!("the network attachment is in `{namespace}`"))
    } else {
        let message = format!("there is no network attachment `{name}` in `{namespace}`{}", instead(there));
        let remedy = "correct `networkName`, or ask the administrator of the infrastructure cluster for the attachment";
        Finding::failure(Check::Network, name, message).remedy(remedy)
    })
}

/// What there is in place of what was looked for.
pub(super) fn instead<'n>(names: impl IntoIterator<Item = &'n String>) -> String {
    let names: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    if names.is_empty() { String::new() } else { format!("; there is {}", names.join(", ")) }
}

/// What the infrastructure cluster says to the very objects that are created.
fn objects(namespace: &str, trials: &[Tried]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let taken = trials.iter().filter(|tried| tried.trial == Trial::Taken);
    for Tried { kind, name, .. } in taken {
        let message = format!("there is a {kind} `{name}` in the namespace that is not of this cluster");
        let remedy = "remove it or rename it, or choose another namespace";
        findings.push(Finding::failure(Check::Collisions, name.as_str(), message).remedy(remedy));
    }
    let refused: Vec<(Kind, &str, &str)> = trials.iter().filter_map(refusal).collect();
    if let Some((kind, name, _)) = refused.first() {
        let others = refused.len() - 1;
        let what = format!("the {kind} `{name}`");
        let message = match others {
            0 => format!("the infrastructure cluster would refuse {what}"),
            others => format!("the infrastructure cluster would refuse {what} and {others} more"),
        };
        let more = refused.len().saturating_sub(SHOWN);
        let lines = refused.iter().take(SHOWN).map(|(kind, name, why)| format!("{kind} `{name}`: {why}"));
        let more = (more > 0).then(|| format!("and {more} more"));
        let remedy = "change what the message names: the install-config, the manifests of the Machines, or the namespace's quota";
        let finding = Finding::failure(Check::Objects, namespace, message).remedy(remedy);
        findings.push(finding.details(lines.chain(more)));
    } else if trials.iter().any(|tried| tried.trial == Trial::Accepted) {
        let count = trials.iter().filter(|tried| tried.trial == Trial::Accepted).count();
        let message =
            format!("the infrastructure cluster would take all {count} objects (asked by a dry run)");
        findings.push(Finding::pass(Check::Objects, namespace, message));
    }
    findings
}

fn refusal(tried: &Tried) -> Option<(Kind, &str, &str)> {
    match &tried.trial {
        Trial::Refused(why) => Some((tried.kind, tried.name.as_str(), why.as_str())),
        Trial::Accepted | Trial::Made | Trial::Taken => None,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use slipway_providers::kubevirt::inventory::{Installation, Inventory, Seen};
    use slipway_providers::kubevirt::kinds::Kind;
    use slipway_providers::kubevirt::rules::MissingRule;
    use slipway_providers::kubevirt::trial::Trial;

    use super::super::{Read, Tried, Wanted};
    use super::judge;
    use crate::finding::Outcome;
    use crate::preflight::report::Check;

    fn rule(object: &str, verbs: &[&str]) -> MissingRule {
        let verbs = verbs.iter().map(|verb| (*verb).to_owned()).collect();
        MissingRule { object: object.to_owned(), verbs, purpose: "do it" }
    }

    fn wanted() -> Wanted {
        Wanted { access_mode: "ReadWriteMany".to_owned(), ..Wanted::default() }
    }

    fn inventory() -> Inventory {
        Inventory {
            kubevirt: Seen::Known(vec![installed("v1.8.2", "Deployed")]),
            profiles: Seen::Forbidden,
            classes: Seen::Forbidden,
            attachments: Seen::Known(vec!["lan".to_owned()]),
            quotas: Seen::Known(Vec::new()),
            limits: Seen::Known(Vec::new()),
        }
    }

    fn installed(version: &str, phase: &str) -> Installation {
        let [version, phase] = [version, phase].map(|text| Some(text.to_owned()));
        Installation { version, phase, cpu_allocation_ratio: 10 }
    }

    #[test]
    fn all_missing_rules_are_one_table() {
        let missing =
            vec![rule("secrets", &["create", "list"]), rule("virtualmachines.kubevirt.io", &["get"])];
        let findings = judge("tenant", &wanted(), &Read { missing: Some(missing), ..Read::default() });
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
        let wanted = Wanted { network_refused: Some("no".to_owned()), ..Wanted::default() };
        let read = Read { missing: Some(Vec::new()), ..Read::default() };
        let outcomes: Vec<(Check, Outcome)> =
            judge("tenant", &wanted, &read).iter().map(|finding| (finding.check, finding.outcome)).collect();
        assert_eq!(
            outcomes,
            [
                (Check::Network, Outcome::Failure),
                (Check::Privileges, Outcome::Pass),
                (Check::Storage, Outcome::Warning),
            ]
        );
    }

    #[rstest]
    #[case::deployed(Seen::Known(vec![installed("v1.8.2", "Deployed")]), Outcome::Pass)]
    #[case::vendor(Seen::Known(vec![installed("v1.4.0-153-g1b2c3d4", "Deployed")]), Outcome::Pass)]
    #[case::old(Seen::Known(vec![installed("v0.59.2", "Deployed")]), Outcome::Failure)]
    #[case::changing(Seen::Known(vec![installed("v1.8.2", "Deploying")]), Outcome::Warning)]
    #[case::unfinished(Seen::Known(Vec::new()), Outcome::Failure)]
    #[case::unreadable(Seen::Forbidden, Outcome::Warning)]
    #[case::absent(Seen::NotServed, Outcome::Failure)]
    fn versions(#[case] kubevirt: Seen<Vec<Installation>>, #[case] expected: Outcome) {
        let read = Read { inventory: Some(Inventory { kubevirt, ..inventory() }), ..Read::default() };
        let findings = judge("tenant", &wanted(), &read);
        let found = findings.iter().find(|finding| finding.check == Check::InfraVersion).unwrap();
        assert_eq!(found.outcome, expected, "{found:?}");
    }

    #[rstest]
    #[case::there(Seen::Known(vec!["lan".to_owned()]), Some(Outcome::Pass))]
    #[case::another(Seen::Known(vec!["wan".to_owned()]), Some(Outcome::Failure))]
    #[case::no_multus(Seen::NotServed, Some(Outcome::Failure))]
    #[case::a_missing_rule(Seen::Forbidden, None)]
    fn attachments_are_looked_up(#[case] attachments: Seen<Vec<String>>, #[case] expected: Option<Outcome>) {
        let read = Read { inventory: Some(Inventory { attachments, ..inventory() }), ..Read::default() };
        let wanted = Wanted { attachment: Some("lan".to_owned()), ..wanted() };
        let findings = judge("tenant", &wanted, &read);
        let found = findings.iter().find(|finding| finding.check == Check::Network);
        assert_eq!(found.map(|finding| finding.outcome), expected, "{findings:?}");
    }

    #[test]
    fn refusals_are_told_together_and_names_that_are_taken_alone() {
        let tried = |name: &str, trial: Trial| Tried { kind: Kind::Machine, name: name.to_owned(), trial };
        let refused = |name: &str| tried(name, Trial::Refused("spec.template: no".to_owned()));
        let trials = vec![refused("a"), tried("b", Trial::Taken), refused("c"), tried("d", Trial::Accepted)];
        let read = Read { trials: Some(trials), ..Read::default() };
        let findings = judge("tenant", &wanted(), &read);
        let [taken, refused] = findings.as_slice() else { panic!("{findings:?}") };
        assert_eq!((taken.check, taken.object.as_str()), (Check::Collisions, "b"));
        assert_eq!(refused.message, "the infrastructure cluster would refuse the machine `a` and 1 more");
        assert_eq!(refused.details, ["machine `a`: spec.template: no", "machine `c`: spec.template: no"]);
    }
}
