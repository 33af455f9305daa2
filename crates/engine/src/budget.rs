//! How much may go on at one endpoint at once.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;

use crate::resource::Endpoint;
use crate::step::Cost;

/// Units by endpoint and budget.
type Units = BTreeMap<(Endpoint, Box<str>), u32>;

/// Budgets by endpoint and name. A cost without a budget is free.
#[derive(Debug, Clone, Default)]
pub struct Budgets {
    limits: Units,
    used: Arc<Mutex<Units>>,
    /// Told when a part is given back.
    pub(crate) freed: Arc<Notify>,
}

impl Budgets {
    pub fn limit(&mut self, endpoint: &Endpoint, budget: &str, units: u32) {
        self.limits.insert((endpoint.clone(), budget.into()), units);
    }

    /// Takes over the limits of others. What is in use stays so.
    pub fn extend(&mut self, other: Budgets) {
        self.limits.extend(other.limits);
    }

    /// Takes all that a step costs, or nothing and the name of the budget that is used up.
    pub(crate) fn reserve(&self, endpoint: &Endpoint, costs: &[Cost]) -> Result<Reservation, Box<str>> {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let mut taken = Vec::with_capacity(costs.len());
        for cost in costs {
            let key = (endpoint.clone(), cost.budget.clone());
            let Some(limit) = self.limits.get(&key).copied() else { continue };
            // A step larger than its budget runs alone.
            let units = cost.units.min(limit.max(1));
            if used.get(&key).copied().unwrap_or_default() + units > limit.max(1) {
                return Err(cost.budget.clone());
            }
            taken.push((key, units));
        }
        for (key, units) in &taken {
            *used.entry(key.clone()).or_default() += units;
        }
        Ok(Reservation { used: self.used.clone(), freed: self.freed.clone(), taken })
    }
}

/// Given back when the step has ended, however it ended.
#[derive(Debug)]
pub(crate) struct Reservation {
    used: Arc<Mutex<Units>>,
    freed: Arc<Notify>,
    taken: Vec<((Endpoint, Box<str>), u32)>,
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        for (key, units) in &self.taken {
            if let Some(used) = used.get_mut(key) {
                *used = used.saturating_sub(*units);
            }
        }
        drop(used);
        self.freed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::Budgets;
    use crate::resource::Endpoint;
    use crate::step::Cost;

    #[test]
    fn what_is_reserved_is_given_back() {
        let vcenter = Endpoint::from("vc");
        let mut budgets = Budgets::default();
        budgets.limit(&vcenter, "clones", 8);
        let cost = |units| [Cost { budget: "clones".into(), units }];
        let first = budgets.reserve(&vcenter, &cost(4)).unwrap();
        let second = budgets.reserve(&vcenter, &cost(4)).unwrap();
        assert_eq!(&*budgets.reserve(&vcenter, &cost(1)).unwrap_err(), "clones");
        assert!(budgets.reserve(&Endpoint::from("other"), &cost(9)).is_ok(), "no budget, no limit");
        drop(first);
        assert!(budgets.reserve(&vcenter, &cost(4)).is_ok());
        drop(second);
        assert!(budgets.reserve(&vcenter, &cost(99)).is_ok(), "larger than the budget, but alone");
    }
}
