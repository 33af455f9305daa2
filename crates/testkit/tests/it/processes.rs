use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use slipway_testkit::process::{Process, Start, eventually};
use slipway_testkit::scratch::Scratch;

fn sleeper(scratch: &Scratch) -> Process {
    Process::start(Start {
        name: "sleep",
        program: Path::new("sleep"),
        arguments: vec!["1000".into()],
        environment: Vec::new(),
        log: scratch.join("sleep.log"),
        network_of: None,
    })
    .unwrap()
}

/// Gone, or waiting to be forgotten.
fn is_gone(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_none_or(|rest| rest.is_empty() || rest.trim_start().starts_with('Z'))
}

fn wait_until_gone(pid: &str) {
    eventually("the process is gone", Duration::from_secs(10), || Ok(is_gone(pid).then_some(()))).unwrap();
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
    let mut process = Process::start(Start {
        name: "cat",
        program: Path::new("cat"),
        arguments: vec!["/does/not/exist".into()],
        environment: Vec::new(),
        log: scratch.join("cat.log"),
        network_of: None,
    })
    .unwrap();
    let error = process.wait_until(Duration::from_secs(10), || false).unwrap_err().to_string();
    assert!(error.contains("cat ended") && error.contains("/does/not/exist"), "{error}");
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
