//! `cargo xtask deny`: what others' code may do here, where it comes from, and what is known to be wrong with it.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, bail};

use crate::command::{self, cargo, root};
use crate::image;

/// What is checked with; another version may judge differently.
const VERSION: &str = "0.20.2";

/// Everything that needs no network, and then the advisories. Without their database this fails, unless that is said to be fine.
pub(crate) fn run(offline: bool) -> anyhow::Result<()> {
    image::check_bases()?;
    let program = program()?;
    let deny = |arguments: &[&str]| {
        let mut command = Command::new(&program);
        command.current_dir(root()).arg("--all-features").args(arguments);
        command
    };
    command::run(&mut deny(&["check", "bans", "licenses", "sources"]))?;
    if offline {
        println!("advisories: NOT CHECKED, since --offline was given");
        return Ok(());
    }
    if command::run(&mut deny(&["fetch", "db"])).is_err() {
        bail!(
            "advisories: NOT CHECKED, their database could not be fetched; everything else passed. `--offline` leaves \
             them out"
        );
    }
    command::run(&mut deny(&["check", "--disable-fetch", "advisories"]))
}

/// The program in the version above: of its own, so that it replaces nobody's.
fn program() -> anyhow::Result<PathBuf> {
    let tools = root().join("target/tools");
    let program = tools.join("bin/cargo-deny");
    let said = Command::new(&program).arg("--version").output();
    if said.is_ok_and(|said| String::from_utf8_lossy(&said.stdout).trim().ends_with(VERSION)) {
        return Ok(program);
    }
    println!("installing cargo-deny {VERSION} (a few minutes, once)");
    let mut install =
        cargo(&["install", "--locked", "--quiet", "--force", "--version", VERSION, "cargo-deny"]);
    command::run(install.arg("--root").arg(tools)).context("installing cargo-deny")?;
    Ok(program)
}
