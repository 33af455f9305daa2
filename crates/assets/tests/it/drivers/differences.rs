//! In what our objects differ from those of the drivers' own manifests, and why.

/// A difference, with `*` for anything, and its reason. `-` is theirs alone, `+` ours alone, `~` a changed value.
pub(super) type Explained = (&'static str, &'static str);

const MARKS: &str = "the operator finds what it made by these, and removes what is no longer wanted";
const FOR_PEOPLE: &str = "nothing selects by these labels";
const ROLLS: &str = "pods are replaced when their configuration changes";
const PULLS: &str = "a tag does not change, and the registry may be out of reach when a node restarts";
const LEAST: &str =
    "the driver does not use it: it has no service accounts or volumes, and its locks are leases";
const ONE_NAMESPACE: &str = "credentials are read from a namespace that has nothing else, not from all";
const NO_DELETION: &str =
    "a node that no vCenter knows may be a machine of another kind: Slipway deletes no nodes";
const EXAMPLE: &str = "an example to be filled in, and here it is";

pub(super) const CLOUD: &[Explained] = &[
    ("+ *: metadata.labels.app.kubernetes.io/managed-by: slipway", MARKS),
    ("+ *: metadata.labels.slipway.dev/driver: cloud-provider", MARKS),
    ("+ *: metadata.labels.slipway.dev/driver-version: 1.3*", MARKS),
    ("- *: metadata.labels.vsphere-cpi-infra: *", FOR_PEOPLE),
    ("- *: metadata.labels.component: cloud-controller-manager", FOR_PEOPLE),
    ("- DaemonSet *: metadata.labels.tier: control-plane", FOR_PEOPLE),
    ("- DaemonSet *: spec.template.metadata.labels.tier: control-plane", FOR_PEOPLE),
    ("- DaemonSet *: spec.template.metadata.labels.component: cloud-controller-manager", FOR_PEOPLE),
    ("- ClusterRole *: rules: * nodes.", NO_DELETION),
    ("+ ClusterRole *: rules: get nodes.", NO_DELETION),
    ("+ ClusterRole *: rules: list nodes.", NO_DELETION),
    ("+ ClusterRole *: rules: watch nodes.", NO_DELETION),
    ("+ ClusterRole *: rules: patch nodes.", NO_DELETION),
    ("+ ClusterRole *: rules: update nodes.", NO_DELETION),
    ("+ DaemonSet *.env[SKIP_NODE_DELETION].name: SKIP_NODE_DELETION", NO_DELETION),
    ("+ DaemonSet *.env[SKIP_NODE_DELETION].value: true", NO_DELETION),
    ("- ClusterRole *: rules: * endpoints.", LEAST),
    ("- ClusterRole *: rules: * serviceaccounts.", LEAST),
    ("- ClusterRole *: rules: * persistentvolumes.", LEAST),
    ("- ClusterRole *: rules: * secrets.", ONE_NAMESPACE),
    ("+ Role vsphere-cloud-controller-manager-secrets", ONE_NAMESPACE),
    ("+ RoleBinding vsphere-cloud-controller-manager-secrets", ONE_NAMESPACE),
    ("+ Namespace slipway-cloud-provider", ONE_NAMESPACE),
    (
        "~ Secret vsphere-cloud-secret: metadata.namespace: kube-system -> slipway-cloud-provider",
        ONE_NAMESPACE,
    ),
    (
        "- ClusterRoleBinding *: subjects[User cloud-controller-manager].*",
        "the driver runs as a service account; there is no such user",
    ),
    (
        "- RoleBinding servicecatalog.k8s.io:apiserver-authentication-reader",
        "the name is that of another project, whose binding we must not take over",
    ),
    ("+ RoleBinding vsphere-cloud-controller-manager-authentication", "the same under a name of our own"),
    ("~ ConfigMap vsphere-cloud-config: data.vsphere.conf: *", EXAMPLE),
    ("- Secret vsphere-cloud-secret: stringData.*", EXAMPLE),
    ("+ Secret vsphere-cloud-secret: data.north.example.com.*", EXAMPLE),
    ("+ Secret vsphere-cloud-secret: type: Opaque", "the default, written out"),
    ("+ DaemonSet *: spec.template.metadata.annotations.slipway.dev/config-hash: *", ROLLS),
    ("+ DaemonSet *.imagePullPolicy: IfNotPresent", PULLS),
];

pub(super) const STORAGE: &[Explained] = &[
    ("+ *: metadata.labels.app.kubernetes.io/managed-by: slipway", MARKS),
    ("+ *: metadata.labels.slipway.dev/driver: storage-provider", MARKS),
    ("+ *: metadata.labels.slipway.dev/driver-version: 3.*", MARKS),
    ("+ Deployment *: spec.template.metadata.annotations.slipway.dev/config-hash: *", ROLLS),
    ("+ DaemonSet *: spec.template.metadata.annotations.slipway.dev/config-hash: *", ROLLS),
    ("+ Deployment *.imagePullPolicy: IfNotPresent", PULLS),
    ("~ Deployment *.imagePullPolicy: Always -> IfNotPresent", PULLS),
    ("+ DaemonSet *.imagePullPolicy: IfNotPresent", PULLS),
    ("~ DaemonSet *.imagePullPolicy: Always -> IfNotPresent", PULLS),
    (
        "+ DaemonSet vsphere-csi-node: spec.template.spec.affinity.nodeAffinity.*instance-type .operator=Exists]=]",
        "on machines that are not of a vCenter the driver fails for ever",
    ),
    (
        "~ DaemonSet vsphere-csi-node: spec.updateStrategy.rollingUpdate.maxUnavailable: 1 -> 10%",
        "one after the other takes hours in a large cluster",
    ),
    ("- DaemonSet vsphere-csi-node-windows", "nodes with Windows are not supported yet"),
    ("~ Deployment vsphere-csi-webhook: spec.replicas: 1 -> 2", "while it is away no claim can be changed"),
    (
        "+ Deployment vsphere-csi-webhook: spec.template.spec.priorityClassName: system-cluster-critical",
        "while it is away no claim can be changed",
    ),
    ("- Deployment vsphere-csi-webhook: spec.template.spec.volumes[socket-dir].*", "nothing mounts it"),
    ("+ Namespace *: metadata.labels.pod-security.kubernetes.io/*: privileged", "pods that mount need it"),
    ("+ PodDisruptionBudget vsphere-csi-controller", "machines of the control plane are drained one by one"),
    ("+ Secret vsphere-config-secret", "the manuals have people create it by hand"),
    ("+ Secret vsphere-webhook-certs", "a script of theirs makes it"),
    (
        "~ ValidatingWebhookConfiguration *.clientConfig.caBundle: ${CA_BUNDLE} -> *",
        "a script of theirs fills it in",
    ),
];
