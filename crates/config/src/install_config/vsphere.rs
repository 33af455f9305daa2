//! `platform.vsphere`: clusters on one to three vCenters.

mod failure_domains;
mod hosts;
mod legacy;
mod machines;
mod vcenters;
mod written;

use std::collections::HashMap;

pub use failure_domains::{FailureDomain, RegionKind, Topology, ZoneKind};
pub use hosts::Host;
pub use legacy::{ByRule, PathLookup};
pub use machines::{DataDisk, Machine};
pub use vcenters::{Password, Tls, VCenter};
pub use written::{DiskType, DnsRecords, HostRole, ProvisioningMode, WrittenPlatform, WrittenPool};

use self::written::{WrittenNodeNetwork, WrittenNodeNetworking};
use super::pool::WrittenPools;
use super::vips::{self, Demand, LoadBalancer, VipFields, Vips};
use super::{Check, MachinePool, Networking, PayloadType, Pools};
use crate::decode::{Entries, Field, Located};
use crate::features::Gate;
use crate::findings::Rule;
use crate::names::ClusterName;
use crate::net::{Cidr, LooseCidr};
use crate::private_url::PrivateUrl;

/// A cluster on vSphere.
#[derive(Debug, Clone)]
pub struct Platform {
    pub vcenters: Vec<VCenter>,
    pub failure_domains: Vec<FailureDomain>,
    pub vips: Vips,
    pub load_balancer: LoadBalancer,
    pub dns_records: DnsRecords,
    pub os_image: Option<OsImage>,
    pub disk_type: Option<DiskType>,
    pub node_networking: NodeNetworking,
    /// Empty, or one per machine.
    pub hosts: Vec<Host>,
    pub machines: Pools<Machine>,
}

/// The image machines are made from, to be imported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OsImage {
    pub url: PrivateUrl,
    /// Hexadecimal, from the URL's `?sha256=`.
    pub sha256: Option<String>,
}

/// Which addresses of a machine the node uses.
#[derive(Debug, Clone, Default)]
pub struct NodeNetworking {
    pub external: NodeNetwork,
    pub internal: NodeNetwork,
}

/// How to find a node's address.
#[derive(Debug, Clone, Default)]
pub struct NodeNetwork {
    pub network: Option<String>,
    pub subnets: Vec<Cidr>,
    pub excluded: Vec<Cidr>,
}

/// What the rules need to know of the rest of the install-config.
#[derive(Debug)]
pub(super) struct Around<'a> {
    pub(super) name: Option<&'a ClusterName>,
    pub(super) payload: PayloadType,
    pub(super) networking: Option<&'a Networking>,
    pub(super) written_pools: &'a WrittenPools<'a>,
    pub(super) pools: Option<&'a Pools<MachinePool>>,
    pub(super) lookup: &'a dyn PathLookup,
}

impl std::fmt::Debug for dyn PathLookup + '_ {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PathLookup")
    }
}

pub(super) fn resolve(
    mut platform: Located<WrittenPlatform>,
    around: &Around<'_>,
    check: &mut Check<'_>,
) -> Option<Platform> {
    let old_upi = legacy::is_old_upi(&platform.value);
    legacy::convert(&mut platform, around.lookup, check.findings);
    let at = platform.at;
    let written = &platform.value;

    let os_image = os_image(&written.cluster_os_image, check);
    let vcenters = vcenters::resolve(&written.vcenters, at, check);
    let failure_domains = failure_domains::resolve(
        &written.failure_domains,
        &failure_domains::Around {
            platform: at,
            vcenters: &written.vcenters,
            resolved_vcenters: vcenters.as_deref(),
            cluster_os_image: written.cluster_os_image.at(),
            cluster_name: around.name,
            old_upi,
        },
        check,
    );
    let load_balancer = load_balancer(written);
    let api = vips::collect(&written.api_vips, &written.api_vip, ("apiVIPs", "apiVIP"), check);
    let ingress =
        vips::collect(&written.ingress_vips, &written.ingress_vip, ("ingressVIPs", "ingressVIP"), check);
    let vips = vips::resolve(
        &VipFields {
            platform: at,
            api_key: "apiVIPs",
            api,
            ingress_key: "ingressVIPs",
            ingress,
            load_balancer,
            demand: Demand::Optional,
            networking: around.networking,
        },
        check,
    );
    dns_records(written, check);
    let node_networking = node_networking(written, check);

    let names: HashMap<&str, usize> = written
        .failure_domains
        .items()
        .enumerate()
        .filter_map(|(position, domain)| Some((domain.value.name.get()?.as_str(), position)))
        .collect();
    let partial = written.failure_domains.is_partial()
        || written.failure_domains.items().any(|domain| domain.value.name.is_invalid());
    let domains = machines::Domains { positions: &names, count: written.failure_domains.len(), partial };
    let machines = machines::resolve(
        &written.default_machine,
        around.written_pools,
        around.pools,
        &domains,
        around.payload,
        check,
    );
    let hosts = hosts::resolve(
        &written.hosts,
        &names,
        partial,
        around.pools,
        vips.as_ref(),
        around.networking,
        check,
    );

    if written.disk_type.is_invalid() || written.dns_records_type.is_invalid() {
        return None;
    }
    Some(Platform {
        vcenters: vcenters?,
        failure_domains: failure_domains?,
        vips: vips?,
        load_balancer: load_balancer?,
        dns_records: written.dns_records_type.cloned_or(DnsRecords::Internal),
        os_image: os_image?,
        disk_type: written.disk_type.get().copied(),
        node_networking: node_networking?,
        hosts: hosts?,
        machines: machines?,
    })
}

fn load_balancer(written: &WrittenPlatform) -> Option<LoadBalancer> {
    match &written.load_balancer {
        Field::Absent => Some(LoadBalancer::OpenShiftManagedDefault),
        Field::Invalid(_) => None,
        Field::Set(set) if set.value.kind.is_invalid() => None,
        Field::Set(set) => Some(set.value.kind.cloned_or(LoadBalancer::OpenShiftManagedDefault)),
    }
}

fn dns_records(written: &WrittenPlatform, check: &mut Check<'_>) {
    let Some(records) = written.dns_records_type.located().filter(|set| set.value == DnsRecords::External)
    else {
        return;
    };
    if load_balancer(written) == Some(LoadBalancer::OpenShiftManagedDefault) {
        check
            .findings
            .error(Rule::DnsRecords, records.at, "external DNS records need a load balancer of yours")
            .hint("set `loadBalancer: {type: UserManaged}`, or use `dnsRecordsType: Internal`");
    }
    check.gate(Gate::OnPremDnsRecords, records.at, "`dnsRecordsType: External`");
}

#[expect(clippy::option_option, reason = "absent and unusable are different things")]
fn os_image(field: &Field<String>, check: &mut Check<'_>) -> Option<Option<OsImage>> {
    let image = match field {
        Field::Absent => return Some(None),
        Field::Invalid(_) => return None,
        Field::Set(image) => image,
    };
    let (url, query) = image.value.split_once('?').unwrap_or((&image.value, ""));
    let host = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
    if host.is_none_or(|rest| rest.is_empty() || rest.starts_with('/')) {
        check
            .findings
            .error(Rule::OsImage, image.at, "not an http or https URL")
            .hint("write https://server/path/image.ova, with ?sha256=… to have it verified");
        return None;
    }
    let sha256 = query.split('&').find_map(|part| part.strip_prefix("sha256="));
    if let Some(sum) = sha256
        && (sum.len() != 64 || !sum.bytes().all(|byte| byte.is_ascii_hexdigit()))
    {
        check
            .findings
            .error(Rule::OsImage, image.at, "the checksum behind `sha256=` is not 64 hexadecimal digits")
            .hint("copy it from the output of sha256sum");
        return None;
    }
    if sha256.is_none() {
        unverified(image, check);
    }
    Some(Some(OsImage { url: image.value.as_str().into(), sha256: sha256.map(str::to_lowercase) }))
}

/// Without a checksum a host on the way could replace the image, and every machine would run that.
fn unverified(image: &Located<String>, check: &mut Check<'_>) {
    let hint = "add `?sha256=` and the output of sha256sum to the URL";
    if image.value.starts_with("http://") {
        let message =
            "a man in the middle could replace the OS image: it is fetched by http, without a checksum";
        check.findings.error(Rule::OsImage, image.at, message).hint(hint);
    } else {
        let message = "without a checksum, the image is whatever the server has that day";
        check.findings.warning(Rule::OsImage, image.at, message).hint(hint);
    }
}

fn node_networking(written: &WrittenPlatform, check: &mut Check<'_>) -> Option<NodeNetworking> {
    let set = match &written.node_networking {
        Field::Absent => return Some(NodeNetworking::default()),
        Field::Invalid(_) => return None,
        Field::Set(set) => set,
    };
    check.gate(Gate::VSphereMultiNetworks, set.at, "`nodeNetworking`");
    let WrittenNodeNetworking { external, internal } = &set.value;
    let external = node_network(external, written, check);
    let internal = node_network(internal, written, check);
    Some(NodeNetworking { external: external?, internal: internal? })
}

fn node_network(
    field: &Field<WrittenNodeNetwork>,
    platform: &WrittenPlatform,
    check: &mut Check<'_>,
) -> Option<NodeNetwork> {
    let set = match field {
        Field::Absent => return Some(NodeNetwork::default()),
        Field::Invalid(_) => return None,
        Field::Set(set) => &set.value,
    };
    if let Some(network) = set.network.located() {
        let domains = || platform.failure_domains.items().filter_map(|domain| domain.value.topology.get());
        let unknown = domains().any(|topology| topology.networks.is_partial());
        let found =
            domains().any(|topology| topology.networks.items().any(|name| name.value == network.value));
        if !found && !unknown && !platform.failure_domains.is_partial() {
            check
                .findings
                .error(
                    Rule::NodeNetwork,
                    network.at,
                    format!("no failure domain has a network `{}`", network.value),
                )
                .hint("use one of the names in `failureDomains[].topology.networks`");
        }
    }
    let subnets = cidrs(&set.subnets, check);
    let excluded = cidrs(&set.excluded, check);
    Some(NodeNetwork { network: set.network.get().cloned(), subnets: subnets?, excluded: excluded? })
}

/// The networks of a list. Bits behind the prefix length have no effect on which addresses are in them.
fn cidrs(list: &Field<Entries<LooseCidr>>, check: &mut Check<'_>) -> Option<Vec<Cidr>> {
    for written in list.items() {
        let net = written.value.net();
        if net != net.trunc() {
            check
                .findings
                .warning(
                    Rule::CidrHostBits,
                    written.at,
                    format!("`{net}` has bits set behind its prefix length"),
                )
                .hint(format!("write `{}`", net.trunc()));
        }
    }
    (!list.is_partial()).then(|| list.items().map(|written| Cidr::from(written.value.net())).collect())
}
