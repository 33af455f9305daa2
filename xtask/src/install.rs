//! `cargo xtask install`: the CLI with its manual pages and completions, below one prefix.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

use crate::command::{cargo, root, run as run_command};

/// Where shells look for completions of a user, below a prefix.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "share/bash-completion/completions/slipway"),
    ("zsh", "share/zsh/site-functions/_slipway"),
    ("fish", "share/fish/vendor_completions.d/slipway.fish"),
];

pub(crate) fn run(prefix: &str, debug: bool) -> anyhow::Result<()> {
    let prefix = match prefix.strip_prefix("~/") {
        Some(rest) => {
            PathBuf::from(std::env::var_os("HOME").context("HOME is not set: give --prefix")?).join(rest)
        }
        None => std::path::absolute(prefix)?,
    };
    let mut build = cargo(&["build", "--package", "slipway-cli", "--bin", "slipway"]);
    if !debug {
        build.arg("--release");
    }
    if let Some(commit) = commit() {
        build.env("SLIPWAY_COMMIT", commit);
    }
    run_command(&mut build)?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    let program = target.join(if debug { "debug" } else { "release" }).join("slipway");
    place(&program, &prefix)?;
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let bin = prefix.join("bin");
    println!(
        "installed {}, manual pages, and completions for bash, zsh and fish",
        bin.join("slipway").display()
    );
    if !std::env::split_paths(&paths).any(|path| path == bin) {
        println!("next: add {} to PATH", bin.display());
    }
    Ok(())
}

/// The commit that is built, marked if files differ from it.
fn commit() -> Option<String> {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).current_dir(root()).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let commit = git(&["rev-parse", "--short=12", "HEAD"])?;
    let changed = !git(&["status", "--porcelain", "--untracked-files=no"])?.is_empty();
    Some(if changed { format!("{commit}-modified") } else { commit })
}

/// Copies the program, its manual pages and its completions below the prefix.
fn place(program: &Path, prefix: &Path) -> anyhow::Result<()> {
    let bin = prefix.join("bin");
    fs_err::create_dir_all(&bin)?;
    // A program that runs cannot be written to, but it can be replaced.
    let new = bin.join(".slipway.new");
    fs_err::copy(program, &new)?;
    fs_err::rename(&new, bin.join("slipway"))?;
    let man = prefix.join("share/man/man1");
    fs_err::create_dir_all(&man)?;
    for page in fs_err::read_dir(root().join("docs/reference/man"))? {
        let page = page?;
        fs_err::copy(page.path(), man.join(page.file_name()))?;
    }
    for (shell, path) in COMPLETIONS {
        let output = Command::new(program).args(["completion", shell]).output()?;
        if !output.status.success() {
            bail!("`slipway completion {shell}` ended with {}", output.status);
        }
        let path = prefix.join(path);
        fs_err::create_dir_all(path.parent().unwrap_or(prefix))?;
        fs_err::write(path, output.stdout)?;
    }
    Ok(())
}
