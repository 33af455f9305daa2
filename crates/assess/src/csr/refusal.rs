//! Every reason to say no. The name of a variant is the reason of the event and the label of the metric.

use std::net::IpAddr;

use jiff::Timestamp;
use slipway_assets::names::Role;

use super::pkcs10::Flaw;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("the request cannot be relied on: {0}")]
    Malformed(#[from] Flaw),
    #[error(
        "{pending} requests of `{username}` of the last hour are pending, more than {limit}: none is approved until they are fewer"
    )]
    Flood { username: String, pending: usize, limit: usize },
    #[error("it asks for the usages {}; a {wanted} certificate has exactly {expected}", usages.join(", "))]
    WrongUsages { usages: Vec<String>, wanted: &'static str, expected: &'static str },
    #[error("its common name `{common_name}` is not `system:node:<name of a node>`")]
    NotANode { common_name: String },
    #[error("its organizations are [{}], not exactly [system:nodes]", organizations.join(", "))]
    WrongOrganizations { organizations: Vec<String> },
    #[error("a client certificate has no alternative names, and it asks for {}", names.join(", "))]
    NamesInClientCertificate { names: Vec<String> },
    #[error(
        "`{username}` asks, and is neither a bootstrapper ({}) nor the node `{node}` itself", bootstrappers.join(", ")
    )]
    AskedByStranger { username: String, bootstrappers: Vec<String>, node: String },
    #[error("`{username}` requests a serving certificate that only the node `{node}` itself may ask for")]
    NotTheNode { username: String, node: String },
    #[error("`{username}` asks in the groups {}, which are not its own", groups.join(", "))]
    WrongGroups { username: String, groups: Vec<String> },
    #[error("there is a node `{node}` already, and its certificates are for itself to renew")]
    NodeExists { node: String },
    #[error("there is no node `{node}` whose certificate could be renewed")]
    NoSuchNode { node: String },
    #[error("no machine has the internal name `{node}`")]
    NoSuchMachine { node: String },
    #[error("no Machine belongs to the node `{node}`")]
    NodeWithoutMachine { node: String },
    #[error("the machines {} all say that they are `{node}`", machines.join(", "))]
    AmbiguousMachine { node: String, machines: Vec<String> },
    #[error("the machine `{machine}` belongs to the node `{node}` already")]
    MachineHasNode { machine: String, node: String },
    #[error("the machine `{machine}` is being removed")]
    MachineLeaving { machine: String },
    #[error("`{username}` asks, who is for machines of the role `{}`, and the machine `{machine}` is {}", role.as_str(), of(*is))]
    WrongRole { machine: String, is: Option<Role>, username: String, role: Role },
    #[error(
        "its key is {key}, and the machine `{machine}` came with {first} before; if it was installed anew, approve it by hand"
    )]
    AnotherKey { machine: String, key: String, first: String },
    #[error("the machine `{machine}` has to wait: {why}")]
    NotItsTurn { machine: String, why: String },
    #[error(
        "it was created at {asked}, and a machine has from 10 seconds before to 2 hours after its own time, {created}"
    )]
    OutsideWindow { asked: Timestamp, created: Timestamp },
    #[error("it has no names and no addresses")]
    NoNames,
    #[error("it asks for names with a wildcard: {}", names.join(", "))]
    Wildcard { names: Vec<String> },
    #[error("it asks for virtual IPs of the cluster: {}", list(addresses))]
    VirtualAddress { addresses: Vec<IpAddr> },
    #[error("it asks for names that the machine `{machine}` does not have: {}", names.join(", "))]
    ForeignName { machine: String, names: Vec<String> },
    #[error("it asks for addresses that the machine `{machine}` does not have: {}", list(addresses))]
    ForeignAddress { machine: String, addresses: Vec<IpAddr> },
    #[error("it asks for alternative names that no node has: {}", names.join(", "))]
    OtherNames { names: Vec<String> },
}

fn of(role: Option<Role>) -> String {
    role.map_or_else(|| "of none that is known".to_owned(), |role| format!("of the role `{}`", role.as_str()))
}

fn list(addresses: &[IpAddr]) -> String {
    addresses.iter().map(IpAddr::to_string).collect::<Vec<_>>().join(", ")
}

impl Refusal {
    /// Whether a machine does not come in for this reason until an administrator acts. Its turn comes by itself, and
    /// what is not for a machine that is waited for keeps none out.
    pub fn keeps_out(&self) -> bool {
        matches!(
            self,
            Refusal::Flood { .. }
                | Refusal::AmbiguousMachine { .. }
                | Refusal::MachineLeaving { .. }
                | Refusal::WrongRole { .. }
                | Refusal::AnotherKey { .. }
                | Refusal::OutsideWindow { .. }
        )
    }

    pub fn reason(&self) -> &'static str {
        match self {
            Refusal::Malformed(_) => "Malformed",
            Refusal::Flood { .. } => "Flood",
            Refusal::WrongUsages { .. } => "WrongUsages",
            Refusal::NotANode { .. } => "NotANode",
            Refusal::WrongOrganizations { .. } => "WrongOrganizations",
            Refusal::NamesInClientCertificate { .. } => "NamesInClientCertificate",
            Refusal::AskedByStranger { .. } => "AskedByStranger",
            Refusal::NotTheNode { .. } => "NotTheNode",
            Refusal::WrongGroups { .. } => "WrongGroups",
            Refusal::NodeExists { .. } => "NodeExists",
            Refusal::NoSuchNode { .. } => "NoSuchNode",
            Refusal::NoSuchMachine { .. } => "NoSuchMachine",
            Refusal::NodeWithoutMachine { .. } => "NodeWithoutMachine",
            Refusal::AmbiguousMachine { .. } => "AmbiguousMachine",
            Refusal::MachineHasNode { .. } => "MachineHasNode",
            Refusal::MachineLeaving { .. } => "MachineLeaving",
            Refusal::WrongRole { .. } => "WrongRole",
            Refusal::AnotherKey { .. } => "AnotherKey",
            Refusal::NotItsTurn { .. } => "NotItsTurn",
            Refusal::OutsideWindow { .. } => "OutsideWindow",
            Refusal::NoNames => "NoNames",
            Refusal::Wildcard { .. } => "Wildcard",
            Refusal::VirtualAddress { .. } => "VirtualAddress",
            Refusal::ForeignName { .. } => "ForeignName",
            Refusal::ForeignAddress { .. } => "ForeignAddress",
            Refusal::OtherNames { .. } => "OtherNames",
        }
    }
}
