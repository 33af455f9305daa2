//! haproxy and keepalived read their files. The rules of nftables are only compared with what was agreed on: nft is not
//! among the programs the tests have.

use std::process::Command;

use slipway_assets::onprem::{Part, Settings, haproxy_cfg, keepalived_conf};
use slipway_testkit::scratch::Scratch;

use super::{FAMILIES, PARTS, facts, machine, settings};

/// What a program says about a file, in a network of its own that has the interface.
fn judge(command: &str, text: &str) -> Result<String, String> {
    let scratch = Scratch::new("onprem").unwrap();
    scratch.settle();
    let file = scratch.write("conf", text).unwrap();
    let script = format!("ip link add ens192 type bridge && ip link set ens192 up && exec {command} \"$1\"");
    let output =
        Command::new("unshare").args(["--net", "sh", "-c", &script, "sh"]).arg(file).output().unwrap();
    let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    if output.status.success() { Ok(said) } else { Err(said) }
}

fn haproxy(text: &str) -> Result<String, String> {
    judge("haproxy -c -V -f", text)
}

fn keepalived(text: &str) -> Result<String, String> {
    judge("keepalived --log-console --config-test --use-file", text)
}

/// A cluster in which no machine has an address yet.
fn empty(part: Part) -> Settings {
    Settings::new(
        facts("10.30.0.5", "10.30.0.6"),
        machine("only", part, ""),
        Vec::new(),
        "ens192",
        Vec::new(),
    )
    .unwrap()
}

#[test]
fn haproxy_has_nothing_to_say() {
    let all = FAMILIES.into_iter().map(|families| settings(Part::ControlPlane, families));
    for settings in all.chain([empty(Part::ControlPlane)]) {
        let said = haproxy(&haproxy_cfg(&settings)).unwrap();
        assert!(said.contains("Configuration file is valid") && !said.contains("WARNING"), "{said}");
    }
}

#[test]
fn keepalived_has_nothing_to_say() {
    for part in PARTS {
        for families in FAMILIES {
            let text = keepalived_conf(&settings(part, families));
            let said = keepalived(&text).unwrap_or_else(|said| panic!("{said}\n{text}"));
            assert_eq!(said, "", "{part:?} {families:?}\n{text}");
        }
    }
}

/// They do refuse what they do not understand: the tests above can fail.
#[test]
fn mistakes_are_found() {
    let settings = settings(Part::ControlPlane, super::Families::V4);
    let balancer = haproxy_cfg(&settings).replace("httpchk", "httpcheck");
    assert!(haproxy(&balancer).unwrap_err().contains("httpcheck"));
    let text = keepalived_conf(&settings);
    let said = keepalived(&text.replace("virtual_router_id 5", "virtual_router_id 300")).unwrap_err();
    assert!(said.contains("300"), "{said}");
    let said = keepalived(&text.replace("virtual_router_id 6", "virtual_router_id 5")).unwrap_err();
    assert!(said.contains("VRID 5"), "{said}");
}
