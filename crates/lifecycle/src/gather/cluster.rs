//! What the cluster and the bootstrap machine say.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, ListParams, LogParams};
use kube::{Api, Client, ResourceExt};
use serde_json::Value;
use slipway_assets::drivers::{cloud, operator, storage};
use slipway_assets::kubernetes::{COMPLETION_NAME, RECORD_KEY, RECORD_NAME};

use super::Bundle;
use crate::wait::WaitTarget;

/// Kinds that are gathered whole. No Secrets, and of ConfigMaps only those that are named below.
const KINDS: [(&str, &str, &str, &str); 11] = [
    ("", "v1", "Node", "nodes"),
    ("", "v1", "Event", "events"),
    ("", "v1", "Pod", "pods"),
    ("apps", "v1", "Deployment", "deployments"),
    ("apps", "v1", "DaemonSet", "daemonsets"),
    ("certificates.k8s.io", "v1", "CertificateSigningRequest", "certificatesigningrequests"),
    ("coordination.k8s.io", "v1", "Lease", "leases"),
    ("machine.openshift.io", "v1beta1", "Machine", "machines"),
    ("machine.openshift.io", "v1beta1", "MachineSet", "machinesets"),
    ("config.openshift.io", "v1", "ClusterVersion", "clusterversions"),
    ("config.openshift.io", "v1", "ClusterOperator", "clusteroperators"),
];
/// Namespaces of the system. What users run is theirs, and stays out.
const NAMESPACES: [&str; 7] = [
    "kube-node-lease",
    "kube-public",
    "kube-system",
    "vmware-system-vdo",
    cloud::NAMESPACE,
    storage::NAMESPACE,
    operator::NAMESPACE,
];
/// So are those that begin like this.
const PREFIX: &str = "openshift-";
/// The whole object once more, in one text in which fields have no names.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// Of each container's log.
const LINES: i64 = 2000;
/// How many pods' logs there are at most.
const PODS: usize = 200;

/// Adds what can be had. If the API never came up, the archive says why, and has what the bootstrap machine says.
pub async fn of_cluster(
    subject: &WaitTarget,
    addresses: &BTreeMap<String, Vec<IpAddr>>,
    bundle: &mut Bundle,
) {
    let client = match subject.client().await {
        Ok(client) => match subject.call("asking for its version", client.apiserver_version()).await {
            Ok(version) => {
                bundle.text("cluster/version.txt", &format!("{}\n", version.git_version));
                Some(client)
            }
            Err(error) => {
                bundle.missing("the API", &subject.explain(&error));
                None
            }
        },
        Err(error) => {
            bundle.missing("the API", &subject.explain(&error));
            None
        }
    };
    let mut has_record = false;
    if let Some(client) = &client {
        has_record = maps(subject, client, bundle).await;
        for (group, version, kind, plural) in KINDS {
            objects(subject, client, (group, version, kind, plural), bundle).await;
        }
        logs(subject, client, bundle).await;
    }
    if !has_record {
        agent(subject, addresses, bundle).await;
    }
}

/// The agent's record and the completion; whether the first was there.
async fn maps(subject: &WaitTarget, client: &Client, bundle: &mut Bundle) -> bool {
    let api: Api<ConfigMap> = Api::namespaced(client.clone(), "kube-system");
    let mut found = false;
    for name in [RECORD_NAME, COMPLETION_NAME] {
        match subject.call("reading it", api.get_opt(name)).await {
            Ok(Some(map)) => {
                let mut data = map.data.unwrap_or_default();
                if let Some(text) = data.remove(RECORD_KEY) {
                    bundle.text("bootstrap/record.json", &text);
                    found = true;
                }
                if !data.is_empty() {
                    bundle.json(&format!("cluster/configmap-{name}.json"), serde_json::json!(data));
                }
            }
            Ok(None) => bundle.missing(&format!("the ConfigMap kube-system/{name}"), "there is none"),
            Err(error) => {
                bundle.missing(&format!("the ConfigMap kube-system/{name}"), &subject.explain(&error));
            }
        }
    }
    found
}

async fn agent(subject: &WaitTarget, addresses: &BTreeMap<String, Vec<IpAddr>>, bundle: &mut Bundle) {
    let bootstrap = addresses.get(&format!("{}-bootstrap", subject.infra_id));
    let mut whys = Vec::new();
    for address in bootstrap.into_iter().flatten().copied().chain(subject.api_vips()) {
        match subject.ask_agent(address).await {
            Ok(record) => {
                bundle.json("bootstrap/record.json", serde_json::to_value(record).unwrap_or_default());
                return;
            }
            Err(why) => whys.push(why),
        }
    }
    let why = if whys.is_empty() { "no address of it is known".to_owned() } else { whys.join("; ") };
    bundle.missing("what the bootstrap machine says", &why);
}

async fn objects(
    subject: &WaitTarget,
    client: &Client,
    (group, version, kind, plural): (&str, &str, &str, &str),
    bundle: &mut Bundle,
) {
    let resource = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural);
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
    match subject.call("listing them", async { api.list(&ListParams::default()).await }).await {
        Ok(list) => {
            let items = list.items.into_iter().filter_map(|item| serde_json::to_value(item).ok());
            let items = items.filter(is_of_the_system).map(without_copies);
            bundle.json(&format!("cluster/{plural}.json"), items.collect());
        }
        // A cluster of the other payload does not have it.
        Err(error) if error.is_absent() => {}
        Err(error) => bundle.missing(plural, &subject.explain(&error)),
    }
}

/// Whether an object has no namespace, or one of the system. Events of nodes are in `default`.
fn is_of_the_system(object: &Value) -> bool {
    let Some(namespace) = object["metadata"]["namespace"].as_str() else { return true };
    let of_a_node = object["involvedObject"]["kind"] == "Node";
    of_a_node || NAMESPACES.contains(&namespace) || namespace.starts_with(PREFIX)
}

/// An object without what only repeats it.
fn without_copies(mut object: Value) -> Value {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
        if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
            annotations.remove(LAST_APPLIED);
        }
    }
    object
}

/// The last lines of every container of the system.
async fn logs(subject: &WaitTarget, client: &Client, bundle: &mut Bundle) {
    for namespace in
        BTreeSet::from(["kube-system", cloud::NAMESPACE, storage::NAMESPACE, operator::NAMESPACE])
    {
        let api: Api<Pod> = Api::namespaced(client.clone(), namespace);
        let Ok(pods) = subject.call("listing pods", api.list(&ListParams::default())).await else { continue };
        for pod in pods.items.iter().take(PODS) {
            let containers = pod.spec.iter().flat_map(|spec| &spec.containers);
            for container in containers.map(|container| container.name.clone()) {
                let name = pod.name_any();
                let parameters = LogParams {
                    container: Some(container.clone()),
                    tail_lines: Some(LINES),
                    timestamps: true,
                    ..LogParams::default()
                };
                match subject.call("reading it", api.logs(&name, &parameters)).await {
                    Ok(text) => bundle.text(&format!("logs/{namespace}/{name}/{container}.log"), &text),
                    Err(error) => {
                        let what = format!("the log of {namespace}/{name}/{container}");
                        bundle.missing(&what, &subject.explain(&error));
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::{LAST_APPLIED, is_of_the_system, without_copies};

    #[rstest]
    #[case(json!({"metadata": {"name": "n"}}), true)]
    #[case(json!({"metadata": {"namespace": "kube-system"}}), true)]
    #[case(json!({"metadata": {"namespace": "slipway-system"}}), true)]
    #[case(json!({"metadata": {"namespace": "openshift-machine-api"}}), true)]
    #[case(json!({"metadata": {"namespace": "openshift"}}), false)]
    #[case(json!({"metadata": {"namespace": "shop"}}), false)]
    #[case(json!({"metadata": {"namespace": "default"}, "involvedObject": {"kind": "Pod"}}), false)]
    #[case(json!({"metadata": {"namespace": "default"}, "involvedObject": {"kind": "Node"}}), true)]
    fn users_objects_stay_out(#[case] object: Value, #[case] gathered: bool) {
        assert_eq!(is_of_the_system(&object), gathered);
    }

    #[test]
    fn copies_stay_out() {
        let object =
            json!({"metadata": {"managedFields": [], "annotations": {LAST_APPLIED: "{}", "a": "b"}}});
        assert_eq!(without_copies(object), json!({"metadata": {"annotations": {"a": "b"}}}));
    }
}
