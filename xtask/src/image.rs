//! `cargo xtask image`: the operator's image, built and started once.

use std::process::{Command, Stdio};

use anyhow::{Context, bail};

use crate::command::{exists, root, run};

const FILE: &str = "deploy/operator/Containerfile";
/// All there are.
const FILES: [&str; 2] = [FILE, "deploy/payload/Containerfile"];
const TAG: &str = "slipway-operator:check";

pub(crate) fn build() -> anyhow::Result<()> {
    let Some(runtime) = runtime() else { bail!("neither podman nor docker works here; install one") };
    build_with(runtime)
}

/// The same if a runtime and the images it builds on are there: the tests fetch none.
pub(crate) fn build_if_possible() -> anyhow::Result<()> {
    let described = fs_err::read_to_string(root().join(FILE))?;
    let Some(runtime) = runtime() else {
        println!("image: not built, neither podman nor docker works here");
        return Ok(());
    };
    let missing = bases(&described).find(|base| !quietly(&[runtime, "image", "inspect", base]));
    if let Some(base) = missing {
        println!("image: not built, `{base}` is not here; `cargo xtask image` fetches it");
        return Ok(());
    }
    build_with(runtime)?;
    // Tests leave nothing behind.
    run(Command::new(runtime).args(["rmi", TAG]).stdout(Stdio::null()))
}

fn build_with(runtime: &str) -> anyhow::Result<()> {
    run(Command::new(runtime).args(["build", "--file", FILE, "--tag", TAG, "."]).current_dir(root()))?;
    let mut start = Command::new(runtime);
    start.args(["run", "--rm", "--network=none", "--read-only", TAG, "--version"]);
    let output = start.stderr(Stdio::inherit()).output().context("starting the image")?;
    let said = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() || !said.starts_with("slipway-operator ") {
        bail!("the image ended with {}, and said: {said}", output.status);
    }
    println!("image: {TAG} is {}", said.trim());
    Ok(())
}

/// A program for images that does not only exist.
fn runtime() -> Option<&'static str> {
    ["podman", "docker"].into_iter().find(|program| exists(program) && quietly(&[program, "info"]))
}

fn quietly(words: &[&str]) -> bool {
    let Some((program, arguments)) = words.split_first() else { return false };
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// What a Containerfile builds on.
fn bases(described: &str) -> impl Iterator<Item = &str> {
    described.lines().filter_map(|line| line.strip_prefix("FROM ")?.split_whitespace().next())
}

/// All images build on what a digest names: a tag is whatever its registry says today.
pub(crate) fn check_bases() -> anyhow::Result<()> {
    for file in FILES {
        let described = fs_err::read_to_string(root().join(file))?;
        if let Some(base) = bases(&described).find(|base| !has_digest(base)) {
            bail!("{file} builds on `{base}`, which has no digest: write `{base}@sha256:…`");
        }
    }
    Ok(())
}

fn has_digest(base: &str) -> bool {
    let digest = base.split_once("@sha256:").map(|(_, digest)| digest);
    digest.is_some_and(|digest| digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use super::{bases, check_bases, has_digest};

    #[test]
    fn images_build_on_digests() {
        check_bases().unwrap();
        let described = include_str!("../../deploy/operator/Containerfile");
        let found: Vec<&str> = bases(described).collect();
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(!has_digest("docker.io/library/rust:1.95-bookworm") && !has_digest("a@sha256:12"));
    }
}
