//! A Python with the official clients of vSphere and oVirt, for reading back what was done, and oVirt's image transfer daemon.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, bail};

use crate::peers::{cache, lock};

/// Pinned, so that every run has the same client.
const PACKAGES: [&str; 3] = ["pyvmomi==9.1.1", "ovirt-engine-sdk-python==4.6.3", "ovirt-imageio==2.5.1"];

fn folder() -> anyhow::Result<PathBuf> {
    Ok(cache()?.join(format!("python-{}", PACKAGES.join("-").replace("==", "-"))))
}

/// Makes the environment if it is not there.
pub fn build() -> anyhow::Result<bool> {
    let folder = folder()?;
    if folder.join(".complete").is_file() {
        return Ok(false);
    }
    let _lock = lock(&cache()?)?;
    // Whoever had the lock may have made it.
    if folder.join(".complete").is_file() {
        return Ok(false);
    }
    println!("python: installing {}", PACKAGES.join(", "));
    let run = |command: &mut Command| -> anyhow::Result<()> {
        let output = command.output().context("starting python3; install Python 3 with venv and pip")?;
        if !output.status.success() {
            bail!("{command:?}: {}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(())
    };
    run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder))?;
    run(Command::new(folder.join("bin/pip"))
        .args(["install", "--quiet", "--disable-pip-version-check"])
        .args(PACKAGES))?;
    fs_err::write(folder.join(".complete"), "")?;
    Ok(true)
}

/// The interpreter.
pub fn find() -> anyhow::Result<PathBuf> {
    let folder = folder()?;
    if !folder.join(".complete").is_file() {
        bail!("the Python environment is missing; run `cargo xtask peers`");
    }
    Ok(folder.join("bin/python"))
}
