//! What each peer is made of. Versions are pinned in `peers/<name>/go.mod`.

/// A wrapper module and what is built from it.
#[derive(Debug)]
pub struct Peer {
    /// Its folder below `peers/`.
    pub name: &'static str,
    pub programs: &'static [Program],
    /// A folder its program writes, for peers that are files rather than servers.
    pub files: Option<&'static str>,
    /// What it proves.
    pub proves: &'static str,
}

/// A program of a module.
#[derive(Debug)]
pub struct Program {
    pub name: &'static str,
    pub package: &'static str,
    /// Go variables that are set when linking: programs that do not know their version misbehave.
    pub stamps: &'static [(&'static str, &'static str)],
}

const KUBERNETES: &[(&str, &str)] = &[
    ("k8s.io/component-base/version.gitVersion", "v1.34.4"),
    ("k8s.io/component-base/version.gitMajor", "1"),
    ("k8s.io/component-base/version.gitMinor", "34"),
];

pub(super) const fn program(name: &'static str, package: &'static str) -> Program {
    Program { name, package, stamps: &[] }
}

const fn kubernetes(name: &'static str, package: &'static str) -> Program {
    Program { name, package, stamps: KUBERNETES }
}

/// Programs that use a library of the system (Ignition asks libblkid about disks); the others need nothing.
pub(super) const WITH_C: &[&str] = &["ignition"];

/// The peers of the default run, the quick ones first.
pub const PEERS: &[Peer] = &[
    Peer {
        name: "cpi-reader",
        programs: &[program("cpi-reader", ".")],
        files: None,
        proves: "how the cloud provider and gcfg read a configuration",
    },
    Peer {
        name: "csi-reader",
        programs: &[program("csi-reader", ".")],
        files: None,
        proves: "how the storage driver reads its configuration",
    },
    Peer { name: "vcsim", programs: &[program("vcsim", ".")], files: None, proves: "what a vCenter answers" },
    Peer {
        name: "recorder",
        programs: &[program("recorder", ".")],
        files: None,
        proves: "how govmomi writes the requests that vcsim does not check",
    },
    Peer {
        name: "ignition-validate",
        programs: &[Program {
            name: "ignition-validate",
            package: "github.com/coreos/ignition/v2/validate",
            stamps: &[("github.com/coreos/ignition/v2/internal/version.Raw", "v2.24.0")],
        }],
        files: None,
        proves: "that Ignition configs are valid",
    },
    Peer {
        name: "ignition",
        programs: &[Program {
            name: "ignition",
            package: "github.com/coreos/ignition/v2/internal",
            stamps: &[
                ("github.com/coreos/ignition/v2/internal/version.Raw", "v2.24.0"),
                // The machines of the lab have no SELinux.
                ("github.com/coreos/ignition/v2/internal/distro.selinuxRelabel", "false"),
            ],
        }],
        files: None,
        proves: "that machines are provisioned",
    },
    Peer {
        name: "crds",
        programs: &[program("crds", ".")],
        files: Some("crd-files"),
        proves: "the real custom resource definitions",
    },
    Peer {
        name: "kubevirt-crds",
        programs: &[program("kubevirt-crds", ".")],
        files: Some("kubevirt-crd-files"),
        proves: "the real custom resource definitions of KubeVirt",
    },
    Peer {
        name: "driver-manifests",
        programs: &[program("driver-manifests", ".")],
        files: Some("driver-manifest-files"),
        proves: "the objects the vSphere drivers consist of",
    },
    Peer {
        name: "coredns",
        programs: &[program("coredns", "github.com/coredns/coredns")],
        files: None,
        proves: "that the names of a cluster are answered",
    },
    Peer {
        name: "registry",
        programs: &[program("registry", ".")],
        files: None,
        proves: "that images are found in the registry of a site",
    },
    Peer {
        name: "etcd",
        programs: &[program("etcd", "go.etcd.io/etcd/server/v3")],
        files: None,
        proves: "real storage",
    },
    Peer {
        name: "kubernetes",
        programs: &[
            kubernetes("kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver"),
            kubernetes("kubectl", "k8s.io/kubernetes/cmd/kubectl"),
            kubernetes("kubeadm", "k8s.io/kubernetes/cmd/kubeadm"),
            kubernetes("kube-controller-manager", "k8s.io/kubernetes/cmd/kube-controller-manager"),
            kubernetes("kube-scheduler", "k8s.io/kubernetes/cmd/kube-scheduler"),
            kubernetes("kubelet", "k8s.io/kubernetes/cmd/kubelet"),
            kubernetes("kube-proxy", "k8s.io/kubernetes/cmd/kube-proxy"),
        ],
        files: None,
        proves: "the real API server, RBAC, admission, controllers and nodes",
    },
    Peer {
        name: "kubectl",
        programs: &[kubernetes("kubectl-session", ".")],
        files: None,
        proves: "what a cluster holds, by a client that others wrote",
    },
    Peer {
        name: "kwok",
        programs: &[program("kwok", "sigs.k8s.io/kwok/cmd/kwok")],
        files: None,
        proves: "nodes and pods without kubelets",
    },
    Peer {
        name: "vsphere-ccm",
        programs: &[Program {
            name: "vsphere-cloud-controller-manager",
            package: "k8s.io/cloud-provider-vsphere/cmd/vsphere-cloud-controller-manager",
            stamps: &[("main.version", "v1.34.0"), ("k8s.io/component-base/version.gitVersion", "v1.34.0")],
        }],
        files: None,
        proves: "that the cloud provider works with our configuration",
    },
    Peer {
        name: "cluster-api",
        programs: &[Program {
            name: "cluster-api-controller-manager",
            package: "sigs.k8s.io/cluster-api",
            stamps: &[
                ("sigs.k8s.io/cluster-api/version.gitMajor", "1"),
                ("sigs.k8s.io/cluster-api/version.gitMinor", "11"),
                ("sigs.k8s.io/cluster-api/version.gitVersion", "v1.11.1"),
            ],
        }],
        files: None,
        proves: "that Cluster API works with our manifests",
    },
    Peer {
        name: "capv",
        programs: &[Program {
            name: "capv-manager",
            package: "sigs.k8s.io/cluster-api-provider-vsphere",
            stamps: &[
                ("sigs.k8s.io/cluster-api-provider-vsphere/pkg/version.gitMajor", "1"),
                ("sigs.k8s.io/cluster-api-provider-vsphere/pkg/version.gitMinor", "14"),
                ("sigs.k8s.io/cluster-api-provider-vsphere/pkg/version.gitVersion", "v1.14.0"),
            ],
        }],
        files: None,
        proves: "that its vSphere provider works with our manifests; the anchor for speed",
    },
];
