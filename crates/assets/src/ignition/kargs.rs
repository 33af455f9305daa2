//! Static addresses as kernel arguments.

use std::net::IpAddr;

use ipnet::IpNet;
use slipway_config::install_config::vsphere::Host;
use slipway_config::net::Family;

/// Where a machine on vSphere finds [`network_kargs`].
pub const NETWORK_KARGS: &str = "guestinfo.afterburn.initrd.network-kargs";

/// The arguments that configure the network before Ignition runs, in dracut's words. Afterburn takes them
/// from the machine's `guestinfo.afterburn.initrd.network-kargs`. Without a host name that field stays empty.
pub fn network_kargs(host: &Host, hostname: &str) -> String {
    let addresses = host.addresses.iter().map(|address| {
        let family = Family::of(address.addr());
        let gateway = host.gateways.iter().find(|gateway| Family::of(**gateway) == family);
        let gateway = gateway.map(|&gateway| bracketed(gateway)).unwrap_or_default();
        // The kernel wants a dotted mask for IPv4 and a length for IPv6.
        let mask = match address {
            IpNet::V4(net) => net.netmask().to_string(),
            IpNet::V6(net) => net.prefix_len().to_string(),
        };
        format!("ip={}::{gateway}:{mask}:{hostname}::none", bracketed(address.addr()))
    });
    let nameservers = host.nameservers.iter().map(|&server| format!("nameserver={}", bracketed(server)));
    addresses.chain(nameservers).collect::<Vec<_>>().join(" ")
}

/// The static addresses that such arguments give a machine.
pub fn static_addresses(kargs: &str) -> Vec<IpAddr> {
    let address = |argument: &str| {
        let value = argument.strip_prefix("ip=")?;
        let address = match value.strip_prefix('[') {
            Some(rest) => rest.split(']').next(),
            None => value.split(':').next(),
        };
        address?.parse().ok()
    };
    kargs.split_whitespace().filter_map(address).collect()
}

fn bracketed(address: IpAddr) -> String {
    match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("[{address}]"),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use slipway_config::install_config::vsphere::{Host, HostRole};

    use super::{network_kargs, static_addresses};

    #[rstest]
    #[case::plain(
        "10.0.0.5/24",
        "10.0.0.1",
        "10.0.0.2 10.0.0.3",
        "",
        "ip=10.0.0.5::10.0.0.1:255.255.255.0:::none nameserver=10.0.0.2 nameserver=10.0.0.3"
    )]
    #[case::named("10.0.0.5/25", "10.0.0.1", "", "m-0", "ip=10.0.0.5::10.0.0.1:255.255.255.128:m-0::none")]
    #[case::no_gateway("10.0.0.5/32", "", "", "", "ip=10.0.0.5:::255.255.255.255:::none")]
    #[case::v6(
        "fd00::5/64",
        "fd00::1",
        "fd00::2",
        "",
        "ip=[fd00::5]::[fd00::1]:64:::none nameserver=[fd00::2]"
    )]
    #[case::dual(
        "10.0.0.5/24 fd00::5/64",
        "fd00::1 10.0.0.1",
        "10.0.0.2 fd00::2",
        "m-0",
        "ip=10.0.0.5::10.0.0.1:255.255.255.0:m-0::none ip=[fd00::5]::[fd00::1]:64:m-0::none nameserver=10.0.0.2 nameserver=[fd00::2]"
    )]
    #[case::dual_with_one_gateway(
        "10.0.0.5/24 fd00::5/64",
        "10.0.0.1",
        "",
        "",
        "ip=10.0.0.5::10.0.0.1:255.255.255.0:::none ip=[fd00::5]:::64:::none"
    )]
    #[case::two_of_a_family(
        "10.0.0.5/24 10.1.0.5/16",
        "10.0.0.1",
        "",
        "",
        "ip=10.0.0.5::10.0.0.1:255.255.255.0:::none ip=10.1.0.5::10.0.0.1:255.255.0.0:::none"
    )]
    fn follow_dracut(
        #[case] addresses: &str,
        #[case] gateways: &str,
        #[case] nameservers: &str,
        #[case] hostname: &str,
        #[case] expected: &str,
    ) {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let host = Host {
            role: HostRole::Compute,
            failure_domain: None,
            addresses: words(addresses).iter().map(|word| word.parse().unwrap()).collect(),
            gateways: words(gateways).iter().map(|word| word.parse().unwrap()).collect(),
            nameservers: words(nameservers).iter().map(|word| word.parse().unwrap()).collect(),
        };
        assert_eq!(network_kargs(&host, hostname), expected);
        let given: Vec<_> = host.addresses.iter().map(ipnet::IpNet::addr).collect();
        assert_eq!(static_addresses(expected), given);
    }
}
