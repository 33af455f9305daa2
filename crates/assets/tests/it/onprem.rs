//! On-prem networking: what is written, and that the programs it is for accept it.

mod accepted;
mod names;
mod strangers;
mod written;

use std::net::IpAddr;

use slipway_assets::onprem::{Machine, NetworkFacts, Part, Settings};

fn addresses(text: &str) -> Vec<IpAddr> {
    text.split_whitespace().map(|word| word.parse().unwrap()).collect()
}

fn facts(api: &str, ingress: &str) -> NetworkFacts {
    NetworkFacts {
        domain: "dinghy.example.com".to_owned(),
        api_vips: addresses(api),
        ingress_vips: addresses(ingress),
        ingress_probe: "http://localhost:80/".to_owned(),
    }
}

fn machine(name: &str, part: Part, text: &str) -> Machine {
    Machine::new(name, part, addresses(text)).unwrap()
}

/// A cluster of one control-plane machine per entry, and a compute machine; seen from a machine of the part.
fn settings(part: Part, families: Families) -> Settings {
    let pick = |v4: &str, v6: &str| match families {
        Families::V4 => v4.to_owned(),
        Families::V6 => v6.to_owned(),
        Families::Dual => format!("{v4} {v6}"),
    };
    let facts = facts(&pick("10.30.0.5", "fd00:30::5"), &pick("10.30.0.6", "fd00:30::6"));
    let all = [
        machine("dinghy-bootstrap", Part::Bootstrap, &pick("10.30.0.20", "fd00:30::20")),
        machine("dinghy-master-0", Part::ControlPlane, &pick("10.30.0.21", "fd00:30::21")),
        machine("dinghy-master-1", Part::ControlPlane, &pick("10.30.0.22", "fd00:30::22")),
        machine("dinghy-worker-0", Part::Compute, &pick("10.30.0.31", "fd00:30::31")),
    ];
    let this = match part {
        Part::Bootstrap => all[0].clone(),
        Part::ControlPlane => all[1].clone(),
        Part::Compute => all[3].clone(),
    };
    let upstreams = addresses(&pick("10.30.0.2 127.0.0.1", "fd00:30::2"));
    Settings::new(facts, this, all.to_vec(), "ens192", upstreams).unwrap()
}

#[derive(Debug, Clone, Copy)]
enum Families {
    V4,
    V6,
    Dual,
}

const PARTS: [Part; 3] = [Part::Bootstrap, Part::ControlPlane, Part::Compute];
const FAMILIES: [Families; 3] = [Families::V4, Families::V6, Families::Dual];
