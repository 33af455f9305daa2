//! Names that several programs agree on.

/// Where Kubernetes' own components are, and what belongs to them.
pub const SYSTEM_NAMESPACE: &str = "kube-system";
/// Who signs what kubelets ask for.
pub const KUBELET_SIGNERS: [&str; 2] =
    ["kubernetes.io/kube-apiserver-client-kubelet", "kubernetes.io/kubelet-serving"];
/// The name the storage driver of vSphere registers under.
pub const STORAGE_DRIVER: &str = "csi.vsphere.vmware.com";
/// Where the operator is.
pub const OPERATOR_NAMESPACE: &str = "slipway-system";
/// Which driver an object belongs to. What carries it and is no longer made is to be deleted.
pub const DRIVER_LABEL: &str = "slipway.dev/driver";
/// Nodes whose machine the operator found in a vCenter.
pub const VSPHERE_NODE_LABEL: &str = "slipway.dev/vsphere-node";
/// What renews the certificates of the control plane: a DaemonSet in `kube-system`, its account, its Lease, and the
/// ConfigMap that says when the certificates of each machine end.
pub const CERTIFICATES: &str = "slipway-certificates";
/// What lets machines of the control plane in and out: a DaemonSet in `kube-system`, its account and its Lease.
pub const CONTROL_PLANE: &str = "slipway-control-plane";
