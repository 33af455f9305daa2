use std::path::Path;

use slipway_testkit::network::{Hosts, PrivateNetwork};
use slipway_testkit::scratch::Scratch;

const NAME: &str = "vcenter.example.com";

fn network() -> (Scratch, PrivateNetwork) {
    let scratch = Scratch::new("network").unwrap();
    scratch.settle();
    let hosts = Hosts::from([(NAME.to_owned(), [127, 0, 0, 2].into())]);
    let network = PrivateNetwork::new(&scratch, hosts).unwrap();
    (scratch, network)
}

fn output(network: &PrivateNetwork, program: &str, arguments: &[&str]) -> String {
    let output = network.command(Path::new(program)).args(arguments).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// What the machine itself resolves by, and from where that file is mounted.
fn hosts_of_the_machine() -> (String, Vec<String>) {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    let mounts = mounts.lines().filter(|line| line.contains(" /etc/hosts ")).map(ToOwned::to_owned);
    (std::fs::read_to_string("/etc/hosts").unwrap(), mounts.collect())
}

#[test]
fn names_are_known_inside_and_nowhere_else() {
    let before = hosts_of_the_machine();
    let (_scratch, network) = network();
    let found = output(&network, "getent", &["hosts", NAME]);
    assert!(found.starts_with("127.0.0.2 "), "{found}");
    assert!(output(&network, "getent", &["ahosts", "localhost"]).contains("127.0.0.1 "));
    assert_eq!(hosts_of_the_machine(), before);
    drop(network);
    assert_eq!(hosts_of_the_machine(), before);
}

#[test]
fn nothing_but_loopback_is_there() {
    let (_scratch, network) = network();
    let interfaces = output(&network, "ip", &["-brief", "link"]);
    assert!(interfaces.starts_with("lo ") && interfaces.lines().count() == 1, "{interfaces}");
    assert!(interfaces.contains(",UP,"), "{interfaces}");
}

#[test]
fn commands_start_where_the_test_is() {
    let (_scratch, network) = network();
    let here = std::env::current_dir().unwrap();
    assert_eq!(output(&network, "pwd", &[]).trim(), here.to_str().unwrap());
}
