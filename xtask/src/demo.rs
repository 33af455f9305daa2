//! `cargo xtask demo`: the main job, from an install-config to machines on two vCenters and back.

pub(crate) mod boot;
pub(crate) mod drills;
pub(crate) mod drivers;
pub(crate) mod kubevirt;
pub(crate) mod machines;
mod metal;
mod picture;
mod renew;

use std::net::{IpAddr, Ipv4Addr};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::bail;
use serde_json::{Value, json};
use slipway_testkit::estate::{self, PASSWORD_VARIABLE, Server, Site};
use slipway_testkit::python;
use slipway_testkit::scratch::Scratch;
use slipway_testkit::vcenter::{ADMINISTRATOR, VCenter};

use self::picture::Picture;
use crate::command::{cargo, root, run as run_command};
use crate::peers;
use crate::testbed;

/// Names of the datacenters, and the last byte of their vCenters' addresses.
const SITES: [(&str, u8); 2] = [("north", 1), ("south", 2)];

fn site(name: &str) -> Site {
    Site { template: "rhcos-4.20".to_owned(), ..Site::new(name) }
}

fn inventory(name: &str) -> Value {
    let mut inventory = site(name).inventory();
    inventory["dhcp"] = json!("10.20.0.0/16");
    let datacenter = &mut inventory["datacenters"][0];
    datacenter["clusters"][0]["hosts"][0] =
        json!({"name": "esx", "count": 3, "cores": 32, "memory_mb": 524_288});
    datacenter["vms"][0]["product"] =
        json!({"name": "Red Hat Enterprise Linux CoreOS", "version": "420.94.202510010000-0"});
    inventory
}

fn install_config(vcenters: &[VCenter]) -> String {
    let sites = SITES.map(|(name, _)| site(name));
    estate::install_config("harbour", sites.iter().zip(vcenters.iter().map(Server::of))).to_string()
}

/// Runs it all, and with a path draws a picture of it.
pub(crate) fn run(picture: Option<&Path>) -> anyhow::Result<()> {
    let began = Instant::now();
    println!(
        "building what the demo needs: the simulator of vCenters, a Python with VMware's client, slipway"
    );
    peers::need(&["vcsim"])?;
    python::build()?;
    run_command(&mut cargo(&["build", "--quiet", "--package", "slipway-cli", "--bin", "slipway"]))?;
    let scratch = Scratch::new("demo")?;
    let start = |(name, last): &(&str, u8)| {
        let address = Ipv4Addr::new(127, 0, 0, *last);
        VCenter::start_at(IpAddr::V4(address), &inventory(name), &["--tls-name", &address.to_string()])
    };
    let vcenters: Vec<VCenter> = SITES.iter().map(start).collect::<anyhow::Result<_>>()?;
    let before = inventories(&vcenters)?;
    fs_err::create_dir(scratch.join("harbour"))?;
    let config = scratch.write("harbour/install-config.yaml", install_config(&vcenters))?;
    fs_err::set_permissions(config, PermissionsExt::from_mode(0o600))?;
    let environment = vec![(PASSWORD_VARIABLE, ADMINISTRATOR.1.to_owned())];
    let picture_of = picture.map(|_| Picture::default());
    let mut stage = Stage { folder: scratch.join("."), environment, picture: picture_of };

    say("Two vCenters, an install-config, and nothing else. Is everything there that the cluster needs?");
    stage.slipway(&["preflight", "--dir", "harbour"], Excerpt { head: 1, tail: 0 })?;
    say("What would `create cluster` do?");
    stage.slipway(&["plan", "--dir", "harbour"], Excerpt { head: 6, tail: 1 })?;
    say("Do it.");
    stage.slipway(&["create", "cluster", "--dir", "harbour", "--no-wait"], Excerpt { head: 0, tail: 10 })?;
    say("What VMware's own client sees on the vCenters:");
    let machines = read_back(&vcenters)?;
    for line in &machines {
        println!("{line}");
    }
    if machines.len() != 4 {
        bail!("VMware's client sees {} machines, not 4", machines.len());
    }
    say("Run it again: there is nothing left to do.");
    stage.slipway(&["create", "cluster", "--dir", "harbour", "--no-wait"], Excerpt::default())?;
    say("Destroy it.");
    stage.slipway(&["destroy", "cluster", "--dir", "harbour", "--yes"], Excerpt { head: 0, tail: 1 })?;
    if inventories(&vcenters)? != before {
        bail!("the vCenters are not as they were before");
    }
    say("Both vCenters are exactly as they were before.");
    if let (Some(path), Some(picture)) = (picture, stage.picture) {
        fs_err::write(path, picture.svg())?;
        println!("the picture is in {}", path.display());
    }
    scratch.settle();
    println!("\nthe demo took {:.0} s", began.elapsed().as_secs_f32());
    Ok(())
}

/// Everything on the vCenters, the files on their datastores included, as they are asked past their API.
fn inventories<'a>(vcenters: impl IntoIterator<Item = &'a VCenter>) -> anyhow::Result<Vec<Vec<Value>>> {
    vcenters.into_iter().map(VCenter::objects).collect()
}

/// The machines that are no templates, read by pyVmomi.
fn read_back(vcenters: &[VCenter]) -> anyhow::Result<Vec<String>> {
    let mut lines = Vec::new();
    for vcenter in vcenters {
        let url = format!("https://{}/sdk", vcenter.address());
        let machines = testbed::read_back(Command::new(python::find()?), vcenter, &url)?;
        for machine in machines.iter().filter(|machine| machine["template"] != true) {
            let text = |key: &str| machine[key].as_str().unwrap_or_default().to_owned();
            lines.push(format!("  {:<14} {:<48} {:<10}", vcenter.host(), text("path"), text("power")));
        }
    }
    Ok(lines)
}

fn say(text: &str) {
    println!("\n\u{1b}[1m# {text}\u{1b}[0m");
}

/// How many lines of a command's output the picture shows. A README has room for thirty in all.
#[derive(Debug, Clone, Copy, Default)]
struct Excerpt {
    head: usize,
    tail: usize,
}

impl Excerpt {
    /// The first and the last lines, with a mark where some are left out.
    fn of(self, text: &str) -> Vec<&str> {
        let lines: Vec<&str> = text.trim_end().lines().collect();
        if lines.len() <= self.head + self.tail {
            return lines;
        }
        let (head, tail) = (&lines[..self.head], &lines[lines.len() - self.tail..]);
        [head, &["\u{1b}[2m…\u{1b}[0m"], tail].concat()
    }
}

/// The directory in which the commands run, what they find in their environment, and the picture of the terminal.
struct Stage {
    folder: PathBuf,
    environment: Vec<(&'static str, String)>,
    picture: Option<Picture>,
}

impl Stage {
    fn slipway(&mut self, arguments: &[&str], excerpt: Excerpt) -> anyhow::Result<()> {
        let prompt = format!("\u{1b}[32m$\u{1b}[0m slipway {}", arguments.join(" "));
        println!("{prompt}");
        let mut command = Command::new(root().join("target/debug/slipway"));
        command.args(arguments).current_dir(&self.folder).envs(self.environment.iter().cloned());
        command.stdin(Stdio::null());
        let Some(picture) = &mut self.picture else { return run_command(&mut command) };
        // One after the other, as a terminal would show them.
        let shown = command.args(["--color", "always"]);
        let shell = format!("{shown:?} 2>&1").replace("\"slipway\"", "slipway");
        let output = Command::new("sh")
            .args(["-c", &shell])
            .current_dir(&self.folder)
            .envs(self.environment.iter().cloned())
            .output()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        print!("{text}");
        if excerpt.head + excerpt.tail > 0 {
            picture.add(&prompt);
            excerpt.of(&text).into_iter().for_each(|line| picture.add(line));
            picture.add("");
        }
        if !output.status.success() {
            bail!("slipway {} ended with {}", arguments.join(" "), output.status);
        }
        Ok(())
    }
}
