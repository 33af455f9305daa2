//! An estate that fits a configuration, and ways to break it.

mod host_groups;
mod privileges;
mod rules;

use std::collections::{BTreeMap, BTreeSet};

use slipway_assess::preflight::report::{Finding, Outcome, Report};
use slipway_assess::vsphere::preflight::expected::ExpectedObjects;
use slipway_assess::vsphere::preflight::judge::{entities, judge};
use slipway_assess::vsphere::preflight::needs::NeededPrivilege;
use slipway_assess::vsphere::preflight::snapshot::{Clocks, Depth, Privileges, Tags, VCenterSnapshot};
use slipway_assets::{Identity, Named};
use slipway_config::ids::InfraId;
use slipway_config::install_config::{InstallConfig, load};
use slipway_providers::vsphere::Reference;
use slipway_providers::vsphere::inventory::{Cluster, Datastore, Facts, Host, Item, Machine};
use uuid::Uuid;

use super::{expected as derive, needs as derive_needs};
use crate::platform::vsphere::Blueprint;

const CONFIG: &str = r#"
apiVersion: v1
baseDomain: example.com
metadata: {name: harbour}
controlPlane: {name: master, replicas: 3}
compute: [{name: worker, replicas: 2}]
platform:
  vsphere:
    apiVIPs: [10.0.0.10]
    ingressVIPs: [10.0.0.11]
    vcenters:
    - {server: a.example.com, user: slipway@vsphere.local, password: x, datacenters: [dc1]}
    - {server: b.example.com, user: slipway@vsphere.local, password: x, datacenters: [dc1]}
    failureDomains:
    - name: one
      region: europe
      zone: north
      server: a.example.com
      topology:
        datacenter: dc1
        computeCluster: /dc1/host/compute
        datastore: /dc1/datastore/fast
        networks: [net]
        template: /dc1/vm/templates/rhcos
    - name: two
      region: europe
      zone: south
      server: b.example.com
      topology:
        datacenter: dc1
        computeCluster: /dc1/host/compute
        datastore: /dc1/datastore/fast
        networks: [net]
pullSecret: '{"auths":{"registry.example.com":{"auth":"dXNlcjpwYXNzd29yZA=="}}}'
payload: {releaseImage: "quay.io/release:4.18.3-x86_64"}
"#;

fn config() -> InstallConfig {
    let loaded = load(CONFIG);
    loaded.config.unwrap_or_else(|| panic!("{:?}", loaded.report))
}

fn identity() -> Identity {
    Identity {
        infra_id: InfraId::new(&config().name, |_| 0),
        cluster_id: Uuid::from_u128(1),
        created: jiff::Timestamp::UNIX_EPOCH,
        kubeadmin_password: "".into(),
        kubeadmin_hash: "".into(),
    }
}

/// What is derived from a configuration: the names, the machines, and what the first vCenter must have.
fn derived(config: InstallConfig) -> (Named, Blueprint, ExpectedObjects) {
    let named = Named { config, identity: identity() };
    let blueprint = Blueprint::of(&named).unwrap();
    let wanted = derive::of(&named, &blueprint, 0).unwrap();
    (named, blueprint, wanted)
}

fn wanted() -> ExpectedObjects {
    derived(config()).2
}

/// What the steps need of the first vCenter.
fn needs(wanted: &ExpectedObjects) -> Vec<NeededPrivilege> {
    let (named, blueprint, _) = derived(config());
    derive_needs::of(&named, &blueprint, wanted, &|path| path == "/dc1/vm/templates").unwrap()
}

fn id(kind: &str, id: &str) -> Reference {
    Reference::new(kind, id)
}

fn item(kind: &str, name: &str, path: &str, facts: Facts) -> Item {
    Item { id: id(kind, name), path: path.to_owned(), facts }
}

fn host() -> Host {
    Host {
        version: "8.0.3".to_owned(),
        build: "24022510".to_owned(),
        api_version: "8.0.3.0".to_owned(),
        connected: true,
        maintenance: false,
        threads: 32,
        memory_mib: 262_144,
        used_mib: 65_536,
    }
}

/// What fits the first vCenter of the configuration.
fn estate() -> VCenterSnapshot {
    let cluster = Cluster {
        hosts: vec![id("HostSystem", "host-1"), id("HostSystem", "host-2")],
        datastores: vec![id("Datastore", "datastore-1")],
        networks: vec![id("Network", "network-1")],
        drs: true,
        host_groups: BTreeMap::from([("rack".to_owned(), vec![id("HostSystem", "host-1")])]),
        ..Cluster::default()
    };
    let template = Machine {
        template: true,
        hardware: Some(15),
        disks_gib: vec![16],
        product: Some("418.94.202501010000-0".to_owned()),
        ..Machine::default()
    };
    let datastore =
        Datastore { accessible: Some(true), free_bytes: Some(2000 << 30), ..Datastore::default() };
    let folder = |name: &str, path: &str| item("Folder", name, path, Facts::Nothing);
    let items = vec![
        folder("group-d1", "/"),
        item("Datacenter", "datacenter-1", "/dc1", Facts::Nothing),
        folder("group-h1", "/dc1/host"),
        folder("group-v1", "/dc1/vm"),
        folder("group-s1", "/dc1/datastore"),
        folder("group-n1", "/dc1/network"),
        item("ClusterComputeResource", "domain-c1", "/dc1/host/compute", Facts::Cluster(cluster)),
        item("ResourcePool", "resgroup-1", "/dc1/host/compute/Resources", Facts::Nothing),
        item("HostSystem", "host-1", "/dc1/host/compute/esx-1", Facts::Host(host())),
        item("HostSystem", "host-2", "/dc1/host/compute/esx-2", Facts::Host(host())),
        item("Datastore", "datastore-1", "/dc1/datastore/fast", Facts::Datastore(datastore)),
        item("Network", "network-1", "/dc1/network/net", Facts::Nothing),
        folder("group-v2", "/dc1/vm/templates"),
        item("VirtualMachine", "vm-1", "/dc1/vm/templates/rhcos", Facts::Machine(template)),
    ];
    let tag = |category: &str, name: &str| vec![(category.to_owned(), name.to_owned())];
    let attached = BTreeMap::from([
        (id("Datacenter", "datacenter-1"), tag("openshift-region", "europe")),
        (id("ClusterComputeResource", "domain-c1"), tag("openshift-zone", "north")),
    ]);
    let mut estate = VCenterSnapshot {
        depth: Depth::Privileges,
        version: "8.0.3".to_owned(),
        build: "24022515".to_owned(),
        clock: Some(Clocks { theirs: jiff::Timestamp::UNIX_EPOCH, ours: jiff::Timestamp::UNIX_EPOCH }),
        inventory: items.into_iter().collect(),
        tags: Ok(Tags { attached, ids: BTreeSet::new() }),
        privileges: Privileges {
            user: "VSPHERE.LOCAL\\slipway".to_owned(),
            known: needs(&wanted()).into_iter().map(|need| need.privilege).collect(),
            held: Ok(BTreeMap::new()),
        },
    };
    let all = estate
        .inventory
        .items()
        .iter()
        .map(|item| (item.id.clone(), estate.privileges.known.clone()))
        .collect();
    estate.privileges.held = Ok(all);
    estate
}

/// Ways to break an estate.
trait Change {
    fn change(&mut self, path: &str) -> &mut Facts;
    fn remove(&mut self, path: &str);
    fn cluster(&mut self) -> &mut Cluster;
    fn host(&mut self, name: &str) -> &mut Host;
    fn store(&mut self) -> &mut Datastore;
    fn template(&mut self) -> &mut Machine;
    fn tags_on(&mut self, kind: &str, name: &str) -> &mut Vec<(String, String)>;
    fn add(&mut self, kind: &str, name: &str, path: &str, facts: Facts);
}

impl Change for VCenterSnapshot {
    fn change(&mut self, path: &str) -> &mut Facts {
        let id = self.inventory.at(path).unwrap().id.clone();
        self.inventory.facts_mut(&id).unwrap()
    }

    fn remove(&mut self, path: &str) {
        let below = format!("{path}/");
        let before = self.inventory.items().len();
        self.inventory.retain(|item| item.path != path && !item.path.starts_with(&below));
        assert!(self.inventory.items().len() < before);
    }

    fn cluster(&mut self) -> &mut Cluster {
        match self.change("/dc1/host/compute") {
            Facts::Cluster(cluster) => cluster,
            _ => panic!("no cluster"),
        }
    }

    fn host(&mut self, name: &str) -> &mut Host {
        match self.change(&format!("/dc1/host/compute/{name}")) {
            Facts::Host(host) => host,
            _ => panic!("no host"),
        }
    }

    fn store(&mut self) -> &mut Datastore {
        match self.change("/dc1/datastore/fast") {
            Facts::Datastore(datastore) => datastore,
            _ => panic!("no datastore"),
        }
    }

    fn template(&mut self) -> &mut Machine {
        match self.change("/dc1/vm/templates/rhcos") {
            Facts::Machine(machine) => machine,
            _ => panic!("no template"),
        }
    }

    fn tags_on(&mut self, kind: &str, name: &str) -> &mut Vec<(String, String)> {
        self.tags.as_mut().unwrap().attached.entry(id(kind, name)).or_default()
    }

    fn add(&mut self, kind: &str, name: &str, path: &str, facts: Facts) {
        self.inventory.add(item(kind, name, path, facts));
        let known = self.privileges.known.clone();
        self.privileges.held.as_mut().unwrap().insert(id(kind, name), known);
    }
}

fn report(wanted: &ExpectedObjects, estate: &VCenterSnapshot) -> Report {
    Report::new("harbour", judge(wanted, &needs(wanted), estate))
}

/// What is not fine, each with a cure.
fn problems(wanted: &ExpectedObjects, estate: &VCenterSnapshot) -> Vec<Finding> {
    let findings = report(wanted, estate).findings;
    findings.into_iter().filter(|finding| finding.outcome != Outcome::Pass).collect()
}

fn brief(finding: &Finding) -> String {
    format!("{:?} {} {}", finding.outcome, finding.check.code(), finding.object)
}

type Break = fn(&mut ExpectedObjects, &mut VCenterSnapshot);
