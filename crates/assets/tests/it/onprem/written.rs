//! What is written.

use rstest::rstest;
use slipway_assets::onprem::{
    Invalid, Machine, NetworkFacts, Part, Settings, corefile, haproxy_cfg, keepalived_conf, redirect_rules,
    router_ids, static_pods,
};
use slipway_config::install_config::{LoadBalancer, Platform};
use slipway_config::yaml::to_yaml;

use super::{Families, addresses, facts, machine, settings};
use crate::fixtures::{self, KUBERNETES, KUBEVIRT, NONE, OVIRT, VSPHERE};

#[rstest]
#[case::last_byte("10.30.0.5 10.30.0.6", &[5, 6])]
#[case::both_families("10.30.0.5 fd00::5 10.30.0.6 fd00::6", &[5, 6, 7, 8])]
#[case::the_same_byte_in_a_larger_network("10.30.0.5 10.30.1.5", &[5, 6])]
#[case::zero_is_none("10.30.1.0", &[1])]
#[case::around_the_end("10.30.0.255 10.30.1.255", &[255, 1])]
#[case::random("fd00::a1b2:c3d4", &[0xd4])]
fn router_ids_follow_the_addresses(#[case] vips: &str, #[case] expected: &[u8]) {
    assert_eq!(router_ids(&addresses(vips)), expected);
}

/// Two clusters in one network of 256 addresses, each with its own addresses for API and ingress.
#[test]
fn neighbours_have_other_router_ids() {
    for first in (1..250).step_by(2) {
        let vips = |number: u8| addresses(&format!("10.30.0.{number} 10.30.0.{}", number + 1));
        let (one, other) = (router_ids(&vips(first)), router_ids(&vips(first + 2)));
        assert!(one.iter().all(|id| !other.contains(id)), "{one:?} and {other:?}");
    }
}

#[rstest]
#[case(Part::Bootstrap, Families::V4)]
#[case(Part::ControlPlane, Families::Dual)]
#[case(Part::Compute, Families::V6)]
fn everything_of_a_machine(#[case] part: Part, #[case] families: Families) {
    let settings = settings(part, families);
    let name = format!("{part:?}-{families:?}");
    insta::assert_snapshot!(format!("{name}-keepalived"), keepalived_conf(&settings));
    insta::assert_snapshot!(format!("{name}-corefile"), corefile(&settings));
    if part == Part::ControlPlane {
        insta::assert_snapshot!(format!("{name}-haproxy"), haproxy_cfg(&settings));
        insta::assert_snapshot!(format!("{name}-redirect"), redirect_rules(&settings));
        let pods: Vec<String> = static_pods(part, "registry.example.com/slipway:v1")
            .iter()
            .map(|pod| to_yaml(&serde_json::to_value(pod).unwrap()))
            .collect();
        insta::assert_snapshot!(format!("{name}-pods"), pods.join("---\n"));
    }
}

/// The order in which machines are listed, and whether this one is among them, makes no difference; what a machine
/// lists of the virtual addresses is not its own.
#[test]
fn the_same_machines_give_the_same_files() {
    let this = || machine("b", Part::ControlPlane, "10.30.0.22 10.30.0.5");
    let a = || machine("a", Part::ControlPlane, "10.30.0.21");
    let c = || machine("c", Part::Compute, "10.30.0.6 10.30.0.31");
    let made = |machines: Vec<Machine>| {
        Settings::new(facts("10.30.0.5", "10.30.0.6"), this(), machines, "eth0", Vec::new()).unwrap()
    };
    let settings = made(vec![a(), this(), c()]);
    assert_eq!(settings, made(vec![c(), a(), a()]));
    let text = keepalived_conf(&settings) + &haproxy_cfg(&settings) + &corefile(&settings);
    assert!(text.contains("unicast_src_ip 10.30.0.22\n"), "{text}");
    assert!(!text.contains("10.30.0.5:6443") && !text.contains("10.30.0.6 c"), "{text}");
    assert!(!text.contains("forward"), "there is no DNS server to forward to: {text}");
}

/// keepalived without peers would fall back to multicast.
#[rstest]
#[case("10.30.0.5", "10.30.0.21", "192.0.2.1")]
#[case("fd00::5", "fd00::21", "2001:db8::1")]
fn a_machine_without_peers_sends_no_multicast(#[case] vip: &str, #[case] own: &str, #[case] nobody: &str) {
    let this = machine("only", Part::ControlPlane, own);
    let settings = Settings::new(facts(vip, ""), this, Vec::new(), "eth0", Vec::new()).unwrap();
    let text = keepalived_conf(&settings);
    assert!(text.contains(&format!("unicast_peer {{\n        {nobody}\n    }}")), "{text}");
}

#[rstest]
#[case("a\nserver evil 6.6.6.6:6443")]
#[case("a b")]
#[case("A")]
#[case("")]
fn names_cannot_break_out(#[case] name: &str) {
    assert!(matches!(Machine::new(name, Part::Compute, Vec::new()), Err(Invalid::MachineName { .. })));
}

#[rstest]
#[case("")]
#[case("eth0\n}")]
#[case("a-name-that-is-long")]
fn interfaces_have_names(#[case] interface: &str) {
    let this = machine("only", Part::ControlPlane, "10.30.0.21");
    let made = Settings::new(facts("10.30.0.5", ""), this, Vec::new(), interface, Vec::new());
    assert_eq!(made, Err(Invalid::Interface(interface.to_owned())));
}

/// Nothing of it where there are no virtual addresses, or an external load balancer has them.
#[test]
fn only_where_it_is_wanted() {
    for text in [VSPHERE, KUBERNETES, OVIRT, KUBEVIRT] {
        assert!(NetworkFacts::of(&fixtures::config(text)).is_some());
    }
    assert_eq!(NetworkFacts::of(&fixtures::config(NONE)), None);
    let mut config = fixtures::config(VSPHERE);
    let Platform::VSphere(platform) = &mut config.platform else { panic!("not vSphere") };
    platform.load_balancer = LoadBalancer::UserManaged;
    assert_eq!(NetworkFacts::of(&config), None);
    let facts = NetworkFacts::of(&fixtures::config(KUBERNETES)).unwrap();
    let text = serde_json::to_string(&facts).unwrap();
    insta::assert_snapshot!(text, @r#"{"domain":"dinghy.example.com","apiVips":["10.30.0.5"],"ingressVips":["10.30.0.6"],"ingressProbe":"http://localhost:80/"}"#);
    assert_eq!(serde_json::from_str::<NetworkFacts>(&text).unwrap(), facts);
}
