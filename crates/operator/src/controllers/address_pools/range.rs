//! The addresses of a pool. Pure.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;
use jiff::SignedDuration;
use slipway_api::slipway::AddressPoolSpec;
use slipway_assess::machines::time;
use thiserror::Error;

const QUARANTINE: SignedDuration = SignedDuration::from_mins(10);

/// Why a pool cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(super) enum Problem {
    #[error(
        "`{0}` is neither an address, nor a range such as `10.0.0.50-10.0.0.99`, nor a network such as `10.0.1.0/26`"
    )]
    Unreadable(String),
    #[error("`{0}` ends before it begins")]
    Backwards(String),
    #[error("the addresses are of both families; make a pool for each")]
    Mixed,
    #[error("the gateway `{0}` is not an address of the pool's family")]
    Gateway(String),
    #[error("the prefix /{0} is longer than an address")]
    Prefix(u8),
    #[error("`quarantine` is `{0}`; write a time such as `10m`")]
    Quarantine(String),
}

/// From one address to another, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Span {
    is_v4: bool,
    first: u128,
    last: u128,
}

/// A pool that can be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Range {
    spans: Vec<Span>,
    excluded: Vec<Span>,
    pub(super) prefix: u8,
    pub(super) gateway: Option<IpAddr>,
    pub(super) quarantine: SignedDuration,
}

fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u32::from(address).into(),
        IpAddr::V6(address) => address.into(),
    }
}

impl Span {
    fn read(text: &str) -> Result<Self, Problem> {
        let unreadable = || Problem::Unreadable(text.to_owned());
        if let Some((first, last)) = text.split_once('-') {
            let read = |text: &str| text.trim().parse::<IpAddr>().map_err(|_| unreadable());
            let (first, last) = (read(first)?, read(last)?);
            if first.is_ipv4() != last.is_ipv4() {
                return Err(unreadable());
            }
            let span = Span { is_v4: first.is_ipv4(), first: number(first), last: number(last) };
            return if span.first <= span.last { Ok(span) } else { Err(Problem::Backwards(text.to_owned())) };
        }
        if let Ok(address) = text.parse::<IpAddr>() {
            return Ok(Span { is_v4: address.is_ipv4(), first: number(address), last: number(address) });
        }
        let net: IpNet = text.parse().map_err(|_| unreadable())?;
        let (first, last) = (number(net.network()), number(net.broadcast()));
        let is_v4 = net.addr().is_ipv4();
        // The first and the last address of a network are no machine's; of IPv6 the first is that of its routers.
        let rest = u128::from(last - first > 1);
        Ok(Span { is_v4, first: first + rest, last: if is_v4 { last - rest } else { last } })
    }

    fn has(&self, address: u128) -> bool {
        (self.first..=self.last).contains(&address)
    }
}

impl Range {
    pub(super) fn read(spec: &AddressPoolSpec) -> Result<Self, Problem> {
        let spans = |texts: &[String]| {
            texts.iter().map(|text| Span::read(text.trim())).collect::<Result<Vec<_>, _>>()
        };
        let (spans, excluded) = (spans(&spec.addresses)?, spans(&spec.excluded)?);
        let is_v4 = spans.first().is_none_or(|span| span.is_v4);
        if spans.iter().chain(&excluded).any(|span| span.is_v4 != is_v4) {
            return Err(Problem::Mixed);
        }
        if is_v4 && spec.prefix > 32 {
            return Err(Problem::Prefix(spec.prefix));
        }
        let gateway = match spec.gateway.as_deref().filter(|text| !text.is_empty()) {
            None => None,
            Some(text) => {
                let gateway = text.parse::<IpAddr>().ok().filter(|gateway| gateway.is_ipv4() == is_v4);
                Some(gateway.ok_or_else(|| Problem::Gateway(text.to_owned()))?)
            }
        };
        let quarantine = match spec.quarantine.as_deref() {
            None => QUARANTINE,
            Some(text) => time::parse(text).ok_or_else(|| Problem::Quarantine(text.to_owned()))?,
        };
        Ok(Range { spans, excluded, prefix: spec.prefix, gateway, quarantine })
    }

    /// All addresses, in the order in which they are given out. Ranges that overlap have theirs once.
    pub(super) fn addresses(&self) -> impl Iterator<Item = IpAddr> + '_ {
        let gateway = self.gateway.map(number);
        self.spans.iter().enumerate().flat_map(move |(at, span)| {
            let (before, is_v4) = (&self.spans[..at], span.is_v4);
            let numbers = span.first..=span.last;
            let numbers = numbers.filter(move |number| {
                Some(*number) != gateway
                    && !before.iter().chain(&self.excluded).any(|other| other.has(*number))
            });
            numbers.map(move |number| address(is_v4, number))
        })
    }

    /// How many there are, up to a number that nobody counts to.
    pub(super) fn capacity(&self) -> usize {
        const MAX_COUNTED: usize = 65_536;
        self.addresses().take(MAX_COUNTED).count()
    }
}

fn address(is_v4: bool, number: u128) -> IpAddr {
    match u32::try_from(number) {
        Ok(number) if is_v4 => Ipv4Addr::from(number).into(),
        _ => Ipv6Addr::from(number).into(),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::Range;

    fn read(spec: &Value) -> Result<Range, super::Problem> {
        Range::read(&serde_json::from_value(spec.clone()).unwrap())
    }

    #[rstest]
    #[case::mixed_forms(
        json!({"addresses": ["10.0.0.9", "10.0.0.4 - 10.0.0.6", "10.0.1.0/30"], "excluded": ["10.0.0.5"], "prefix": 24}),
        "10.0.0.9 10.0.0.4 10.0.0.6 10.0.1.1 10.0.1.2"
    )]
    #[case::gateway(json!({"addresses": ["10.0.0.0/30"], "gateway": "10.0.0.1", "prefix": 30}), "10.0.0.2")]
    #[case::overlap(json!({"addresses": ["10.0.0.1-10.0.0.2", "10.0.0.2-10.0.0.3"], "prefix": 24}), "10.0.0.1 10.0.0.2 10.0.0.3")]
    #[case::v6(json!({"addresses": ["fd00::/126"], "prefix": 64}), "fd00::1 fd00::2 fd00::3")]
    #[case::point_to_point(json!({"addresses": ["10.0.0.0/31"], "prefix": 31}), "10.0.0.0 10.0.0.1")]
    fn addresses_of(#[case] spec: Value, #[case] expected: &str) {
        let range = read(&spec).unwrap();
        let all: Vec<String> = range.addresses().map(|address| address.to_string()).collect();
        assert_eq!((all.join(" ").as_str(), range.capacity()), (expected, all.len()));
    }

    #[rstest]
    #[case::word(json!({"addresses": ["some"], "prefix": 24}), "`some` is neither")]
    #[case::backwards(json!({"addresses": ["10.0.0.9-10.0.0.4"], "prefix": 24}), "`10.0.0.9-10.0.0.4` ends before")]
    #[case::families(json!({"addresses": ["10.0.0.9", "fd00::1"], "prefix": 24}), "the addresses are of both families")]
    #[case::gateway(json!({"addresses": ["10.0.0.9"], "gateway": "fd00::1", "prefix": 24}), "the gateway `fd00::1`")]
    #[case::prefix(json!({"addresses": ["10.0.0.9"], "prefix": 64}), "the prefix /64")]
    #[case::quarantine(json!({"addresses": ["10.0.0.9"], "prefix": 24, "quarantine": "1d"}), "`quarantine` is `1d`")]
    fn what_cannot_be_used_is_told(#[case] spec: Value, #[case] expected: &str) {
        let problem = read(&spec).unwrap_err().to_string();
        assert!(problem.starts_with(expected), "{problem}");
    }

    #[test]
    fn a_large_network_is_not_counted_to_its_end() {
        let range = read(&json!({"addresses": ["fd00::/64"], "prefix": 64})).unwrap();
        assert_eq!(
            (range.capacity(), range.addresses().next().unwrap().to_string().as_str()),
            (65_536, "fd00::1")
        );
    }
}
