use std::process::Command;

use serde_json::json;
use slipway_testkit::peers;
use slipway_testkit::scratch::Scratch;

/// Whether the real validator accepts a config without a word.
fn accepted(config: &serde_json::Value) -> bool {
    let scratch = Scratch::new("ignition").unwrap();
    scratch.settle();
    let file = scratch.write("config.ign", config.to_string()).unwrap();
    let output = Command::new(peers::find("ignition-validate").unwrap()).arg(file).output().unwrap();
    output.status.success() && output.stdout.is_empty() && output.stderr.is_empty()
}

#[test]
fn ignition_configs_are_judged() {
    let file = |path: &str| json!({"ignition": {"version": "3.2.0"}, "storage": {"files": [{"path": path, "mode": 420}]}});
    assert!(accepted(&file("/etc/motd")));
    assert!(!accepted(&file("motd")), "a relative path is an error");
    assert!(
        !accepted(&json!({"ignition": {"version": "3.2.0"}, "storge": {}})),
        "an unknown key is at least a warning"
    );
}
