//! An infrastructure cluster of KubeVirt: what its administrator and its vendor leave there, and an ordinary user of it.
//!
//! The definitions, the API server, its authorization and its garbage collection are real; KubeVirt's own controllers are played by a
//! [`StandIn`].

mod stand_in;

use std::path::PathBuf;

use serde_json::{Value, json};

pub use self::stand_in::StandIn;
use crate::control_plane::{self, Beside, ControlPlane};

/// The definitions it needs, and those of what users read.
const DEFINITIONS: [&str; 6] = [
    "kubevirt/kubevirts.kubevirt.io",
    "kubevirt/virtualmachines.kubevirt.io",
    "kubevirt/virtualmachineinstances.kubevirt.io",
    "containerized-data-importer/datavolumes.cdi.kubevirt.io",
    "containerized-data-importer/storageprofiles.cdi.kubevirt.io",
    "multus/network-attachment-definitions.k8s.cni.cncf.io",
];

/// The version of the definitions of KubeVirt.
pub const VERSION: &str = "v1.7.0";
/// A class of storage that machines can move on, and the default.
pub const STORAGE_CLASS: &str = "shared";
/// A class of storage that is bound to a node.
pub const LOCAL_CLASS: &str = "local";

/// An infrastructure cluster as its administrator leaves it: KubeVirt, CDI and two classes of storage, and for everyone who is
/// logged in the right to read the configuration of both, as their installations give it.
fn install(plane: &ControlPlane) -> anyhow::Result<()> {
    plane.install_definitions(&DEFINITIONS)?;
    let kubectl = plane.kubectl();
    let class = |name: &str, is_default: bool| {
        json!({
            "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "provisioner": "storage.example.com",
            "metadata": {
                "name": name,
                "annotations": {"storageclass.kubernetes.io/is-default-class": is_default.to_string()},
            },
        })
    };
    let profile = |name: &str, mode: &str| {
        json!({
            "apiVersion": "cdi.kubevirt.io/v1beta1", "kind": "StorageProfile", "metadata": {"name": name}, "spec": {},
            "status": {"claimPropertySets": [{"accessModes": [mode], "volumeMode": "Block"}]},
        })
    };
    let version = "rbac.authorization.k8s.io/v1";
    let readable = |name: &str, group: &str, resources: &[&str]| {
        let rules = json!([{"apiGroups": [group], "resources": resources, "verbs": ["get", "list"]}]);
        let subject = json!({
            "kind": "Group", "apiGroup": "rbac.authorization.k8s.io", "name": "system:authenticated",
        });
        [
            json!({"apiVersion": version, "kind": "ClusterRole", "metadata": {"name": name}, "rules": rules}),
            json!({
                "apiVersion": version, "kind": "ClusterRoleBinding", "metadata": {"name": name},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
                "subjects": [subject],
            }),
        ]
    };
    let mut objects = vec![
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kubevirt"}}),
        json!({
            "apiVersion": "kubevirt.io/v1", "kind": "KubeVirt",
            "metadata": {"name": "kubevirt", "namespace": "kubevirt"}, "spec": {},
        }),
        class(STORAGE_CLASS, true),
        class(LOCAL_CLASS, false),
        profile(STORAGE_CLASS, "ReadWriteMany"),
        profile(LOCAL_CLASS, "ReadWriteOnce"),
    ];
    objects.extend(readable("kubevirt.io:default", "kubevirt.io", &["kubevirts"]));
    objects.extend(readable("cdi.kubevirt.io:config-reader", "cdi.kubevirt.io", &["storageprofiles"]));
    kubectl.apply_all(&objects)?;
    let status = json!({"status": {"phase": "Deployed", "observedKubeVirtVersion": VERSION}}).to_string();
    let patch =
        ["patch", "kubevirt", "kubevirt", "--namespace=kubevirt", "--type=merge", "--subresource=status"];
    kubectl.run(&[&patch[..], &["--patch", &status]].concat()).map(drop)
}

/// A network that machines of a namespace can be on.
fn attachment(namespace: &str, name: &str) -> Value {
    json!({
        "apiVersion": "k8s.cni.cncf.io/v1", "kind": "NetworkAttachmentDefinition",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"config": json!({"cniVersion": "1.0.0", "type": "bridge", "bridge": "br1"}).to_string()},
    })
}

/// Starts one.
pub fn start() -> anyhow::Result<ControlPlane> {
    let mut plane = ControlPlane::start(control_plane::Options::default())?;
    install(&plane)?;
    // Garbage collection knows the kinds that are there when it begins.
    plane.start_beside(&[Beside::Controllers])?;
    Ok(plane)
}

/// A namespace with a network `lan`, and a service account that has a Role in it and nothing else.
#[derive(Debug, Clone)]
pub struct Tenant {
    pub namespace: String,
    pub kubeconfig: PathBuf,
}

impl Tenant {
    /// `role` is the manifest of a Role named `slipway-tenant`.
    pub fn new(plane: &ControlPlane, namespace: &str, role: &str) -> anyhow::Result<Self> {
        let kubectl = plane.kubectl();
        let within = |arguments: &[&str]| kubectl.run(&[arguments, &["--namespace", namespace]].concat());
        kubectl.run(&["create", "namespace", namespace])?;
        let file = plane.scratch().write(&format!("{namespace}-role.yaml"), role)?;
        within(&["apply", &format!("--filename={}", file.display())])?;
        within(&["create", "serviceaccount", "tenant"])?;
        kubectl.apply_value(&attachment(namespace, "lan"))?;
        let account = format!("--serviceaccount={namespace}:tenant");
        within(&["create", "rolebinding", "tenant", "--role=slipway-tenant", &account])?;
        let token = within(&["create", "token", "tenant"])?;
        let mut config: Value = serde_json::from_str(&fs_err::read_to_string(plane.kubeconfig())?)?;
        config["users"] = json!([{"name": "admin", "user": {"token": token.trim()}}]);
        let kubeconfig = plane.scratch().write(&format!("{namespace}.kubeconfig"), config.to_string())?;
        Ok(Tenant { namespace: namespace.to_owned(), kubeconfig })
    }

    /// An install-config for it, on the network `lan`.
    pub fn install_config(&self, name: &str) -> String {
        format!(
            "apiVersion: v1
baseDomain: example.com
metadata: {{name: {name}}}
controlPlane: {{name: master, replicas: 3}}
compute: [{{name: worker, replicas: 2}}]
networking: {{machineNetwork: [{{cidr: 127.20.0.0/16}}]}}
pullSecret: '{{\"auths\":{{\"registry.example.com\":{{\"auth\":\"dXNlcjpwYXNzd29yZA==\"}}}}}}'
payload: {{releaseImage: \"quay.io/openshift-release-dev/ocp-release:4.20.3-x86_64\"}}
platform:
  kubevirt:
    namespace: {}
    clusterOSImage: https://images.example.com/os.qcow2
    networkName: lan
    apiVIP: 127.20.0.10
    ingressVIP: 127.20.0.11
",
            self.namespace
        )
    }
}
