//! Virtual IPs of API and ingress, and who balances their load: the same on every platform.

use std::net::IpAddr;

use super::{Check, Networking};
use crate::decode::{Entries, Field, Located, choice, object};
use crate::findings::Rule;
use crate::net::{Cidr, Family};
use crate::yaml::At;

object! {
    /// Who balances the load of API and ingress.
    WrittenLoadBalancer {
        /// The cluster's own machines, or a load balancer of yours.
        kind: LoadBalancer as "type", default "OpenShiftManagedDefault";
    }
}

choice! {
    /// Who balances the load of API and ingress.
    LoadBalancer {
        /// The cluster's own machines take the virtual IPs.
        OpenShiftManagedDefault = "OpenShiftManagedDefault",
        /// A load balancer of yours answers on the virtual IPs.
        UserManaged = "UserManaged",
    }
}

/// The virtual IPs of a cluster, one per family in the order of its networks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Vips {
    pub api: Vec<IpAddr>,
    pub ingress: Vec<IpAddr>,
}

impl Vips {
    /// Without virtual IPs, DNS and load balancers are the user's.
    pub fn is_empty(&self) -> bool {
        self.api.is_empty()
    }
}

/// What a platform asks of its virtual IPs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Demand {
    /// They may be left out; outside the machine network is allowed but suspicious.
    Optional,
    /// They must be given and lie in the machine network.
    Required,
}

/// The two lists and how their fields are called.
#[derive(Debug)]
pub(super) struct VipFields<'a> {
    pub(super) platform: At,
    pub(super) api_key: &'static str,
    pub(super) api: Addresses,
    pub(super) ingress_key: &'static str,
    pub(super) ingress: Addresses,
    /// `None` when it could not be read.
    pub(super) load_balancer: Option<LoadBalancer>,
    pub(super) demand: Demand,
    pub(super) networking: Option<&'a Networking>,
}

/// The addresses of a field.
#[derive(Debug, Default)]
pub(super) struct Addresses {
    pub(super) readable: Vec<Located<IpAddr>>,
    /// Something else is given that could not be read, and has been reported.
    partial: bool,
}

impl Addresses {
    pub(super) fn one(field: &Field<IpAddr>) -> Self {
        Addresses { readable: field.located().cloned().into_iter().collect(), partial: field.is_invalid() }
    }

    fn is_empty(&self) -> bool {
        self.readable.is_empty() && !self.partial
    }
}

/// The list of a field, or of its old single form.
pub(super) fn collect(
    list: &Field<Entries<IpAddr>>,
    single: &Field<IpAddr>,
    keys: (&'static str, &'static str),
    check: &mut Check<'_>,
) -> Addresses {
    // More than two have been reported; looking at them all would cost their square.
    let mut vips: Vec<_> = list.items().take(2).cloned().collect();
    if let Some(old) = single.located() {
        if list.is_empty() {
            vips.push(old.clone());
        } else if !list.is_partial() && !vips.iter().any(|vip| vip.value == old.value) {
            let message = format!("`{}` is not among `{}`", keys.1, keys.0);
            check
                .findings
                .error(Rule::DeprecatedConflict, old.at, message)
                .hint(format!("remove `{}`", keys.1));
        }
    }
    Addresses { readable: vips, partial: list.is_partial() || single.is_invalid() }
}

/// `None` if some could not be read; the others are judged all the same.
pub(super) fn resolve(fields: &VipFields<'_>, check: &mut Check<'_>) -> Option<Vips> {
    let lists = [(fields.api_key, &fields.api), (fields.ingress_key, &fields.ingress)];
    for (key, vips) in lists {
        if !vips.partial {
            families(key, &vips.readable, fields, check);
        }
        for vip in &vips.readable {
            place(vip, fields, check);
        }
        let other_given = lists.iter().any(|(_, vips)| !vips.is_empty());
        if vips.is_empty() && (fields.demand == Demand::Required || other_given) {
            let why = match fields.demand {
                Demand::Required => format!("`{key}` is required"),
                Demand::Optional => format!("`{key}` is required when the other virtual IP is given"),
            };
            check
                .findings
                .missing(fields.platform, key, why)
                .hint("add a free address of the machine network");
        }
    }
    if fields.load_balancer == Some(LoadBalancer::OpenShiftManagedDefault) {
        for ingress in &fields.ingress.readable {
            if let Some(api) = fields.api.readable.iter().find(|api| api.value == ingress.value) {
                check
                    .findings
                    .error(
                        Rule::VipsEqual,
                        ingress.at,
                        format!("{} is the API's virtual IP too", ingress.value),
                    )
                    .hint("choose two addresses, or set `loadBalancer: {type: UserManaged}`")
                    .related(api.at, "the API's");
            }
        }
    }
    let sure = !fields.api.partial && !fields.ingress.partial;
    if let ([_, extra], [only]) | ([only], [_, extra]) =
        (fields.api.readable.as_slice(), fields.ingress.readable.as_slice())
        && fields.networking.is_some_and(|networking| networking.stack.is_dual() && !networking.doubtful)
        && sure
    {
        check
            .findings
            .error(Rule::VipCount, extra.at, "API and ingress have different numbers of addresses")
            .hint("give both an address of each family, or neither")
            .related(only.at, "the only one here");
    }
    let values = |vips: &Addresses| vips.readable.iter().map(|vip| vip.value).collect();
    sure.then(|| Vips { api: values(&fields.api), ingress: values(&fields.ingress) })
}

/// One address per family, and the cluster's first family first.
fn families(key: &str, vips: &[Located<IpAddr>], fields: &VipFields<'_>, check: &mut Check<'_>) {
    if let [first, second] = vips
        && Family::of(first.value) == Family::of(second.value)
    {
        check
            .findings
            .error(
                Rule::VipCount,
                second.at,
                format!("both addresses of `{key}` are {}", Family::of(first.value)),
            )
            .hint("give one, or one IPv4 and one IPv6 address");
        return;
    }
    let networking = fields.networking.filter(|networking| !networking.doubtful);
    let (Some(first), Some(networking)) = (vips.first(), networking) else { return };
    let primary = networking.stack.primary();
    let single = !networking.stack.is_dual();
    if let Some(other) = vips.iter().find(|vip| single && Family::of(vip.value) != primary) {
        let message = format!(
            "{} is {}, but the cluster's networks are {primary}",
            other.value,
            Family::of(other.value)
        );
        check
            .findings
            .error(Rule::VipFamily, other.at, message)
            .hint(format!("use an {primary} address, or add networks of the other family"));
    } else if Family::of(first.value) != primary {
        let message = format!(
            "{} is {}, but the cluster's networks list {primary} first",
            first.value,
            Family::of(first.value)
        );
        check
            .findings
            .error(Rule::VipFamily, first.at, message)
            .hint(format!("list the {primary} address first"));
    }
}

fn place(vip: &Located<IpAddr>, fields: &VipFields<'_>, check: &mut Check<'_>) {
    let Some(networking) = fields.networking else { return };
    let known_family = networking.machine.iter().any(|net| net.family() == Family::of(vip.value));
    if let Some(net) = networking.machine_network_of(vip.value) {
        reserved(vip, net, check);
        return;
    }
    if !known_family {
        return;
    }
    let inside = networking.cluster.iter().map(|net| net.cidr).chain(networking.service.iter().copied());
    if let Some(net) = inside.into_iter().find(|net| net.contains(vip.value)) {
        check
            .findings
            .error(Rule::VipOutside, vip.at, format!("{} is in the cluster's inner network {net}", vip.value))
            .hint("choose an address of the machine network");
        return;
    }
    let networks: Vec<String> = networking.machine.iter().take(3).map(ToString::to_string).collect();
    let message = format!("{} is not in the machine network {}", vip.value, networks.join(", "));
    let hint = "choose an address of `networking.machineNetwork`, or add the network there";
    match fields.demand {
        Demand::Required => check.findings.error(Rule::VipOutside, vip.at, message).hint(hint),
        Demand::Optional => check.findings.warning(Rule::VipOutside, vip.at, message).hint(hint),
    };
}

/// No machine can take a network's own address, nor its broadcast address.
fn reserved(vip: &Located<IpAddr>, net: Cidr, check: &mut Check<'_>) {
    if let Some(what) = net.reserves(vip.value) {
        check
            .findings
            .error(Rule::AddressReserved, vip.at, format!("{} is the {what} of {net}", vip.value))
            .hint("choose an address that a machine can have");
    }
}
