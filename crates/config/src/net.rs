//! Addresses and networks as users write them.

use std::fmt;
use std::net::IpAddr;

use ipnet::IpNet;

use crate::decode::{BadText, FromText, text};
use crate::findings::Rule;
use crate::shape::Text;

/// IPv4 or IPv6.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    V4,
    V6,
}

impl Family {
    pub fn of(address: IpAddr) -> Self {
        if address.is_ipv4() { Family::V4 } else { Family::V6 }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Family::V4 => "IPv4",
            Family::V6 => "IPv6",
        })
    }
}

/// A network whose host bits are zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cidr(IpNet);

impl Cidr {
    pub fn net(self) -> IpNet {
        self.0
    }

    pub fn family(self) -> Family {
        Family::of(self.0.addr())
    }

    pub fn overlaps(self, other: Cidr) -> bool {
        self.0.contains(&other.0) || other.0.contains(&self.0)
    }

    pub fn contains(self, address: IpAddr) -> bool {
        self.0.contains(&address)
    }

    /// What an address is for, if no machine of the network can have it.
    pub(crate) fn reserves(self, address: IpAddr) -> Option<&'static str> {
        let IpNet::V4(net) = self.0 else {
            // The first address of an IPv6 network is that of its routers.
            let routers = self.0.prefix_len() < 127 && address == self.0.network();
            return routers.then_some("address of the routers");
        };
        if net.prefix_len() >= 31 {
            None
        } else if address == net.network() {
            Some("network address")
        } else {
            (address == net.broadcast()).then_some("broadcast address")
        }
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl From<IpNet> for Cidr {
    fn from(net: IpNet) -> Self {
        Cidr(net.trunc())
    }
}

impl FromText for Cidr {
    const TEXT: Text = Text::new("a network such as 10.0.0.0/16");

    fn from_text(text: &str) -> Result<Self, BadText> {
        let net = parse_net(text)?;
        if net != net.trunc() {
            return Err(BadText::new("has bits set behind its prefix length")
                .rule(Rule::CidrHostBits)
                .hint(format!("write `{}`", net.trunc())));
        }
        Ok(Cidr(net))
    }
}

/// An address of a host together with the prefix length of its network, such as `10.0.0.5/24`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostCidr(IpNet);

impl HostCidr {
    pub fn net(self) -> IpNet {
        self.0
    }
}

impl FromText for HostCidr {
    const TEXT: Text = Text::new("an address with prefix length such as 10.0.0.5/24");

    fn from_text(text: &str) -> Result<Self, BadText> {
        parse_net(text).map(HostCidr)
    }
}

/// A network that may have bits set behind its prefix length, as Go's tools read them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LooseCidr(IpNet);

impl LooseCidr {
    pub fn net(self) -> IpNet {
        self.0
    }
}

impl FromText for LooseCidr {
    const TEXT: Text = Cidr::TEXT;

    fn from_text(text: &str) -> Result<Self, BadText> {
        parse_net(text).map(LooseCidr)
    }
}

fn parse_net(text: &str) -> Result<IpNet, BadText> {
    text.parse().map_err(|_| {
        let error = BadText::new("not an address with a prefix length").rule(Rule::Cidr);
        match text.parse::<IpAddr>() {
            Ok(address) => {
                error.hint(format!("add the prefix length: `{address}/24`, or whatever the network has"))
            }
            Err(_) => error.hint("write it as `10.0.0.0/16` or `fd00::/64`"),
        }
    })
}

impl FromText for IpAddr {
    const TEXT: Text = Text::new("an IP address");

    fn from_text(text: &str) -> Result<Self, BadText> {
        text.parse().map_err(|_| {
            let error = BadText::new("not an IP address").rule(Rule::IpAddress);
            match text.parse::<IpNet>() {
                Ok(net) => error.hint(format!("write it without the prefix length: `{}`", net.addr())),
                Err(_) => error.hint("write it as `10.0.0.5` or `fd00::5`"),
            }
        })
    }
}

text!(Cidr, HostCidr, LooseCidr, IpAddr);
