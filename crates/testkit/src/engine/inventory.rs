//! What an engine has before a test begins.

use serde_json::{Map, Value, json};

use super::access::Login;
use super::kind::Kind;
use super::world::World;

/// The template that every engine has.
pub(super) const BLANK: &str = "00000000-0000-0000-0000-000000000000";

const GIB: u64 = 1 << 30;

/// Ids are drawn where none is given; objects name each other.
#[derive(Debug, Clone)]
pub struct Inventory {
    pub login: Login,
    pub data_centers: Vec<DataCenter>,
    pub clusters: Vec<Cluster>,
    pub hosts: Vec<Host>,
    pub storage_domains: Vec<StorageDomain>,
    pub networks: Vec<Network>,
    pub vnic_profiles: Vec<VnicProfile>,
    pub templates: Vec<Template>,
    pub vms: Vec<Vm>,
}

#[derive(Debug, Clone)]
pub struct DataCenter {
    pub name: String,
    pub id: Option<String>,
    pub status: String,
    /// `disabled`, `audit` or `enabled`, with the quotas' names.
    pub quota_mode: String,
    pub quotas: Vec<String>,
}

#[derive(Debug, Clone)]
pub struct Cluster {
    pub name: String,
    pub id: Option<String>,
    pub data_center: String,
    pub cpu: String,
    /// Compatibility, such as 4.8.
    pub version: (u32, u32),
}

#[derive(Debug, Clone)]
pub struct Host {
    pub name: String,
    pub id: Option<String>,
    pub cluster: String,
    pub status: String,
    pub memory: u64,
    pub cores: u32,
}

#[derive(Debug, Clone)]
pub struct StorageDomain {
    pub name: String,
    pub id: Option<String>,
    pub data_center: String,
    /// `data`, `iso` or `export`.
    pub kind: String,
    pub status: String,
    pub available: u64,
    pub used: u64,
}

#[derive(Debug, Clone)]
pub struct Network {
    pub name: String,
    pub id: Option<String>,
    pub data_center: String,
    pub description: String,
    /// `vm`, `management`, `display` and so on.
    pub usages: Vec<String>,
}

#[derive(Debug, Clone)]
pub struct VnicProfile {
    pub name: String,
    pub id: Option<String>,
    pub network: String,
}

/// A template of one disk, or of none.
#[derive(Debug, Clone)]
pub struct Template {
    pub name: String,
    pub id: Option<String>,
    pub cluster: String,
    pub os: String,
    pub disk: Option<u64>,
    pub storage_domain: String,
}

/// A machine that is there before: what a test finds in its way.
#[derive(Debug, Clone)]
pub struct Vm {
    pub name: String,
    pub id: Option<String>,
    pub cluster: String,
    pub template: String,
    pub status: String,
}

impl Default for Inventory {
    /// A data center of three hosts.
    fn default() -> Self {
        Inventory {
            login: Login::Internal,
            data_centers: vec![DataCenter::new("Default")],
            clusters: vec![Cluster::new("Default", "Default")],
            hosts: ["h1", "h2", "h3"].map(|name| Host::new(name, "Default")).to_vec(),
            storage_domains: vec![StorageDomain::new("data1", "Default")],
            networks: vec![Network::new("ovirtmgmt", "Default")],
            vnic_profiles: vec![VnicProfile::new("ovirtmgmt", "ovirtmgmt")],
            templates: Vec::new(),
            vms: Vec::new(),
        }
    }
}

impl DataCenter {
    pub fn new(name: &str) -> Self {
        let (status, quota_mode) = ("up".to_owned(), "disabled".to_owned());
        DataCenter { name: name.to_owned(), id: None, status, quota_mode, quotas: vec!["Default".to_owned()] }
    }
}

impl Cluster {
    pub fn new(name: &str, data_center: &str) -> Self {
        let cpu = "Intel Nehalem Family".to_owned();
        Cluster { name: name.to_owned(), id: None, data_center: data_center.to_owned(), cpu, version: (4, 8) }
    }
}

impl Host {
    pub fn new(name: &str, cluster: &str) -> Self {
        Host {
            name: name.to_owned(),
            id: None,
            cluster: cluster.to_owned(),
            status: "up".to_owned(),
            memory: 256 * GIB,
            cores: 64,
        }
    }
}

impl StorageDomain {
    pub fn new(name: &str, data_center: &str) -> Self {
        StorageDomain {
            name: name.to_owned(),
            id: None,
            data_center: data_center.to_owned(),
            kind: "data".to_owned(),
            status: "active".to_owned(),
            available: 1000 * GIB,
            used: 24 * GIB,
        }
    }
}

impl Network {
    pub fn new(name: &str, data_center: &str) -> Self {
        Network {
            name: name.to_owned(),
            id: None,
            data_center: data_center.to_owned(),
            description: String::new(),
            usages: vec!["vm".to_owned()],
        }
    }
}

impl VnicProfile {
    pub fn new(name: &str, network: &str) -> Self {
        VnicProfile { name: name.to_owned(), id: None, network: network.to_owned() }
    }
}

impl Template {
    /// Of an operating system that takes Ignition.
    pub fn new(name: &str, cluster: &str, storage_domain: &str) -> Self {
        Template {
            name: name.to_owned(),
            id: None,
            cluster: cluster.to_owned(),
            os: "rhcos_x64".to_owned(),
            disk: Some(16 * GIB),
            storage_domain: storage_domain.to_owned(),
        }
    }
}

impl Vm {
    pub fn new(name: &str, cluster: &str) -> Self {
        Vm {
            name: name.to_owned(),
            id: None,
            cluster: cluster.to_owned(),
            template: "Blank".to_owned(),
            status: "down".to_owned(),
        }
    }
}

/// Builds the world.
pub(super) fn furnish(world: &mut World, inventory: &Inventory) {
    root_tag(world);
    world.add(Kind::MacPool, "58ca604b-017d-0374-0220-00000000014e", "", json!({"name": "Default", "description": "Default MAC pool",
        "allow_duplicates": "false", "default_pool": "true", "ranges": {"range": [{"from": "56:6f:1a:2b:00:00", "to": "56:6f:1a:2b:ff:ff"}]}}));
    inventory.data_centers.iter().for_each(|center| data_center(world, center));
    inventory.clusters.iter().for_each(|one| cluster(world, one));
    inventory.hosts.iter().for_each(|one| host(world, one));
    inventory.storage_domains.iter().for_each(|one| storage_domain(world, one));
    inventory.networks.iter().for_each(|one| network(world, one));
    inventory.vnic_profiles.iter().for_each(|one| vnic_profile(world, one));
    fixtures(world);
    inventory.templates.iter().for_each(|one| template(world, one));
    inventory.vms.iter().for_each(|one| vm(world, one));
}

fn root_tag(world: &mut World) {
    world.add(Kind::Tag, BLANK, "", json!({"name": "root", "description": "root"}));
}

fn id(world: &mut World, given: Option<&String>) -> String {
    given.cloned().unwrap_or_else(|| world.draw())
}

fn of(world: &World, kind: Kind, name: &str) -> String {
    world.named(kind, name).map(|record| record.id.clone()).unwrap_or_default()
}

fn data_center(world: &mut World, center: &DataCenter) {
    let id = id(world, center.id.as_ref());
    let doc = json!({"local": "false", "quota_mode": center.quota_mode, "status": center.status, "storage_format": "v5",
        "supported_versions": {"version": [{"major": "4", "minor": "8"}]}, "version": {"major": "4", "minor": "8"},
        "mac_pool": {"id": "58ca604b-017d-0374-0220-00000000014e"},
        "name": center.name, "description": "", "comment": ""});
    world.add(Kind::DataCenter, &id, "", doc);
    for name in &center.quotas {
        let quota = world.draw();
        let doc = json!({"cluster_hard_limit_pct": "20", "cluster_soft_limit_pct": "80", "storage_hard_limit_pct": "20",
            "storage_soft_limit_pct": "80", "data_center": {"id": id}, "name": name, "description": "Default unlimited quota"});
        world.add(Kind::Quota, &quota, &id, doc);
    }
}

fn cluster(world: &mut World, one: &Cluster) {
    let (id, center) = (id(world, one.id.as_ref()), of(world, Kind::DataCenter, &one.data_center));
    let Value::Object(mut doc) =
        serde_json::from_str(include_str!("../../files/engine/cluster.json")).unwrap_or_default()
    else {
        return;
    };
    doc.insert("cpu".to_owned(), json!({"architecture": "x86_64", "type": one.cpu}));
    let (major, minor) = one.version;
    doc.insert("version".to_owned(), json!({"major": major.to_string(), "minor": minor.to_string()}));
    doc.insert("data_center".to_owned(), json!({"id": center}));
    doc.insert("name".to_owned(), one.name.clone().into());
    world.add(Kind::Cluster, &id, "", Value::Object(doc));
    let profile =
        if one.name == "Default" { "58ca604e-01a7-003f-01de-000000000250".to_owned() } else { world.draw() };
    world.add(Kind::CpuProfile, &profile, "", json!({"name": one.name, "cluster": {"id": id}}));
}

fn host(world: &mut World, one: &Host) {
    let (id, cluster) = (id(world, one.id.as_ref()), of(world, Kind::Cluster, &one.cluster));
    let doc = json!({"address": format!("{}.example.com", one.name), "auto_numa_status": "unknown",
        "cpu": {"name": "Intel Xeon", "speed": 0, "topology": {"cores": one.cores.to_string(), "sockets": "1", "threads": "1"},
                "type": "Intel Nehalem Family"},
        "external_status": "ok", "kdump_status": "disabled", "max_scheduling_memory": one.memory.to_string(),
        "memory": one.memory.to_string(), "port": "54321", "protocol": "stomp", "spm": {"priority": "5", "status": "none"},
        "status": one.status, "summary": {"active": "0", "migrating": "0", "total": "0"}, "type": "rhel",
        "update_available": "false", "cluster": {"id": cluster}, "name": one.name, "comment": ""});
    world.add(Kind::Host, &id, "", doc);
}

fn storage_domain(world: &mut World, one: &StorageDomain) {
    let (id, center) = (id(world, one.id.as_ref()), of(world, Kind::DataCenter, &one.data_center));
    let is_first = world.all(Kind::StorageDomain).is_empty();
    let mut doc = json!({"available": one.available.to_string(), "backup": "false", "block_size": "512", "committed": "0",
        "critical_space_action_blocker": "5", "discard_after_delete": "false", "external_status": "ok",
        "master": is_first.to_string(), "storage": {"address": "localhost", "path": format!("/exports/{}", one.name), "type": "nfs"},
        "storage_format": "v5", "supports_discard": "false", "supports_discard_zeroes_data": "false", "type": one.kind,
        "warning_low_space_indicator": "10", "wipe_after_delete": "false",
        "data_centers": {"data_center": [{"id": center}]}, "name": one.name, "description": "", "comment": "",
        STATUS_THERE: one.status});
    if one.used > 0 {
        doc["used"] = one.used.to_string().into();
    }
    world.add(Kind::StorageDomain, &id, "", doc);
    let profile = world.draw();
    world.add(Kind::DiskProfile, &profile, "", json!({"name": one.name, "storage_domain": {"id": id}}));
}

/// The status of a storage domain in its data center: it is not shown elsewhere.
pub(super) const STATUS_THERE: &str = " status";

fn network(world: &mut World, one: &Network) {
    let (id, center) = (id(world, one.id.as_ref()), of(world, Kind::DataCenter, &one.data_center));
    let doc = json!({"mtu": "0", "port_isolation": "false", "stp": "false", "usages": {"usage": one.usages},
        "vdsm_name": one.name, "data_center": {"id": center}, "name": one.name, "description": one.description, "comment": ""});
    world.add(Kind::Network, &id, "", doc);
}

fn vnic_profile(world: &mut World, one: &VnicProfile) {
    let (id, network) = (id(world, one.id.as_ref()), of(world, Kind::Network, &one.network));
    let doc = json!({"pass_through": {"mode": "disabled"}, "port_mirroring": "false", "network": {"id": network},
        "network_filter": {"id": "d2370ab4-fee3-11e9-a310-8c1645ce738e"}, "name": one.name});
    world.add(Kind::VnicProfile, &id, "", doc);
}

fn fixtures(world: &mut World) {
    let cluster = world.all(Kind::Cluster).first().map(|cluster| cluster.id.clone()).unwrap_or_default();
    let mut blank = machine_defaults("other", &cluster);
    for (field, value) in template_fields(BLANK, "Blank", "Blank template") {
        blank.insert(field.to_owned(), value);
    }
    blank.shift_remove("cluster");
    world.add(Kind::Template, BLANK, "", Value::Object(blank));
    for (name, memory, cores, sockets) in [
        ("Tiny", 512, 1, 1),
        ("Small", 2048, 1, 1),
        ("Medium", 4096, 1, 2),
        ("Large", 8192, 1, 2),
        ("XLarge", 16384, 1, 4),
    ] {
        let id = world.draw();
        let bytes = memory * 1024 * 1024_u64;
        let doc = json!({"name": name, "description": format!("{name} instance type"), "memory": bytes.to_string(),
            "cpu": {"topology": {"cores": cores.to_string(), "sockets": sockets.to_string(), "threads": "1"}},
            "memory_policy": {"ballooning": "true", "guaranteed": bytes.to_string(), "max": (bytes * 4).to_string()},
            "high_availability": {"enabled": "false", "priority": "0"}});
        world.add(Kind::InstanceType, &id, "", doc);
    }
    for (number, (name, description)) in [
        ("other", "Other OS"),
        ("rhcos_x64", "Red Hat Enterprise Linux CoreOS"),
        ("rhel_8x64", "Red Hat Enterprise Linux 8.x x64"),
        ("rhel_9x64", "Red Hat Enterprise Linux 9.x x64"),
        ("other_linux", "Linux"),
    ]
    .into_iter()
    .enumerate()
    {
        let doc = json!({"name": name, "description": description, "architecture": "x86_64"});
        world.add(Kind::OperatingSystem, &format!("00000000-0000-0000-0000-{number:012}"), "", doc);
    }
    for (name, is_admin, _) in super::access::ROLES {
        let id = world.draw();
        world.add(
            Kind::Role,
            &id,
            "",
            json!({"name": name, "administrative": is_admin.to_string(), "mutable": "false"}),
        );
    }
    let users: Vec<(String, String)> =
        world.access.names().map(|(name, id)| (name.to_owned(), id.to_owned())).collect();
    for (name, id) in users {
        add_user(world, &name, &id);
    }
}

pub(super) fn add_user(world: &mut World, name: &str, id: &str) {
    let short = name.split('@').next().unwrap_or(name);
    let doc = json!({"name": short, "user_name": format!("{name}-authz"), "principal": short, "namespace": "*",
        "domain_entry_id": id, "department": "", "email": ""});
    world.add(Kind::User, id, "", doc);
}

fn template(world: &mut World, one: &Template) {
    let id = id(world, one.id.as_ref());
    let cluster = of(world, Kind::Cluster, &one.cluster);
    let mut doc = machine_defaults(&one.os, &cluster);
    for (field, value) in template_fields(&id, &one.name, "") {
        doc.insert(field.to_owned(), value);
    }
    let now = world.now();
    doc.insert("creation_time".to_owned(), now.into());
    world.add(Kind::Template, &id, "", Value::Object(doc));
    if let Some(size) = one.disk {
        let (disk, domain) = (world.draw(), of(world, Kind::StorageDomain, &one.storage_domain));
        world.new_disk(&disk, &format!("{}_Disk1", one.name), size, "cow", true, &domain);
        if let Some(disk) = world.change(Kind::Disk, &disk) {
            disk.set("status", "ok");
        }
        world.attach(&id, &disk, &json!({"bootable": "true", "interface": "virtio_scsi"}));
    }
}

fn vm(world: &mut World, one: &Vm) {
    let id = id(world, one.id.as_ref());
    let template = of(world, Kind::Template, &one.template);
    let cluster = of(world, Kind::Cluster, &one.cluster);
    let mut doc = machine_defaults("other_linux", &cluster);
    let now = world.now();
    for (field, value) in [
        ("name", json!(one.name)),
        ("status", json!(one.status)),
        ("template", json!({"id": template})),
        ("original_template", json!({"id": template})),
        ("next_run_configuration_exists", json!("false")),
        ("creation_time", json!(now)),
        ("stop_time", json!(now)),
    ] {
        doc.insert(field.to_owned(), value);
    }
    if one.status == "up"
        && let Some(host) = world.all(Kind::Host).iter().find(|host| host.reference("cluster") == cluster)
    {
        doc.insert("host".to_owned(), json!({"id": host.id}));
    }
    world.add(Kind::Vm, &id, "", Value::Object(doc));
}

/// What a machine has when nothing else was said.
pub(super) fn machine_defaults(os: &str, cluster: &str) -> Map<String, Value> {
    let defaults = serde_json::from_str(include_str!("../../files/engine/machine.json"));
    let Ok(Value::Object(mut doc)) = defaults else { return Map::new() };
    doc.insert("os".to_owned(), json!({"boot": {"devices": {"device": ["hd"]}}, "type": os}));
    doc.insert("cluster".to_owned(), json!({"id": cluster}));
    doc
}

pub(super) fn template_fields(id: &str, name: &str, description: &str) -> [(&'static str, Value); 4] {
    let version = json!({"version_name": "base version", "version_number": "1", "base_template": {"id": id}});
    [
        ("name", name.into()),
        ("description", description.into()),
        ("status", "ok".into()),
        ("version", version),
    ]
}
