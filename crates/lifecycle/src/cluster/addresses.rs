//! Machines that report other addresses than they were given.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;

use slipway_assets::ignition::{NETWORK_KARGS, static_addresses};
use slipway_engine::{Endpoint, World};
use slipway_providers::vsphere::kinds::State;

use super::blueprint::Blueprint;

/// The static addresses of machines, by name. Machines without are not in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StaticAddresses(BTreeMap<String, Vec<IpAddr>>);

/// A machine without an address it was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misaddressed {
    pub endpoint: Endpoint,
    pub machine: String,
    pub given: Vec<IpAddr>,
    pub reported: Vec<IpAddr>,
}

impl fmt::Display for Misaddressed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let listed =
            |addresses: &[IpAddr]| addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let Misaddressed { machine, given, reported, .. } = self;
        write!(f, "`{machine}` reports {}, and `hosts` gives it {}", listed(reported), listed(given))
    }
}

impl StaticAddresses {
    pub(super) fn of(blueprint: &Blueprint) -> Self {
        let given = blueprint.machines.iter().filter_map(|machine| {
            let addresses = static_addresses(machine.spec.custom_vmx_keys.get(NETWORK_KARGS)?);
            (!addresses.is_empty()).then(|| (machine.name.clone(), addresses))
        });
        StaticAddresses(given.collect())
    }

    /// Machines that run, report addresses, and lack one of their own.
    pub fn missing_in(&self, world: &World<State>) -> Vec<Misaddressed> {
        let misaddressed = |(id, sight): (&slipway_engine::Id, &slipway_engine::Sight<State>)| {
            let Some(State::Power { on: true, addresses: reported, .. }) = sight.state() else { return None };
            let given = self.0.get(&*id.name)?;
            let has_all = given.iter().all(|address| reported.contains(address));
            (!has_all && !reported.is_empty()).then(|| Misaddressed {
                endpoint: id.endpoint.clone(),
                machine: id.name.to_string(),
                given: given.clone(),
                reported: reported.clone(),
            })
        };
        world.iter().filter_map(misaddressed).collect()
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use slipway_engine::{Endpoint, Sight, World};
    use slipway_providers::vsphere::kinds::Kind;

    use super::{State, StaticAddresses};

    #[rstest]
    #[case::as_given("10.0.0.5", Some((true, "10.0.0.5 10.0.0.10")), None)]
    #[case::another("10.0.0.5", Some((true, "10.20.0.6")), Some("`m-0` reports 10.20.0.6, and `hosts` gives it 10.0.0.5"))]
    #[case::one_of_two("10.0.0.5 fd00::5", Some((true, "10.0.0.5")), Some("`m-0` reports 10.0.0.5, and `hosts` gives it 10.0.0.5, fd00::5"))]
    #[case::none_yet("10.0.0.5", Some((true, "")), None)]
    #[case::off("10.0.0.5", Some((false, "10.20.0.6")), None)]
    #[case::dhcp("", Some((true, "10.20.0.6")), None)]
    #[case::not_there("10.0.0.5", None, None)]
    fn addresses_are_compared(
        #[case] given: &str,
        #[case] state: Option<(bool, &str)>,
        #[case] expected: Option<&str>,
    ) {
        let parse =
            |text: &str| text.split_whitespace().map(|word| word.parse().unwrap()).collect::<Vec<_>>();
        let addresses = Some(parse(given)).filter(|given| !given.is_empty());
        let given = StaticAddresses(addresses.map(|given| ("m-0".to_owned(), given)).into_iter().collect());
        let mut world = World::default();
        let state = state.map(|(on, has)| State::Power { moref: String::new(), on, addresses: parse(has) });
        world.set(Kind::Power.id(&Endpoint::from("vc1"), "m-0"), Sight::Known(state));
        let told: Vec<String> = given.missing_in(&world).iter().map(ToString::to_string).collect();
        assert_eq!(told, expected.into_iter().collect::<Vec<_>>());
    }
}
