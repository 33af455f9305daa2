//! The guides, as a reader follows them: every command of a `console` block runs as it is written, in a fresh directory.
//!
//! A block that cannot run here says why, in a comment before it: `<!-- not run: REASON -->`. A `yaml` block with
//! `title=PATH` is a file that the reader writes. Blocks without a `$ ` show output only.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::net::IpAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use assert_cmd::cargo::cargo_bin;
use serde_json::{Value, json};
use slipway_testkit::estate::Site;
use slipway_testkit::network::{Hosts, PrivateNetwork};
use slipway_testkit::scratch::Scratch;
use slipway_testkit::vcenter::{ADMINISTRATOR, VCenter};

const REASON: &str = "<!-- not run: ";

/// What a guide tells its reader to do.
#[derive(Debug, PartialEq, Eq)]
enum Part {
    Write { path: String, text: String },
    Run(String),
    NotRun(String),
}

fn parts(guide: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut reason = None;
    let mut lines = guide.lines();
    while let Some(line) = lines.next() {
        if let Some(text) = line.strip_prefix(REASON) {
            reason = Some(text.trim_end_matches("-->").trim().to_owned());
        }
        let Some(info) = line.strip_prefix("```").filter(|info| !info.is_empty()) else { continue };
        let body: Vec<&str> = lines.by_ref().take_while(|line| !line.starts_with("```")).collect();
        let unseen = ["sh", "bash", "shell"].iter().any(|language| info.starts_with(language));
        assert!(!unseen, "a block of commands is `console`, or says why it is not run: {body:?}");
        let title = info.split_whitespace().find_map(|word| word.strip_prefix("title="));
        if let Some(path) = title {
            parts.push(Part::Write { path: path.to_owned(), text: body.join("\n") + "\n" });
        }
        let reason = reason.take();
        let commands = commands(&body);
        if info.starts_with("console") && !commands.is_empty() {
            match reason {
                Some(reason) => parts.push(Part::NotRun(reason)),
                None => parts.extend(commands.into_iter().map(Part::Run)),
            }
        }
    }
    parts
}

/// The lines after `$ `, with those that they continue on.
fn commands(body: &[&str]) -> Vec<String> {
    let mut commands: Vec<String> = Vec::new();
    let mut continues = false;
    for line in body {
        match line.strip_prefix("$ ") {
            Some(command) => commands.push(command.to_owned()),
            None if continues => {
                commands.iter_mut().last().expect("a command").push_str(&format!("\n{line}"));
            }
            None => continue,
        }
        continues = line.ends_with('\\');
    }
    commands
}

/// Two vCenters, by the names and at the port that the guides use.
struct World {
    network: PrivateNetwork,
    scratch: Scratch,
    authorities: PathBuf,
    _vcenters: Vec<VCenter>,
}

const SITES: [(&str, &str, u8); 2] = [("north", "north.example.com", 2), ("south", "south.example.com", 3)];

impl World {
    fn new() -> Self {
        let scratch = Scratch::new("guides").expect("a directory");
        let address = |last: u8| IpAddr::from([127, 0, 0, last]);
        let mut hosts: Hosts =
            SITES.iter().map(|(_, name, last)| ((*name).to_owned(), address(*last))).collect();
        for name in ["api", "api-int", "console-openshift-console.apps"] {
            hosts.insert(format!("{name}.harbour.example.com"), IpAddr::from([10, 20, 0, 10]));
        }
        let network = PrivateNetwork::new(&scratch, hosts).expect("a network");
        let start = |(site, name, _): &(&str, &str, u8)| {
            VCenter::start_at_name(&inventory(site), &network, name, 443).expect("a vCenter")
        };
        let vcenters: Vec<VCenter> = SITES.iter().map(start).collect();
        let read = |vcenter: &VCenter| std::fs::read_to_string(vcenter.ca_file()).expect("an authority");
        let authorities: String = vcenters.iter().map(read).collect();
        let authorities = scratch.write("authorities.pem", authorities).expect("a file");
        World { network, scratch, authorities, _vcenters: vcenters }
    }

    /// Runs a command of a guide in its directory.
    fn run(&self, command: &str, directory: &Path, variables: &mut BTreeMap<String, String>) {
        // A variable that the reader has set before; here it is known.
        if let Some(name) = command.strip_prefix("export ") {
            variables.insert(name.to_owned(), ADMINISTRATOR.1.to_owned());
            return;
        }
        let program = cargo_bin("slipway");
        let folder = program.parent().expect("a folder").display().to_string();
        let mut shell = self.network.command(Path::new("sh"));
        // Entering the network leads to its root directory.
        shell.args(["-c", &format!("cd \"$0\" && {command}")]).arg(directory);
        shell.env_clear().envs(variables.iter());
        shell.env("PATH", format!("{folder}:/usr/bin:/bin")).env("HOME", self.scratch.path());
        shell.env("SSL_CERT_FILE", &self.authorities).stdin(std::process::Stdio::null());
        let output = shell.output().expect("a shell");
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert!(output.status.success(), "`{command}` ended with {}:\n{said}", output.status);
    }
}

fn inventory(name: &str) -> Value {
    let mut inventory = Site { template: "rhcos-4.20".to_owned(), ..Site::new(name) }.inventory();
    inventory["dhcp"] = json!("10.20.0.0/16");
    inventory["datacenters"][0]["clusters"][0]["hosts"][0] =
        json!({"name": "esx", "count": 3, "cores": 32, "memory_mb": 524_288});
    inventory["datacenters"][0]["vms"][0]["product"] =
        json!({"name": "Red Hat Enterprise Linux CoreOS", "version": "420.94.202510010000-0"});
    inventory
}

/// Fifteen seconds: two vCenters, and a cluster that is created and destroyed.
#[test]
fn guides_work_as_they_are_written() {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guides"));
    let mut guides: Vec<PathBuf> =
        std::fs::read_dir(folder).expect("guides").map(|entry| entry.expect("a guide").path()).collect();
    guides.sort();
    let world = World::new();
    let (mut ran, mut skipped) = (0, String::new());
    for guide in &guides {
        let name = guide.file_name().expect("a name").to_string_lossy();
        let directory = world.scratch.join(name.trim_end_matches(".md"));
        std::fs::create_dir(&directory).expect("a fresh directory");
        let mut variables = BTreeMap::new();
        for part in parts(&std::fs::read_to_string(guide).expect("a guide")) {
            match part {
                Part::Write { path, text } => {
                    let path = directory.join(path);
                    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
                    std::fs::write(&path, text).expect("a file");
                    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).expect("a file");
                }
                Part::Run(command) => {
                    world.run(&command, &directory, &mut variables);
                    ran += 1;
                }
                Part::NotRun(reason) => {
                    let _ = writeln!(skipped, "  {name}: {reason}");
                }
            }
        }
    }
    println!("{ran} commands ran; {} blocks did not:\n{skipped}", skipped.lines().count());
    assert!(ran >= 10, "only {ran} commands ran");
    world.scratch.settle();
}

#[test]
fn blocks_are_read_as_readers_do() {
    let guide = "a\n```yaml title=x/y.yaml\nk: v\n```\n```console\n$ one \\\n    two\nout\n$ three\n```\n<!-- not run: why -->\n```console\n$ four\n```\n```console\nonly output\n```\n";
    let expected = [
        Part::Write { path: "x/y.yaml".to_owned(), text: "k: v\n".to_owned() },
        Part::Run("one \\\n    two".to_owned()),
        Part::Run("three".to_owned()),
        Part::NotRun("why".to_owned()),
    ];
    assert_eq!(parts(guide), expected);
}
