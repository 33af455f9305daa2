//! This machine's interface, addresses and DNS servers, from what the kernel says in `/proc`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use super::OnpremError;
use crate::runtime::host::Files;

/// Addresses for documentation (RFC 5737, RFC 3849): nobody is there, and nothing is sent to them either. Asking for the way
/// to them shows the address that the machine uses for others.
const SOMEWHERE: [IpAddr; 2] =
    [IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1))];

/// Where this machine is in the network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalNetwork {
    pub interface: String,
    /// The one it is reached by first.
    pub addresses: Vec<IpAddr>,
    /// The network's own DNS servers.
    pub upstreams: Vec<IpAddr>,
}

impl LocalNetwork {
    /// Looks around. Virtual addresses are nobody's own; `known` addresses, from the cluster, are taken where there are any.
    pub fn look(files: &Files, vips: &[IpAddr], known: &[IpAddr]) -> Result<Self, OnpremError> {
        let own = |address: &IpAddr| !vips.contains(address) && !address.is_loopback();
        let mut addresses: Vec<IpAddr> = known.iter().copied().filter(own).collect();
        if addresses.is_empty() {
            addresses = vips_first(vips).filter_map(used_towards).filter(own).collect();
        }
        let first = *addresses.first().ok_or(OnpremError::NoAddress)?;
        let routes = files.read_if_there("/proc/net/route")?.unwrap_or_default();
        let inet6 = files.read_if_there("/proc/net/if_inet6")?.unwrap_or_default();
        let interface = match first {
            IpAddr::V4(address) => interface_v4(&routes, address),
            IpAddr::V6(address) => interface_v6(&inet6, address),
        };
        let interface = interface.ok_or(OnpremError::NoInterface(first))?;
        Ok(LocalNetwork { interface, addresses, upstreams: upstreams(files)? })
    }
}

/// One target for each family of the virtual addresses, in their order.
fn vips_first(vips: &[IpAddr]) -> impl Iterator<Item = IpAddr> + '_ {
    let families = vips.iter().map(IpAddr::is_ipv4);
    families.filter_map(|v4| SOMEWHERE.into_iter().find(|target| target.is_ipv4() == v4))
}

/// The address this machine would send from.
pub(crate) fn used_towards(target: IpAddr) -> Option<IpAddr> {
    let any: SocketAddr =
        if target.is_ipv4() { (Ipv4Addr::UNSPECIFIED, 0).into() } else { (Ipv6Addr::UNSPECIFIED, 0).into() };
    let socket = UdpSocket::bind(any).ok()?;
    // Nothing is sent: the kernel only looks for a route.
    socket.connect((target, 9)).ok()?;
    Some(socket.local_addr().ok()?.ip()).filter(|address| !address.is_unspecified())
}

/// Whether an address is one of this machine at the moment.
pub(crate) fn is_here(address: IpAddr) -> bool {
    UdpSocket::bind((address, 0)).is_ok()
}

/// The interface with the narrowest route to an address that is not a gateway's: its own network.
fn interface_v4(routes: &str, address: Ipv4Addr) -> Option<String> {
    let route = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        // The kernel writes the bytes as they lie in memory.
        let number = |index: usize| u32::from_str_radix(fields.get(index)?, 16).ok().map(u32::swap_bytes);
        let (network, mask) = (number(1)?, number(7)?);
        let inside = u32::from(address) & mask == network && mask != 0;
        inside.then(|| (mask.count_ones(), (*fields.first().unwrap_or(&"")).to_owned()))
    };
    let swapped = |line: &str| if cfg!(target_endian = "little") { route(line) } else { None };
    routes.lines().skip(1).filter_map(swapped).max_by_key(|(length, _)| *length).map(|(_, name)| name)
}

fn interface_v6(table: &str, address: Ipv6Addr) -> Option<String> {
    let digits: String = address.octets().iter().map(|byte| format!("{byte:02x}")).collect();
    let line = table.lines().find(|line| line.starts_with(&digits))?;
    line.split_whitespace().last().map(ToOwned::to_owned)
}

/// The name servers of the network, as pods are told them; see `slipway-resolv.sh`.
fn upstreams(files: &Files) -> std::io::Result<Vec<IpAddr>> {
    for path in [
        "/run/systemd/resolve/resolv.conf",
        "/run/NetworkManager/resolv.conf",
        "/run/slipway/resolv.conf",
        "/etc/resolv.conf",
    ] {
        let Some(text) = files.read_if_there(path)? else { continue };
        let servers: Vec<IpAddr> = text
            .lines()
            .filter_map(|line| line.trim().strip_prefix("nameserver")?.trim().parse::<IpAddr>().ok())
            .filter(|server| !server.is_loopback())
            .collect();
        if !servers.is_empty() {
            return Ok(servers);
        }
    }
    Ok(Vec::new())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::{Files, LocalNetwork, interface_v4, interface_v6};

    const ROUTES: &str = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n\
        eth0\t00000000\t0164580A\t0003\t0\t0\t0\t00000000\t0\t0\t0\n\
        eth0\t0064580A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n\
        eth1\t0000580A\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0\n";

    #[rstest]
    #[case::narrowest("10.88.100.11", Some("eth0"))]
    #[case::wider("10.88.7.1", Some("eth1"))]
    #[case::only_by_a_gateway("192.168.0.1", None)]
    fn interfaces(#[case] address: &str, #[case] expected: Option<&str>) {
        assert_eq!(interface_v4(ROUTES, address.parse().unwrap()).as_deref(), expected);
    }

    #[test]
    fn interfaces_of_the_other_family() {
        let table = "fd000030000000000000000000000011 02 40 00 80     ens192\n\
            00000000000000000000000000000001 01 80 10 80       lo\n";
        assert_eq!(interface_v6(table, "fd00:30::11".parse().unwrap()).as_deref(), Some("ens192"));
        assert_eq!(interface_v6(table, "fd00:30::12".parse().unwrap()), None);
    }

    #[test]
    fn a_machine_knows_where_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let files = Files::below(folder.path());
        files.write("/proc/net/route", 0o644, ROUTES).unwrap();
        files
            .write("/etc/resolv.conf", 0o644, "search a\nnameserver 127.0.0.53\nnameserver 10.88.100.1\n")
            .unwrap();
        let (vip, own) = ("10.88.100.10".parse().unwrap(), "10.88.100.11".parse().unwrap());
        let here = LocalNetwork::look(&files, &[vip], &[vip, own]).unwrap();
        let upstreams = vec!["10.88.100.1".parse().unwrap()];
        assert_eq!(here, LocalNetwork { interface: "eth0".to_owned(), addresses: vec![own], upstreams });
    }
}
