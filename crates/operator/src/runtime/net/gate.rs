//! Who may come in, and how often at the same time.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use ipnet::IpNet;

use super::End;

#[derive(Debug)]
pub(super) struct Gate {
    per_address: usize,
    networks: Vec<IpNet>,
    inside: Arc<Mutex<HashMap<IpAddr, usize>>>,
}

/// Held as long as somebody is inside.
#[derive(Debug)]
pub(super) struct Pass {
    address: IpAddr,
    inside: Arc<Mutex<HashMap<IpAddr, usize>>>,
}

impl Gate {
    pub(super) fn new(per_address: usize, networks: Vec<IpNet>) -> Self {
        Gate { per_address, networks, inside: Arc::default() }
    }

    pub(super) fn pass(&self, address: IpAddr) -> Result<Pass, End> {
        if !self.networks.is_empty() && !self.networks.iter().any(|network| network.contains(&address)) {
            return Err(End::ForeignNetwork);
        }
        let mut inside = self.inside.lock().unwrap_or_else(PoisonError::into_inner);
        let count = inside.entry(address).or_default();
        if *count >= self.per_address {
            return Err(End::TooManyConnections);
        }
        *count += 1;
        Ok(Pass { address, inside: Arc::clone(&self.inside) })
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        let mut inside = self.inside.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = inside.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                inside.remove(&self.address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{End, Gate};

    #[test]
    fn an_address_has_its_share_and_leaves_nothing_behind() {
        let gate = Gate::new(2, Vec::new());
        let (one, other) = ("10.0.0.1".parse().unwrap(), "10.0.0.2".parse().unwrap());
        let first = gate.pass(one).unwrap();
        let _second = gate.pass(one).unwrap();
        assert_eq!(gate.pass(one).unwrap_err(), End::TooManyConnections);
        drop(gate.pass(other).unwrap());
        drop(first);
        drop(gate.pass(one).unwrap());
        assert_eq!(gate.inside.lock().unwrap().len(), 1);
    }

    #[test]
    fn only_listed_networks() {
        let gate = Gate::new(2, vec!["10.0.0.0/24".parse().unwrap(), "fd00::/64".parse().unwrap()]);
        for (address, good) in
            [("10.0.0.9", true), ("10.0.1.9", false), ("fd00::1", true), ("fd01::1", false)]
        {
            assert_eq!(gate.pass(address.parse().unwrap()).is_ok(), good, "{address}");
        }
    }
}
