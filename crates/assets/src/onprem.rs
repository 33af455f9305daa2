//! On-prem networking: the machines of a cluster hold its virtual addresses, balance its API and answer for its
//! names themselves. One mechanism for vSphere, oVirt and KubeVirt.
//!
//! | module | what it holds |
//! |---|---|
//! | `router_id` | the number a virtual address is known by in VRRP |
//! | `keepalived` | who holds the virtual addresses |
//! | `haproxy` | the balancer of the API, and how traffic gets into it |
//! | `corefile` | names |
//! | `pods` | the static pods that run the three |
//!
//! Machines come and go, so configurations are made on the machines from [`Settings`]. What does not change is in
//! [`NetworkFacts`], which every machine has in a file. Everything here is a pure function of them.

mod corefile;
mod haproxy;
mod keepalived;
mod pods;
mod router_id;

use std::net::IpAddr;

use serde::{Deserialize, Serialize};
use slipway_config::install_config::{InstallConfig, LoadBalancer, PayloadType};
use slipway_config::names::DomainName;
use slipway_config::net::Family;
use thiserror::Error;

use crate::names;

pub use corefile::corefile;
pub use haproxy::{haproxy_cfg, redirect_rules};
pub use keepalived::keepalived_conf;
pub use pods::{CONFIG_FOLDER, static_pods};
pub use router_id::router_ids;

/// Port of the API servers.
pub const API_PORT: u16 = 6443;
/// Port of the balancer in front of them, as OpenShift has it.
pub const BALANCER_PORT: u16 = 9445;
/// Where the balancer says that it runs, on the machine itself.
pub const BALANCER_HEALTH_PORT: u16 = 9444;
/// Where the DNS server says that it runs, on the machine itself.
pub const DNS_HEALTH_PORT: u16 = 18080;

/// What the machines need to know of the cluster, and what never changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NetworkFacts {
    /// The cluster's name and base domain.
    pub domain: String,
    /// One per family.
    pub api_vips: Vec<IpAddr>,
    /// One per family.
    pub ingress_vips: Vec<IpAddr>,
    /// A URL on the machine itself that answers where ingress is served.
    pub ingress_probe: String,
}

impl NetworkFacts {
    /// `None` when nothing of it is wanted: there are no virtual addresses, or a load balancer of the user's has them.
    pub fn of(config: &InstallConfig) -> Option<Self> {
        let vips = names::vips(config);
        if vips.is_empty() || names::load_balancer(config) == LoadBalancer::UserManaged {
            return None;
        }
        let ingress_probe = match config.payload.kind() {
            // The router's own word.
            PayloadType::OpenShift => "http://localhost:1936/healthz/ready",
            // Any ingress controller answers something here.
            PayloadType::Kubernetes => "http://localhost:80/",
        };
        Some(NetworkFacts {
            domain: config.cluster_domain(),
            api_vips: vips.api,
            ingress_vips: vips.ingress,
            ingress_probe: ingress_probe.to_owned(),
        })
    }
}

/// The part a machine plays for the virtual addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Holds the API's address until the control plane can.
    Bootstrap,
    ControlPlane,
    Compute,
}

impl Part {
    fn serves_api(self) -> bool {
        matches!(self, Part::Bootstrap | Part::ControlPlane)
    }

    fn serves_ingress(self) -> bool {
        matches!(self, Part::ControlPlane | Part::Compute)
    }
}

/// Why a configuration cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Invalid {
    #[error("machine `{name}`: {reason}")]
    MachineName { name: String, reason: String },
    #[error("`{0}` is not the name of a network interface")]
    Interface(String),
}

/// A machine of the cluster. Its name can be put into any of the files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    name: DomainName,
    part: Part,
    addresses: Vec<IpAddr>,
}

impl Machine {
    /// Names and addresses come from Node objects, which machines write about themselves: a name that is none is
    /// refused, and virtual addresses must have been taken out (see [`Settings::new`]).
    pub fn new(name: &str, part: Part, addresses: Vec<IpAddr>) -> Result<Self, Invalid> {
        let invalid = |reason: String| Invalid::MachineName { name: name.to_owned(), reason };
        let name =
            name.parse().map_err(|error: slipway_config::names::InvalidName| invalid(error.to_string()))?;
        Ok(Machine { name, part, addresses })
    }

    /// The first address of a family.
    fn address(&self, family: Family) -> Option<IpAddr> {
        self.addresses.iter().copied().find(|address| Family::of(*address) == family)
    }
}

/// Everything the configurations of one machine are made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    facts: NetworkFacts,
    this: Machine,
    /// The others, by name.
    others: Vec<Machine>,
    interface: String,
    upstreams: Vec<IpAddr>,
}

/// Longest name of an interface in Linux (`IFNAMSIZ` less the end).
const MAX_INTERFACE_NAME: usize = 15;

impl Settings {
    /// `machines` are all machines of the cluster, in any order and with or without `this`; the same machines give the
    /// same files. `interface` is the one with the machines' network, `upstreams` the network's own DNS servers.
    pub fn new(
        facts: NetworkFacts,
        this: Machine,
        machines: Vec<Machine>,
        interface: &str,
        upstreams: Vec<IpAddr>,
    ) -> Result<Self, Invalid> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-@".contains(&byte);
        if interface.is_empty() || interface.len() > MAX_INTERFACE_NAME || !interface.bytes().all(allowed) {
            return Err(Invalid::Interface(interface.to_owned()));
        }
        let is_vip =
            |address: &IpAddr| facts.api_vips.contains(address) || facts.ingress_vips.contains(address);
        // The machine that holds a virtual address often lists it among its own.
        let without_vips = |mut machine: Machine| {
            machine.addresses.retain(|address| !is_vip(address));
            machine
        };
        let this = without_vips(this);
        let mut others: Vec<Machine> =
            machines.into_iter().filter(|machine| machine.name != this.name).map(without_vips).collect();
        others.sort_by(|one, other| one.name.cmp(&other.name));
        others.dedup_by(|one, other| one.name == other.name);
        // Asking oneself never ends.
        let own = |upstream: &IpAddr| upstream.is_loopback() || this.addresses.contains(upstream);
        let upstreams = upstreams.into_iter().filter(|upstream| !own(upstream)).collect();
        Ok(Settings { facts, this, others, interface: interface.to_owned(), upstreams })
    }

    /// All machines, by name.
    fn machines(&self) -> Vec<&Machine> {
        let mut all: Vec<&Machine> = self.others.iter().chain([&self.this]).collect();
        all.sort_by(|one, other| one.name.cmp(&other.name));
        all
    }

    /// The families the cluster has, the first one first.
    fn families(&self) -> Vec<Family> {
        self.facts.api_vips.iter().map(|vip| Family::of(*vip)).collect()
    }
}

/// The first line of every file.
const HEADER: &str = "# Made by Slipway from the machines of the cluster; changes are lost.\n";

/// An address in front of a port.
fn bracketed(address: IpAddr) -> String {
    match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("[{address}]"),
    }
}
