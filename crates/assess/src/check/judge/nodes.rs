//! Nodes, one by one.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::super::catalog::{Check, Reason};
use super::super::cluster::{Node, NodeKind};
use super::super::counts::{BlockTracking, Counts};
use super::super::matching::{Found, Matched, same};
use super::super::observe::Question;
use super::super::report::{Action, Finding, NodeResult, NodeState, Outcome, Verdicts};
use super::super::snapshot::{Machine, VCenterSnapshot};
use super::permissions;
use super::server::{AGEING, OLDEST};
use crate::text::{count, listed};
use crate::vsphere::version::numbers;

/// The first virtual hardware the storage driver works with.
const HARDWARE: u32 = 15;
/// More volumes than these per node need a newer ESXi.
const USUAL_VOLUMES: u32 = 59;
const MANY_VOLUMES: [u32; 3] = [8, 0, 0];
/// Etcd suffers from slower disks; an average of fewer measurements says nothing.
const MAX_LATENCY_MS: i64 = 100;
const MIN_SAMPLES: usize = 30;

/// What is to be said about all nodes.
#[derive(Debug, Default)]
pub(in crate::check) struct Nodes {
    pub(in crate::check) results: Vec<NodeResult>,
    pub(in crate::check) verdicts: Verdicts,
}

/// `unreached` are the vCenters that could not be asked: a node that is not found elsewhere may live there.
pub(in crate::check) fn judge(
    question: &Question,
    snapshots: &[VCenterSnapshot],
    unreached: &BTreeSet<String>,
    now: Timestamp,
    facts: &mut Counts,
) -> Nodes {
    let machines = question.ids.machines(snapshots);
    let mut nodes = Nodes::default();
    let mut lost: BTreeMap<Vec<String>, Vec<String>> = BTreeMap::new();
    for (index, node) in question.nodes.iter().enumerate() {
        let Matched { own: found, claimed } = machines.get(&index).cloned().unwrap_or_default();
        let mut verdicts = Verdicts::default();
        let state = match (node.kind(), &found[..]) {
            (NodeKind::Other { why }, []) => NodeState::Skipped { why },
            (NodeKind::Other { .. }, machines) => {
                verdicts.add(Check::NodeMachine, Some(unclaimed(node, machines)));
                NodeState::Skipped { why: "a VM that no cloud provider initialized".to_owned() }
            }
            (NodeKind::Pending, _) => {
                verdicts.add(Check::NodeMachine, Some(pending(node, now)));
                NodeState::Pending
            }
            (NodeKind::VSphere, [found]) => {
                verdicts = checked(node, *found, &claimed, question);
                NodeState::Checked {
                    vcenter: found.snapshot.server.clone(),
                    machine: found.machine.id.to_string(),
                    path: found.machine.path.clone(),
                }
            }
            (NodeKind::VSphere, []) if !unreached.is_empty() => {
                let (region, zone) = node.place();
                let there =
                    question.subject.server_of(region, zone).filter(|server| unreached.contains(*server));
                let vcenters: Vec<String> = there
                    .map_or_else(|| unreached.iter().cloned().collect(), |server| vec![server.to_owned()]);
                lost.entry(vcenters.clone()).or_default().push(node.name.clone());
                NodeState::Unknown { vcenters }
            }
            (NodeKind::VSphere, []) => {
                verdicts.add(Check::NodeMachine, Some(missing(node)));
                NodeState::Missing
            }
            (NodeKind::VSphere, several) => {
                verdicts.add(Check::NodeMachine, Some(ambiguous(node, several)));
                NodeState::Missing
            }
        };
        let failed = verdicts.findings.iter().filter(|finding| finding.outcome == Outcome::Failure);
        nodes.results.push(NodeResult {
            name: node.name.clone(),
            state,
            checks: verdicts.looked.keys().copied().collect(),
            failed: failed.map(|finding| finding.check).collect(),
        });
        for finding in &mut verdicts.findings {
            finding.node = Some(node.name.clone());
        }
        nodes.verdicts.merge(verdicts);
    }
    let is_skipped = |node: &NodeResult| matches!(node.state, NodeState::Skipped { .. });
    if !nodes.results.is_empty() && nodes.results.iter().all(is_skipped) {
        nodes.verdicts.findings.push(all_skipped(nodes.results.len()));
    }
    nodes.verdicts.findings.extend(lost.iter().map(|(vcenters, nodes)| out_of_sight(vcenters, nodes)));
    let found: Vec<Found<'_>> =
        machines.values().filter_map(|matched| matched.own.first()).copied().collect();
    collect(&found, facts);
    if !found.is_empty() {
        nodes.verdicts.add(Check::NodeChangeTracking, tracking(&found, facts));
    }
    nodes
}

fn checked(node: &Node, found: Found<'_>, claimed: &[Found<'_>], question: &Question) -> Verdicts {
    let Found { snapshot, machine } = found;
    let mut verdicts = Verdicts::default();
    verdicts.add(Check::NodeMachine, None);
    verdicts.add(Check::NodeProviderId, provider_id(node, found, claimed));
    verdicts.add(Check::NodeDiskUuid, disk_uuid(machine));
    verdicts.add(Check::NodeHardware, hardware(machine));
    verdicts.add(Check::NodeHost, host(machine, snapshot));
    verdicts.add(Check::NodeVolumeLimit, volume_limit(machine, snapshot, question.subject.volumes_per_node));
    if node.is_control_plane() {
        verdicts.add(Check::NodeLatency, latency(machine, snapshot));
    }
    for (check, finding) in permissions::of_machine(machine, snapshot) {
        verdicts.add(check, finding);
    }
    verdicts.at(&snapshot.server)
}

fn pending(node: &Node, now: Timestamp) -> Finding {
    let minutes = node.created.map_or(0, |created| now.duration_since(created).as_mins());
    let message = format!(
        "the cloud provider has not initialised the node; it joined {} ago",
        count(usize::try_from(minutes).unwrap_or_default(), "minute")
    );
    let remedy = "wait; if it stays, look at the cloud controller manager's log. A host without a VM on a \
                  vCenter must be ignited with `platform: none`";
    Finding::pending(Check::NodeMachine, &node.name, message).remedy(remedy)
}

/// It has no taint and no provider id, as bare metal has none; but it is a machine.
fn unclaimed(node: &Node, machines: &[Found<'_>]) -> Finding {
    let places: Vec<String> = machines.iter().map(place_of).collect();
    let message =
        format!("the node is {}, but waits for no cloud provider and has no provider id", listed(&places));
    let remedy = "start its kubelet with `--cloud-provider=external`, delete the node object and restart the kubelet, so that \
                  the cloud provider initialises it; without that it gets no volumes";
    Finding::warning(Check::NodeMachine, &node.name, message).remedy(remedy)
}

/// Nothing that was looked at is not healthy.
fn all_skipped(nodes: usize) -> Finding {
    let message =
        format!("{}: none is known to be a vSphere machine, so no node was checked", count(nodes, "node"));
    let remedy =
        "see that a cloud provider initialises the nodes: their provider ids begin with `vsphere://`";
    Finding::unknown(Check::NodeMachine, "nodes", message).remedy(remedy)
}

fn missing(node: &Node) -> Finding {
    let id = node.provider_uuid().map_or_else(|| node.system_uuid.clone(), |id| id.to_string());
    let message = format!("no vCenter has a machine with the BIOS id {id}");
    let remedy = "if the machine was removed, delete the node; else see that the user may see the machine";
    let finding = Finding::failure(Check::NodeMachine, &node.name, message).remedy(remedy);
    finding.means(Action::BlockUpgradeOrDegrade, Reason::VcenterApiError)
}

/// How to find out which machine a node runs on: the wrong machine may belong to another owner.
const WHICH_MACHINE: &str = "compare the addresses of the node (`kubectl get node -o wide`) with those the vCenters show for \
                             each machine";

fn place_of(found: &Found<'_>) -> String {
    format!("`{}` on {}", found.machine.path, found.snapshot.server)
}

fn ambiguous(node: &Node, found: &[Found<'_>]) -> Finding {
    let places: Vec<String> = found.iter().map(place_of).collect();
    let message = format!("{} machines have the BIOS id of the node: {}", found.len(), listed(&places));
    let remedy = format!(
        "find out which of them is the copy, and change nothing before: {WHICH_MACHINE}. Then give the copy a `uuid.bios` \
         of its own"
    );
    let finding = Finding::failure(Check::NodeMachine, &node.name, message).remedy(remedy);
    finding.means(Action::BlockUpgradeOrDegrade, Reason::VcenterApiError)
}

/// One for all of a vCenter's nodes: it is one thing that is broken.
fn out_of_sight(vcenters: &[String], nodes: &[String]) -> Finding {
    let where_ = vcenters.join(" or ");
    let live = if nodes.len() == 1 { "lives" } else { "live" };
    let message = format!(
        "{} {live} on {where_}, which cannot be reached: {}",
        count(nodes.len(), "node"),
        listed(nodes)
    );
    let remedy = "nothing is known to be wrong with the nodes; bring the vCenter back";
    let mut finding = Finding::unknown(Check::NodeMachine, where_, message).remedy(remedy);
    if let [only] = vcenters {
        finding = finding.at(only);
    }
    finding
}

fn provider_id(node: &Node, found: Found<'_>, claimed: &[Found<'_>]) -> Option<Finding> {
    let fail = |message: String, remedy: String| {
        Some(Finding::failure(Check::NodeProviderId, &node.name, message).remedy(remedy))
    };
    let again = "delete the node object and restart its kubelet, so that it is initialised again";
    let (Some(id), Some(written)) = (node.provider_uuid(), &node.provider_id) else {
        let message = match node.provider_id.as_deref() {
            None | Some("") => "the node has no provider id".to_owned(),
            Some(other) => {
                format!("the provider id `{other}` is not that of its machine, {}", found.machine.uuid)
            }
        };
        return fail(message, format!("see that the cloud controller manager runs; then {again}"));
    };
    let own = node.system_id().unwrap_or(found.machine.uuid);
    if same(id, own) {
        return None;
    }
    let names = match claimed {
        // Its own id is not there: the machine was found by the provider id.
        [] if same(id, found.machine.uuid) => format!("names {}", place_of(&found)),
        [] => format!("is not that of its machine, {}", place_of(&found)),
        claimed => {
            let places: Vec<String> = claimed.iter().map(place_of).collect();
            format!("names {}, and its machine is {}", listed(&places), place_of(&found))
        }
    };
    let message = format!("the provider id `{written}` {names}; the node's own BIOS id is {own}");
    let remedy =
        format!("find out which machine it is, and change no machine: {WHICH_MACHINE}. Then {again}");
    fail(message, remedy)
}

fn disk_uuid(machine: &Machine) -> Option<Finding> {
    (!machine.facts.disk_uuid).then(|| {
        let message = "disk.enableUUID is not set: the node does not find its volumes";
        let remedy =
            "power the machine off, set the advanced setting disk.enableUUID to TRUE, and power it on";
        Finding::failure(Check::NodeDiskUuid, &machine.path, message).remedy(remedy)
    })
}

fn hardware(machine: &Machine) -> Option<Finding> {
    let check = Check::NodeHardware;
    let Some(version) = machine.facts.hardware else {
        return Some(Finding::unknown(
            check,
            &machine.path,
            "the version of its virtual hardware is not known",
        ));
    };
    (version < HARDWARE).then(|| {
        let message =
            format!("virtual hardware vmx-{version} is too old: vmx-{HARDWARE} is the first that works");
        let remedy = "drain the node, power its machine off and upgrade its compatibility, or replace it";
        let finding = Finding::failure(check, &machine.path, message).remedy(remedy);
        finding.means(Action::BlockUpgradeOrDegrade, Reason::CheckDeprecatedHwVersion)
    })
}

fn version_of(machine: &Machine, snapshot: &VCenterSnapshot) -> Option<(String, String, Option<[u32; 3]>)> {
    let item = snapshot.inventory.item(machine.facts.host.as_ref()?)?;
    let host = item.host()?;
    let number = numbers(&host.api_version).or_else(|| numbers(&host.version));
    Some((item.path.clone(), host.version.clone(), number))
}

fn host(machine: &Machine, snapshot: &VCenterSnapshot) -> Option<Finding> {
    let check = Check::NodeHost;
    let Some((path, version, number)) = version_of(machine, snapshot) else {
        let message = "which host it runs on is not known, or the user may not see it";
        return Some(Finding::unknown(check, &machine.path, message));
    };
    let Some(number) = number else {
        return Some(Finding::unknown(check, path, format!("the version `{version}` cannot be understood")));
    };
    let remedy = "update the host to ESXi 8.0 or later, or move the machine to one that is newer";
    if number < OLDEST {
        let message = format!("its host `{path}` has ESXi {version}: 6.7 U3 is the first that works");
        let finding = Finding::failure(check, path, message).remedy(remedy);
        return Some(finding.means(Action::BlockUpgradeOrDegrade, Reason::CheckDeprecatedEsxiVersion));
    }
    (number < AGEING).then(|| {
        let message = format!("its host `{path}` has ESXi {version}: newer drivers need 7.0.2");
        let finding = Finding::warning(check, path, message).remedy(remedy);
        finding.means(Action::BlockUpgrade, Reason::CheckDeprecatedEsxiVersion)
    })
}

fn volume_limit(machine: &Machine, snapshot: &VCenterSnapshot, limit: Option<u32>) -> Option<Finding> {
    let limit = limit.filter(|limit| *limit > USUAL_VOLUMES)?;
    let (path, version, number) = version_of(machine, snapshot)?;
    (number? < MANY_VOLUMES).then(|| {
        let message = format!(
            "{limit} volumes per node are configured, and its host `{path}` has ESXi {version}, which allows {USUAL_VOLUMES}"
        );
        let remedy = format!("set the limit to {USUAL_VOLUMES}, or update the host to ESXi 8.0");
        let finding = Finding::failure(Check::NodeVolumeLimit, path, message).remedy(remedy);
        finding.means(Action::Degrade, Reason::BlockVolumeLimitError)
    })
}

fn latency(machine: &Machine, snapshot: &VCenterSnapshot) -> Option<Finding> {
    let check = Check::NodeLatency;
    let measured = match &snapshot.latencies {
        Ok(measured) => measured.get(&machine.id)?,
        Err(reason) => {
            let message = format!("how fast its disks are could not be read: {reason}");
            return Some(Finding::unknown(check, &machine.path, message));
        }
    };
    let samples = i64::try_from(measured.len()).ok().filter(|_| measured.len() >= MIN_SAMPLES)?;
    let average = measured.iter().sum::<i64>() / samples;
    (average > MAX_LATENCY_MS).then(|| {
        let message =
            format!("its disks take {average} ms on average, and etcd needs less than {MAX_LATENCY_MS}");
        let remedy = "move the control plane to faster storage, or away from what keeps it busy";
        Finding::failure(check, &machine.path, message).remedy(remedy)
    })
}

fn collect(found: &[Found<'_>], facts: &mut Counts) {
    let mut hosts = BTreeSet::new();
    for Found { snapshot, machine } in found {
        let hardware =
            machine.facts.hardware.map_or_else(|| "unknown".to_owned(), |version| format!("vmx-{version}"));
        *facts.hardware.entry(hardware).or_default() += 1;
        let tracking = &mut facts.change_tracking;
        *(if machine.facts.change_tracking { &mut tracking.on } else { &mut tracking.off }) += 1;
        let Some(id) = &machine.facts.host else { continue };
        // The same id on another vCenter is another host.
        if hosts.insert((snapshot.server.as_str(), id))
            && let Some(host) = snapshot.inventory.item(id).and_then(|item| item.host())
        {
            *facts.hosts.entry((host.version.clone(), host.api_version.clone())).or_default() += 1;
        }
    }
}

/// Back-up programs that rely on it miss the others.
fn tracking(found: &[Found<'_>], facts: &Counts) -> Option<Finding> {
    let BlockTracking { on, off } = facts.change_tracking;
    if on == 0 || off == 0 {
        return None;
    }
    let odd = on < off;
    let names: Vec<String> = found
        .iter()
        .filter(|found| found.machine.facts.change_tracking == odd)
        .map(|found| format!("{} on {}", found.machine.path, found.snapshot.server))
        .collect();
    let message = format!("changed block tracking is on for {} and off for {off}", count(on, "node"));
    let word = if odd { "is on" } else { "is off" };
    let finding = Finding::warning(Check::NodeChangeTracking, "nodes", message);
    Some(
        finding
            .details([format!("it {word} for {}", listed(&names))])
            .remedy("set it alike for all nodes: `ctkEnabled` in the advanced settings of their machines"),
    )
}
