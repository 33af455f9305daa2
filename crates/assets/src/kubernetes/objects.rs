//! `manifests/`: what the cluster is given once its API answers.

use k8s_openapi::api::rbac::v1::{ClusterRoleBinding, RoleBinding, RoleRef, Subject};

use super::BOOTSTRAPPERS;
use crate::drivers::operator::own_namespace;
use crate::names::MACHINES_NAMESPACE;
use crate::objects::{map, named, namespace, within};
use crate::{Access, Cluster, Error, Tree};

/// Roles that kubeadm makes, or Kubernetes has, and that a machine needs to join. Missing on purpose: those that have
/// certificates approved unseen.
const CLUSTER_ROLES: [(&str, &str); 2] = [
    ("slipway-node-bootstrapper", "system:node-bootstrapper"),
    ("slipway-join-get-nodes", "kubeadm:get-nodes"),
];
const ROLES: [(&str, &str); 4] = [
    ("slipway-join-kubeadm-config", "kubeadm:nodes-kubeadm-config"),
    ("slipway-join-kubelet-config", "kubeadm:kubelet-config"),
    ("slipway-join-kube-proxy", "kube-proxy"),
    ("slipway-join-certificates", "kubeadm:kubeadm-certs"),
];

pub(super) fn add(cluster: &Cluster, tree: &mut Tree) -> Result<(), Error> {
    tree.yaml("manifests/00_slipway-namespace.yaml", &own_namespace(), Access::Group)?;
    // Also where none are made with the cluster: the approver of certificates looks for Machines there.
    let machines = namespace(MACHINES_NAMESPACE, map([("app.kubernetes.io/part-of", "slipway")]));
    tree.yaml("manifests/00_machine-api-namespace.yaml", &machines, Access::Group)?;
    let reference = |kind: &str, name: &str| RoleRef {
        api_group: "rbac.authorization.k8s.io".to_owned(),
        kind: kind.to_owned(),
        name: name.to_owned(),
    };
    let subjects = vec![Subject {
        api_group: Some("rbac.authorization.k8s.io".to_owned()),
        kind: "Group".to_owned(),
        name: BOOTSTRAPPERS.to_owned(),
        namespace: None,
    }];
    for (name, role) in CLUSTER_ROLES {
        let binding = ClusterRoleBinding {
            metadata: named(name),
            role_ref: reference("ClusterRole", role),
            subjects: Some(subjects.clone()),
        };
        tree.yaml(format!("manifests/10_{name}.yaml"), &binding, Access::Group)?;
    }
    for (name, role) in ROLES {
        let binding = RoleBinding {
            metadata: within("kube-system", name),
            role_ref: reference("Role", role),
            subjects: Some(subjects.clone()),
        };
        tree.yaml(format!("manifests/10_{name}.yaml"), &binding, Access::Group)?;
    }
    super::operator::add(cluster, tree)?;
    super::drivers::add(cluster, tree)
}
