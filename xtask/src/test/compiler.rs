//! A compiler that reads along: whatever cargo compiles for the tests is linted and documented in the same pass.
//!
//! `cargo clippy` and `cargo doc` would each go through all dependencies, and us, once more. Cargo has a place for
//! such a compiler, `RUSTC_WORKSPACE_WRAPPER`, and uses it for the workspace alone.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::Command;

use anyhow::Context;

use crate::command::root;

/// Set for the process that is the compiler.
const MARK: &str = "SLIPWAY_COMPILES";

/// What rustdoc is told of what the compiler is told. Each has a value of its own, or behind `=`.
const SHARED: [&str; 11] = [
    "--crate-name",
    "--edition",
    "--cfg",
    "--check-cfg",
    "--extern",
    "-L",
    "--error-format",
    "--warn",
    "--deny",
    "--allow",
    "--forbid",
];

/// Has cargo compile the workspace by this program.
pub(super) fn wrap(cargo: &mut Command) -> anyhow::Result<()> {
    // Tests are built of this package too, so it does not run from where cargo puts it.
    let own = root().join("target/compiler");
    fs_err::remove_file(&own).or_else(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Ok(()),
        _ => Err(error),
    })?;
    fs_err::copy(std::env::current_exe()?, &own)?;
    cargo.env("RUSTC_WORKSPACE_WRAPPER", own).env(MARK, "1");
    Ok(())
}

pub(crate) fn is_asked() -> bool {
    std::env::var_os(MARK).is_some()
}

/// As cargo asks: the path of the compiler, and its arguments.
pub(crate) fn run() -> anyhow::Result<()> {
    let mut arguments = std::env::args_os().skip(1);
    let rustc = arguments.next().context("cargo names no compiler")?;
    let arguments: Vec<OsString> = arguments.collect();
    let beside = |name: &str| Path::new(&rustc).with_file_name(name);
    let mut lints = Command::new(beside("clippy-driver"));
    finish(lints.arg(&rustc).args(&arguments).arg("--deny=warnings"))?;
    if is_library(&arguments) {
        let mut documentation = Command::new(beside("rustdoc"));
        documentation
            .args(shared(&arguments))
            .arg("--deny=warnings")
            .arg("--out-dir")
            .arg(root().join("target/doc"));
        finish(&mut documentation)?;
    }
    Ok(())
}

/// Runs it to the end. It has said itself what is wrong.
fn finish(command: &mut Command) -> anyhow::Result<()> {
    let status = command.status().with_context(|| format!("starting {}", command.get_program().display()))?;
    if !status.success() {
        std::process::exit(status.code().unwrap_or(1));
    }
    Ok(())
}

fn is_library(arguments: &[OsString]) -> bool {
    let is_test = arguments.iter().any(|argument| argument == "--test");
    let kinds = arguments.windows(2).filter(|pair| pair[0] == "--crate-type").map(|pair| &*pair[1]);
    !is_test && kinds.into_iter().any(|kind| kind == "lib")
}

/// The source, and what says how to read it.
fn shared(arguments: &[OsString]) -> Vec<&OsStr> {
    let mut kept = Vec::new();
    let mut arguments = arguments.iter().map(OsString::as_os_str).peekable();
    while let Some(argument) = arguments.next() {
        let text = argument.to_string_lossy();
        if SHARED.contains(&&*text) {
            kept.push(argument);
            kept.extend(arguments.next());
        } else if SHARED.iter().any(|flag| text.strip_prefix(flag).is_some_and(|rest| rest.starts_with('=')))
            || text.starts_with("--json=")
            || Path::new(argument).extension().is_some_and(|extension| extension == "rs")
        {
            kept.push(argument);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::{is_library, shared};

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn rustdoc_reads_as_the_compiler_does() {
        let line = words(
            "--crate-name a --edition=2024 crates/a/src/lib.rs --error-format=json --json=artifacts --crate-type lib \
             --emit=dep-info,link -C debuginfo=1 --warn=clippy::pedantic --cfg feature=\"x\" --out-dir /t -L dependency=/t \
             --extern b=/t/libb.rlib",
        );
        assert!(is_library(&line));
        let expected = words(
            "--crate-name a --edition=2024 crates/a/src/lib.rs --error-format=json --json=artifacts \
             --warn=clippy::pedantic --cfg feature=\"x\" -L dependency=/t --extern b=/t/libb.rlib",
        );
        assert_eq!(shared(&line), expected);
    }

    #[test]
    fn only_libraries_are_documented() {
        assert!(!is_library(&words("--crate-type bin src/main.rs")));
        assert!(!is_library(&words("--test --crate-type lib src/lib.rs")));
    }
}
