//! What keeps the cluster going once the bootstrap machine has left.
//!
//! | object | runs on | does |
//! |---|---|---|
//! | DaemonSet `slipway-node` | all machines | keeps virtual addresses, balancer and names up to date with the machines there are |
//! | DaemonSet `slipway-machine-config` | the control plane | hands out machine configurations |
//! | DaemonSet `slipway-csr-approver` | the control plane | approves certificates of nodes |
//! | DaemonSet `slipway-certificates` | the control plane | renews the certificates of its machine's control plane |
//! | DaemonSet `slipway-control-plane` | the control plane | lets machines of the control plane in and out |
//!
//! They use the machines' network, which the operator's own namespace does not allow, so they live in `kube-system`. Each has
//! an account of its own ([`super::rights`]), and a pod has one account: what serves machines that have no identity yet
//! must not be able to approve certificates.

use serde_json::{Value, json};

use super::rights::{MACHINE_CONFIG, NODE, SYSTEM, accounts};
use super::{
    APPROVER, BARE_METAL_HOSTS, CERTIFICATES, CONTROL_PLANE, ClusterFacts, FIRST_KEYS, NAMESPACE, payload,
};
use crate::names::Role;
use crate::onprem::{API_PORT, CONFIG_FOLDER};
use crate::{Access, Cluster, Error, Tree};

const PROGRAM: &str = "/usr/bin/slipway-operator";
/// Where the machine's own root is in the pod that renews certificates.
const HOST: &str = "/host";
/// A user without rights, as in the drivers' images.
const NOBODY: u32 = 65532;

pub(super) fn add(cluster: &Cluster, tree: &mut Tree) -> Result<(), Error> {
    for (name, definition) in definitions()? {
        tree.yaml(format!("manifests/00_definition-{name}.yaml"), &definition, Access::Group)?;
    }
    let facts = ClusterFacts::of(cluster)?;
    let image = payload(cluster)?.image;
    let mut objects = Vec::new();
    for account in accounts(&facts) {
        objects.extend(account.objects().into_iter().map(|(kind, object)| (account.name, kind, object)));
    }
    let mut daemon_sets = vec![
        (MACHINE_CONFIG, machine_config_server(&facts, image)),
        (APPROVER, approver(&facts, image)),
        (CERTIFICATES, certificates(&facts, image)),
        (CONTROL_PLANE, control_plane(&facts, image)),
    ];
    if facts.onprem.is_some() {
        daemon_sets.push((NODE, node(&facts, image)));
    }
    objects.extend(
        daemon_sets.into_iter().map(|(name, pod)| (name, "daemonset".to_owned(), daemon_set(name, &pod))),
    );
    for name in [FIRST_KEYS, BARE_METAL_HOSTS] {
        objects.push((name, "configmap".to_owned(), empty(name)));
    }
    objects.extend([CERTIFICATES, CONTROL_PLANE].map(|name| (name, "lease".to_owned(), turn(name))));
    for (name, kind, object) in objects {
        tree.yaml(format!("manifests/20_{name}-{kind}.yaml"), &object, Access::Group)?;
    }
    Ok(())
}

/// Our own kinds, and those that Machines need. The latter take everything that the kinds of the same names take
/// elsewhere: what is in them is for the controllers to judge.
fn definitions() -> Result<Vec<(String, Value)>, Error> {
    let mut definitions = Vec::new();
    for definition in slipway_api::slipway::definitions() {
        let name = definition.metadata.name.clone().unwrap_or_default();
        let path = format!("definition {name}");
        let value = serde_json::to_value(definition).map_err(|source| Error::Unwritable { path, source })?;
        definitions.push((name, value));
    }
    for (group, version, kind, scale) in [
        ("machine.openshift.io", "v1beta1", "Machine", false),
        ("machine.openshift.io", "v1beta1", "MachineSet", true),
        ("machine.openshift.io", "v1beta1", "MachineHealthCheck", false),
        ("ipam.cluster.x-k8s.io", "v1beta1", "IPAddress", false),
        ("ipam.cluster.x-k8s.io", "v1beta1", "IPAddressClaim", false),
    ] {
        definitions.push(open_definition(group, version, kind, scale));
    }
    Ok(definitions)
}

fn open_definition(group: &str, version: &str, kind: &str, scale: bool) -> (String, Value) {
    let singular = kind.to_lowercase();
    let plural = if singular.ends_with("ss") { format!("{singular}es") } else { format!("{singular}s") };
    let name = format!("{plural}.{group}");
    let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let mut status = open.clone();
    // Several controllers write conditions, each its own.
    status["properties"] = json!({"conditions": {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
        "items": {
            "type": "object",
            "required": ["type"],
            "properties": {"type": {"type": "string"}},
            "x-kubernetes-preserve-unknown-fields": true,
        },
    }});
    let mut subresources = json!({"status": {}});
    if scale {
        subresources["scale"] = json!({
            "specReplicasPath": ".spec.replicas",
            "statusReplicasPath": ".status.replicas",
            "labelSelectorPath": ".status.labelSelector",
        });
    }
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": name,
            // The API server keeps groups of *.k8s.io for those who say who agreed.
            "annotations": {"api-approved.kubernetes.io": "https://github.com/kubernetes-sigs/cluster-api"},
        },
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": kind, "listKind": format!("{kind}List"), "plural": plural, "singular": singular},
            "versions": [{
                "name": version, "served": true, "storage": true, "subresources": subresources,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": open, "status": status}}},
            }],
        },
    });
    (name, definition)
}

fn node(facts: &ClusterFacts, image: &str) -> Value {
    let folder = |name: &str, path: &str| json!({"name": name, "hostPath": {"path": path, "type": "DirectoryOrCreate"}});
    let mount = |name: &str, path: &str| json!({"name": name, "mountPath": path});
    let mut pod = pod(NODE, facts);
    pod["hostPID"] = json!(true);
    pod["containers"] = json!([{
        "name": "node",
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "command": [PROGRAM, "node"],
        "env": environment(facts),
        "resources": {"requests": {"cpu": "10m", "memory": "32Mi"}},
        "securityContext": {
            "runAsUser": 0,
            "allowPrivilegeEscalation": false,
            "readOnlyRootFilesystem": true,
            // It loads rules, and tells the programs of the static pods that their files have changed.
            "capabilities": {"drop": ["ALL"], "add": ["KILL", "NET_ADMIN"]},
        },
        "volumeMounts": [
            mount("facts", super::FACTS_FILE),
            mount("config", CONFIG_FOLDER),
            mount("manifests", "/etc/kubernetes/manifests"),
            mount("run", "/run/slipway"),
        ],
    }]);
    pod["volumes"] = json!([
        {"name": "facts", "hostPath": {"path": super::FACTS_FILE, "type": "File"}},
        folder("config", CONFIG_FOLDER),
        folder("manifests", "/etc/kubernetes/manifests"),
        folder("run", "/run/slipway"),
    ]);
    pod
}

/// What is written down about machines and hosts later. It begins empty, and is never applied with anything in it.
fn empty(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": NAMESPACE}})
}

/// Whose turn it is. It is there from the beginning, so that no account needs the right to make Leases.
fn turn(name: &str) -> Value {
    json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": name, "namespace": SYSTEM}, "spec": {"leaseDurationSeconds": 1},
    })
}

fn machine_config_server(facts: &ClusterFacts, image: &str) -> Value {
    let command = ["machine-config-server", "--from-cluster", "--health-listen=127.0.0.1:22624"];
    let command = command.map(str::to_owned).into();
    let mut container = container("machine-config-server", facts, image, command, 22624);
    container["readinessProbe"] = json!({
        "httpGet": {"host": "127.0.0.1", "port": 22624, "path": "/readyz"}, "periodSeconds": 10, "timeoutSeconds": 10,
    });
    on_control_plane(MACHINE_CONFIG, facts, &container)
}

fn approver(facts: &ClusterFacts, image: &str) -> Value {
    let command = ["csr-approver", "--named-alike", "--after-bootstrap", "--health-listen=127.0.0.1:22625"];
    let mut command: Vec<String> = command.map(str::to_owned).into();
    let asking =
        Role::ALL.map(|role| format!("--bootstrapper={}={}", role.as_str(), facts.bootstrapper(role)));
    command.extend(asking);
    let vips = facts.onprem.iter().flat_map(|onprem| onprem.api_vips.iter().chain(&onprem.ingress_vips));
    command.extend(vips.map(|vip| format!("--vip={vip}")));
    command.extend(facts.unwanted_bindings().iter().map(|name| format!("--remove-binding={name}")));
    on_control_plane(APPROVER, facts, &container("csr-approver", facts, image, command, 22625))
}

fn certificates(facts: &ClusterFacts, image: &str) -> Value {
    with_kubeadm("certificates", CERTIFICATES, 22626, facts, image)
}

fn control_plane(facts: &ClusterFacts, image: &str) -> Value {
    with_kubeadm("control-plane", CONTROL_PLANE, 22627, facts, image)
}

/// kubeadm is the machine's own, and so is everything it changes.
fn with_kubeadm(command: &str, account: &str, health: u16, facts: &ClusterFacts, image: &str) -> Value {
    let arguments =
        vec![command.to_owned(), format!("--root={HOST}"), format!("--health-listen=127.0.0.1:{health}")];
    let mut container = container(command, facts, image, arguments, health);
    container["securityContext"] = json!({
        "runAsUser": 0, "allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
        "capabilities": {"drop": ["ALL"], "add": ["SYS_CHROOT"]},
    });
    container["volumeMounts"] = json!([{"name": "host", "mountPath": HOST}]);
    let mut pod = on_control_plane(account, facts, &container);
    pod["volumes"] = json!([{"name": "host", "hostPath": {"path": "/", "type": "Directory"}}]);
    // kubeadm, which writes files in place, may go on for two minutes.
    pod["terminationGracePeriodSeconds"] = json!(150);
    pod
}

fn container(name: &str, facts: &ClusterFacts, image: &str, arguments: Vec<String>, health: u16) -> Value {
    let command: Vec<String> = [PROGRAM.to_owned()].into_iter().chain(arguments).collect();
    json!({
        "name": name,
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "command": command,
        "env": environment(facts),
        "livenessProbe": {
            "httpGet": {"host": "127.0.0.1", "port": health, "path": "/healthz"},
            "initialDelaySeconds": 20, "periodSeconds": 20, "failureThreshold": 6,
        },
        "resources": {"requests": {"cpu": "10m", "memory": "32Mi"}},
        "securityContext": {
            "runAsNonRoot": true, "runAsUser": NOBODY, "runAsGroup": NOBODY,
            "allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
            "capabilities": {"drop": ["ALL"]},
        },
    })
}

/// A pod on each machine of the control plane.
fn on_control_plane(account: &str, facts: &ClusterFacts, container: &Value) -> Value {
    let mut pod = pod(account, facts);
    pod["nodeSelector"] = json!({"node-role.kubernetes.io/control-plane": ""});
    pod["containers"] = json!([container]);
    pod
}

/// The API by its name rather than by its service: the machines' own network must work before that of the pods does.
fn environment(facts: &ClusterFacts) -> Value {
    json!([
        {"name": "KUBERNETES_SERVICE_HOST", "value": format!("api-int.{}", facts.domain)},
        {"name": "KUBERNETES_SERVICE_PORT", "value": API_PORT.to_string()},
        {"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
    ])
}

/// A pod in the machine's network, which no taint keeps away.
fn pod(account: &str, facts: &ClusterFacts) -> Value {
    // The bootstrap machine has its agent, and what that takes away must not come back.
    let elsewhere =
        json!([{"key": "metadata.name", "operator": "NotIn", "values": [facts.bootstrap_name()]}]);
    json!({
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchFields": elsewhere}],
        }}},
        "serviceAccountName": account,
        "hostNetwork": true,
        "dnsPolicy": "Default",
        "priorityClassName": "system-node-critical",
        "tolerations": [{"operator": "Exists"}],
    })
}

fn daemon_set(name: &str, pod: &Value) -> Value {
    let labels = json!({"app.kubernetes.io/name": name, "app.kubernetes.io/part-of": "slipway"});
    json!({
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": name, "namespace": SYSTEM, "labels": labels},
        "spec": {
            "selector": {"matchLabels": {"app.kubernetes.io/name": name}},
            "updateStrategy": {"rollingUpdate": {"maxUnavailable": 1}},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    })
}
