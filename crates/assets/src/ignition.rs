//! Placeholder until the real one is merged.
use crate::Cluster;
use crate::names::Role;
use slipway_config::install_config::vsphere::Host;
pub fn pointer(_cluster: &Cluster, _role: Role) -> Vec<u8> {
    b"{}".to_vec()
}
pub fn hostname_wrapper(pointer: &[u8], _hostname: &str) -> Vec<u8> {
    pointer.to_vec()
}
pub fn network_kargs(_host: &Host, _hostname: &str) -> String {
    String::new()
}
