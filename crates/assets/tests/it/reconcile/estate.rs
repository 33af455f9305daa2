//! The two vCenters of the seed.

use std::net::IpAddr;

use serde_json::{Value, json};

/// A vCenter, and what the seed puts there.
pub(crate) struct Estate {
    pub(crate) server: &'static str,
    pub(crate) address: IpAddr,
    pub(crate) datacenter: &'static str,
    pub(crate) compute_cluster: &'static str,
    /// The machines that belong there, without the infrastructure's name.
    pub(crate) machines: &'static [&'static str],
}

pub(crate) const DATASTORE: &str = "vsanDatastore";
pub(crate) const NETWORK: &str = "ci-vlan-1148";

pub(crate) fn estates() -> [Estate; 2] {
    [
        Estate {
            server: "vcs8e-vc.ocp2.dev.cluster.com",
            address: [127, 0, 0, 2].into(),
            datacenter: "IBMCloud",
            compute_cluster: "vcs-ci-workload",
            machines: &["bootstrap", "master-0", "master-2"],
        },
        Estate {
            server: "vcenter.ci.ibmc.devcluster.openshift.com",
            address: [127, 0, 0, 3].into(),
            datacenter: "cidatacenter",
            compute_cluster: "cicluster",
            machines: &["master-1"],
        },
    ]
}

impl Estate {
    /// What is there before Cluster API comes: folder and template are made by an installer, the rest by an
    /// administrator.
    pub(crate) fn inventory(&self, infra_id: &str, template: &str, user: &str, password: &str) -> Value {
        json!({
            "users": [{"name": user, "password": password}],
            "datacenters": [{
                "name": self.datacenter,
                "folders": {"vm": [infra_id]},
                // vSAN wants three hosts.
                "clusters": [{"name": self.compute_cluster, "hosts": [{"name": "esx", "count": 3}]}],
                "datastores": [{"name": DATASTORE, "type": "vsan", "capacity_gb": 10_000, "free_gb": 9_000}],
                "switches": [{"name": "switch"}],
                "networks": [{"name": NETWORK, "type": "distributed", "switch": "switch"}],
                "vms": [{
                    "name": template, "template": true, "folder": infra_id, "cluster": self.compute_cluster,
                    "datastore": DATASTORE, "disks_gb": [16], "networks": [NETWORK],
                }],
            }],
        })
    }

    pub(crate) fn path_of(&self, rest: &str) -> String {
        format!("/{}/{rest}", self.datacenter)
    }
}
