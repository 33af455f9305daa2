//! Rules about `hosts`: machines with static addresses.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

use ipnet::IpNet;

use super::super::{Check, MachinePool, Networking, Pools, Vips};
use super::written::{HostRole, WrittenHost, WrittenNetworkDevice};
use crate::decode::{Entries, Field, Located, closest};
use crate::findings::Rule;
use crate::net::{Cidr, Family};
use crate::yaml::At;

/// A machine with static addresses.
#[derive(Debug, Clone)]
pub struct Host {
    pub role: HostRole,
    /// Position of its failure domain in the platform's list.
    pub failure_domain: Option<usize>,
    pub addresses: Vec<IpNet>,
    /// Default gateways, at most one per family.
    pub gateways: Vec<IpAddr>,
    pub nameservers: Vec<IpAddr>,
}

pub(super) fn resolve(
    written: &Field<Entries<WrittenHost>>,
    domains: &HashMap<&str, usize>,
    domains_partial: bool,
    pools: Option<&Pools<MachinePool>>,
    vips: Option<&Vips>,
    networking: Option<&Networking>,
    check: &mut Check<'_>,
) -> Option<Vec<Host>> {
    let Some(at) = written.at() else { return Some(Vec::new()) };
    if written.is_invalid() {
        return None;
    }
    if written.is_empty() {
        return Some(Vec::new());
    }
    counts(written, at, pools, check);
    let mut addresses: HashMap<IpAddr, At> = HashMap::new();
    let taken: HashSet<IpAddr> =
        vips.iter().flat_map(|vips| vips.api.iter().chain(&vips.ingress)).copied().collect();
    let mut hosts = Vec::new();
    let mut complete = !written.is_partial();
    for host in written.items() {
        let failure_domain = failure_domain(&host.value.failure_domain, domains, domains_partial, check);
        let device = host.value.network_device.located();
        if let (Some(device), Some(networking)) = (device, networking) {
            outside(device, networking, check);
        }
        let device = device.and_then(|device| network_device(device, &mut addresses, &taken, check));
        let resolved = (|| {
            let (addresses, gateways, nameservers) = device?;
            let failure_domain = failure_domain?;
            Some(Host { role: *host.value.role.get()?, failure_domain, addresses, gateways, nameservers })
        })();
        complete &= resolved.is_some();
        hosts.extend(resolved);
    }
    complete.then_some(hosts)
}

/// Every machine of the pools has its host, and there is one for bootstrap.
fn counts(
    written: &Field<Entries<WrittenHost>>,
    at: At,
    pools: Option<&Pools<MachinePool>>,
    check: &mut Check<'_>,
) {
    if written.is_partial() || written.items().any(|host| host.value.role.get().is_none()) {
        return;
    }
    let count = |role| written.items().filter(|host| host.value.role.get() == Some(&role)).count();
    let mut expect = |role: HostRole, wanted: usize, field: &str| {
        let found = count(role);
        if found != wanted {
            check
                .findings
                .error(
                    Rule::HostCount,
                    at,
                    format!("`hosts` lists {found} with the role {role}, and {wanted} are needed, one for each machine"),
                )
                .hint(format!("list exactly one host for each machine of {field}"));
        }
    };
    expect(HostRole::Bootstrap, 1, "the bootstrap (there is one)");
    if let Some(pools) = pools {
        expect(HostRole::ControlPlane, pools.control_plane.replicas as usize, "`controlPlane.replicas`");
        expect(HostRole::Compute, pools.compute.replicas as usize, "`compute[0].replicas`");
    }
}

#[expect(clippy::option_option, reason = "absent and unusable are different things")]
fn failure_domain(
    field: &Field<String>,
    domains: &HashMap<&str, usize>,
    partial: bool,
    check: &mut Check<'_>,
) -> Option<Option<usize>> {
    let name = match field {
        Field::Absent => return Some(None),
        Field::Invalid(_) => return None,
        Field::Set(name) => name,
    };
    let position = domains.get(name.value.as_str()).copied();
    if position.is_none() && !partial {
        unknown_domain(name, domains, check);
    }
    position.map(Some)
}

/// A failure domain is named that does not exist.
pub(super) fn unknown_domain(name: &Located<String>, domains: &HashMap<&str, usize>, check: &mut Check<'_>) {
    let mut known: Vec<&str> =
        if check.findings.is_full() { Vec::new() } else { domains.keys().copied().collect() };
    known.sort_unstable();
    let hint = match closest(&name.value, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if known.len() <= 10 => format!("the failure domains are {}", known.join(", ")),
        None => "use the name of one of the failure domains".to_owned(),
    };
    check
        .findings
        .error(Rule::UnknownFailureDomain, name.at, format!("there is no failure domain `{}`", name.value))
        .hint(hint);
}

type Device = (Vec<IpNet>, Vec<IpAddr>, Vec<IpAddr>);

fn network_device(
    device: &Located<WrittenNetworkDevice>,
    addresses: &mut HashMap<IpAddr, At>,
    taken: &HashSet<IpAddr>,
    check: &mut Check<'_>,
) -> Option<Device> {
    let WrittenNetworkDevice { ip_addrs, gateway, gateways, nameservers } = &device.value;
    if ip_addrs.is_empty() && !ip_addrs.is_absent() {
        check
            .findings
            .missing(device.at, "ipAddrs", "at least one address is required")
            .hint("add an address with its prefix length, such as 10.0.0.5/24");
    }
    for address in ip_addrs.items() {
        let ip = address.value.net().addr();
        if let Some(first) = addresses.insert(ip, address.at) {
            check
                .findings
                .error(Rule::AddressDuplicate, address.at, format!("{ip} is given to two machines"))
                .hint("give each machine an address of its own")
                .related(first, "the other one");
        }
        let net = Cidr::from(address.value.net());
        if let Some(what) = net.reserves(ip) {
            check
                .findings
                .error(Rule::AddressReserved, address.at, format!("{ip} is the {what} of {net}"))
                .hint("choose an address that a machine can have, or correct the prefix length");
        }
        if taken.contains(&ip) {
            check
                .findings
                .error(Rule::AddressDuplicate, address.at, format!("{ip} is a virtual IP of the cluster"))
                .hint("virtual IPs move between machines; give the machine another address");
        }
    }
    let all: Vec<&Located<IpAddr>> = gateway.located().into_iter().chain(gateways.items()).collect();
    check_gateways(&all, ip_addrs, check);
    let unreadable =
        ip_addrs.is_partial() || gateway.is_invalid() || gateways.is_partial() || nameservers.is_partial();
    if unreadable || ip_addrs.is_empty() {
        return None;
    }
    Some((
        ip_addrs.items().map(|address| address.value.net()).collect(),
        all.iter().map(|gateway| gateway.value).collect(),
        nameservers.items().map(|server| server.value).collect(),
    ))
}

fn outside(device: &Located<WrittenNetworkDevice>, networking: &Networking, check: &mut Check<'_>) {
    for address in device.value.ip_addrs.items() {
        let ip = address.value.net().addr();
        if !networking.machine.is_empty() && networking.machine_network_of(ip).is_none() {
            check
                .findings
                .warning(Rule::HostAddress, address.at, format!("{ip} is not in `networking.machineNetwork`"))
                .hint("use an address of the machine network, or add its network there");
        }
    }
}

fn check_gateways(
    gateways: &[&Located<IpAddr>],
    addresses: &Field<Entries<crate::net::HostCidr>>,
    check: &mut Check<'_>,
) {
    let mut seen: Vec<(Family, At)> = Vec::new();
    for gateway in gateways {
        let family = Family::of(gateway.value);
        if let Some((_, first)) = seen.iter().find(|(seen, _)| *seen == family) {
            check
                .findings
                .error(Rule::Gateway, gateway.at, format!("two {family} gateways"))
                .hint("give one default gateway per address family")
                .related(*first, "the first one");
            continue;
        }
        seen.push((family, gateway.at));
        let reachable = addresses.items().any(|address| address.value.net().contains(&gateway.value));
        if !reachable && !addresses.is_partial() && !addresses.is_empty() {
            check
                .findings
                .warning(
                    Rule::Gateway,
                    gateway.at,
                    format!("{} is in none of the machine's networks", gateway.value),
                )
                .hint("check the prefix lengths in `ipAddrs`");
        }
    }
}
