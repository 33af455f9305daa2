//! Ctrl-C while vCenters are asked: a code of its own, a plain line, and no session that stays.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use slipway_testkit::process::eventually;
use slipway_testkit::vcenter::VCenter;

use crate::cluster::{ZONES, command, directory, vcenter};

const PATIENCE: Duration = Duration::from_secs(40);

fn stats(vcenter: &VCenter) -> Value {
    vcenter.control("GET", "/stats", &Value::Null).expect("figures")
}

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args([name, &child.id().to_string()]).status().expect("a signal");
    assert!(sent.success());
}

#[test]
fn whoever_only_looks_logs_out() {
    let vcenters = ZONES.map(vcenter);
    let directory = directory(&vcenters);
    // Whoever has logged in waits for the first object.
    let rule =
        json!({"on": {"kind": "soap", "method": "RetrievePropertiesEx"}, "fault": {"delay_ms": 60_000}});
    for vcenter in &vcenters {
        vcenter.control("DELETE", "/faults", &Value::Null).expect("no faults");
        vcenter.control("POST", "/faults", &rule).expect("a rule");
    }
    let looking = [
        (&["preflight"][..], "-INT"),
        (&["check", "--dir", "."], "-TERM"),
        (&["plan"], "-INT"),
        (&["status"], "-TERM"),
    ];
    for (arguments, name) in looking {
        let mut command = command(directory.path(), arguments);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
        for vcenter in &vcenters {
            eventually("a session that waits", PATIENCE, || {
                let stats = stats(vcenter);
                Ok((stats["soap_sessions"] == 1 && stats["active_requests"] != 0).then_some(()))
            })
            .unwrap_or_else(|error| panic!("{arguments:?}: {error}: {}", stats(vcenter)));
        }
        signal(&child, name);
        let output = child.wait_with_output().expect("it ends");
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(8), "{arguments:?}: {told}");
        assert!(told.contains("error: interrupted\nhint: nothing was "), "{arguments:?}: {told}");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "", "{arguments:?}");
        for vcenter in &vcenters {
            let stats = stats(vcenter);
            assert_eq!(
                (&stats["soap_sessions"], &stats["rest_sessions"]),
                (&json!(0), &json!(0)),
                "{arguments:?}"
            );
        }
    }
}
