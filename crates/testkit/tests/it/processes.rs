use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use slipway_testkit::process::{Process, Start, eventually};
use slipway_testkit::scratch::Scratch;

fn start(
    name: &str,
    program: &Path,
    arguments: &[&str],
    environment: Vec<(&str, OsString)>,
    scratch: &Scratch,
) -> anyhow::Result<Process> {
    Process::start(Start {
        name,
        program,
        arguments: arguments.iter().map(Into::into).collect(),
        environment,
        log: scratch.join(&format!("{name}.log")),
        network_of: None,
    })
}

fn sleeper(scratch: &Scratch) -> Process {
    start("sleep", Path::new("sleep"), &["1000"], Vec::new(), scratch).unwrap()
}

/// Gone, or waiting to be forgotten.
fn is_gone(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_none_or(|rest| rest.is_empty() || rest.trim_start().starts_with('Z'))
}

fn wait_until_gone(pid: &str) {
    eventually("the process is gone", Duration::from_mins(1), || Ok(is_gone(pid).then_some(()))).unwrap();
}

#[test]
fn a_process_ends_when_it_is_dropped() {
    let scratch = Scratch::new("drop").unwrap();
    scratch.settle();
    let process = sleeper(&scratch);
    let pid = process.id().to_string();
    assert!(!is_gone(&pid));
    drop(process);
    wait_until_gone(&pid);
}

#[test]
fn a_process_that_ends_too_soon_says_why() {
    let scratch = Scratch::new("fail").unwrap();
    scratch.settle();
    let mut process = start("cat", Path::new("cat"), &["/does/not/exist"], Vec::new(), &scratch).unwrap();
    let error = process.wait_until(Duration::from_mins(10), || false).unwrap_err().to_string();
    assert!(error.contains("cat ended") && error.contains("/does/not/exist"), "{error}");
}

/// A server cannot be ready without the one it depends on; the reason is the other's.
#[test]
fn a_dependency_that_ends_is_reported_at_once() {
    let scratch = Scratch::new("dependency").unwrap();
    scratch.settle();
    let mut storage = start("storage", Path::new("cat"), &["/does/not/exist"], Vec::new(), &scratch).unwrap();
    let mut server = sleeper(&scratch);
    let never = Duration::from_mins(10);
    let error = server.wait_until_with(&mut [&mut storage], never, || false).unwrap_err().to_string();
    assert!(error.contains("storage ended") && error.contains("/does/not/exist"), "{error}");
}

#[test]
fn a_missing_tool_is_named_with_its_package() {
    let scratch = Scratch::new("tool").unwrap();
    scratch.settle();
    let path = vec![("PATH", "/does/not/exist".into())];
    let error = start("sleep", Path::new("/bin/sleep"), &["1"], path, &scratch).unwrap_err();
    let error = format!("{error:#}");
    assert!(error.contains("`setpriv` is not installed") && error.contains("util-linux"), "{error}");
}

/// Not a test: what the next one starts and kills.
#[test]
#[ignore = "only run by another test"]
fn starts_a_process_and_waits() {
    if std::env::var_os("SLIPWAY_TEST_HELPER").is_none() {
        return;
    }
    let scratch = Scratch::new("wait").unwrap();
    scratch.settle();
    let process = sleeper(&scratch);
    println!("started {}", process.id());
    std::thread::sleep(Duration::from_secs(1000));
}

/// Ctrl-C and kill -9 run no destructor.
#[test]
fn a_process_ends_when_its_test_is_killed() {
    let mut test = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "processes::starts_a_process_and_waits", "--ignored", "--nocapture"])
        .env("SLIPWAY_TEST_HELPER", "1")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(test.stdout.take().unwrap()).lines();
    let started =
        lines.map(Result::unwrap).find_map(|line| line.split_once("started ").map(|(_, pid)| pid.to_owned()));
    let pid = started.unwrap();
    assert!(!is_gone(&pid));
    test.kill().unwrap();
    test.wait().unwrap();
    wait_until_gone(&pid);
}
