//! Ctrl-C and its kin: a code of their own, a plain line at once, and no session that stays.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use slipway_testkit::process::eventually;
use slipway_testkit::vcenter::VCenter;

use crate::cluster::{ZONES, command, directory, vcenter};
use crate::run::slipway;

const TIMEOUT: Duration = Duration::from_secs(40);

fn stats(vcenter: &VCenter) -> Value {
    vcenter.control("GET", "/stats", &Value::Null).expect("figures")
}

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args([name, &child.id().to_string()]).status().expect("a signal");
    assert!(sent.success());
}

/// A command for which SIGHUP is as `env` is told, however these tests were started.
fn with_hangup(how: &str, command: &Command) -> Command {
    let mut wrapped = Command::new("env");
    wrapped
        .arg(format!("--{how}-signal=HUP"))
        .arg(command.get_program())
        .args(command.get_args())
        .env_clear();
    wrapped.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?)))).stdin(Stdio::null());
    if let Some(folder) = command.get_current_dir() {
        wrapped.current_dir(folder);
    }
    wrapped
}

/// Whether the kernel has a signal of a process in one of its sets.
fn has_signal(child: &Child, set: &str, number: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
    let bits = status.lines().find_map(|line| line.strip_prefix(set)).unwrap_or("0");
    u64::from_str_radix(bits.trim_start_matches(':').trim(), 16).expect("a number") & (1 << (number - 1)) != 0
}

/// Before anything is asked, and where nothing has to be finished.
#[test]
fn whoever_waits_for_a_file_ends_at_once() {
    for name in ["-INT", "-TERM", "-HUP"] {
        let mut command = with_hangup("default", &slipway(&["validate", "-o", "json", "-"]));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it runs");
        // The file has no end as long as this is there.
        let _input = child.stdin.take();
        // The last of the three that is listened for.
        eventually("a listener", TIMEOUT, || Ok(has_signal(&child, "SigCgt", 15).then_some(()))).expect(name);
        signal(&child, name);
        let output = child.wait_with_output().expect("it ends");
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(8), "{name}: {told}");
        assert_eq!(told, "error: interrupted\n", "{name}");
        let data: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(data["error"]["message"], "interrupted", "{name}");
    }
}

/// What is started under nohup outlives its terminal.
#[test]
fn a_hangup_that_is_ignored_stays_ignored() {
    let mut command = with_hangup("ignore", &slipway(&["validate", "-"]));
    let mut child = command.stdin(Stdio::piped()).spawn().expect("it runs");
    eventually("a listener", TIMEOUT, || Ok(has_signal(&child, "SigCgt", 15).then_some(())))
        .expect("SIGTERM");
    assert!(has_signal(&child, "SigIgn", 1) && !has_signal(&child, "SigCgt", 1));
    child.kill().expect("its end");
    child.wait().expect("its end");
}

/// The user need not wait for the sessions to end.
#[test]
fn a_second_wish_ends_it_at_once() {
    let vcenters = [vcenter(ZONES[0])];
    let directory = directory(&vcenters);
    let hold =
        json!({"on": {"kind": "soap", "method": "RetrievePropertiesEx"}, "fault": {"delay_ms": 3_600_000}});
    vcenters[0].control("POST", "/faults", &hold).expect("a rule");
    let mut command = command(directory.path(), &["plan"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it runs");
    eventually("a session that waits", TIMEOUT, || {
        let stats = stats(&vcenters[0]);
        Ok((stats["soap_sessions"] == 1 && stats["active_requests"] != 0).then_some(()))
    })
    .expect("a session");
    vcenters[0].control("POST", "/freeze", &Value::Null).expect("a frozen vCenter");
    let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
    signal(&child, "-INT");
    let answer =
        lines.find(|line| line.as_ref().is_ok_and(|line| line.starts_with("interrupted: finishing ")));
    assert!(answer.is_some(), "nothing was said");
    signal(&child, "-INT");
    assert_eq!(child.wait().expect("it ends").code(), Some(8));
    vcenters[0].control("POST", "/thaw", &Value::Null).expect("a vCenter that answers");
}

#[test]
fn whoever_only_looks_logs_out() {
    let vcenters = ZONES.map(vcenter);
    let directory = directory(&vcenters);
    // After the login each client waits for its first object.
    let rule =
        json!({"on": {"kind": "soap", "method": "RetrievePropertiesEx"}, "fault": {"delay_ms": 60_000}});
    for vcenter in &vcenters {
        vcenter.control("DELETE", "/faults", &Value::Null).expect("no faults");
        vcenter.control("POST", "/faults", &rule).expect("a rule");
    }
    let looking = [
        (&["preflight"][..], "-INT"),
        (&["check", "--dir", "."], "-TERM"),
        (&["plan"], "-HUP"),
        (&["status"], "-TERM"),
    ];
    for (arguments, name) in looking {
        let mut command = with_hangup("default", &command(directory.path(), arguments));
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
        for vcenter in &vcenters {
            eventually("a session that waits", TIMEOUT, || {
                let stats = stats(vcenter);
                Ok((stats["soap_sessions"] == 1 && stats["active_requests"] != 0).then_some(()))
            })
            .unwrap_or_else(|error| panic!("{arguments:?}: {error}: {}", stats(vcenter)));
        }
        signal(&child, name);
        let output = child.wait_with_output().expect("it ends");
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(8), "{arguments:?}: {told}");
        let answer = "interrupted: finishing the calls that are under way; Ctrl-C again leaves at once\n";
        assert!(told.contains(answer), "{arguments:?}: {told}");
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
