//! Inventories of simulated vCenters, and install-configs that fit them. Both are JSON, which is YAML too, so that a test changes what it
//! is about and nothing else.

use serde_json::{Value, json};

use crate::vcenter::{ADMINISTRATOR, VCenter};

/// The variable in which an install-config expects the password of all vCenters.
pub const PASSWORD_VARIABLE: &str = "VCENTER_PASSWORD";

/// The region of all sites; each is a zone of it.
pub const REGION: &str = "europe";

/// A datacenter with what a cluster needs and nothing else, on a vCenter of its own, and the failure domain in it.
#[derive(Debug, Clone)]
pub struct Site {
    pub datacenter: String,
    /// The name of the failure domain, and its zone.
    pub zone: String,
    pub datastore: String,
    pub network: String,
    /// The name of the template.
    pub template: String,
}

/// The compute cluster of every site.
const CLUSTER: &str = "compute";

impl Site {
    /// The name is that of the datacenter, of the failure domain and of its zone.
    pub fn new(name: &str) -> Self {
        Site {
            datacenter: name.to_owned(),
            zone: name.to_owned(),
            datastore: "vsan".to_owned(),
            network: "cluster-net".to_owned(),
            template: "rhcos".to_owned(),
        }
    }

    /// The inventory path of something in the datacenter.
    pub fn path(&self, rest: &str) -> String {
        format!("/{}/{rest}", self.datacenter)
    }

    /// The compute cluster's inventory path.
    pub fn cluster(&self) -> String {
        self.path(&format!("host/{CLUSTER}"))
    }

    /// What the vCenter has before there is a cluster: the datacenter, and the tags of region and zone.
    pub fn inventory(&self) -> Value {
        let Site { datacenter, zone, datastore, network, .. } = self;
        let template = self.machine(&json!({
            "name": self.template, "template": true, "disks_gb": [16], "hardware_version": "vmx-19",
        }));
        let tagged = |category: &str, tag: &str, path: String| json!({"name": category, "cardinality": "SINGLE", "tags": [{"name": tag, "attach": [path]}]});
        json!({
            "vcenter": {"name": datacenter},
            "datacenters": [{
                "name": datacenter,
                // No rules are an empty list: removing the last one leaves that, too.
                "clusters": [{"name": CLUSTER, "rules": [], "hosts": [{"name": "esx", "count": 3}]}],
                "datastores": [{"name": datastore, "capacity_gb": 9000, "free_gb": 8000}],
                "networks": [{"name": network}],
                "vms": [template],
            }],
            "categories": [
                tagged("openshift-region", REGION, format!("/{datacenter}")),
                tagged("openshift-zone", zone, self.cluster()),
            ],
        })
    }

    /// A virtual machine on the cluster, the datastore and the network; `more` is what else there is to say about it.
    pub fn machine(&self, more: &Value) -> Value {
        let mut machine =
            json!({"cluster": CLUSTER, "datastore": self.datastore, "networks": [self.network]});
        for (key, value) in more.as_object().into_iter().flatten() {
            machine[key] = value.clone();
        }
        machine
    }

    fn vcenter(&self, server: &Server) -> Value {
        let mut vcenter = json!({
            "server": server.name, "user": ADMINISTRATOR.0, "passwordEnv": PASSWORD_VARIABLE,
            "datacenters": [self.datacenter], "tls": server.tls,
        });
        if let Some(port) = server.port {
            vcenter["port"] = json!(port);
        }
        vcenter
    }

    fn failure_domain(&self, server: &Server) -> Value {
        json!({
            "name": self.zone, "region": REGION, "zone": self.zone, "server": server.name,
            "topology": {
                "datacenter": self.datacenter, "computeCluster": self.cluster(),
                "datastore": self.path(&format!("datastore/{}", self.datastore)), "networks": [self.network],
                "template": self.path(&format!("vm/{}", self.template)),
            },
        })
    }
}

/// Where a vCenter is, and why it is trusted.
#[derive(Debug, Clone)]
pub struct Server {
    name: String,
    port: Option<u16>,
    tls: Value,
}

impl Server {
    /// A vCenter at port 443. `tls` is what an install-config says of it.
    pub fn named(name: &str, tls: Value) -> Self {
        Server { name: name.to_owned(), port: None, tls }
    }

    /// At another port.
    pub fn at(name: &str, port: u16, tls: Value) -> Self {
        Server { port: Some(port), ..Self::named(name, tls) }
    }

    /// One that runs, trusted by its thumbprint.
    pub fn of(vcenter: &VCenter) -> Self {
        Self::at(vcenter.host(), vcenter.port(), json!({"thumbprint": vcenter.thumbprint_sha256()}))
    }
}

/// An OpenShift cluster with a failure domain at each site. Its addresses are all of this machine, so that nothing leaves it.
pub fn install_config<'a>(name: &str, sites: impl IntoIterator<Item = (&'a Site, Server)>) -> Value {
    let (vcenters, failure_domains): (Vec<Value>, Vec<Value>) =
        sites.into_iter().map(|(site, server)| (site.vcenter(&server), site.failure_domain(&server))).unzip();
    json!({
        "apiVersion": "v1",
        "baseDomain": "example.com",
        "metadata": {"name": name},
        "controlPlane": {"name": "master", "replicas": 3},
        "compute": [{"name": "worker", "replicas": 2}],
        "networking": {"machineNetwork": [{"cidr": "127.20.0.0/16"}]},
        "platform": {"vsphere": {
            "apiVIPs": ["127.20.0.10"], "ingressVIPs": ["127.20.0.11"], "vcenters": vcenters,
            "failureDomains": failure_domains,
        }},
        "payload": {"releaseImage": "quay.io/openshift-release-dev/ocp-release:4.20.3-x86_64"},
        "pullSecret": r#"{"auths":{"registry.example.com":{"auth":"dXNlcjpwYXNzd29yZA=="}}}"#,
    })
}
