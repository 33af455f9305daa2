//! What keeps the cluster going once the bootstrap machine has left.
//!
//! | object | runs on | does |
//! |---|---|---|
//! | DaemonSet `slipway-node` | all machines | keeps virtual addresses, balancer and names up to date with the machines there are |
//! | DaemonSet `slipway-control-plane` | the control plane | hands out machine configurations, and approves certificates |
//!
//! Both use the machines' network, which the operator's own namespace does not allow, so they live in `kube-system`.

use serde_json::{Value, json};

use super::{
    CONTROL_PLANE, Facts, JOIN_TOKEN_SECRET, MACHINE_CONFIG_NAMESPACE, MACHINE_CONFIG_SECRET,
    MACHINE_CONFIG_TLS_SECRET, payload,
};
use crate::names::Role;
use crate::onprem::{API_PORT, CONFIG_FOLDER};
use crate::{Access, Cluster, Error, Tree};

const SYSTEM: &str = "kube-system";
const PROGRAM: &str = "/usr/bin/slipway-operator";
const NODE: &str = "slipway-node";
/// Nobody in particular, as in the drivers' images.
const NOBODY: u32 = 65532;

pub(super) fn add(cluster: &Cluster, tree: &mut Tree) -> Result<(), Error> {
    for (name, definition) in definitions()? {
        tree.yaml(format!("manifests/00_definition-{name}.yaml"), &definition, Access::Group)?;
    }
    let facts = Facts::of(cluster)?;
    let image = payload(cluster)?.image;
    let mut objects = Vec::new();
    if facts.onprem.is_some() {
        objects.extend(account(
            NODE,
            &[json!({"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list", "watch"]})],
        ));
        objects.push(("daemonset", node(&facts, image)));
    }
    objects.extend(account(CONTROL_PLANE, &approver_rules()));
    objects.extend(reader());
    objects.extend(joiner(&facts));
    objects.push(("daemonset", control_plane(&facts, image)));
    for (kind, object) in objects {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
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
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": open, "status": open}}},
            }],
        },
    });
    (name, definition)
}

/// An account in `kube-system` with rights in the whole cluster.
fn account(name: &str, rules: &[Value]) -> Vec<(&'static str, Value)> {
    let metadata = json!({"name": name});
    let within = json!({"name": name, "namespace": SYSTEM});
    vec![
        ("account", json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": within})),
        (
            "role",
            json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": metadata, "rules": rules}),
        ),
        (
            "binding",
            json!({
                "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": metadata,
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
                "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": SYSTEM}],
            }),
        ),
    ]
}

/// What the approver of certificates needs.
fn approver_rules() -> [Value; 6] {
    let watch = ["get", "list", "watch"];
    let signers = ["kubernetes.io/kube-apiserver-client-kubelet", "kubernetes.io/kubelet-serving"];
    [
        json!({"apiGroups": ["certificates.k8s.io"], "resources": ["certificatesigningrequests"], "verbs": watch}),
        json!({"apiGroups": ["certificates.k8s.io"], "resources": ["certificatesigningrequests/approval"], "verbs": ["update", "patch"]}),
        json!({"apiGroups": ["certificates.k8s.io"], "resources": ["signers"], "resourceNames": signers, "verbs": ["approve"]}),
        json!({"apiGroups": ["machine.openshift.io"], "resources": ["machines"], "verbs": watch}),
        json!({"apiGroups": [""], "resources": ["nodes"], "verbs": watch}),
        json!({"apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch"]}),
    ]
}

/// The right to read what machines boot from, and no other Secret.
fn reader() -> [(&'static str, Value); 2] {
    let mut names: Vec<String> =
        Role::ALL.iter().map(|role| format!("{MACHINE_CONFIG_SECRET}-{}", role.as_str())).collect();
    names.push(MACHINE_CONFIG_TLS_SECRET.to_owned());
    narrow("slipway-machine-config", MACHINE_CONFIG_NAMESPACE, &names, &["get"])
}

/// The right to renew the token that machines join with. With server-side apply, making is bound to the name too.
fn joiner(facts: &Facts) -> [(&'static str, Value); 2] {
    let names = [format!("{JOIN_TOKEN_SECRET}-{}", facts.bootstrap_token_id)];
    narrow("slipway-join-token", SYSTEM, &names, &["get", "create", "patch"])
}

/// Rights of the control plane's account to Secrets of these names and to no others.
fn narrow(name: &str, namespace: &str, names: &[String], verbs: &[&str]) -> [(&'static str, Value); 2] {
    let metadata = json!({"name": name, "namespace": namespace});
    [
        (
            "role",
            json!({
                "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": metadata,
                "rules": [{"apiGroups": [""], "resources": ["secrets"], "resourceNames": names, "verbs": verbs}],
            }),
        ),
        (
            "binding",
            json!({
                "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": metadata,
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
                "subjects": [{"kind": "ServiceAccount", "name": CONTROL_PLANE, "namespace": SYSTEM}],
            }),
        ),
    ]
}

fn node(facts: &Facts, image: &str) -> Value {
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
    daemon_set(NODE, &pod)
}

fn control_plane(facts: &Facts, image: &str) -> Value {
    let container = |name: &str, command: Vec<String>, health: u16| {
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
    };
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<String>>();
    let server =
        words(&[PROGRAM, "machine-config-server", "--from-cluster", "--health-listen=127.0.0.1:22624"]);
    let mut approver = words(&[PROGRAM, "csr-approver", "--named-alike", "--health-listen=127.0.0.1:22625"]);
    approver.push(format!("--bootstrapper={}", facts.bootstrapper()));
    let vips = facts.onprem.iter().flat_map(|onprem| onprem.api_vips.iter().chain(&onprem.ingress_vips));
    approver.extend(vips.map(|vip| format!("--vip={vip}")));
    let mut pod = pod(CONTROL_PLANE, facts);
    pod["nodeSelector"] = json!({"node-role.kubernetes.io/control-plane": ""});
    pod["containers"] = json!([
        container("machine-config-server", server, 22624),
        container("csr-approver", approver, 22625)
    ]);
    daemon_set(CONTROL_PLANE, &pod)
}

/// The API by its name rather than by its service: the machines' own network must work before that of the pods does.
fn environment(facts: &Facts) -> Value {
    json!([
        {"name": "KUBERNETES_SERVICE_HOST", "value": format!("api-int.{}", facts.domain)},
        {"name": "KUBERNETES_SERVICE_PORT", "value": API_PORT.to_string()},
        {"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
    ])
}

/// A pod in the machine's network, which no taint keeps away.
fn pod(account: &str, facts: &Facts) -> Value {
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
