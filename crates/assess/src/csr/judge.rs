//! The rules. They are those of OpenShift's approver, or stricter: a serving certificate is never renewed because a kubelet
//! shows an old one, and a machine that is being removed gets nothing.

use std::net::IpAddr;

use jiff::SignedDuration;
use slipway_config::names::is_node_name;

use super::cluster::{Cluster, Machine};
use super::pkcs10::Content;
use super::refusal::Refusal;
use super::request::{Csr, Signer};

/// A machine's first certificate is asked for within this time: so much before it was made (clocks) …
const BEFORE: SignedDuration = SignedDuration::from_secs(10);
/// … and so much after.
const AFTER: SignedDuration = SignedDuration::from_hours(2);

pub(super) const NODE: &str = "system:node:";
const NODES: &str = "system:nodes";
const AUTHENTICATED: &str = "system:authenticated";

/// What is to be done about a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    Approve(Ground),
    Refuse(Refusal),
}

/// Why a request is approved.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Ground {
    #[error("the first client certificate of machine `{machine}`, for node `{node}`")]
    FirstCertificate { machine: String, node: String },
    #[error("node `{node}` renews its client certificate")]
    Renewal { node: String },
    #[error("node `{node}` serves with the names and addresses of machine `{machine}`")]
    Serving { machine: String, node: String },
}

impl Ground {
    pub fn reason(&self) -> &'static str {
        match self {
            Ground::FirstCertificate { .. } => "FirstCertificate",
            Ground::Renewal { .. } => "Renewal",
            Ground::Serving { .. } => "Serving",
        }
    }
}

/// Judges a request.
pub fn judge(csr: &Csr, cluster: &Cluster) -> Decision {
    let result = match csr.signer {
        Signer::Client => client(csr, cluster),
        Signer::Serving => serving(csr, cluster),
    };
    // What is wrong with the request itself is the better reason; but nothing is approved of those who ask without end.
    match (result, cluster.flood(&csr.username)) {
        (Err(refusal), _) => Decision::Refuse(refusal),
        (Ok(_), (pending, limit)) if pending > limit => {
            Decision::Refuse(Refusal::Flood { username: csr.username.clone(), pending, limit })
        }
        (Ok(ground), _) => Decision::Approve(ground),
    }
}

fn client(csr: &Csr, cluster: &Cluster) -> Result<Ground, Refusal> {
    usages(csr, "client auth", "digital signature, client auth and perhaps key encipherment")?;
    let content = csr.content.as_ref().map_err(Clone::clone)?;
    let node = subject(content)?;
    let names = alternatives(content);
    if !names.is_empty() {
        return Err(Refusal::NamesInClientCertificate { names });
    }
    if csr.username == content.common_name {
        groups_of_node(csr)?;
        if !cluster.has_node(node) {
            return Err(Refusal::NoSuchNode { node: node.to_owned() });
        }
        let machine = machine_of_node(cluster, node)?;
        staying(machine)?;
        return Ok(Ground::Renewal { node: node.to_owned() });
    }
    let Some(bootstrapper) = cluster.bootstrapper(&csr.username) else {
        let (username, bootstrappers) = (csr.username.clone(), cluster.bootstrappers());
        return Err(Refusal::AskedByStranger { username, bootstrappers, node: node.to_owned() });
    };
    if !bootstrapper.groups.contains(&csr.groups) {
        return Err(wrong_groups(csr));
    }
    if cluster.has_node(node) {
        return Err(Refusal::NodeExists { node: node.to_owned() });
    }
    let machine = match cluster.by_internal_name(node)[..] {
        [] => return Err(Refusal::NoSuchMachine { node: node.to_owned() }),
        [machine] => machine,
        ref several => return Err(ambiguous(node, several)),
    };
    if let Some(node) = &machine.node {
        return Err(Refusal::MachineHasNode { machine: machine.name.clone(), node: node.clone() });
    }
    staying(machine)?;
    // A token of the workers must not make a machine of the control plane.
    if let Some(role) = bootstrapper.role.filter(|role| machine.role != Some(*role)) {
        let (machine, is, username) = (machine.name.clone(), machine.role, csr.username.clone());
        return Err(Refusal::WrongRole { machine, is, username, role });
    }
    if let Some(first) = cluster.first_key(node, machine).filter(|first| *first != content.fingerprint) {
        let (key, first) = (content.fingerprint.clone(), first.to_owned());
        return Err(Refusal::AnotherKey { machine: machine.name.clone(), key, first });
    }
    if let Some(made) = machine.made {
        let age = csr.created.duration_since(made);
        if age <= -BEFORE || age >= AFTER {
            return Err(Refusal::OutsideWindow { asked: csr.created, created: made });
        }
    }
    if let Some(why) = &machine.held {
        return Err(Refusal::NotItsTurn { machine: machine.name.clone(), why: why.clone() });
    }
    Ok(Ground::FirstCertificate { machine: machine.name.clone(), node: node.to_owned() })
}

fn serving(csr: &Csr, cluster: &Cluster) -> Result<Ground, Refusal> {
    usages(csr, "server auth", "digital signature, server auth and perhaps key encipherment")?;
    let content = csr.content.as_ref().map_err(Clone::clone)?;
    let node = subject(content)?;
    if csr.username != content.common_name {
        return Err(Refusal::NotTheNode { username: csr.username.clone(), node: node.to_owned() });
    }
    groups_of_node(csr)?;
    let Content { names, addresses, others, .. } = content;
    if !others.is_empty() {
        return Err(Refusal::OtherNames { names: others.clone() });
    }
    if names.is_empty() && addresses.is_empty() {
        return Err(Refusal::NoNames);
    }
    // Whatever a machine says about itself.
    let wild: Vec<String> = names.iter().filter(|name| name.contains('*')).cloned().collect();
    if !wild.is_empty() {
        return Err(Refusal::Wildcard { names: wild });
    }
    // A name that looks like an address is treated like one by some clients.
    let written =
        names.iter().filter_map(|name| name.parse::<IpAddr>().ok()).map(|found| found.to_canonical());
    let all: Vec<IpAddr> = addresses.iter().copied().chain(written).collect();
    let vips: Vec<IpAddr> = all.iter().copied().filter(|address| cluster.is_vip(address)).collect();
    if !vips.is_empty() {
        return Err(Refusal::VirtualAddress { addresses: vips });
    }
    let machine = machine_of_node(cluster, node)?;
    staying(machine)?;
    let foreign: Vec<String> = names.difference(&machine.names).cloned().collect();
    if !foreign.is_empty() {
        return Err(Refusal::ForeignName { machine: machine.name.clone(), names: foreign });
    }
    let foreign: Vec<IpAddr> = addresses.difference(&machine.addresses).copied().collect();
    if !foreign.is_empty() {
        return Err(Refusal::ForeignAddress { machine: machine.name.clone(), addresses: foreign });
    }
    Ok(Ground::Serving { machine: machine.name.clone(), node: node.to_owned() })
}

/// Exactly these usages, each once; `key encipherment` is for RSA keys.
fn usages(csr: &Csr, purpose: &'static str, expected: &'static str) -> Result<(), Refusal> {
    let known = |usage: &String| ["digital signature", "key encipherment", purpose].contains(&usage.as_str());
    let has = |usage: &str| csr.usages.contains(usage);
    let good = csr.usages.len() == csr.usage_count
        && csr.usages.iter().all(known)
        && has("digital signature")
        && has(purpose);
    if good {
        return Ok(());
    }
    let usages = csr.usages.iter().cloned().collect();
    Err(Refusal::WrongUsages { usages, wanted: csr.signer.as_str(), expected })
}

/// The node a certificate would be for.
fn subject(content: &Content) -> Result<&str, Refusal> {
    let Content { common_name, organizations, .. } = content;
    let node = node_of(common_name);
    let node = node.ok_or_else(|| Refusal::NotANode { common_name: common_name.clone() })?;
    if *organizations != [NODES] {
        return Err(Refusal::WrongOrganizations { organizations: organizations.clone() });
    }
    Ok(node)
}

/// The node that a common name is of.
pub(super) fn node_of(common_name: &str) -> Option<&str> {
    common_name.strip_prefix(NODE).filter(|node| is_node_name(node))
}

fn alternatives(content: &Content) -> Vec<String> {
    let Content { names, addresses, others, .. } = content;
    names
        .iter()
        .cloned()
        .chain(addresses.iter().map(IpAddr::to_string))
        .chain(others.iter().cloned())
        .collect()
}

/// A node that asks for itself is in these groups and in no other.
fn groups_of_node(csr: &Csr) -> Result<(), Refusal> {
    let expected = [NODES, AUTHENTICATED];
    let good = csr.groups.len() == expected.len() && expected.iter().all(|group| csr.groups.contains(*group));
    if good { Ok(()) } else { Err(wrong_groups(csr)) }
}

fn wrong_groups(csr: &Csr) -> Refusal {
    Refusal::WrongGroups { username: csr.username.clone(), groups: csr.groups.iter().cloned().collect() }
}

fn machine_of_node<'a>(cluster: &'a Cluster, node: &str) -> Result<&'a Machine, Refusal> {
    match cluster.by_node(node)[..] {
        [] => Err(Refusal::NodeWithoutMachine { node: node.to_owned() }),
        [machine] => Ok(machine),
        ref several => Err(ambiguous(node, several)),
    }
}

fn ambiguous(node: &str, machines: &[&Machine]) -> Refusal {
    let machines = machines.iter().map(|machine| machine.name.clone()).collect();
    Refusal::AmbiguousMachine { node: node.to_owned(), machines }
}

fn staying(machine: &Machine) -> Result<(), Refusal> {
    if machine.leaving { Err(Refusal::MachineLeaving { machine: machine.name.clone() }) } else { Ok(()) }
}

#[cfg(test)]
mod tests;
