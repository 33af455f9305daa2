//! Programs the tests need, and where they come from.

use std::process::Command;

use anyhow::bail;

use crate::command::{exists, run};

/// A program and the Debian package it is in.
struct Needed {
    program: &'static str,
    package: &'static str,
    why: &'static str,
}

const NEEDED: [Needed; 6] = [
    Needed { program: "go", package: "golang", why: "version 1.26 or later, to build the peers" },
    Needed { program: "python3", package: "python3-venv", why: "for the official vSphere client" },
    Needed { program: "ip", package: "iproute2", why: "for networks of the tests' own" },
    Needed { program: "setpriv", package: "util-linux", why: "to end servers with their tests" },
    Needed { program: "mandoc", package: "mandoc", why: "to check the manual pages" },
    Needed { program: "zsh", package: "zsh", why: "to check the zsh completions" },
];

/// Installs what is missing, or says what to install.
pub(crate) fn ensure() -> anyhow::Result<()> {
    let missing: Vec<&Needed> = NEEDED.iter().filter(|needed| !exists(needed.program)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    for Needed { program, package, why } in &missing {
        println!("missing: {program} (Debian package {package}), {why}");
    }
    let packages: Vec<&str> = missing.iter().map(|needed| needed.package).collect();
    if !exists("apt-get") || !is_root() {
        bail!("install these packages and run the command again: {}", packages.join(" "));
    }
    println!("installing {} with apt-get", packages.join(" "));
    run(Command::new("apt-get").args(["update", "--quiet", "--quiet"]))?;
    let mut install = Command::new("apt-get");
    install.args(["install", "--yes", "--quiet", "--quiet", "--no-install-recommends"]).args(&packages);
    run(install.env("DEBIAN_FRONTEND", "noninteractive"))
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output();
    id.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}
