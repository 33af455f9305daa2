//! The rules: a pure function of what is wanted and what was read.

use super::observe::{ClusterFacts, EngineSnapshot, FreeMemory, Hosts, Lookup, StorageFacts, TemplateFacts};
use super::{Wanted, WantedGroup, WantedMachine};
use crate::preflight::report::{Check, Finding};

const GIB: u64 = 1 << 30;
/// The oldest engine whose API has all that is called.
const OLDEST: (u64, u64) = (4, 4);
/// From here on processors are pinned by a property of the machine.
const PINNING: (u64, u64) = (4, 5);

pub(super) fn judge(cluster: &str, wanted: &Wanted, read: &EngineSnapshot) -> Vec<Finding> {
    let mut findings = Vec::new();
    version(wanted, read, &mut findings);
    match &read.cluster {
        None => return findings,
        Some(Lookup::Absent) => {
            let message = format!("there is no cluster `{cluster}`, or the user does not see it");
            let remedy = "correct `ovirt_cluster_id`, or ask for a role on the cluster";
            findings.push(Finding::failure(Check::ComputeCluster, cluster, message).remedy(remedy));
            return findings;
        }
        Some(Lookup::There(facts)) => findings.push(architecture(facts)),
    }
    if let Some(status) = &read.data_center_status {
        findings.push(match status.as_str() {
            "up" => Finding::pass(Check::Datacenter, cluster, "its data center is up"),
            status => Finding::failure(Check::Datacenter, cluster, format!("its data center is {status}"))
                .remedy("see its storage and hosts on the engine"),
        });
    }
    hosts(cluster, wanted, read, &mut findings);
    if let Some(domain) = &read.storage_domain {
        storage(wanted, domain.there(), &mut findings);
    }
    network(wanted, read, &mut findings);
    for (name, facts) in &read.templates {
        template(name, facts.as_ref(), &mut findings);
    }
    for (id, is_there) in &read.instance_types {
        if !is_there {
            let message = format!("there is no instance type `{id}`");
            findings.push(
                Finding::failure(Check::ComputeCluster, id, message).remedy("correct `instanceTypeID`"),
            );
        }
    }
    taken(wanted, read, &mut findings);
    findings
}

fn version(wanted: &Wanted, read: &EngineSnapshot, findings: &mut Vec<Finding>) {
    let Some(version @ (major, minor)) = read.version else { return };
    let told = format!("{major}.{minor}");
    if version < OLDEST {
        let message = format!("the engine is {told}, and has to be {}.{} or later", OLDEST.0, OLDEST.1);
        findings.push(Finding::failure(Check::Platform, told, message).remedy("upgrade the engine"));
        return;
    }
    findings.push(Finding::pass(Check::Platform, &told, format!("the engine is {told}")));
    if version < PINNING && wanted.machines.iter().any(|machine| machine.is_pinned) {
        let message = format!("`autoPinningPolicy` needs an engine of {}.{} or later", PINNING.0, PINNING.1);
        let remedy = "upgrade the engine, or remove `autoPinningPolicy`";
        findings.push(Finding::failure(Check::Cpu, told, message).remedy(remedy));
    }
}

fn architecture(facts: &ClusterFacts) -> Finding {
    let ClusterFacts { name, architecture, cpu_type } = facts;
    if cpu_type.is_empty() {
        let message = "the cluster has no CPU type, so that no machine starts in it";
        let remedy = "set the CPU type of the cluster on the engine, or bring up its first host";
        return Finding::failure(Check::Cpu, name, message).remedy(remedy);
    }
    if architecture != "x86_64" {
        let message = format!("the cluster is {architecture}, and machines are x86_64");
        return Finding::failure(Check::Cpu, name, message).remedy("use a cluster with x86_64 hosts");
    }
    Finding::pass(Check::Cpu, name, format!("its CPU type is {cpu_type}"))
}

/// Hosts that are up, for machines to run at all, and apart.
fn hosts(cluster: &str, wanted: &Wanted, read: &EngineSnapshot, findings: &mut Vec<Finding>) {
    let Some(hosts) = &read.hosts else {
        let message = "the user does not see the hosts of the cluster: affinity groups will be preferences";
        findings.push(
            Finding::warning(Check::Hosts, cluster, message)
                .remedy("ask an administrator how many hosts are up, or for a role that shows them"),
        );
        return;
    };
    let Hosts { up, all, memory: free } = *hosts;
    if up == 0 {
        let message = format!("none of its {all} hosts is up");
        findings.push(Finding::failure(Check::Hosts, cluster, message).remedy("see the hosts on the engine"));
        return;
    }
    findings.push(Finding::pass(Check::Hosts, cluster, format!("{up} of its {all} hosts are up")));
    for WantedGroup { name, members, enforcing } in &wanted.groups {
        if *members <= up {
            continue;
        }
        let outcome = if *enforcing { "it is created as a preference" } else { "some run together" };
        let message = format!("{members} machines are to run apart on {up} hosts: {outcome}");
        let remedy = "add hosts to the cluster, or accept that a host takes several machines with it";
        findings.push(Finding::warning(Check::AntiAffinity, name, message).remedy(remedy));
    }
    if let Some(free) = free {
        memory(cluster, wanted, free, findings);
    }
}

fn memory(cluster: &str, wanted: &Wanted, free: FreeMemory, findings: &mut Vec<Finding>) {
    let FreeMemory { all: free, most } = free;
    let needs: Vec<u64> = wanted.machines.iter().filter_map(|machine| machine.memory).collect();
    let (all, largest) = (needs.iter().sum::<u64>(), needs.iter().max().copied().unwrap_or_default());
    let remedy = "free memory on the hosts, add hosts, or make the machines smaller: `memoryMB`";
    if largest > most {
        let message = format!(
            "a machine with {} GiB of memory starts on no host: the one with most has {} GiB left",
            largest / GIB,
            most / GIB
        );
        findings.push(Finding::failure(Check::Memory, cluster, message).remedy(remedy));
    } else if all > free {
        let message = format!(
            "the machines need {} GiB of memory, and the hosts have {} GiB left",
            all / GIB,
            free / GIB
        );
        findings.push(Finding::warning(Check::Memory, cluster, message).remedy(remedy));
    }
}

fn storage(wanted: &Wanted, domain: Option<&StorageFacts>, findings: &mut Vec<Finding>) {
    let asked = wanted.storage_domain.as_str();
    let Some(StorageFacts { name, kind, status, available }) = domain else {
        let message = format!("there is no storage domain `{asked}`, or the user does not see it");
        let remedy = "correct `ovirt_storage_domain_id`, or ask for a role on it";
        findings.push(Finding::failure(Check::Datastore, asked, message).remedy(remedy));
        return;
    };
    let mut fail = |message: String, remedy: &str| {
        findings.push(Finding::failure(Check::Datastore, name, message).remedy(remedy));
    };
    if kind != "data" {
        fail(format!("it is a domain for {kind}, and disks are on one for data"), "name a data domain");
        return;
    }
    match status.as_deref() {
        None => fail(
            "it is not attached to the data center of the cluster".to_owned(),
            "attach it, or name one of that data center",
        ),
        Some("active") => findings.push(Finding::pass(Check::Datastore, name, "it is active")),
        Some(status) => fail(format!("it is {status}"), "activate it on the engine"),
    }
    let copies = wanted.machines.iter().filter(|machine| machine.is_copy);
    let needed: u64 = copies.map(|WantedMachine { disk, .. }| *disk).sum();
    let (needed, left) = (needed.div_ceil(GIB), available / GIB);
    if needed > left {
        let message = format!("the disks of the machines may grow to {needed} GiB, and {left} GiB are left");
        let remedy = "free space, name another domain, or make the disks smaller: `osDisk.sizeGB`";
        findings.push(Finding::warning(Check::Storage, name, message).remedy(remedy));
    }
}

fn network(wanted: &Wanted, read: &EngineSnapshot, findings: &mut Vec<Finding>) {
    for (profile, networks) in read.profiles.iter().flatten() {
        if networks.contains(&wanted.network) {
            let message = format!("it is a vNIC profile of the network `{}`", wanted.network);
            findings.push(Finding::pass(Check::Network, profile, message));
            continue;
        }
        let message = match networks.as_slice() {
            [] => format!(
                "there is no vNIC profile `{profile}` in the data center of the cluster, or the user does not see it"
            ),
            others => format!(
                "it is a vNIC profile of {}, and not of the network `{}`",
                others.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "),
                wanted.network
            ),
        };
        let remedy = "correct `vnicProfileID` or `ovirt_network_name`";
        findings.push(Finding::failure(Check::Network, profile, message).remedy(remedy));
    }
}

fn template(name: &str, facts: Option<&TemplateFacts>, findings: &mut Vec<Finding>) {
    let Some(TemplateFacts { status, os, has_boot_disk }) = facts else {
        let message = format!("there is no template `{name}`, or the user does not see it");
        let remedy = "correct `templateName`, or make the template as the guide about oVirt says";
        findings.push(Finding::failure(Check::Template, name, message).remedy(remedy));
        return;
    };
    if status != "ok" {
        let message = format!("the template is {status}");
        findings.push(
            Finding::failure(Check::Template, name, message)
                .remedy("wait until it is done, or make it again"),
        );
    }
    if !has_boot_disk {
        let message = "the template has no disk to boot from";
        let remedy = "make it from a machine whose disk is bootable";
        findings.push(Finding::failure(Check::Template, name, message).remedy(remedy));
    }
    if status == "ok" && *has_boot_disk {
        findings.push(Finding::pass(Check::Template, name, "the template can be used"));
    }
    if !matches!(os.as_str(), "rhcos_x64" | "other_linux" | "other" | "") && !os.starts_with("rhel") {
        let message =
            format!("its operating system is {os}; machines are set up by Ignition, which few systems know");
        let remedy = "use an image of Red Hat CoreOS, Fedora CoreOS or Flatcar";
        findings.push(Finding::warning(Check::Template, name, message).remedy(remedy));
    }
}

/// Names that something else has already.
fn taken(wanted: &Wanted, read: &EngineSnapshot, findings: &mut Vec<Finding>) {
    let remedy = "remove it, or choose another name for the cluster";
    for name in read.machines.iter().flatten() {
        if wanted.machines.iter().any(|machine| machine.name == *name) {
            let message = "a machine of that name is there already";
            findings.push(Finding::failure(Check::Collisions, name, message).remedy(remedy));
        }
    }
    for name in read.groups.iter().flatten() {
        if wanted.groups.iter().any(|group| group.name == *name) && !read.own_groups.contains(name) {
            let message = "an affinity group of that name is there already";
            findings.push(Finding::failure(Check::Collisions, name, message).remedy(remedy));
        }
    }
    if read.is_tag_taken == Some(true) {
        let message = "a tag of that name is there already";
        findings.push(Finding::failure(Check::Collisions, &wanted.infra_id, message).remedy(remedy));
    }
    let Some(groups) = &read.groups else { return };
    for name in wanted.foreign_groups.iter().filter(|name| !groups.contains(name)) {
        let message =
            format!("machines are to join the affinity group `{name}`, which is neither there nor created");
        let remedy = "correct `affinityGroupsNames`, or add the group to `affinityGroups`";
        findings.push(Finding::failure(Check::AntiAffinity, name, message).remedy(remedy));
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::super::observe::{
        ClusterFacts, EngineSnapshot, FreeMemory, Hosts, Lookup, StorageFacts, TemplateFacts,
    };
    use super::super::{Wanted, WantedGroup, WantedMachine};
    use super::{GIB, judge};
    use crate::finding::Outcome;

    fn wanted() -> Wanted {
        let machine = |index: usize| WantedMachine {
            name: format!("barge-x7k2p-master-{index}"),
            disk: 120 * GIB,
            memory: Some(16 * GIB),
            is_copy: true,
            is_pinned: true,
        };
        Wanted {
            infra_id: "barge-x7k2p".to_owned(),
            network: "ovirtmgmt".to_owned(),
            storage_domain: "data1".parse().unwrap(),
            profiles: vec!["lan".parse().unwrap()],
            templates: vec!["rhcos".parse().unwrap()],
            machines: (0..3).map(machine).collect(),
            groups: vec![WantedGroup {
                name: "barge-x7k2p-controlplane".to_owned(),
                members: 3,
                enforcing: true,
            }],
            foreign_groups: vec!["mine".to_owned()],
            instance_types: vec!["i".to_owned()],
        }
    }

    fn storage_of(read: &mut EngineSnapshot) -> &mut StorageFacts {
        match &mut read.storage_domain {
            Some(Lookup::There(facts)) => facts,
            _ => panic!("it was read"),
        }
    }

    fn good() -> EngineSnapshot {
        EngineSnapshot {
            version: Some((4, 5)),
            cluster: Some(Lookup::There(ClusterFacts {
                name: "Default".to_owned(),
                architecture: "x86_64".to_owned(),
                cpu_type: "Intel Nehalem Family".to_owned(),
            })),
            data_center_status: Some("up".to_owned()),
            hosts: Some(Hosts { up: 3, all: 3, memory: Some(FreeMemory { all: 96 * GIB, most: 32 * GIB }) }),
            storage_domain: Some(Lookup::There(StorageFacts {
                name: "data1".to_owned(),
                kind: "data".to_owned(),
                status: Some("active".to_owned()),
                available: 500 * GIB,
            })),
            profiles: Some([("lan".to_owned(), vec!["ovirtmgmt".to_owned()])].into()),
            templates: [(
                "rhcos".to_owned(),
                Some(TemplateFacts {
                    status: "ok".to_owned(),
                    os: "rhcos_x64".to_owned(),
                    has_boot_disk: true,
                }),
            )]
            .into(),
            machines: Some(Vec::new()),
            groups: Some(vec!["mine".to_owned()]),
            own_groups: Vec::new(),
            is_tag_taken: Some(false),
            instance_types: [("i".to_owned(), true)].into(),
        }
    }

    fn told(change: impl FnOnce(&mut EngineSnapshot)) -> Vec<String> {
        let mut read = good();
        change(&mut read);
        let findings = judge("Default", &wanted(), &read);
        let bad = findings.iter().filter(|finding| finding.outcome != Outcome::Pass);
        bad.map(|finding| {
            assert!(finding.remedy.is_some(), "{finding:?}");
            format!("{:?} {} {}", finding.outcome, finding.check.code(), finding.object)
        })
        .collect()
    }

    #[test]
    fn what_is_as_it_must_be_passes() {
        assert_eq!(told(|_| {}), [""; 0]);
    }

    #[rstest]
    #[case::old(|r: &mut EngineSnapshot| r.version = Some((4, 3)), &["Failure platform 4.3"])]
    #[case::no_pinning(|r: &mut EngineSnapshot| r.version = Some((4, 4)), &["Failure cpu 4.4"])]
    #[case::no_cluster(|r: &mut EngineSnapshot| r.cluster = Some(Lookup::Absent), &["Failure compute-cluster Default"])]
    #[case::center(|r: &mut EngineSnapshot| r.data_center_status = Some("maintenance".into()), &["Failure datacenter Default"])]
    #[case::unseen(|r: &mut EngineSnapshot| r.hosts = None, &["Warning hosts Default"])]
    #[case::dark(|r: &mut EngineSnapshot| r.hosts = Some(Hosts { all: 3, ..Hosts::default() }), &["Failure hosts Default"])]
    #[case::few(|r: &mut EngineSnapshot| r.hosts.as_mut().unwrap().up = 2, &["Warning anti-affinity barge-x7k2p-controlplane"])]
    #[case::crowded(|r: &mut EngineSnapshot| r.hosts.as_mut().unwrap().memory = Some(FreeMemory { all: 40 * GIB, most: 32 * GIB }), &["Warning memory Default"])]
    #[case::small(|r: &mut EngineSnapshot| r.hosts.as_mut().unwrap().memory = Some(FreeMemory { all: 96 * GIB, most: 8 * GIB }), &["Failure memory Default"])]
    #[case::no_domain(|r: &mut EngineSnapshot| r.storage_domain = Some(Lookup::Absent), &["Failure datastore data1"])]
    #[case::inactive(|r: &mut EngineSnapshot| storage_of(r).status = Some("maintenance".into()), &["Failure datastore data1"])]
    #[case::elsewhere(|r: &mut EngineSnapshot| storage_of(r).status = None, &["Failure datastore data1"])]
    #[case::iso(|r: &mut EngineSnapshot| storage_of(r).kind = "iso".into(), &["Failure datastore data1"])]
    #[case::full(|r: &mut EngineSnapshot| storage_of(r).available = GIB, &["Warning storage data1"])]
    #[case::no_profile(|r: &mut EngineSnapshot| r.profiles = Some([("lan".into(), vec![])].into()), &["Failure network lan"])]
    #[case::other_network(|r: &mut EngineSnapshot| r.profiles = Some([("lan".into(), vec!["dmz".into()])].into()), &["Failure network lan"])]
    #[case::no_template(|r: &mut EngineSnapshot| { r.templates.insert("rhcos".into(), None); }, &["Failure template rhcos"])]
    #[case::locked(|r: &mut EngineSnapshot| { r.templates.get_mut("rhcos").unwrap().as_mut().unwrap().status = "locked".into(); }, &["Failure template rhcos"])]
    #[case::empty(|r: &mut EngineSnapshot| { r.templates.get_mut("rhcos").unwrap().as_mut().unwrap().has_boot_disk = false; }, &["Failure template rhcos"])]
    #[case::windows(|r: &mut EngineSnapshot| { r.templates.get_mut("rhcos").unwrap().as_mut().unwrap().os = "windows_2022".into(); }, &["Warning template rhcos"])]
    #[case::type_gone(|r: &mut EngineSnapshot| { r.instance_types.insert("i".into(), false); }, &["Failure compute-cluster i"])]
    #[case::machine_taken(|r: &mut EngineSnapshot| r.machines = Some(vec!["barge-x7k2p-master-1".into()]), &["Failure collisions barge-x7k2p-master-1"])]
    #[case::tag_taken(|r: &mut EngineSnapshot| r.is_tag_taken = Some(true), &["Failure collisions barge-x7k2p"])]
    #[case::group_taken(|r: &mut EngineSnapshot| r.groups = Some(vec!["mine".into(), "barge-x7k2p-controlplane".into()]), &["Failure collisions barge-x7k2p-controlplane"])]
    #[case::group_missing(|r: &mut EngineSnapshot| r.groups = Some(vec![]), &["Failure anti-affinity mine"])]
    fn what_is_not_is_said_with_a_cure(#[case] change: fn(&mut EngineSnapshot), #[case] expected: &[&str]) {
        assert_eq!(told(change), expected);
    }

    /// One look says everything.
    #[test]
    fn all_problems_are_told_at_once() {
        let all = told(|read| {
            read.storage_domain = Some(Lookup::Absent);
            read.profiles = Some([("lan".to_owned(), Vec::new())].into());
            read.templates.insert("rhcos".to_owned(), None);
        });
        assert_eq!(all.len(), 3, "{all:?}");
    }
}
