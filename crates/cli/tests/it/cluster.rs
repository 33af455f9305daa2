//! `slipway create cluster` and `slipway destroy cluster`: killed in the middle, and run again.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use slipway_testkit::estate::{self, PASSWORD_VARIABLE, Server, Site};
use slipway_testkit::ova;
use slipway_testkit::process::eventually;
use slipway_testkit::vcenter::{ADMINISTRATOR, VCenter};
use tempfile::TempDir;

use crate::files::file;
use crate::run::slipway;
use crate::terminal::{INTERRUPT, Terminal};

pub(crate) const ZONES: [(&str, &str); 2] = [("north", "127.0.0.1"), ("south", "127.0.0.2")];
/// Slashes are common in such names, and vSphere stores them otherwise.
const NETWORK: &str = "VLAN 10/20";
const SIGKILL: i32 = 9;

fn site(zone: &str) -> Site {
    Site { network: NETWORK.to_owned(), ..Site::new(zone) }
}

pub(crate) fn vcenter((zone, server): (&str, &str)) -> VCenter {
    let mut inventory = site(zone).inventory();
    inventory["dhcp"] = json!("10.20.0.0/16");
    // Slow enough to be caught at it.
    inventory["faults"] = json!([{"on": {}, "fault": {"delay_ms": 15}}]);
    let server = server.parse().expect("an address");
    VCenter::start_at(server, &inventory, &["--tls-name", &server.to_string()]).expect("a vCenter")
}

pub(crate) fn config(vcenters: &[VCenter]) -> Value {
    let sites = ZONES.map(|(zone, _)| site(zone));
    estate::install_config("harbour", sites.iter().zip(vcenters.iter().map(Server::of)))
}

pub(crate) fn remove(object: &mut Value, key: &str) {
    assert!(object.as_object_mut().expect("an object").remove(key).is_some(), "no {key}");
}

pub(crate) fn directory(vcenters: &[VCenter]) -> TempDir {
    file(config(vcenters).to_string()).0
}

pub(crate) fn command(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = slipway(arguments);
    command.current_dir(directory).env(PASSWORD_VARIABLE, ADMINISTRATOR.1).stdin(Stdio::null());
    command
}

pub(crate) const CREATE: [&str; 3] = ["create", "cluster", "--no-wait"];
const DESTROY: [&str; 3] = ["destroy", "cluster", "--yes"];

fn journal(directory: &Path) -> usize {
    let text = std::fs::read_to_string(directory.join(".slipway/journal.jsonl")).unwrap_or_default();
    text.lines().count()
}

/// A call: its kind, its method or the beginning of its path, and how many of these come before it.
type Call = (&'static str, &'static str, usize);

/// What makes the category of the cluster's tag, and nothing else.
const CATEGORY: &str = "/rest/com/vmware/cis/tagging/category";

/// Kills the command while it waits for the answer to a call.
fn kill_at(vcenter: &VCenter, mut command: Command, (kind, method, skip): Call) {
    vcenter.control("DELETE", "/faults", &Value::Null).expect("no rules");
    let on = match method {
        CATEGORY => json!({"kind": kind, "method": "POST", "path": method}),
        method => json!({"kind": kind, "method": method}),
    };
    let hold = json!({"on": on, "skip": skip, "fault": {"delay_ms": 3_600_000}});
    vcenter.control("POST", "/faults", &hold).expect("a rule");
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the command runs");
    let held = eventually("the call", Duration::from_mins(1), || {
        if let Some(status) = child.try_wait()? {
            anyhow::bail!("it has ended: {status}");
        }
        let rules = vcenter.control("GET", "/faults", &Value::Null)?.to_string();
        Ok(rules.contains("\"fired\"").then_some(()))
    });
    child.kill().expect("it can be killed");
    let status = child.wait().expect("it ends");
    held.unwrap_or_else(|error| panic!("{method} {skip}: {error:#}"));
    assert_eq!(status.signal(), Some(SIGKILL), "{status}");
    vcenter.control("DELETE", "/faults", &Value::Null).expect("no rules");
}

pub(crate) fn finish(directory: &Path, arguments: &[&str], context: &str) -> Output {
    let output = command(directory, arguments).output().expect("the command runs");
    let told = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{context}:\n{}{}", told(&output.stdout), told(&output.stderr));
    output
}

/// Objects by path, and the files on datastores, without what differs between nothing and an empty list.
fn snapshot(vcenters: &[VCenter]) -> Vec<BTreeMap<String, Value>> {
    let object = |mut object: Value| {
        if let Some(props) = object["props"].as_object_mut() {
            props.retain(|_, value| !value.is_null() && value != &json!([]));
        }
        (object["path"].as_str().expect("a path").to_owned(), object)
    };
    let objects = |vcenter: &VCenter| vcenter.objects().expect("objects").into_iter().map(object).collect();
    vcenters.iter().map(objects).collect()
}

pub(crate) fn machines(vcenters: &[VCenter]) -> Vec<String> {
    let objects = vcenters.iter().flat_map(|vcenter| vcenter.objects().expect("objects"));
    let machines = objects.filter(|object| object["type"] == "VirtualMachine" && object["name"] != "rhcos");
    let mut names: Vec<String> =
        machines.map(|machine| machine["name"].as_str().expect("a name").to_owned()).collect();
    names.sort();
    names
}

/// A mistyped id is not called gone.
#[test]
fn nothing_of_an_id_is_a_failure() {
    let vcenters = ZONES.map(vcenter);
    let directory = directory(&vcenters);
    let arguments = [&DESTROY[..], &["--infra-id", "harbor-zzzzz", "-o", "json"]].concat();
    let output = command(directory.path(), &arguments).output().expect("the command runs");
    assert_eq!(output.status.code(), Some(4), "{}", String::from_utf8_lossy(&output.stderr));
    let told: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(told["error"]["message"], "nothing of a cluster `harbor-zzzzz` was found on the vCenters");
    assert!(told["error"]["hint"].as_str().is_some_and(|hint| hint.contains("metadata.json")), "{told}");
}

#[test]
fn killed_anywhere_it_goes_on_where_it_was() {
    let vcenters = ZONES.map(vcenter);
    let directory = directory(&vcenters);
    let path = directory.path();
    let before = snapshot(&vcenters);
    for (create, destroy) in [
        (("rest", CATEGORY, 0), ("soap", "PowerOffVM_Task", 0)),
        (("soap", "CreateFolder", 0), ("soap", "PowerOffVM_Task", 2)),
        (("soap", "CloneVM_Task", 0), ("soap", "Destroy_Task", 0)),
        (("soap", "CloneVM_Task", 2), ("soap", "Destroy_Task", 2)),
        (("soap", "PowerOnVM_Task", 1), ("rest", "DELETE", 1)),
    ] {
        kill_at(&vcenters[0], command(path, &CREATE), create);
        finish(path, &CREATE, &format!("create after {create:?}"));
        let made = machines(&vcenters);
        assert_eq!(made.len(), 4, "{made:?}");
        let roles: Vec<&str> = made.iter().filter_map(|name| name.splitn(3, '-').nth(2)).collect();
        assert_eq!(roles, ["bootstrap", "master-0", "master-1", "master-2"], "after {create:?}");
        kill_at(&vcenters[0], command(path, &DESTROY), destroy);
        finish(path, &DESTROY, &format!("destroy after {destroy:?}"));
        for (before, after) in before.iter().zip(snapshot(&vcenters)) {
            assert_eq!(before.keys().collect::<Vec<_>>(), after.keys().collect::<Vec<_>>());
            assert_eq!(*before, after, "destroy after {destroy:?}");
        }
    }
}

/// What was imported before the command was killed is its own, finished or not: the next run looks first, and goes on.
#[test]
fn an_import_that_was_cut_is_recognised() {
    let vcenters = [vcenter(ZONES[0])];
    let image = ova::image().expect("an image");
    let sum = ova::sha256(&image);
    let (port, _) = ova::serve(image).expect("a server");
    let mut config = config(&vcenters);
    let vsphere = &mut config["platform"]["vsphere"];
    vsphere["clusterOSImage"] = json!(format!("http://127.0.0.1:{port}/rhcos.ova?sha256={sum}"));
    remove(&mut vsphere["failureDomains"][0]["topology"], "template");
    let directory = file(config.to_string()).0;
    let path = directory.path();
    let create = || {
        let mut command = command(path, &CREATE);
        command.env("XDG_CACHE_HOME", path.join("cache"));
        command
    };
    for call in [("soap", "MarkAsTemplate", 0), ("soap", "CloneVM_Task", 0)] {
        kill_at(&vcenters[0], create(), call);
        let output = create().output().expect("the command runs");
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "after {call:?}:\n{told}");
        assert!(!told.contains("is there already"), "what is its own is nothing to warn of:\n{told}");
        assert_eq!(machines(&vcenters).len(), 5, "after {call:?}: a template, bootstrap, control plane");
        finish(path, &DESTROY, &format!("destroy after {call:?}"));
        assert_eq!(machines(&vcenters).len(), 0, "after {call:?}");
    }
}

/// What a whole run prints at the end, and that doing it again does nothing.
#[test]
fn a_cluster_is_made_once() {
    let vcenters = ZONES.map(vcenter);
    let directory = directory(&vcenters);
    let path = directory.path();
    let plan = path.join("plan.json");
    let plan = plan.to_str().expect("a path");
    finish(path, &["plan", "--save", plan], "plan");
    let output = finish(path, &[&CREATE[..], &["--saved-plan", plan, "-o", "json"]].concat(), "create");
    let told: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(told["done"], true);
    assert_eq!(told["machines"].as_array().map(Vec::len), Some(4), "{told}");
    let again =
        command(path, &[&CREATE[..], &["--saved-plan", plan]].concat()).output().expect("the command runs");
    assert_eq!(again.status.code(), Some(4), "the plan is not for this world any more");
    assert!(
        String::from_utf8_lossy(&again.stderr).contains("something has changed since the plan was saved")
    );
    let output = finish(path, &CREATE, "create again");
    assert!(String::from_utf8_lossy(&output.stdout).contains("nothing to do"));
    let output = finish(path, &["status"], "status");
    assert!(String::from_utf8_lossy(&output.stdout).starts_with("in sync"));
    // A cluster that does not answer may still need its bootstrap machine.
    let refused =
        command(path, &["destroy", "bootstrap", "--yes", "-o", "json"]).output().expect("the command runs");
    assert_eq!(refused.status.code(), Some(5), "{}", String::from_utf8_lossy(&refused.stderr));
    let refusal: Value = serde_json::from_slice(&refused.stdout).expect("JSON");
    assert!(refusal["error"]["hint"].as_str().is_some_and(|hint| hint.contains("--force")), "{refusal}");
    assert_eq!(machines(&vcenters).len(), 4);
    // There is no terminal to confirm it at.
    let refused = command(path, &["destroy", "cluster"]).output().expect("the command runs");
    assert_eq!(refused.status.code(), Some(1));
    assert_eq!(machines(&vcenters).len(), 4);
    let remove = || {
        let mut command = slipway(&["destroy", "cluster"]);
        command.current_dir(path).env(PASSWORD_VARIABLE, ADMINISTRATOR.1);
        Terminal::run(&command)
    };
    let mut terminal = remove();
    terminal.expect("to remove all of this: ").send(INTERRUPT).expect("error: interrupted");
    assert_eq!(terminal.finish(), 8);
    assert_eq!(vcenters.iter().map(sessions).sum::<u64>(), 0, "all sessions are ended");
    let name = told["infraID"].as_str().expect("a name");
    // The question stands there for a while, and a machine is switched off meanwhile.
    let mut terminal = remove();
    terminal.expect("to remove all of this: ");
    let power = format!("/vms/north/vm/{name}/{name}-master-0/power");
    vcenters[0].control("POST", &power, &json!({"state": "off"})).expect("a machine");
    terminal.send(name).send("\n").expect("the plan changed after the question was asked");
    assert_eq!(terminal.finish(), 4);
    assert_eq!(machines(&vcenters).len(), 4);
    let mut terminal = remove();
    terminal.expect("to remove all of this: ").send(name).send("\n").expect("everything is removed");
    assert_eq!(terminal.finish(), 0);
    assert_eq!(machines(&vcenters).len(), 0);
    let text = terminal.text();
    for vcenter in &vcenters {
        let shown = bars(&text, &vcenter.address());
        assert!(shown.len() > 1, "the bar of {} does not move: {shown:?} in\n{text}", vcenter.address());
        assert!(shown.iter().all(|(at, of)| at <= of && *of == shown[0].1), "{shown:?}");
    }
    // What cannot be asked is said once for each, with the reason.
    let count = vcenters.len();
    drop(vcenters);
    let unseen = command(path, &["status"]).output().expect("the command runs");
    let told = String::from_utf8_lossy(&unseen.stdout);
    assert_eq!(unseen.status.code(), Some(4), "{told}");
    let reasons = told.lines().filter(|line| line.contains("not visible: ") && line.contains("refused"));
    assert_eq!(reasons.count(), count, "{told}");
    assert!(!told.contains("needs"), "{told}");
    let unseen =
        command(path, &[&CREATE[..], &["--saved-plan", plan]].concat()).output().expect("the command runs");
    let told = String::from_utf8_lossy(&unseen.stderr);
    assert_eq!(unseen.status.code(), Some(4), "{told}");
    assert!(told.contains("error: no answer from ") && !told.contains("not as it was"), "{told}");
}

/// How far the bar of a vCenter was drawn: steps that are done, of how many.
fn bars(text: &str, address: &str) -> Vec<(u64, u64)> {
    let prefix = format!("{address} ");
    let drawn = text.match_indices(&prefix).filter_map(|(at, found)| {
        let rest: String = text[at + found.len()..].chars().skip(24).collect();
        let (done, rest) = rest.trim_start().split_once('/')?;
        let all: String = rest.chars().take_while(char::is_ascii_digit).collect();
        Some((done.parse().ok()?, all.parse().ok()?))
    });
    let mut shown: Vec<(u64, u64)> = drawn.collect();
    shown.dedup();
    shown
}

fn sessions(vcenter: &VCenter) -> u64 {
    let stats = vcenter.control("GET", "/stats", &Value::Null).expect("figures");
    stats["soap_sessions"].as_u64().unwrap_or(9) + stats["rest_sessions"].as_u64().unwrap_or(9)
}

/// Runs a command; also the arguments that every user of the machine could see meanwhile: its own, and those of
/// whatever it starts.
fn watched(command: &mut Command) -> (Output, String) {
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command runs");
    let (id, (done, ended)) = (child.id(), std::sync::mpsc::channel());
    let mut shown = std::collections::BTreeSet::new();
    let mut look = || {
        let mut family = vec![id];
        while let Some(id) = family.pop() {
            let arguments = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
            shown.insert(String::from_utf8_lossy(&arguments).replace('\0', " "));
            let threads = std::fs::read_dir(format!("/proc/{id}/task")).into_iter().flatten().flatten();
            for thread in threads {
                let children = std::fs::read_to_string(thread.path().join("children")).unwrap_or_default();
                family.extend(children.split_whitespace().filter_map(|id| id.parse::<u32>().ok()));
            }
        }
    };
    look();
    let end = std::thread::spawn(move || {
        let output = child.wait_with_output().expect("it ends");
        // The receiver may be gone already.
        let _ = done.send(());
        output
    });
    while ended.recv_timeout(Duration::from_millis(2)).is_err() {
        look();
    }
    (end.join().expect("an end"), shown.into_iter().collect::<Vec<_>>().join("\n"))
}

/// Everything is logged, and nothing of it opens a door.
#[test]
fn logs_hold_no_secret() {
    let vcenters = ZONES.map(vcenter);
    let directory = directory(&vcenters);
    let path = directory.path();
    let mut told = String::new();
    for arguments in [&["preflight"][..], &["plan"], &CREATE, &["status"], &["check", "--dir", "."], &DESTROY]
    {
        let mut command = command(path, arguments);
        let (output, shown) = watched(command.args(["--log-level", "trace"]));
        assert!(shown.contains(&[arguments, &["--log-level", "trace"]].concat().join(" ")), "{shown}");
        told.push_str(&String::from_utf8_lossy(&output.stdout));
        told.push_str(&String::from_utf8_lossy(&output.stderr));
        told.push_str(&shown);
    }
    told.push_str(&std::fs::read_to_string(path.join(".slipway/journal.jsonl")).expect("a journal"));
    let log = path.join(".slipway/slipway.log");
    let kept = std::fs::read_to_string(&log).expect("a log");
    for call in ["method=\"CloneVM_Task\"", "method=\"GET /rest/", "called"] {
        assert!(kept.contains(call), "no {call}: {kept}");
    }
    assert_eq!(std::fs::metadata(&log).expect("a log").permissions().mode() & 0o777, 0o600);
    told.push_str(&kept);
    assert!(told.contains("logged in") && told.contains("TRACE") | told.contains("DEBUG"), "it does log");
    let pull_secret = "dXNlcjpwYXNzd29yZA==";
    for secret in
        [ADMINISTRATOR.1, pull_secret, "vmware_soap_session", "vmware-api-session-id", "PRIVATE KEY"]
    {
        let at = told.find(secret).map(|at| &told[at.saturating_sub(200)..at]);
        assert_eq!(at, None, "`{secret}` is told");
    }
    assert_eq!(vcenters.iter().map(sessions).sum::<u64>(), 0, "all sessions are ended");
}

/// Ctrl-C ends it with a code of its own, ends the sessions, and it goes on later.
#[test]
fn interrupted_it_logs_out_and_goes_on_later() {
    let vcenters = ZONES.map(vcenter);
    let directory = directory(&vcenters);
    let path = directory.path();
    let mut child =
        command(path, &CREATE).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it runs");
    let end = Instant::now() + Duration::from_mins(1);
    while journal(path) < 9 {
        assert!(Instant::now() < end && child.try_wait().expect("its state").is_none());
        std::thread::sleep(Duration::from_millis(1));
    }
    // Nothing ends until the signal is there.
    for vcenter in &vcenters {
        vcenter.control("POST", "/freeze", &Value::Null).expect("a frozen vCenter");
    }
    let interrupt = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill");
    assert!(interrupt.success());
    for vcenter in &vcenters {
        vcenter.control("POST", "/thaw", &Value::Null).expect("a vCenter that answers");
    }
    let output = child.wait_with_output().expect("it ends");
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(8), "{told}");
    let answer = "interrupted: finishing the steps that are under way; Ctrl-C again leaves at once\n";
    assert!(told.contains(answer) && told.ends_with("\nerror: interrupted\n"), "{told}");
    assert_eq!(vcenters.iter().map(sessions).sum::<u64>(), 0, "all sessions are ended");
    finish(path, &CREATE, "after the interruption");
    assert_eq!(machines(&vcenters).len(), 4);
}

/// What only machines need is asked for before anything is made, on disk or on a vCenter; files can do without.
#[test]
fn an_install_config_without_an_image_makes_files_only() {
    let vcenters = [vcenter(ZONES[0])];
    let mut config = config(&vcenters);
    remove(&mut config, "payload");
    remove(&mut config["platform"]["vsphere"]["failureDomains"][0]["topology"], "template");
    let directory = file(config.to_string()).0;
    let path = directory.path();
    let before = snapshot(&vcenters);
    for arguments in [&["plan"][..], &CREATE] {
        let output = command(path, arguments).output().expect("the command runs");
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(3), "{arguments:?}: {told}");
        assert!(told.contains("payload.releaseImage"), "{told}");
        assert!(!path.join(".slipway").exists(), "{arguments:?}");
    }
    assert_eq!(before, snapshot(&vcenters));
    finish(path, &["create", "manifests"], "files");
}

/// Where machines cannot be made, that is said before files are written and passwords are asked for.
#[test]
fn other_platforms_are_refused_at_once() {
    let example = include_str!("../../../../examples/none.yaml");
    let directory = file(example).0;
    for arguments in [&["plan"][..], &CREATE, &DESTROY, &["status"]] {
        let output = command(directory.path(), arguments).output().expect("the command runs");
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {told}");
        assert!(
            told.starts_with("error: creating machines on none is not supported yet\nhint: "),
            "{arguments:?}: {told}"
        );
    }
    assert!(!directory.path().join(".slipway").exists());
}
