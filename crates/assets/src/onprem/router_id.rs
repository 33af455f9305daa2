//! The number a virtual address is known by in VRRP.

use std::net::IpAddr;

/// A router id for each virtual address, in their order: its last byte, or the next free number where that is taken by
/// one before it. All machines of a cluster have the same addresses in the same order, and so the same numbers.
///
/// Addresses of one network that differ in nothing but the last byte, which is most of them, never share a number,
/// whatever their clusters are called. Where they do, no harm is done: see the decision on router ids.
pub fn router_ids(vips: &[IpAddr]) -> Vec<u8> {
    let mut taken: Vec<u8> = Vec::new();
    for vip in vips {
        let last = match vip {
            IpAddr::V4(address) => address.octets()[3],
            IpAddr::V6(address) => address.octets()[15],
        };
        // 0 is no router id.
        let mut id = last.max(1);
        while taken.contains(&id) {
            id = id.checked_add(1).unwrap_or(1);
        }
        taken.push(id);
    }
    taken
}
