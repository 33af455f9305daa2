//! Valid install-configs of any size, as JSON (which is YAML too).

use serde_json::{Value, json};

/// What a generated install-config looks like.
#[derive(Debug, Clone)]
pub(crate) struct Estate {
    pub(crate) vcenters: usize,
    pub(crate) failure_domains: usize,
    pub(crate) control_plane: u32,
    pub(crate) compute: u32,
    pub(crate) vips: bool,
    /// Pools name their zones.
    pub(crate) zones: bool,
    pub(crate) resource_pools: bool,
}

impl Estate {
    /// The size the benchmarks speak of.
    pub(crate) fn large(failure_domains: usize) -> Self {
        Estate {
            vcenters: 3,
            failure_domains,
            control_plane: 3,
            compute: 30,
            vips: true,
            zones: true,
            resource_pools: true,
        }
    }

    pub(crate) fn install_config(&self) -> Value {
        let vcenters: Vec<Value> = (0..self.vcenters).map(vcenter).collect();
        let domains: Vec<Value> = (0..self.failure_domains).map(|index| self.failure_domain(index)).collect();
        let image = format!("https://images.example.com/rhcos.ova?sha256={}", "0".repeat(64));
        let mut vsphere = json!({"vcenters": vcenters, "failureDomains": domains, "clusterOSImage": image});
        if self.vips {
            vsphere["apiVIPs"] = json!(["10.20.0.10"]);
            vsphere["ingressVIPs"] = json!(["10.20.0.11"]);
        }
        let mut machine = json!({"cpus": 8, "coresPerSocket": 4});
        if self.zones {
            machine["zones"] = (0..self.failure_domains).map(|index| format!("fd-{index}")).collect();
        }
        json!({
            "apiVersion": "v1",
            "baseDomain": "example.com",
            "metadata": {"name": "estate"},
            "controlPlane": {"name": "master", "replicas": self.control_plane, "platform": {"vsphere": machine}},
            "compute": [{"name": "worker", "replicas": self.compute, "platform": {"vsphere": machine}}],
            "networking": {
                "machineNetwork": [{"cidr": "10.20.0.0/16"}],
                "serviceNetwork": ["172.30.0.0/16"],
                "clusterNetwork": [{"cidr": "10.128.0.0/14", "hostPrefix": 23}],
            },
            "platform": {"vsphere": vsphere},
            "payload": {"releaseImage": "registry.example.com/release:4.20.3"},
            "pullSecret": r#"{"auths":{"registry.example.com":{"auth":"dXNlcjpwYXNzd29yZA=="}}}"#,
        })
    }

    fn failure_domain(&self, index: usize) -> Value {
        let vcenter = index % self.vcenters;
        let mut topology = json!({
            "datacenter": format!("dc-{vcenter}"),
            "computeCluster": format!("/dc-{vcenter}/host/cluster-{index}"),
            "datastore": format!("/dc-{vcenter}/datastore/store-{index}"),
            "networks": ["net"],
        });
        if self.resource_pools {
            topology["resourcePool"] = json!(format!("/dc-{vcenter}/host/cluster-{index}/Resources/pool"));
        }
        json!({
            "name": format!("fd-{index}"),
            "region": format!("region-{vcenter}"),
            "zone": format!("zone-{index}"),
            "server": format!("vc-{vcenter}.example.com"),
            "topology": topology,
        })
    }
}

pub(crate) fn vcenter(index: usize) -> Value {
    json!({
        "server": format!("vc-{index}.example.com"),
        "user": "slipway@vsphere.local",
        "password": "secret",
        "datacenters": [format!("dc-{index}")],
    })
}
