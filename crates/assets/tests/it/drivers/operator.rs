//! The operator's rights: enough for everything it makes, and not for more.

use std::sync::LazyLock;
use std::time::Duration;

use serde_json::{Value, json};
use slipway_api::slipway::vdo_config::{CloudProvider, StorageProvider};
use slipway_assets::drivers::operator::names::covers;
use slipway_assets::drivers::{Object, operator};
use slipway_config::matrix::Driver;
use slipway_testkit::control_plane::{ControlPlane, Options};
use slipway_testkit::kubectl::stream;
use slipway_testkit::process::eventually;

use super::estate::Estate;
use super::kinds;

const TIMEOUT: Duration = Duration::from_mins(1);
const ACCOUNT: &str = "--as=system:serviceaccount:slipway-system:slipway-operator";

/// What it needs.
const ALLOWED: &[&[&str]] = &[
    &[
        "create",
        "validatingwebhookconfigurations.admissionregistration.k8s.io/validation.csi.vsphere.vmware.com",
    ],
    &["patch", "vdoconfigs.slipway.dev", "--subresource=status"],
    &["list", "secrets", "--namespace=slipway-system"],
    &["patch", "secret/slipway-operator-keys", "--namespace=slipway-system"],
    &["update", "leases.coordination.k8s.io/slipway-operator", "--namespace=slipway-system"],
    &["delete", "secret/vsphere-cloud-secret", "--namespace=kube-system"],
    &["get", "secret/slipway-pull-1", "--namespace=kube-system"],
    &["watch", "secret/vsphere-creds", "--namespace=kube-system"],
    &["get", "configmap/slipway-certificates", "--namespace=kube-system"],
    &["watch", "secrets", "--namespace=slipway-cloud-provider"],
    &["delete", "storageclasses.storage.k8s.io/fast"],
    &["list", "certificatesigningrequests.certificates.k8s.io"],
];

/// What it must not have.
const FORBIDDEN: &[&[&str]] = &[
    // In a namespace with Secrets and workloads of others: what is its own, by name.
    &["list", "secrets", "--namespace=kube-system"],
    &["watch", "secrets", "--namespace=kube-system"],
    &["get", "secret/machine-config-master", "--namespace=kube-system"],
    &["create", "secrets", "--namespace=kube-system"],
    &["create", "serviceaccounts", "--namespace=kube-system"],
    &["patch", "serviceaccount/default", "--namespace=kube-system"],
    &["create", "daemonsets.apps", "--namespace=kube-system"],
    &["patch", "daemonsets.apps/kube-proxy", "--namespace=kube-system"],
    &["delete", "deployments.apps/coredns", "--namespace=kube-system"],
    &["patch", "configmap/coredns", "--namespace=kube-system"],
    &["create", "secrets", "--namespace=vmware-system-csi"],
    &["create", "daemonsets.apps", "--namespace=vmware-system-csi"],
    &["patch", "secret/north", "--namespace=slipway-system"],
    &["delete", "secret/north", "--namespace=slipway-system"],
    &["create", "secrets", "--namespace=slipway-system"],
    // Of the whole cluster.
    &["create", "clusterroles.rbac.authorization.k8s.io"],
    &["patch", "clusterroles.rbac.authorization.k8s.io/cluster-admin"],
    &["delete", "clusterrolebindings.rbac.authorization.k8s.io/cluster-admin"],
    &["delete", "validatingwebhookconfigurations.admissionregistration.k8s.io/policy"],
    &["patch", "csidrivers.storage.k8s.io/other"],
    &["patch", "namespace/default"],
    &["delete", "namespace/vmware-system-csi"],
    // Certificates of nodes, as long as that controller does not run.
    &["patch", "certificatesigningrequests.certificates.k8s.io", "--subresource=approval"],
    &["approve", "signers.certificates.k8s.io/kubernetes.io/kubelet-serving"],
    &["delete", "namespaces"],
    &["delete", "nodes"],
    &["escalate", "clusterroles.rbac.authorization.k8s.io"],
    &["bind", "clusterroles.rbac.authorization.k8s.io"],
    &["get", "secrets", "--namespace=default"],
    &["list", "secrets", "--all-namespaces"],
    &["create", "pods", "--namespace=kube-system"],
    &["impersonate", "users"],
    &["patch", "vdoconfigs.slipway.dev"],
];

/// The one cluster with the operator's rights as they are shipped.
fn plane() -> &'static ControlPlane {
    static PLANE: LazyLock<ControlPlane> = LazyLock::new(|| {
        let plane = ControlPlane::start(Options::default()).unwrap();
        let shipped = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/operator/rbac.yaml");
        plane.kubectl().apply(&fs_err::read_to_string(shipped).unwrap()).unwrap();
        // They take a moment to be in force.
        let role = "clusterroles.rbac.authorization.k8s.io/vsphere-csi-node-cluster-role";
        let last = ["auth", "can-i", ACCOUNT, "create", role];
        eventually("the operator has its rights", TIMEOUT, || plane.kubectl().run(&last).map(Some)).unwrap();
        plane
    });
    &PLANE
}

#[test]
fn the_operator_may_do_what_it_has_to() {
    let plane = plane();
    kinds::install(plane);
    let estate = Estate::new();
    let storage = serde_json::from_value::<StorageProvider>(json!({"storageClass": {}})).unwrap();
    let mut objects = estate.cloud("1.34.0", &CloudProvider::default()).unwrap();
    objects.extend(estate.storage("3.7.0", &storage).unwrap());
    // No webhook server runs here.
    objects.retain(|object| object.kind != "ValidatingWebhookConfiguration");
    let file = write(plane, &objects);
    let apply = ["apply", "--server-side", "--validate=strict", ACCOUNT, "--filename", &file];
    plane.kubectl().run(&apply).unwrap();
    // Again, as it does all the time.
    plane.kubectl().run(&apply).unwrap();

    for allowed in ALLOWED {
        may(plane, allowed, true);
    }
    for forbidden in FORBIDDEN {
        may(plane, forbidden, false);
    }

    let approver = stream(operator::approver().unwrap().iter());
    plane.kubectl().apply(&approver).unwrap();
    let approval = ["patch", "certificatesigningrequests.certificates.k8s.io", "--subresource=approval"];
    let may = [&["auth", "can-i", ACCOUNT][..], &approval[..]].concat();
    eventually("one that approves has the right to", TIMEOUT, || plane.kubectl().run(&may).map(Some))
        .unwrap();

    objects.retain(|object| object.kind != "Namespace");
    let file = write(plane, &objects);
    plane.kubectl().run(&["delete", ACCOUNT, "--wait=false", "--filename", &file]).unwrap();
}

/// What it is given cannot be handed on: a role beyond its own rights is refused.
#[test]
fn the_operator_cannot_give_more_than_it_has() {
    let plane = plane();
    let greedy = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {"name": "vsphere-csi-webhook-cluster-role"},
        "rules": [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["delete"]}],
    });
    let file = plane.scratch().write("greedy.json", greedy.to_string()).unwrap();
    let apply =
        ["apply", "--server-side", "--force-conflicts", ACCOUNT, "--filename", file.to_str().unwrap()];
    let error = plane.kubectl().run(&apply).unwrap_err();
    assert!(
        error.to_string().contains("attempting to grant RBAC permissions not currently held"),
        "{error:#}"
    );
}

/// Rights are by name, and names are written down twice: whatever a driver of any version consists of is among them.
#[test]
fn everything_it_writes_is_named() {
    let estate = Estate::new();
    let storage = serde_json::from_value::<StorageProvider>(json!({"storageClass": {}})).unwrap();
    let matrix = slipway_config::matrix::embedded().matrix.unwrap();
    let rows = [Driver::CloudProvider, Driver::StorageProvider].map(|driver| matrix.rows(driver));
    for row in rows.concat() {
        let version = row.version.to_string();
        let objects = match row.driver {
            Driver::CloudProvider => estate.cloud(&version, &CloudProvider::default()),
            Driver::StorageProvider => estate.storage(&version, &storage),
        };
        for object in objects.unwrap() {
            let is_covered = covers(object.kind, object.namespace.as_deref(), &object.name);
            assert!(is_covered, "{version}: {}", object.describe());
        }
    }
    assert!(!covers("Secret", Some("kube-system"), "bootstrap-token-abcdef"));
    assert!(!covers("ClusterRole", None, "cluster-admin"));
}

#[test]
fn only_who_approves_is_given_the_right() {
    let said = |text: &str| operator::approves(&text.split(' ').map(str::to_owned).collect::<Vec<_>>());
    for (arguments, expected) in [
        ("--registry=a", false),
        ("--controllers=connections,drivers", false),
        ("--controllers=connections,csr", true),
        ("--log-level debug --controllers csr", true),
        ("--matrix=csr", false),
    ] {
        assert_eq!(said(arguments), expected, "{arguments}");
    }
    let text: String = operator::objects().unwrap().iter().map(Value::to_string).collect();
    assert!(!text.contains("signers") && !text.contains("certificatesigningrequests/approval"));
}

#[test]
fn controllers_of_machines_have_their_own_roles() {
    let arguments = ["--controllers=connections,drain,node-links".to_owned()];
    let objects = operator::machine_controllers(|name| operator::runs(&arguments, name)).unwrap();
    let mut roles: Vec<&str> = objects
        .iter()
        .filter(|one| one["kind"] == "Role")
        .filter_map(|one| one["metadata"]["name"].as_str())
        .collect();
    roles.sort_unstable();
    assert_eq!(roles, ["slipway-operator-drain", "slipway-operator-node-links"]);
    let text: String = objects.iter().map(Value::to_string).collect();
    assert!(text.contains("pods/eviction") && !text.contains("\"delete\""), "{text}");
    assert!(operator::machine_controllers(|_| false).unwrap().is_empty());
}

#[test]
fn there_are_no_wildcards() {
    let machines = operator::machine_controllers(|_| true).unwrap();
    let objects = [operator::objects().unwrap(), operator::approver().unwrap(), machines].concat();
    let text: String = objects.iter().map(Value::to_string).collect();
    for word in ["\"*\"", "escalate", "\"bind\"", "impersonate"] {
        assert!(!text.contains(word), "{word}");
    }
}

fn write(plane: &ControlPlane, objects: &[Object]) -> String {
    let text = stream(objects.iter().map(|object| &object.value));
    plane.scratch().write("objects.yaml", text).unwrap().to_str().unwrap().to_owned()
}

fn may(plane: &ControlPlane, what: &[&str], expected: bool) {
    // "no" is an error to kubectl.
    let answer = plane.kubectl().run(&[&["auth", "can-i", ACCOUNT], what].concat());
    assert_eq!(answer.is_ok_and(|answer| answer.trim() == "yes"), expected, "{what:?}");
}
