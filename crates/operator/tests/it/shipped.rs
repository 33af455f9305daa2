//! What the manifests of a cluster give to accounts, and clients that are these accounts.

use std::time::Duration;

use kube::config::{AuthInfo, KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use slipway_testkit::control_plane::ControlPlane;
use slipway_testkit::process::eventually;

const TIMEOUT: Duration = Duration::from_mins(1);
const GOLDEN: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../assets/tests/golden/vsphere-kubernetes/manifests");

const OPERATOR: &str = "system:serviceaccount:slipway-system:slipway-operator";
/// One question for each role of who approves, about what kubectl knows of.
const APPROVING: [&[&str]; 3] = [
    &["patch", "certificatesigningrequests.certificates.k8s.io", "--subresource=approval"],
    &["patch", "configmaps/slipway-first-keys", "--namespace", "slipway-system"],
    &["create", "events.events.k8s.io", "--namespace", "default"],
];

/// As the API server knows an account.
pub(crate) fn username(account: &str) -> String {
    format!("system:serviceaccount:kube-system:{account}")
}

/// A client with another login than the administrator's.
pub(crate) async fn client_with(plane: &ControlPlane, change: impl FnOnce(&mut AuthInfo)) -> Client {
    let file = Kubeconfig::read_from(plane.kubeconfig()).unwrap();
    let mut config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await.unwrap();
    change(&mut config.auth_info);
    // As the operator connects.
    config.default_retry = false;
    Client::try_from(config).unwrap()
}

/// A client that is an account of the cluster, with the rights it has and no others.
pub(crate) async fn account(plane: &ControlPlane, account: &str) -> Client {
    client_with(plane, |login| login.impersonate = Some(username(account))).await
}

/// A client that is the operator.
pub(crate) async fn operator(plane: &ControlPlane) -> Client {
    client_with(plane, |login| login.impersonate = Some(OPERATOR.to_owned())).await
}

/// The operator's rights as they are shipped for one that approves certificates of nodes.
pub(crate) fn apply_operator(plane: &ControlPlane) {
    let kubectl = plane.kubectl();
    for file in ["rbac", "rbac-csr"] {
        let path = format!("{}/../../deploy/operator/{file}.yaml", env!("CARGO_MANIFEST_DIR"));
        kubectl.apply(&fs_err::read_to_string(path).unwrap()).unwrap();
    }
    in_force(plane, OPERATOR, &APPROVING);
}

/// Waits until an account may do all of it.
fn in_force(plane: &ControlPlane, user: &str, questions: &[&[&str]]) {
    for question in questions {
        let may = [&["auth", "can-i", "--as", user], *question].concat();
        eventually("the rights", TIMEOUT, || plane.kubectl().run(&may).map(Some)).unwrap();
    }
}

/// The files of an account among the manifests: itself, its roles and their bindings, and what it begins with.
pub(crate) fn files(account: &str) -> Vec<String> {
    let mut paths: Vec<_> = fs_err::read_dir(GOLDEN).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let ours = paths.iter().filter(|path| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let kind = name.strip_prefix(&format!("20_{account}-")).unwrap_or_default().to_owned();
        ["account", "role", "binding", "lease"].iter().any(|known| kind.starts_with(known))
    });
    ours.map(|path| fs_err::read_to_string(path).unwrap()).collect()
}

/// Applies them, and waits until the last of them is in force.
pub(crate) fn apply(plane: &ControlPlane, accounts: &[&str]) {
    let kubectl = plane.kubectl();
    for namespace in ["slipway-system", "openshift-machine-api"] {
        kubectl.run(&["create", "namespace", namespace]).unwrap();
    }
    for account in accounts {
        kubectl.apply(&files(account).join("\n---\n")).unwrap();
    }
    if accounts.last() != Some(&"slipway-csr-approver") {
        return;
    }
    in_force(plane, &username("slipway-csr-approver"), &APPROVING);
}
