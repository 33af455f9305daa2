//! Peers that the default run does without: their suites run by `cargo xtask strangers`, which builds them.

use super::Peer;
use super::table::program;

/// Tags a program is built with.
pub(super) const WITH_TAGS: &[(&str, &str)] = &[("cluster-autoscaler", "clusterapi")];

/// All of them.
pub const STRANGERS: &[Peer] = &[
    Peer {
        name: "machine-api",
        programs: &[
            program("mapi-machineset", "github.com/openshift/machine-api-operator/cmd/machineset"),
            program(
                "mapi-machine-healthcheck",
                "github.com/openshift/machine-api-operator/cmd/machine-healthcheck",
            ),
            program("mapi-nodelink", "github.com/openshift/machine-api-operator/cmd/nodelink-controller"),
            program("mapi-vsphere", "github.com/openshift/machine-api-operator/cmd/vsphere"),
        ],
        files: None,
        proves: "that OpenShift's controllers of Machines work with ours, and with our manifests",
    },
    Peer {
        name: "cluster-autoscaler",
        programs: &[program("cluster-autoscaler", "k8s.io/autoscaler/cluster-autoscaler")],
        files: None,
        proves: "that our MachineSets scale with what pods need",
    },
];
