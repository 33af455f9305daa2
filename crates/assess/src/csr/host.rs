//! Requests of a host that has no machine: bare metal. Only its administrator knows what it is called and where it is,
//! so the names and addresses they confirmed take the place of what a machine says. All other rules are the same.

use std::collections::BTreeSet;
use std::net::IpAddr;

use kube::Client;
use slipway_assets::names::Role;
use slipway_providers::cluster::AccessError;

use super::approve::{Judged, see};
use super::cluster::{Bootstrapper, Machine};
use super::judge::NODE;
use super::request::Csr;
use super::roster::Roster;

/// A host, as its administrator confirmed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// The name of the node.
    pub name: String,
    /// Further names of its server.
    pub names: BTreeSet<String>,
    pub addresses: BTreeSet<IpAddr>,
}

/// What is known about a host.
#[derive(Debug)]
pub struct HostRequests {
    /// Its pending requests, the oldest first.
    pub requests: Vec<Judged>,
    /// Whether it is a node already.
    pub is_node: bool,
}

impl Host {
    /// The machine it would be. It has become the node as soon as the node asks for itself.
    fn machine(&self, csr: &Csr) -> Machine {
        let by_itself = csr.username == format!("{NODE}{}", self.name);
        Machine {
            name: format!("{}, confirmed by its administrator", self.name),
            // The administrator looks at the request itself; there is no time to compare it with.
            made: None,
            role: Some(Role::Worker),
            internal_names: [self.name.clone()].into(),
            names: self.names.iter().cloned().chain([self.name.clone()]).collect(),
            addresses: self.addresses.iter().map(IpAddr::to_canonical).collect(),
            node: by_itself.then(|| self.name.clone()),
            ..Machine::default()
        }
    }

    /// The machine it counts as once it is a node. No first certificate can be had with it.
    pub(super) fn member(&self) -> Machine {
        Machine {
            name: format!("{}, confirmed by its administrator", self.name),
            names: self.names.iter().cloned().chain([self.name.clone()]).collect(),
            addresses: self.addresses.iter().map(IpAddr::to_canonical).collect(),
            node: Some(self.name.clone()),
            ..Machine::default()
        }
    }

    fn is_asked_for(&self, csr: &Csr) -> bool {
        csr.node() == Some(self.name.as_str())
    }
}

/// Reads everything once, and judges the pending requests of one host.
pub async fn survey(
    client: &Client,
    bootstrappers: &[Bootstrapper],
    vips: &[IpAddr],
    host: &Host,
) -> Result<HostRequests, AccessError> {
    let seen = see(client, &Roster::default()).await?;
    let is_node = seen.nodes.contains(&host.name);
    let of_host = seen.pending.iter().filter(|(_, csr)| host.is_asked_for(csr));
    let requests = of_host
        .map(|(object, csr)| {
            let cluster = seen.cluster(bootstrappers.to_vec(), vips, Some(host.machine(csr)));
            Judged::new(object.clone(), csr.clone(), &cluster)
        })
        .collect();
    Ok(HostRequests { requests, is_node })
}
