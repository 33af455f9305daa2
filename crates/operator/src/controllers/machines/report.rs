//! What is written to a Machine: phase, addresses, conditions and errors, as OpenShift's own clients expect them. Pure.

use std::net::IpAddr;

use jiff::Timestamp;
use kube::ResourceExt;
use serde_json::{Map, Value, json};
use slipway_api::openshift::{Machine, MachineCondition};
use slipway_providers::vsphere::machine_feed::MachineFacts;

use super::decide::{Hold, Known, Next, phase};
use super::journal::{Kept, difference};
use super::problem::{INVALID, MISSING, Problem, Sight};

/// What the annotation says of the power state, as vCenter calls it.
pub(super) const INSTANCE_STATE: &str = "machine.openshift.io/instance-state";
pub(super) const INSTANCE_TYPE: &str = "machine.openshift.io/instance-type";
/// Where the machine is, by the tags of its compute cluster.
const REGION: &str = "machine.openshift.io/region";
const ZONE: &str = "machine.openshift.io/zone";
/// Longer messages are cut.
const MAX_MESSAGE: usize = 2_048;
/// The fields of a status that are written here. All others are others'.
const OWN: [&str; 5] = ["phase", "addresses", "conditions", "errorReason", "errorMessage"];
const OWN_PROVIDER: [&str; 4] = ["instanceId", "instanceState", "taskRef", "conditions"];

/// What is to be written. Nothing where it is as it should be.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Changes {
    /// A merge patch of the status.
    pub(super) status: Option<Value>,
    /// A merge patch of the rest.
    pub(super) object: Option<Value>,
}

impl Changes {
    pub(super) fn is_empty(&self) -> bool {
        self.status.is_none() && self.object.is_none()
    }
}

/// What a Machine should say, beside what it says.
pub(super) fn changes(
    machine: &Machine,
    kept: &Kept,
    known: &Known,
    next: &Next,
    vips: &[IpAddr],
    now: Timestamp,
) -> Changes {
    let is_deleted = machine.metadata.deletion_timestamp.is_some();
    if *next == Next::Leave || (phase(machine) == Some("Failed") && !is_deleted) {
        return Changes::default();
    }
    let status = status(machine, kept, known, next, vips, now);
    let before = picked(machine);
    let status = difference(&before, &status).map(|mut change| {
        change["lastUpdated"] = json!(seconds(now));
        json!({"status": change})
    });
    Changes { status, object: object(machine, known) }
}

/// The API server's precision.
fn seconds(now: Timestamp) -> String {
    now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// What the Machine says of what is written here.
fn picked(machine: &Machine) -> Value {
    let status = serde_json::to_value(&machine.status).unwrap_or_default();
    let pick = |from: &Value, keys: &[&str]| -> Map<String, Value> {
        let some =
            |key: &&str| Some(((*key).to_owned(), from.get(*key).filter(|value| !value.is_null())?.clone()));
        keys.iter().filter_map(some).collect()
    };
    let mut picked = pick(&status, &OWN);
    let provider = pick(&status["providerStatus"], &OWN_PROVIDER);
    picked.insert("providerStatus".to_owned(), Value::Object(provider));
    Value::Object(picked)
}

fn status(
    machine: &Machine,
    kept: &Kept,
    known: &Known,
    next: &Next,
    vips: &[IpAddr],
    now: Timestamp,
) -> Value {
    let old = machine.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
    let mut conditions: Vec<MachineCondition> = old.to_vec();
    let mut set = |verdict: Verdict| {
        let condition = verdict.with_time(old, now);
        match conditions.iter_mut().find(|known| known.type_ == condition.type_) {
            Some(known) => *known = condition,
            None => conditions.push(condition),
        }
    };
    if let Some(exists) = exists(kept, known) {
        set(exists);
    }
    if machine.metadata.deletion_timestamp.is_some() {
        set(terminable(next, known));
    }
    let problem = known.problem.as_ref();
    let reason = problem.filter(|problem| problem.terminal && problem.reason == INVALID);
    let mut status = json!({
        "phase": new_phase(machine, known),
        "addresses": addresses(machine, known, vips),
        "conditions": conditions,
        "providerStatus": provider_status(machine, kept, known, now),
    });
    if let Some(reason) = reason {
        status["errorReason"] = json!(reason.reason);
    }
    if let Some(problem) = problem {
        status["errorMessage"] = json!(cut(&problem.message));
    }
    status
}

fn cut(message: &str) -> String {
    message.chars().take(MAX_MESSAGE).collect()
}

fn new_phase(machine: &Machine, known: &Known) -> &'static str {
    let has_node = machine.status.as_ref().is_some_and(|status| status.node_ref.is_some());
    if machine.metadata.deletion_timestamp.is_some() {
        "Deleting"
    } else if known.problem.as_ref().is_some_and(|problem| problem.terminal) {
        "Failed"
    } else if has_node {
        "Running"
    } else if provider_id(machine, known).is_some() {
        "Provisioned"
    } else {
        "Provisioning"
    }
}

/// What the node of the machine is known by.
fn provider_id(machine: &Machine, known: &Known) -> Option<String> {
    let own = || Some(known.facts.as_ref()?.bios_uuid.as_str()).filter(|uuid| !uuid.is_empty());
    machine.spec.provider_id.clone().or_else(|| own().map(|uuid| format!("vsphere://{uuid}")))
}

/// A condition without its history.
struct Verdict {
    about: &'static str,
    status: &'static str,
    reason: Option<String>,
    message: Option<String>,
}

impl Verdict {
    fn with_time(self, old: &[MachineCondition], now: Timestamp) -> MachineCondition {
        let before = old.iter().find(|known| known.type_ == self.about);
        let same = before.filter(|before| before.status == self.status);
        MachineCondition {
            type_: self.about.to_owned(),
            status: self.status.to_owned(),
            severity: (self.status == "False").then(|| "Warning".to_owned()),
            last_transition_time: same.and_then(|before| before.last_transition_time.clone()).or_else(|| {
                seconds(now).parse().ok().map(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time)
            }),
            reason: self.reason,
            message: self.message,
        }
    }
}

/// Whether there is a virtual machine. `None`: nothing new is known.
fn exists(kept: &Kept, known: &Known) -> Option<Verdict> {
    let verdict = |status, reason: Option<&str>, message: Option<String>| Verdict {
        about: "InstanceExists",
        status,
        reason: reason.map(str::to_owned),
        message,
    };
    match &known.problem {
        Some(problem) if problem.reason == MISSING => {
            Some(verdict("False", Some("InstanceMissing"), Some(cut(&problem.message))))
        }
        Some(problem) if problem.sight == Sight::Blind => {
            Some(verdict("Unknown", Some("ErrorCheckingProvider"), Some(cut(&problem.message))))
        }
        _ if known.left && known.is_doubted => {
            let message = "many machines of its vCenter are not visible at once: nothing is decided";
            Some(verdict("Unknown", Some("ErrorCheckingProvider"), Some(message.to_owned())))
        }
        _ if known.facts.is_some() && !known.left => Some(verdict("True", None, None)),
        // Made, and not heard of yet: it is as it was.
        _ if kept.settled || kept.machine().is_some() => None,
        Some(problem) => Some(verdict("False", Some("InstanceNotCreated"), Some(cut(&problem.message)))),
        None => Some(verdict("False", Some("InstanceNotCreated"), Some("it is being created".to_owned()))),
    }
}

/// Whether a Machine that is to go may go.
fn terminable(next: &Next, known: &Known) -> Verdict {
    let (status, reason, message) = match (next, &known.problem) {
        (Next::Hold(Hold::Hooks(hooks)), _) => {
            ("False", Some("HookPresent".to_owned()), Some(format!("it waits for {}", hooks.join(", "))))
        }
        (Next::Hold(Hold::Drain), _) => {
            ("False", Some("NotDrained".to_owned()), Some("its node is not drained yet".to_owned()))
        }
        (_, Some(problem)) => ("False", Some(problem.reason.to_string()), Some(cut(&problem.message))),
        (_, None) => ("True", None, None),
    };
    Verdict { about: "Terminable", status, reason, message }
}

/// Names first, which are known before the guest starts, then what the guest reports.
fn addresses(machine: &Machine, known: &Known, vips: &[IpAddr]) -> Vec<Value> {
    let name = machine.name_any();
    let mut addresses =
        vec![json!({"type": "Hostname", "address": name}), json!({"type": "InternalDNS", "address": name})];
    let reported =
        known.facts.as_ref().filter(|facts| facts.power != "poweredOn" || !facts.addresses.is_empty());
    let Some(MachineFacts { addresses: reported, .. }) = reported else {
        // The stream has not told, or the guest's tools restart: the node keeps its addresses.
        let old = machine.status.as_ref().map(|status| status.addresses.as_slice()).unwrap_or_default();
        let ips = old.iter().filter(|address| address.type_ == "InternalIP");
        addresses.extend(ips.map(|address| json!({"type": "InternalIP", "address": address.address})));
        return addresses;
    };
    // A virtual address is on a machine and is not its own: a certificate for it would be good for all of them.
    let own = reported.iter().filter(|address| !vips.contains(address));
    addresses.extend(own.map(|address| json!({"type": "InternalIP", "address": address.to_string()})));
    addresses
}

fn provider_status(machine: &Machine, kept: &Kept, known: &Known, now: Timestamp) -> Value {
    let old = machine.status.as_ref().and_then(|status| status.provider_status.clone()).unwrap_or_default();
    let mut status = json!({"conditions": [creation(&old, kept, known.problem.as_ref(), now)]});
    for key in ["instanceId", "instanceState"] {
        if let Some(value) = old.get(key).filter(|value| !value.is_null()) {
            status[key] = value.clone();
        }
    }
    if let Some(facts) = &known.facts {
        status["instanceId"] = json!(facts.bios_uuid);
        status["instanceState"] = json!(facts.power);
    }
    if let Some(task) = kept.tasks.values().next() {
        status["taskRef"] = json!(task.reference.rsplit(':').next());
    }
    status
}

/// Whether the machine was made, in the form of OpenShift's provider.
fn creation(old: &Value, kept: &Kept, problem: Option<&Problem>, now: Timestamp) -> Value {
    let (status, reason, message) = match problem {
        _ if kept.settled => {
            ("True", "MachineCreationSucceeded".to_owned(), "the machine was created".to_owned())
        }
        Some(problem) => ("False", problem.reason.to_string(), cut(&problem.message)),
        None => ("False", "MachineCreationInProgress".to_owned(), "the machine is being created".to_owned()),
    };
    let before =
        old["conditions"].as_array().and_then(|all| all.iter().find(|one| one["type"] == "MachineCreation"));
    let since =
        before.filter(|before| before["status"] == status).map(|before| before["lastTransitionTime"].clone());
    json!({
        "type": "MachineCreation", "status": status, "reason": reason, "message": message,
        "lastTransitionTime": since.unwrap_or_else(|| json!(seconds(now))),
    })
}

/// What is outside of the status: the node's id, the power state, and the size.
fn object(machine: &Machine, known: &Known) -> Option<Value> {
    if machine.metadata.deletion_timestamp.is_some() {
        return None;
    }
    let mut change = json!({});
    let failed = known.problem.as_ref().is_some_and(|problem| problem.terminal);
    let state = if failed { Some("Unknown") } else { known.facts.as_ref().map(|facts| facts.power.as_str()) };
    if let Some(state) = state
        && machine.annotations().get(INSTANCE_STATE).map(String::as_str) != Some(state)
    {
        change["metadata"]["annotations"][INSTANCE_STATE] = json!(state);
    }
    let size = size(&machine.spec.provider_spec.value);
    for (label, value) in [(INSTANCE_TYPE, &size), (REGION, &known.place.region), (ZONE, &known.place.zone)] {
        if value.is_some() && machine.labels().get(label) != value.as_ref() {
            change["metadata"]["labels"][label] = json!(value);
        }
    }
    if machine.spec.provider_id.is_none()
        && let Some(id) = provider_id(machine, known)
    {
        change["spec"]["providerID"] = json!(id);
    }
    (change != json!({})).then_some(change)
}

/// As vSphere's cloud provider calls the size of its nodes.
fn size(spec: &Value) -> Option<String> {
    let (cpus, memory) = (spec["numCPUs"].as_u64()?, spec["memoryMiB"].as_u64()?);
    Some(format!("vsphere-vm.cpu-{cpus}.mem-{}gb", memory / 1024))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};
    use slipway_api::openshift::Machine;
    use slipway_engine::Reason;
    use slipway_providers::vsphere::machine_feed::MachineFacts;

    use super::super::problem::{INVALID, MISSING, Problem};
    use super::super::subject::tests::{UID, machine};
    use super::{Changes, Hold, Kept, Known, Next, changes};

    const AT: &str = "2026-11-18T07:00:00Z";

    fn facts(power: &str, addresses: &[&str]) -> MachineFacts {
        MachineFacts {
            bios_uuid: "42166f45-6f10-6d46-4b2d-7f7e4f5b7a01".to_owned(),
            instance_uuid: UID.to_owned(),
            power: power.to_owned(),
            addresses: addresses.iter().map(|address| address.parse().unwrap()).collect(),
            ..MachineFacts::default()
        }
    }

    fn report(machine: &Machine, kept: &Kept, known: &Known, next: &Next) -> Changes {
        changes(machine, kept, known, next, &["10.0.0.2".parse().unwrap()], AT.parse().unwrap())
    }

    /// Applies a merge patch, as the API server does.
    fn applied(machine: &Machine, changes: &Changes) -> Machine {
        fn merge(value: &mut Value, change: &Value) {
            let Value::Object(change) = change else {
                *value = change.clone();
                return;
            };
            if !value.is_object() {
                *value = json!({});
            }
            for (key, change) in change {
                if change.is_null() {
                    value.as_object_mut().unwrap().remove(key);
                } else {
                    merge(&mut value[key], change);
                }
            }
        }
        let mut value = serde_json::to_value(machine).unwrap();
        for change in [&changes.status, &changes.object].into_iter().flatten() {
            merge(&mut value, change);
        }
        serde_json::from_value(value).unwrap()
    }

    fn settled() -> Kept {
        Kept { settled: true, ..Kept::default() }
    }

    fn condition<'m>(machine: &'m Machine, about: &str) -> &'m slipway_api::openshift::MachineCondition {
        let conditions = &machine.status.as_ref().unwrap().conditions;
        conditions
            .iter()
            .find(|condition| condition.type_ == about)
            .unwrap_or_else(|| panic!("{conditions:?}"))
    }

    fn addresses(machine: &Machine) -> Vec<&str> {
        machine.status.as_ref().unwrap().addresses.iter().map(|address| &*address.address).collect()
    }

    #[test]
    fn a_machine_has_its_names_before_it_is_made() {
        let before = machine(|_| {});
        let after = applied(&before, &report(&before, &Kept::default(), &Known::default(), &Next::Make));
        assert_eq!(after.status.as_ref().unwrap().phase.as_deref(), Some("Provisioning"));
        assert_eq!(addresses(&after), ["worker-a", "worker-a"]);
        assert_eq!(condition(&after, "InstanceExists").reason.as_deref(), Some("InstanceNotCreated"));
        assert!(
            report(&after, &Kept::default(), &Known::default(), &Next::Make).is_empty(),
            "once is enough"
        );
    }

    #[test]
    fn what_the_guest_reports_is_published_without_virtual_addresses() {
        let before = machine(|_| {});
        let known = Known {
            facts: Some(facts("poweredOn", &["10.0.0.7", "10.0.0.2", "fd00::7"])),
            ..Known::default()
        };
        let after = applied(&before, &report(&before, &settled(), &known, &Next::Rest));
        assert_eq!(addresses(&after), ["worker-a", "worker-a", "10.0.0.7", "fd00::7"]);
        assert_eq!(after.spec.provider_id.as_deref(), Some("vsphere://42166f45-6f10-6d46-4b2d-7f7e4f5b7a01"));
        assert_eq!(after.metadata.annotations.as_ref().unwrap()[super::INSTANCE_STATE], "poweredOn");
        assert_eq!(
            after.metadata.labels.as_ref().unwrap()[super::INSTANCE_TYPE],
            "vsphere-vm.cpu-4.mem-16gb"
        );
        assert_eq!(after.status.as_ref().unwrap().phase.as_deref(), Some("Provisioned"));
        assert_eq!(condition(&after, "InstanceExists").status, "True");
        assert!(report(&after, &settled(), &known, &Next::Rest).is_empty());

        // Restarted: nothing is known yet, and nothing is written.
        assert!(report(&after, &settled(), &Known::default(), &Next::Rest).is_empty());
        // The tools restart, and then the machine is off.
        let silent = Known { facts: Some(facts("poweredOn", &[])), ..Known::default() };
        assert!(report(&after, &settled(), &silent, &Next::Rest).is_empty());
        let off = Known { facts: Some(facts("poweredOff", &[])), ..Known::default() };
        let after = applied(&after, &report(&after, &settled(), &off, &Next::Rest));
        assert_eq!(addresses(&after), ["worker-a", "worker-a"]);
    }

    #[rstest]
    #[case::node(None, Some("worker-a"), "Running", None)]
    #[case::no_node(None, None, "Provisioned", None)]
    #[case::retried(Some(Problem::new(Reason::new("NoPermission"), "no")), None, "Provisioned", None)]
    #[case::invalid(Some(Problem::terminal(INVALID, "no")), None, "Failed", Some("InvalidConfiguration"))]
    #[case::missing(Some(Problem::terminal(MISSING, "gone")), Some("worker-a"), "Failed", None)]
    fn phases(
        #[case] problem: Option<Problem>,
        #[case] node: Option<&str>,
        #[case] phase: &str,
        #[case] reason: Option<&str>,
    ) {
        let before = machine(|machine| {
            machine["spec"]["providerID"] = json!("vsphere://1");
            if let Some(node) = node {
                machine["status"] = json!({"nodeRef": {"name": node}});
            }
        });
        let known = Known { problem: problem.clone(), ..Known::default() };
        let after = applied(&before, &report(&before, &settled(), &known, &Next::Rest));
        let status = after.status.as_ref().unwrap();
        assert_eq!((status.phase.as_deref(), status.error_reason.as_deref()), (Some(phase), reason));
        assert_eq!(status.error_message.is_some(), problem.is_some());
        if phase == "Failed" {
            assert!(report(&after, &settled(), &Known::default(), &Next::Leave).is_empty(), "it stays so");
        } else {
            let over = applied(&after, &report(&after, &settled(), &Known::default(), &Next::Rest));
            assert!(over.status.unwrap().error_message.is_none(), "a problem that is over is not told");
        }
    }

    /// A vCenter that cannot be asked is not the same as a machine that is gone.
    #[rstest]
    #[case::blind(Problem::blind(Reason::UNREACHABLE, "no answer"), "Unknown", "ErrorCheckingProvider")]
    #[case::gone(Problem::terminal(MISSING, "gone"), "False", "InstanceMissing")]
    #[case::never_made(
        Problem::new(Reason::new("TemplateMissing"), "no template"),
        "False",
        "InstanceNotCreated"
    )]
    fn existence(#[case] problem: Problem, #[case] status: &str, #[case] reason: &str) {
        let before = machine(|_| {});
        let known = Known { problem: Some(problem), ..Known::default() };
        let after = applied(&before, &report(&before, &Kept::default(), &known, &Next::Make));
        let exists = condition(&after, "InstanceExists");
        assert_eq!((exists.status.as_str(), exists.reason.as_deref()), (status, Some(reason)));
    }

    #[test]
    fn conditions_of_others_stay() {
        let drained = json!({"type": "Drained", "status": "True", "lastTransitionTime": AT});
        let before = machine(|machine| {
            machine["metadata"]["deletionTimestamp"] = json!(AT);
            machine["status"] = json!({"conditions": [drained], "nodeRef": {"name": "n"}, "providerStatus": {"slipway": {"settled": true}}});
        });
        let next = Next::Hold(Hold::Hooks(vec!["backup".to_owned()]));
        let after = applied(&before, &report(&before, &settled(), &Known::default(), &next));
        assert_eq!(condition(&after, "Drained").status, "True");
        let terminable = condition(&after, "Terminable");
        assert_eq!(
            (terminable.status.as_str(), terminable.reason.as_deref()),
            ("False", Some("HookPresent"))
        );
        let status = after.status.unwrap();
        assert_eq!((status.phase.as_deref(), status.node_ref.is_some()), (Some("Deleting"), true));
        assert_eq!(status.provider_status.unwrap()["slipway"]["settled"], true, "the journal is not touched");
    }
}
