//! Programs the tests need, and where they come from.

use std::path::Path;
use std::process::Command;

use anyhow::bail;

use crate::command::{exists, run};

/// A program and the Debian package it is in.
struct Needed {
    program: &'static str,
    package: &'static str,
    why: &'static str,
}

const NEEDED: [Needed; 17] = [
    Needed { program: "python3", package: "python3", why: "for the official clients of vSphere and oVirt" },
    Needed { program: "mvn", package: "maven", why: "to fetch the published model of oVirt's API" },
    Needed { program: "ip", package: "iproute2", why: "for networks of the tests' own" },
    Needed { program: "setpriv", package: "util-linux", why: "to end servers with their tests" },
    Needed { program: "mount", package: "mount", why: "for hosts files of the tests' own" },
    Needed { program: "openssl", package: "openssl", why: "to judge certificates" },
    Needed { program: "ssh-keygen", package: "openssh-client", why: "to judge SSH keys" },
    Needed { program: "mandoc", package: "mandoc", why: "to check the manual pages" },
    Needed { program: "zsh", package: "zsh", why: "to check the zsh completions" },
    Needed {
        program: "shellcheck",
        package: "shellcheck",
        why: "to check the scripts of the bootstrap machine",
    },
    Needed { program: "systemd-analyze", package: "systemd", why: "to check its units" },
    Needed { program: "haproxy", package: "haproxy", why: "to check the balancer of the API" },
    Needed { program: "keepalived", package: "keepalived", why: "to check who holds the virtual addresses" },
    Needed { program: "jq", package: "jq", why: "to run its scripts" },
    Needed { program: "cc", package: "gcc", why: "to build Ignition" },
    Needed { program: "debootstrap", package: "debootstrap", why: "for the machines of the lab" },
    Needed { program: "promtool", package: "prometheus", why: "to check the alerts" },
];

/// Installs what is missing, or says what to install.
pub(crate) fn ensure() -> anyhow::Result<()> {
    // Debian's Go is too old for the peers, so it is not installed from there.
    if !exists("go") {
        bail!(
            "Go 1.26 or later is needed to build the servers the tests run against; install it and put it on the PATH"
        );
    }
    let mut missing: Vec<&Needed> = NEEDED.iter().filter(|needed| !exists(needed.program)).collect();
    if exists("python3") && !has_venv() {
        missing.push(&VENV);
    }
    if exists("python3") && !has_python_headers() {
        missing.push(&PYTHON_HEADERS);
    }
    if !Path::new("/usr/include/blkid/blkid.h").is_file() {
        missing.push(&BLKID);
    }
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

/// Debian keeps the part of Python that makes environments in a package of its own.
const VENV: Needed =
    Needed { program: "python3 -m venv", package: "python3-venv", why: "for the official vSphere client" };

/// oVirt's image daemon has parts in C.
const PYTHON_HEADERS: Needed =
    Needed { program: "Python.h", package: "python3-dev", why: "to build oVirt's image daemon" };

/// A library, of which Ignition needs the headers.
const BLKID: Needed = Needed { program: "blkid/blkid.h", package: "libblkid-dev", why: "to build Ignition" };

fn has_venv() -> bool {
    python("import ensurepip")
}

fn has_python_headers() -> bool {
    python(
        "import os, sysconfig; raise SystemExit(not os.path.exists(sysconfig.get_path('include') + '/Python.h'))",
    )
}

/// Whether Python ends well with this program.
fn python(program: &str) -> bool {
    Command::new("python3").args(["-c", program]).output().is_ok_and(|output| output.status.success())
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output();
    id.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}
