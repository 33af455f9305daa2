//! The end of a machine, in one order: volumes detached, guest shut down, disks of others detached, destroyed, gone for sure, then its
//! node and its finalizer. What cannot be seen is not gone.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Node;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::api::{DeleteParams, Preconditions};
use kube::{Api, ResourceExt};
use serde_json::json;
use slipway_api::openshift::Machine;
use slipway_api::well_known::STORAGE_DRIVER;
use slipway_engine::{Graph, Reason};
use slipway_providers::cluster::{call, merge};
use slipway_providers::vsphere::machine_spec::Shutdown;

use super::journal::Kept;
use super::make::{Site, run, unusable};
use super::problem::Problem;
use super::subject::Subject;
use super::worker::Worker;
use super::{EXCLUDE_DRAIN, FINALIZER, boot};

/// While volumes are attached, this often.
const VOLUMES_INTERVAL: Duration = Duration::from_secs(5);

/// Removes everything of a Machine. When it returns, the Machine may go.
pub(super) async fn remove(
    worker: &Worker,
    machine: &Machine,
    subject: Result<&Subject, &Problem>,
) -> Result<(), Problem> {
    let kept = Kept::of(machine)?;
    let subject = match subject {
        // Before every call there is an intent: without one nothing was ever made.
        _ if is_untouched(machine, &kept) => return finish(worker, machine, subject.ok()).await,
        Ok(subject) => subject,
        Err(problem) => return Err(Problem { terminal: false, ..problem.clone() }),
    };
    let node = node_of(worker, machine).await?;
    if let Some(problem) = volumes(machine, node.as_ref(), Timestamp::now(), worker.pace.volumes) {
        return Err(problem);
    }
    let mut site = Site::open(worker, machine, subject).await?;
    site.wait_for_copies(worker).await?;
    let shutdown = Shutdown::Guest(worker.pace.shutdown);
    let resources = subject.spec.absent(&site.identity(), shutdown);
    let graph = Graph::new(resources.into()).map_err(|error| unusable(&error))?;
    if let Err(problem) = run(worker, &mut site, &graph, None).await {
        site.vcenter.doubt(&problem);
        return Err(problem);
    }
    if site.look_twice(worker).await?.is_some() {
        let message = format!("the virtual machine of `{}` is still there", subject.name);
        return Err(Problem::new(Reason::new("InstanceStillThere"), message));
    }
    if let Some(node) = node {
        delete_node(worker, machine, &node).await?;
    }
    finish(worker, machine, Some(subject)).await
}

/// Whether nothing was ever begun for a Machine, here or by another program.
fn is_untouched(machine: &Machine, kept: &Kept) -> bool {
    let status = machine.status.as_ref().and_then(|status| status.provider_status.as_ref());
    let begun =
        |key: &str| status.is_some_and(|status| status[key].as_str().is_some_and(|text| !text.is_empty()));
    let known = machine.spec.provider_id.is_some() || super::subject::mark(machine).is_some();
    kept.is_empty() && !known && !begun("instanceId") && !begun("taskRef")
}

async fn node_of(worker: &Worker, machine: &Machine) -> Result<Option<Node>, Problem> {
    let reference = machine.status.as_ref().and_then(|status| status.node_ref.as_ref());
    let Some(name) = reference.and_then(|reference| reference.name.as_ref()) else { return Ok(None) };
    let nodes: Api<Node> = Api::all(worker.client.clone());
    Ok(call(&format!("reading the node `{name}`"), nodes.get_opt(name)).await?)
}

/// Volumes of our storage driver that are attached to a node: others are none of the hypervisor's business. They are waited for
/// until the deadline; what is attached then is detached from the machine, and kept.
fn volumes(machine: &Machine, node: Option<&Node>, now: Timestamp, limit: Duration) -> Option<Problem> {
    if machine.annotations().contains_key(EXCLUDE_DRAIN) {
        return None;
    }
    let attached = node?.status.as_ref()?.volumes_attached.as_deref().unwrap_or_default();
    let ours = format!("kubernetes.io/csi/{STORAGE_DRIVER}^");
    let names: Vec<&str> = attached.iter().filter_map(|volume| volume.name.strip_prefix(&ours)).collect();
    let status = machine.status.as_ref()?;
    let drained = status.conditions.iter().find(|condition| condition.type_ == "Drained");
    let since: Option<&Time> = drained
        .and_then(|condition| condition.last_transition_time.as_ref())
        .or(machine.metadata.deletion_timestamp.as_ref());
    let waited = since.map(|since| now.duration_since(since.0));
    let is_late = waited.is_none_or(|waited| waited.unsigned_abs() > limit && waited.is_positive());
    if names.is_empty() || is_late {
        return None;
    }
    let message = format!("volumes are still attached to its node: {}", names.join(", "));
    Some(Problem::new(Reason::new("VolumesAttached"), message).again_after(VOLUMES_INTERVAL))
}

/// The node goes after its machine: its pods and volumes may move then, and not before.
async fn delete_node(worker: &Worker, machine: &Machine, node: &Node) -> Result<(), Problem> {
    let id = node.spec.as_ref().and_then(|spec| spec.provider_id.as_deref());
    let own = machine.spec.provider_id.as_deref();
    if let (Some(id), Some(own)) = (id, own)
        && !id.eq_ignore_ascii_case(own)
    {
        tracing::warn!(
            machine = machine.name_any(),
            node = node.name_any(),
            id,
            "the node is of another machine, and stays"
        );
        return Ok(());
    }
    let nodes: Api<Node> = Api::all(worker.client.clone());
    let preconditions = Preconditions { uid: node.uid(), resource_version: None };
    let parameters = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
    let name = node.name_any();
    match call(&format!("deleting the node `{name}`"), nodes.delete(&name, &parameters)).await {
        Ok(_) => Ok(()),
        Err(error) if error.is_absent() => Ok(()),
        Err(error) => Err(error.into()),
    }
}

async fn finish(worker: &Worker, machine: &Machine, subject: Option<&Subject>) -> Result<(), Problem> {
    if let Some(subject) = subject {
        boot::release(&worker.client, subject).await?;
    }
    let name = machine.name_any();
    let read = call(&format!("reading the machine `{name}`"), worker.machines.get_opt(&name)).await?;
    let Some(machine) = read.filter(|found| found.uid() == machine.uid()) else { return Ok(()) };
    let left: Vec<&String> = machine.finalizers().iter().filter(|one| *one != FINALIZER).collect();
    let change = json!({"metadata": {
        "finalizers": left, "resourceVersion": machine.resource_version(), "uid": machine.uid(),
    }});
    match merge(&worker.machines, &name, &format!("releasing the machine `{name}`"), &change).await {
        Err(error) if error.is_absent() => Ok(()),
        done => Ok(done?),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::super::subject::tests::machine;
    use super::{Duration, is_untouched, volumes};
    use crate::controllers::machines::journal::Kept;

    #[rstest]
    #[case::new(|_: &mut Value| {}, true)]
    #[case::failed_before_anything(|machine: &mut Value| { machine["status"] = json!({"phase": "Failed", "addresses": [{"type": "Hostname", "address": "a"}]}); }, true)]
    #[case::intended(|machine: &mut Value| { machine["status"] = json!({"providerStatus": {"slipway": {"records": {"machine": {"at": "2026-11-18T07:00:00Z"}}}}}); }, false)]
    #[case::task(|machine: &mut Value| { machine["status"] = json!({"providerStatus": {"slipway": {"tasks": {"machine": {"verb": "clone", "reference": "Task:1"}}}}}); }, false)]
    #[case::other_program(|machine: &mut Value| { machine["status"] = json!({"providerStatus": {"taskRef": "task-1"}}); }, false)]
    #[case::named(|machine: &mut Value| { machine["spec"]["providerID"] = json!("vsphere://1"); }, false)]
    #[case::marked(|machine: &mut Value| { machine["metadata"]["labels"]["slipway.dev/id"] = json!("9c1b7a2e-0000-4000-8000-000000000009"); }, false)]
    fn only_a_machine_without_any_intent_was_never_made(
        #[case] change: fn(&mut Value),
        #[case] expected: bool,
    ) {
        let machine = machine(change);
        assert_eq!(is_untouched(&machine, &Kept::of(&machine).unwrap()), expected);
    }

    #[rstest]
    #[case::ours("kubernetes.io/csi/csi.vsphere.vmware.com^v1", 60, false, true)]
    #[case::late("kubernetes.io/csi/csi.vsphere.vmware.com^v1", 600, false, false)]
    #[case::of_others("kubernetes.io/csi/nfs.csi.k8s.io^v1", 60, false, false)]
    #[case::not_drained_on_purpose("kubernetes.io/csi/csi.vsphere.vmware.com^v1", 60, true, false)]
    fn volumes_are_waited_for(
        #[case] volume: &str,
        #[case] after: i64,
        #[case] excluded: bool,
        #[case] waits: bool,
    ) {
        let drained = "2026-11-18T07:00:00Z";
        let machine = machine(|machine| {
            machine["metadata"]["deletionTimestamp"] = json!("2026-11-18T06:00:00Z");
            machine["status"] =
                json!({"conditions": [{"type": "Drained", "status": "True", "lastTransitionTime": drained}]});
            if excluded {
                machine["metadata"]["annotations"] =
                    json!({"machine.openshift.io/exclude-node-draining": ""});
            }
        });
        let node = json!({"metadata": {"name": "n"}, "status": {"volumesAttached": [{"name": volume, "devicePath": ""}]}});
        let node = serde_json::from_value(node).unwrap();
        let now = drained.parse::<jiff::Timestamp>().unwrap() + jiff::SignedDuration::from_secs(after);
        let problem = volumes(&machine, Some(&node), now, Duration::from_mins(5));
        assert_eq!(problem.is_some(), waits, "{problem:?}");
    }
}
