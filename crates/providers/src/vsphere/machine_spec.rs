//! What a Machine says about itself on vSphere, as resources of the engine. Pure: the installer and the Machine
//! controller both start from it.
//!
//! A Machine is two resources of its own, the virtual machine and its power. What it shares with others (tag, folder,
//! template) is its [`Site`], which another run settles.

mod network;
pub mod privileges;
mod read;

use std::collections::BTreeMap;
use std::time::Duration;

use slipway_config::ids::InfraId;
use slipway_engine::{Endpoint, Goal, Id, Resource};
use uuid::Uuid;

pub use self::network::{Claimed, Device, PoolReference};
pub use self::read::{Defaults, InvalidSpec, Problem};
use super::kinds::{Desired, Folder, Ignition, Kind, Machine, Power, Shape, Source, Tag, Template};
use super::machines::DiskSpec;

/// Where the guest finds its name, and what afterburn makes of its addresses.
const HOSTNAME: &str = "guestinfo.hostname";
const NETWORK_KARGS: &str = "guestinfo.afterburn.initrd.network-kargs";

/// Of what could start, shared things go first.
const FIRST: u8 = 1;
const LATER: u8 = 2;

/// A providerSpec that can be worked with: all paths are whole, and nothing is left to guess.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineSpec {
    /// The vCenter, as the Machine names it.
    pub server: String,
    /// `/dc`.
    pub datacenter: String,
    pub datastore: String,
    pub folder: String,
    pub pool: String,
    /// Name, path or instance UUID.
    pub template: String,
    /// The machine group of a zone whose hosts are a group.
    pub vm_group: Option<String>,
    pub devices: Vec<Device>,
    pub cpus: u32,
    pub cores_per_socket: Option<u32>,
    pub memory_mib: u64,
    /// Zero: that of the template.
    pub disk_gib: u64,
    pub data_disks: Vec<DiskSpec>,
    pub tags: Vec<String>,
    pub linked: bool,
    pub snapshot: Option<String>,
    /// The Secret with what the machine boots from, and that with the login, in the Machine's namespace.
    pub user_data_secret: String,
    pub credentials_secret: String,
}

/// Which machine it is.
#[derive(Debug, Clone)]
pub struct Identity<'a> {
    pub endpoint: &'a Endpoint,
    pub name: &'a str,
    /// Its object mark, which becomes the instance UUID.
    pub uuid: Uuid,
    pub infra_id: &'a InfraId,
}

/// What machines of a failure domain share: the cluster's tag, their folder, and what they are cloned from.
#[derive(Debug, Clone)]
pub struct Site {
    /// The same for all machines that share it.
    pub key: String,
    pub resources: Vec<Resource<Desired>>,
}

/// How a machine is brought to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shutdown {
    /// The guest is asked first, and has this long.
    Guest(Duration),
    /// The plug is pulled.
    Hard,
}

impl MachineSpec {
    /// `/dc/host/cluster` of `/dc/host/cluster/Resources/pool`.
    pub fn compute_cluster(&self) -> &str {
        self.pool.split_once("/Resources").map_or(&self.pool, |(cluster, _)| cluster)
    }

    fn path(&self, name: &str) -> String {
        format!("{}/{name}", self.folder)
    }

    fn template_path(&self) -> String {
        if self.template.starts_with('/') {
            return self.template.clone();
        }
        format!("{}/vm/{}", self.datacenter, self.template)
    }

    fn template_id(&self, endpoint: &Endpoint) -> Id {
        Kind::template_id(endpoint, self.datacenter.trim_start_matches('/'), &self.template)
    }

    /// What has to be there before a machine can be made.
    pub fn site(&self, endpoint: &Endpoint, infra_id: &InfraId) -> Site {
        let mut resources = vec![Tag::of_cluster(endpoint, infra_id, Goal::Present)];
        resources.extend(folders(endpoint, &self.folder, infra_id));
        let source = Source::Existing { datacenter: self.datacenter.clone() };
        resources.push(Resource {
            id: self.template_id(endpoint),
            goal: Goal::Present,
            desired: Desired::Template(Template { name: self.template.clone(), source }),
            depends_on: Vec::new(),
            rank: FIRST,
            hold: None,
        });
        let key = format!("{infra_id} {} {} {}", self.folder, self.datacenter, self.template);
        Site { key, resources }
    }

    /// The machine and its power, as they should be.
    pub fn present(
        &self,
        identity: &Identity<'_>,
        ignition: Option<Ignition>,
        claimed: &[Claimed],
    ) -> [Resource<Desired>; 2] {
        let Identity { endpoint, name, infra_id, .. } = identity;
        let mut vmx: BTreeMap<String, String> = [(HOSTNAME, *name), ("stealclock.enable", "TRUE")]
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into();
        if let Some(kargs) = network::kargs(&self.devices, claimed) {
            vmx.insert(NETWORK_KARGS.to_owned(), kargs);
        }
        let shape = Shape {
            template: self.template_path(),
            pool: self.pool.clone(),
            datastore: self.datastore.clone(),
            networks: self.devices.iter().map(|device| device.path(self.compute_cluster())).collect(),
            cpus: self.cpus,
            cores_per_socket: self.cores_per_socket,
            memory_mib: self.memory_mib,
            disk_gib: self.disk_gib,
            data_disks: self.data_disks.clone(),
            linked: self.linked,
            snapshot: self.snapshot.clone(),
            vmx,
            ignition,
            tags: self.tags.clone(),
        };
        let needs = vec![
            Kind::Tag.id(endpoint, infra_id.as_str()),
            Kind::Folder.id(endpoint, &self.folder),
            self.template_id(endpoint),
        ];
        let machine = Resource { depends_on: needs, ..self.machine(identity, Goal::Present, Some(shape)) };
        [machine, self.power(identity, Goal::Present, Shutdown::Hard)]
    }

    /// A machine that is there already and is taken as it is. It is never made.
    pub fn adopted(&self, identity: &Identity<'_>) -> Resource<Desired> {
        let tag = Kind::Tag.id(identity.endpoint, identity.infra_id.as_str());
        Resource { depends_on: vec![tag], ..self.machine(identity, Goal::Present, None) }
    }

    /// The machine and its power, to go.
    pub fn absent(&self, identity: &Identity<'_>, shutdown: Shutdown) -> [Resource<Desired>; 2] {
        [self.machine(identity, Goal::Absent, None), self.power(identity, Goal::Absent, shutdown)]
    }

    fn machine(&self, identity: &Identity<'_>, goal: Goal, shape: Option<Shape>) -> Resource<Desired> {
        let Identity { endpoint, name, uuid, infra_id } = identity;
        let machine = Machine {
            name: (*name).to_owned(),
            uuid: *uuid,
            infra_id: infra_id.to_string(),
            folder: self.folder.clone(),
            compute_cluster: self.compute_cluster().to_owned(),
            zone: self.vm_group.clone().filter(|_| shape.is_some()),
            shape,
        };
        Resource {
            id: Kind::Machine.id(endpoint, name),
            goal,
            desired: Desired::Machine(Box::new(machine)),
            depends_on: Vec::new(),
            rank: LATER,
            hold: None,
        }
    }

    fn power(&self, identity: &Identity<'_>, goal: Goal, shutdown: Shutdown) -> Resource<Desired> {
        let Identity { endpoint, name, uuid, .. } = identity;
        let shutdown = match shutdown {
            Shutdown::Guest(limit) => Some(limit),
            Shutdown::Hard => None,
        };
        let power = Power {
            machine: (*name).to_owned(),
            uuid: *uuid,
            path: self.path(name),
            // The change feed tells of addresses: a run does not wait for them.
            addressed: false,
            shutdown,
        };
        Resource {
            id: Kind::Power.id(endpoint, name),
            goal,
            desired: Desired::Power(power),
            depends_on: vec![Kind::Machine.id(endpoint, name)],
            rank: LATER,
            hold: None,
        }
    }
}

/// A folder and those it is in, below the datacenter's own. Where it is that folder itself, there is only that.
fn folders(endpoint: &Endpoint, path: &str, infra_id: &InfraId) -> Vec<Resource<Desired>> {
    let (datacenter, rest) = path.split_once("/vm/").unwrap_or((path, ""));
    let tag = Kind::Tag.id(endpoint, infra_id.as_str());
    let resource = |path: String, parent: Option<Id>, named_after_cluster: bool| Resource {
        id: Kind::Folder.id(endpoint, &path),
        goal: Goal::Present,
        desired: Desired::Folder(Folder { path, named_after_cluster }),
        depends_on: [tag.clone()].into_iter().chain(parent).collect(),
        rank: FIRST,
        hold: None,
    };
    let names: Vec<&str> = rest.split('/').filter(|name| !name.is_empty()).collect();
    if names.is_empty() {
        return vec![resource(path.to_owned(), None, false)];
    }
    let (mut at, mut parent) = (format!("{datacenter}/vm"), None);
    let mut level = |name: &&str| {
        at = format!("{at}/{name}");
        let folder = resource(at.clone(), parent.take(), **name == *infra_id.as_str());
        parent = Some(folder.id.clone());
        folder
    };
    names.iter().map(&mut level).collect()
}

#[cfg(test)]
mod tests;
