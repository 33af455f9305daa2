//! Which claim is given which address, and which addresses rest. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use jiff::Timestamp;
use kube::ResourceExt;
use slipway_api::TypedReference;
use slipway_api::cluster_api::{IpAddress, IpAddressClaim};
use slipway_api::slipway::GROUP;
use slipway_assess::machines::names::annotation;

use super::range::Range;

/// The kind of our pools.
pub(super) const KIND: &str = "AddressPool";
/// On an IPAddress: the id of the claim it was given to. A claim that was made anew under the same name is another one.
pub(super) const CLAIM_UID: &str = "slipway.dev/claim-uid";
/// On an IPAddress whose claim has gone: since when.
pub(super) const RELEASED: &str = "slipway.dev/released";

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// The address is made, then the claim is told.
    Give { claim: String, address: IpAddr },
    /// It was made for the claim already.
    Tell { claim: String, object: String },
    /// Its claim has gone: it rests from now on.
    Release { object: String },
    /// It has rested.
    Forget { object: String },
}

/// What follows for a pool.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) steps: Vec<Step>,
    pub(super) used: usize,
    pub(super) quarantined: usize,
    /// Claims for which there is no address, by name.
    pub(super) waiting: Vec<String>,
    /// When the next address has rested.
    pub(super) due: Option<Timestamp>,
}

/// Whether something is of a pool.
pub(super) fn is_of(reference: &TypedReference, pool: &str) -> bool {
    reference.api_group == GROUP && reference.kind == KIND && reference.name == pool
}

/// The name of an address's object. Names are given once.
pub(super) fn object_name(pool: &str, address: IpAddr) -> String {
    let text: String =
        address.to_string().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    format!("{pool}-{}", text.trim_matches('-'))
}

fn address_of(claim: &IpAddressClaim) -> Option<&str> {
    claim.status.as_ref().map(|status| status.address_ref.name.as_str()).filter(|name| !name.is_empty())
}

/// What is to be done about a pool now.
pub(super) fn plan(
    range: &Range,
    claims: &[&IpAddressClaim],
    addresses: &[&IpAddress],
    now: Timestamp,
) -> Plan {
    let mut plan = Plan::default();
    let by_uid: BTreeMap<String, &IpAddressClaim> =
        claims.iter().filter_map(|claim| Some((claim.uid()?, *claim))).collect();
    let mut taken: BTreeSet<IpAddr> = BTreeSet::new();
    let mut given: BTreeMap<String, String> = BTreeMap::new();
    for address in addresses {
        taken.extend(address.spec.address.parse::<IpAddr>());
        let object = address.name_any();
        let claim = annotation(&address.metadata, CLAIM_UID).and_then(|uid| by_uid.get(uid));
        match (claim, annotation(&address.metadata, RELEASED)) {
            // A claim has one address: what was made for it beside that, by what was seen then, rests.
            (Some(claim), None) if address_of(claim).is_none_or(|own| own == object) => {
                plan.used += 1;
                given.insert(claim.name_any(), object);
            }
            (_, None) => plan.steps.push(Step::Release { object }),
            (_, Some(since)) => {
                let since: Option<Timestamp> = since.parse().ok();
                let until = since.and_then(|since| since.checked_add(range.quarantine).ok());
                match until.filter(|until| *until > now) {
                    Some(until) => {
                        plan.quarantined += 1;
                        plan.due = Some(plan.due.map_or(until, |due| due.min(until)));
                    }
                    None => plan.steps.push(Step::Forget { object }),
                }
            }
        }
    }
    let mut open: Vec<&&IpAddressClaim> =
        claims.iter().filter(|claim| claim.metadata.deletion_timestamp.is_none()).collect();
    open.retain(|claim| address_of(claim).is_none());
    open.sort_by_key(|claim| (claim.creation_timestamp().map(|time| time.0), claim.name_any()));
    let mut free = range.addresses().filter(|address| !taken.contains(address));
    for claim in open {
        let name = claim.name_any();
        if let Some(object) = given.get(&name) {
            plan.steps.push(Step::Tell { claim: name, object: object.clone() });
            continue;
        }
        match free.next() {
            Some(address) => {
                plan.used += 1;
                plan.steps.push(Step::Give { claim: name, address });
            }
            None => plan.waiting.push(name),
        }
    }
    plan
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use jiff::Timestamp;
    use serde_json::{Value, json};
    use slipway_api::cluster_api::{IpAddress, IpAddressClaim};

    use super::{Range, Step, object_name, plan};

    fn at(minutes: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + 60 * minutes).unwrap()
    }

    fn range() -> Range {
        let spec = json!({"addresses": ["10.0.0.1-10.0.0.3"], "prefix": 24, "quarantine": "10m"});
        Range::read(&serde_json::from_value(spec).unwrap()).unwrap()
    }

    fn pool() -> Value {
        json!({"apiGroup": "slipway.dev", "kind": "AddressPool", "name": "blue"})
    }

    fn claim(name: &str, uid: u64, given: Option<&str>) -> IpAddressClaim {
        serde_json::from_value(json!({
            "apiVersion": "ipam.cluster.x-k8s.io/v1beta1", "kind": "IPAddressClaim",
            "metadata": {"name": name, "uid": uid.to_string(), "creationTimestamp": at(0).to_string()},
            "spec": {"poolRef": pool()},
            "status": given.map(|name| json!({"addressRef": {"name": name}})),
        }))
        .unwrap()
    }

    fn address(address: &str, claim: &IpAddressClaim) -> IpAddress {
        let uid = claim.metadata.uid.clone().unwrap();
        serde_json::from_value(json!({
            "apiVersion": "ipam.cluster.x-k8s.io/v1beta1", "kind": "IPAddress",
            "metadata": {"name": object_name("blue", address.parse().unwrap()), "annotations": {"slipway.dev/claim-uid": uid}},
            "spec": {"claimRef": {"name": claim.metadata.name}, "poolRef": pool(), "address": address, "prefix": 24},
        }))
        .unwrap()
    }

    #[test]
    fn a_claim_is_given_the_first_address_that_is_free() {
        let (old, new, cut) =
            (claim("old", 1, Some("blue-10-0-0-1")), claim("new", 2, None), claim("cut", 3, None));
        let (first, third) = (address("10.0.0.1", &old), address("10.0.0.3", &cut));
        let found = plan(&range(), &[&old, &new, &cut], &[&first, &third], at(1));
        assert_eq!(
            found.steps,
            [
                // It was made, and the crash came before the claim was told.
                Step::Tell { claim: "cut".to_owned(), object: "blue-10-0-0-3".to_owned() },
                Step::Give { claim: "new".to_owned(), address: "10.0.0.2".parse().unwrap() },
            ]
        );
        assert_eq!((found.used, found.quarantined, found.waiting.len()), (3, 0, 0));
        let late = claim("late", 4, None);
        let second = address("10.0.0.2", &new);
        let found = plan(&range(), &[&old, &new, &cut, &late], &[&first, &second, &third], at(1));
        assert_eq!(found.waiting, ["late"]);
    }

    #[test]
    fn an_address_rests_before_it_is_given_again() {
        let gone = claim("gone", 1, None);
        let mut first = address("10.0.0.1", &gone);
        // A machine of the same name has come since: it is another claim.
        let new = claim("gone", 2, None);
        let found = plan(&range(), &[&new], &[&first], at(0));
        assert_eq!(
            found.steps,
            [
                Step::Release { object: "blue-10-0-0-1".to_owned() },
                Step::Give { claim: "gone".to_owned(), address: "10.0.0.2".parse().unwrap() },
            ]
        );
        first.metadata.annotations.as_mut().unwrap().insert(super::RELEASED.to_owned(), at(0).to_string());
        let found = plan(&range(), &[], &[&first], at(9));
        assert_eq!((found.steps.len(), found.quarantined, found.due), (0, 1, Some(at(10))));
        let found = plan(&range(), &[], &[&first], at(10));
        assert_eq!(found.steps, [Step::Forget { object: "blue-10-0-0-1".to_owned() }]);
    }

    #[test]
    fn names_are_those_of_objects() {
        assert_eq!(object_name("blue", "10.0.0.1".parse().unwrap()), "blue-10-0-0-1");
        assert_eq!(object_name("blue", "fd00::1".parse().unwrap()), "blue-fd00--1");
        assert_eq!(object_name("blue", "fd00::".parse().unwrap()), "blue-fd00");
    }

    /// Machines come and go, writes are lost, and what is seen may be one step old: no address is ever given to two claims, nor before it
    /// has rested.
    #[test]
    fn no_address_is_given_twice() {
        for seed in 0_u64..300 {
            let mut number = seed;
            let mut below = |bound: u64| {
                number =
                    number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (number >> 33) % bound
            };
            let mut claims: BTreeMap<String, IpAddressClaim> = BTreeMap::new();
            let mut addresses: BTreeMap<String, IpAddress> = BTreeMap::new();
            let mut gone_at: BTreeMap<String, Timestamp> = BTreeMap::new();
            let mut seen = (claims.clone(), addresses.clone());
            for minute in 0..80 {
                let name = format!("claim-{}", below(4));
                if claims.contains_key(&name) {
                    let given = claims.remove(&name).and_then(|claim| claim.status);
                    gone_at.extend(given.map(|given| (given.address_ref.name, at(minute))));
                } else {
                    claims.insert(name.clone(), claim(&name, 1000 * seed + minute.unsigned_abs(), None));
                }
                if below(3) > 0 {
                    seen = (claims.clone(), addresses.clone());
                }
                let found = plan(
                    &range(),
                    &seen.0.values().collect::<Vec<_>>(),
                    &seen.1.values().collect::<Vec<_>>(),
                    at(minute),
                );
                for step in found.steps {
                    if below(6) == 0 {
                        // The power goes: the rest is left to the next pass.
                        break;
                    }
                    match step {
                        Step::Give { claim: name, address: given } => {
                            let object = object_name("blue", given);
                            // As the API server does it: a name is given once, and a claim is told only as it was seen.
                            if addresses.contains_key(&object) {
                                continue;
                            }
                            let Some(claim) = seen.0.get(&name) else { continue };
                            if let Some(since) = gone_at.get(&object) {
                                assert!(
                                    at(minute).duration_since(*since).as_mins() >= 10,
                                    "seed {seed}: {object}"
                                );
                            }
                            addresses.insert(object.clone(), address(&given.to_string(), claim));
                            tell(&mut claims, claim, &name, &object);
                        }
                        Step::Tell { claim: name, object } => {
                            let Some(claim) = seen.0.get(&name) else { continue };
                            tell(&mut claims, claim, &name, &object);
                        }
                        Step::Release { object } => {
                            if let Some(address) = addresses.get_mut(&object) {
                                let annotations = address.metadata.annotations.get_or_insert_default();
                                annotations
                                    .entry(super::RELEASED.to_owned())
                                    .or_insert_with(|| at(minute).to_string());
                            }
                        }
                        Step::Forget { object } => drop(addresses.remove(&object)),
                    }
                }
                let told: Vec<&str> = claims.values().filter_map(super::address_of).collect();
                let mut once = told.clone();
                once.sort_unstable();
                once.dedup();
                assert_eq!(told.len(), once.len(), "seed {seed}: {told:?}");
            }
        }
    }

    fn tell(claims: &mut BTreeMap<String, IpAddressClaim>, seen: &IpAddressClaim, name: &str, object: &str) {
        // As the API server does it: only the version that was seen is changed.
        if let Some(found) = claims.get_mut(name)
            && found.metadata.uid == seen.metadata.uid
            && found.status == seen.status
        {
            *found = claim(name, found.metadata.uid.as_ref().unwrap().parse().unwrap(), Some(object));
        }
    }
}
