//! Requests of a host that has no machine: bare metal. Nobody but its administrator knows what it is called and where it is,
//! so the names and addresses they confirmed take the place of what a machine says. All other rules are the same.

use std::collections::BTreeSet;
use std::net::IpAddr;

use jiff::Timestamp;
use kube::Client;
use slipway_lifecycle::access::AccessError;

use super::approve::{Judged, see};
use super::cluster::{Bootstrapper, Cluster, Machine};
use super::judge::judge;
use super::request::Csr;
use super::roster::Roster;

const NODE: &str = "system:node:";

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
pub struct Sight {
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
            // The administrator looks at the request itself; there is no other time to compare it with.
            created: csr.created,
            internal_names: [self.name.clone()].into(),
            names: self.names.iter().cloned().chain([self.name.clone()]).collect(),
            addresses: self.addresses.iter().map(IpAddr::to_canonical).collect(),
            node: by_itself.then(|| self.name.clone()),
            leaving: false,
            held: None,
        }
    }

    /// The machine it counts as once it is a node. No first certificate can be had with it.
    pub(super) fn member(&self) -> Machine {
        Machine {
            name: format!("{}, confirmed by its administrator", self.name),
            created: Timestamp::UNIX_EPOCH,
            internal_names: BTreeSet::new(),
            names: self.names.iter().cloned().chain([self.name.clone()]).collect(),
            addresses: self.addresses.iter().map(IpAddr::to_canonical).collect(),
            node: Some(self.name.clone()),
            leaving: false,
            held: None,
        }
    }

    fn is_asked_for(&self, csr: &Csr) -> bool {
        let name = csr.content.as_ref().map(|content| content.common_name.as_str());
        name.is_ok_and(|name| name.strip_prefix(NODE) == Some(&self.name))
    }
}

/// Reads everything once, and judges the pending requests of one host.
pub async fn survey(
    client: &Client,
    bootstrapper: &Bootstrapper,
    vips: &[IpAddr],
    host: &Host,
) -> Result<Sight, AccessError> {
    let seen = see(client, &Roster::default()).await?;
    let is_node = seen.nodes.contains(&host.name);
    let of_host = seen.pending.iter().filter(|(_, csr)| host.is_asked_for(csr));
    let requests = of_host
        .map(|(object, csr)| {
            let cluster: Cluster = seen.cluster(bootstrapper.clone(), vips, Some(host.machine(csr)));
            Judged { object: object.clone(), csr: csr.clone(), verdict: judge(csr, &cluster) }
        })
        .collect();
    Ok(Sight { requests, is_node })
}
