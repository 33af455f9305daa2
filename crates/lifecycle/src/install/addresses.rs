//! Machines that report other addresses than they were given.

use std::fmt;
use std::net::IpAddr;

use slipway_engine::{Endpoint, Platform, World};
use slipway_providers::provider::{MachineView, Provider};

use crate::platform::PlannedMachine;

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

/// Machines that run, report addresses, and lack one of their own.
pub(super) fn misaddressed<P: Provider>(
    machines: &[PlannedMachine],
    world: &World<<P as Platform>::State>,
) -> Vec<Misaddressed> {
    let compare = |(id, observation): (&slipway_engine::Id, &slipway_engine::Observation<P::State>)| {
        let MachineView { on, addresses: reported } = P::view(observation.state()?).machine?;
        let given = &machines.iter().find(|machine| *machine.name == *id.name)?.addresses;
        (on && lacks_one(given, &reported)).then(|| Misaddressed {
            endpoint: id.endpoint.clone(),
            machine: id.name.to_string(),
            given: given.clone(),
            reported,
        })
    };
    world.iter().filter_map(compare).collect()
}

/// One that reports nothing has not come up yet.
fn lacks_one(given: &[IpAddr], reported: &[IpAddr]) -> bool {
    !reported.is_empty() && !given.iter().all(|address| reported.contains(address))
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use rstest::rstest;
    use slipway_engine::Endpoint;

    use super::{Misaddressed, lacks_one};

    #[rstest]
    #[case::as_given("10.0.0.5", "10.0.0.5 10.0.0.10", false)]
    #[case::another("10.0.0.5", "10.20.0.6", true)]
    #[case::one_of_two("10.0.0.5 fd00::5", "10.0.0.5", true)]
    #[case::none_yet("10.0.0.5", "", false)]
    #[case::dhcp("", "10.20.0.6", false)]
    fn addresses_are_compared(#[case] given: &str, #[case] reported: &str, #[case] lacks: bool) {
        let parse = |text: &str| -> Vec<IpAddr> {
            text.split_whitespace().map(|word| word.parse().unwrap()).collect()
        };
        assert_eq!(lacks_one(&parse(given), &parse(reported)), lacks);
    }

    #[test]
    fn both_addresses_are_named() {
        let wrong = Misaddressed {
            endpoint: Endpoint::from("vc1"),
            machine: "m-0".to_owned(),
            given: vec!["10.0.0.5".parse().unwrap(), "fd00::5".parse().unwrap()],
            reported: vec!["10.0.0.5".parse().unwrap()],
        };
        assert_eq!(wrong.to_string(), "`m-0` reports 10.0.0.5, and `hosts` gives it 10.0.0.5, fd00::5");
    }
}
