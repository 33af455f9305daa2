//! `cargo xtask fuzz`.

use std::process::Command;

use anyhow::{Context, bail};

use crate::command::{self, exists, root};

pub(crate) fn run(target: &str, seconds: u32) -> anyhow::Result<()> {
    let directory = root().join("fuzz");
    if !directory.join("fuzz_targets").join(format!("{target}.rs")).is_file() {
        bail!("there is no fuzz target `{target}`; see fuzz/fuzz_targets");
    }
    if !exists("cargo-fuzz") {
        bail!(
            "install cargo-fuzz first: cargo install cargo-fuzz, and a nightly toolchain: rustup toolchain install nightly"
        );
    }
    let time = format!("-max_total_time={seconds}");
    // What is found goes to the first directory; seeds, or else the examples, are where it starts from.
    let corpus = directory.join("corpus").join(target);
    fs_err::create_dir_all(&corpus)?;
    let mut fuzz = Command::new("cargo");
    fuzz.current_dir(&directory).env_remove("CARGO").args(["+nightly", "fuzz", "run", target]);
    let seeds = directory.join("seeds").join(target);
    fuzz.arg(corpus).arg(if seeds.is_dir() { seeds } else { root().join("examples") }).args(["--", &time]);
    // Anything slower than five seconds counts as a hang.
    fuzz.args(["-timeout=5", "-rss_limit_mb=1024", "-max_len=65536", "-print_final_stats=1"]);
    command::run(fuzz.env_remove("RUSTUP_TOOLCHAIN"))
        .context("the fuzzer found something; the input is in fuzz/artifacts")
}
