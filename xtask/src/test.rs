//! `cargo xtask test`: everything CI runs, with one closing line.

pub(crate) mod compiler;
mod suite;

use std::process::Command;
use std::time::Instant;

use anyhow::{Context, bail};

use slipway_testkit::python;

use crate::command::{self, cargo, root};
use crate::{packages, peers};

/// What has been run so far.
#[derive(Debug, Default, Clone, Copy)]
struct Tally {
    passed: usize,
    failed: usize,
}

impl Tally {
    fn add(&mut self, ok: bool) {
        if ok { self.passed += 1 } else { self.failed += 1 }
    }
}

pub(crate) fn run() -> anyhow::Result<()> {
    packages::ensure()?;
    peers::ensure()?;
    let mut tally = Tally::default();
    check(&mut tally, "format", || command::run(&mut cargo(&["fmt", "--all", "--check"])));
    // Some of them look at the clock: nothing runs beside them.
    check(&mut tally, "tests of the vCenter simulator", || {
        let mut go = Command::new("go");
        go.args(["test", "-mod=readonly", "-timeout=180s", "./..."]).current_dir(root().join("peers/vcsim"));
        command::run(go.env("GOFLAGS", "").env("VCSIM_PYTHON", python::find()?))
    });
    // Large crates that everything waits for, and linkers, leave a processor alone.
    let (programs, fuzz) = std::thread::scope(|scope| {
        let fuzz = scope.spawn(fuzz_targets);
        (suite::build(), fuzz.join())
    });
    check(&mut tally, "fuzz targets", || fuzz.unwrap_or_else(|_| bail!("the check has panicked")));
    let tests = suite::run(programs?).context("running the tests")?;
    tally.passed += tests.passed;
    tally.failed += tests.failed;
    println!("{} passed, {} failed", tally.passed, tally.failed);
    if tally.failed > 0 {
        std::process::exit(1);
    }
    Ok(())
}

fn fuzz_targets() -> anyhow::Result<()> {
    let mut types = cargo(&["check", "--manifest-path", "fuzz/Cargo.toml", "--locked", "--quiet"]);
    // Only the types are checked: the fuzzer itself, a minute of C++, is neither built nor linked.
    types.env("CUSTOM_LIBFUZZER_PATH", "/dev/null").env("RUSTFLAGS", "--deny warnings");
    command::run(types.env("CARGO_TARGET_DIR", root().join("target/fuzz")))
}

/// One check that is not a test of its own, counted like one.
fn check(tally: &mut Tally, name: &str, what: impl FnOnce() -> anyhow::Result<()>) {
    let start = Instant::now();
    let result = what();
    let seconds = start.elapsed().as_secs_f64();
    match &result {
        Ok(()) => println!("check: {name} ... ok ({seconds:.1} s)"),
        Err(error) => println!("check: {name} ... FAILED ({seconds:.1} s)\n  {error:#}"),
    }
    tally.add(result.is_ok());
}

/// The test that compares the trees writes them, when asked.
pub(crate) fn golden() -> anyhow::Result<()> {
    let arguments = ["test", "--package", "slipway-assets", "--test", "it", "--", "golden::"];
    command::run(cargo(&arguments).env("SLIPWAY_GOLDEN", "update"))
}

/// So does the one that compares what is generated from the code.
pub(crate) fn generated(which: &str, check: bool) -> anyhow::Result<()> {
    let filter = format!("generated::{which}");
    let arguments =
        ["test", "--quiet", "--package", "slipway-cli", "--test", "it", "--", "--nocapture", &filter];
    let mut command = cargo(&arguments);
    if !check {
        command.env("SLIPWAY_GENERATED", "update");
    }
    command::run(&mut command)
}
