//! `cargo xtask peers` and what runs against them.

use slipway_testkit::engine::judge;
use slipway_testkit::lab::{Lab, root};
use slipway_testkit::peers::{PEERS, Peer};
use slipway_testkit::python;

use crate::command::{cargo, run as run_command};
use crate::packages;

/// The machines of the lab are built like a peer, but not from a module.
const LAB: &str = "lab";

/// These take more than Go.
const WITH_PACKAGES: [&str; 2] = ["ignition", LAB];

pub(crate) fn run(names: &[String], list: bool) -> anyhow::Result<()> {
    let chosen: Vec<&Peer> = if names.is_empty() {
        PEERS.iter().collect()
    } else {
        let peers = names.iter().filter(|name| *name != LAB);
        peers.map(|name| Peer::named(name)).collect::<anyhow::Result<_>>()?
    };
    if !list && (names.is_empty() || names.iter().any(|name| WITH_PACKAGES.contains(&&**name))) {
        packages::ensure()?;
    }
    for (index, peer) in chosen.iter().enumerate() {
        if list {
            let state = if peer.is_built()? { "built" } else { "not built" };
            println!("{:<18} {state:<10} {}", peer.name, peer.proves);
        } else if !peer.build()? {
            println!("peer {} ({} of {}): up to date", peer.name, index + 1, chosen.len());
        }
    }
    if list {
        let state = if root::is_built()? { "built" } else { "not built" };
        println!("{LAB:<18} {state:<10} that machines boot, and become a cluster");
    } else if names.iter().any(|name| name == LAB) && !root::build()? {
        println!("{LAB}: up to date");
    } else if names.is_empty() {
        ensure_lab()?;
    }
    if names.is_empty() && !list && !python::build()? {
        println!("python: up to date");
    }
    if names.is_empty() && !list && !judge::build()? {
        println!("ovirt-model: up to date");
    }
    Ok(())
}

/// Builds all peers, quietly where there is nothing to do.
pub(crate) fn ensure() -> anyhow::Result<()> {
    for peer in PEERS {
        peer.build()?;
    }
    python::build()?;
    judge::build()?;
    ensure_lab()
}

/// Builds some of them.
pub(crate) fn need(names: &[&str]) -> anyhow::Result<()> {
    for name in names {
        Peer::named(name)?.build()?;
    }
    Ok(())
}

/// Where no machine can be booted the tests of the lab say so themselves.
fn ensure_lab() -> anyhow::Result<()> {
    match Lab::missing() {
        None => root::build().map(|_| ()),
        Some(missing) => {
            println!("{LAB}: not built, {missing}");
            Ok(())
        }
    }
}

pub(crate) fn differential(cases: u32) -> anyhow::Result<()> {
    need(&["cpi-reader", "csi-reader"])?;
    let mut tests = cargo(&[
        "test",
        "--release",
        "--package",
        "slipway-config",
        "--test",
        "drivers",
        "--",
        "--nocapture",
    ]);
    run_command(tests.env("SLIPWAY_CASES", cases.to_string()))
}
