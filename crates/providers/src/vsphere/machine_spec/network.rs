//! Network cards: which network, and which addresses where DHCP gives none.

use std::net::IpAddr;

use ipnet::IpNet;

/// A network card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    /// Name or path.
    pub network: String,
    pub addresses: Vec<IpNet>,
    pub gateway: Option<IpAddr>,
    pub nameservers: Vec<IpAddr>,
    /// Pools it gets further addresses from, in order.
    pub pools: Vec<PoolReference>,
}

/// A pool of addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolReference {
    pub group: String,
    pub kind: String,
    pub name: String,
}

/// An address that a pool gave to a card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claimed {
    /// The card, by its position.
    pub device: usize,
    pub address: IpNet,
    pub gateway: Option<IpAddr>,
}

impl Device {
    /// Networks that are given by name are looked for among those that the hosts of the cluster reach.
    pub(super) fn path(&self, compute_cluster: &str) -> String {
        if self.network.starts_with('/') {
            return self.network.clone();
        }
        format!("{compute_cluster}/{}", self.network.replace('/', "%2f"))
    }
}

/// The kernel arguments that configure the cards before Ignition runs, in dracut's words. `None`: DHCP does it.
pub(super) fn kargs(devices: &[Device], claimed: &[Claimed]) -> Option<String> {
    let mut arguments = Vec::new();
    for (index, device) in devices.iter().enumerate() {
        let own = device.addresses.iter().map(|address| (*address, device.gateway));
        let given = claimed.iter().filter(|claimed| claimed.device == index);
        let given = given.map(|claimed| (claimed.address, claimed.gateway.or(device.gateway)));
        arguments.extend(own.chain(given).map(|(address, gateway)| argument(address, gateway)));
    }
    if arguments.is_empty() {
        return None;
    }
    let nameservers = devices.iter().flat_map(|device| &device.nameservers);
    arguments.extend(nameservers.map(|server| format!("nameserver={}", bracketed(*server))));
    Some(arguments.join(" "))
}

fn argument(address: IpNet, gateway: Option<IpAddr>) -> String {
    let gateway = gateway.filter(|gateway| gateway.is_ipv4() == address.addr().is_ipv4());
    // The kernel wants a dotted mask for IPv4 and a length for IPv6.
    let mask = match address {
        IpNet::V4(net) => net.netmask().to_string(),
        IpNet::V6(net) => net.prefix_len().to_string(),
    };
    format!("ip={}::{}:{mask}:::none", bracketed(address.addr()), gateway.map(bracketed).unwrap_or_default())
}

fn bracketed(address: IpAddr) -> String {
    match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("[{address}]"),
    }
}
