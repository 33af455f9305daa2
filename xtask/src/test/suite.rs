//! The tests of the workspace: built once, then several programs at a time. Most of them wait for servers.

use std::collections::VecDeque;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use anyhow::{Context, bail};
use serde::Deserialize;

use super::{Tally, compiler};
use crate::command::{cargo, root};

/// Modules of this name hold what looks at the clock: nothing runs beside it but what waits itself.
const CLOCKED: &str = "clocked::";

/// What looks at the clock here waits most of the time, for seconds: these run beside each other, and nothing else does.
const WAITING: [&str; 2] = ["crates/operator it", "crates/lifecycle cluster"];

/// What takes longest begins first; the others find room beside it.
const SLOWEST_FIRST: [&str; 9] = [
    "xtask unit tests",
    "crates/operator it",
    "crates/lifecycle cluster",
    "crates/lifecycle kubevirt",
    "crates/cli it",
    "crates/assets it",
    "crates/lifecycle ovirt",
    "crates/assess check",
    "crates/lifecycle unit tests",
];

/// A program of tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Program {
    name: String,
    path: PathBuf,
    /// Where cargo would run it.
    folder: PathBuf,
    of_a_crate: bool,
}

/// Runs what was built.
pub(super) fn run(mut programs: Vec<Program>) -> anyhow::Result<Tally> {
    let rank = |program: &Program| {
        SLOWEST_FIRST.iter().position(|name| *name == program.name).unwrap_or(SLOWEST_FIRST.len())
    };
    // Unit tests take next to no time.
    programs.sort_by_key(|program| (rank(program), !program.of_a_crate));
    let clocked = programs.iter().filter(|program| has_some_clocked(program)).cloned();
    let (waiting, alone) = clocked.partition(|program| WAITING.contains(&&*program.name));
    let tally = Mutex::new(Tally::default());
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    side_by_side(workers, programs, &["--skip", CLOCKED], &tally);
    side_by_side(WAITING.len(), waiting, &[CLOCKED], &tally);
    side_by_side(1, alone, &[CLOCKED], &tally);
    let tally = tally.into_inner().unwrap_or_else(PoisonError::into_inner);
    if tally.passed + tally.failed == 0 {
        bail!("no test was run");
    }
    Ok(tally)
}

/// Runs programs in this order, so many at a time.
fn side_by_side(count: usize, programs: Vec<Program>, arguments: &[&str], tally: &Mutex<Tally>) {
    let queue = Mutex::new(VecDeque::from(programs));
    std::thread::scope(|scope| {
        for _ in 0..count {
            scope.spawn(|| {
                let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
                while let Some(program) = next() {
                    let result = perform(&program, arguments);
                    tell(&program, result, &mut tally.lock().unwrap_or_else(PoisonError::into_inner));
                }
            });
        }
    });
}

/// Builds all tests and says where they are.
pub(super) fn build() -> anyhow::Result<Vec<Program>> {
    let begin = Instant::now();
    let arguments = ["test", "--workspace", "--locked", "--no-run", "--quiet"];
    let mut command = cargo(&arguments);
    command.arg("--message-format=json-render-diagnostics").stdout(Stdio::piped());
    compiler::wrap(&mut command)?;
    let mut child = command.spawn().context("starting cargo")?;
    let mut messages = String::new();
    child.stdout.take().context("cargo says nothing")?.read_to_string(&mut messages)?;
    let status = child.wait()?;
    if !status.success() {
        bail!("the tests cannot be built: cargo ended with {status}");
    }
    println!("tests: built, linted and documented in {:.1} s", begin.elapsed().as_secs_f64());
    messages.lines().filter_map(|line| program(line).transpose()).collect()
}

/// A message of cargo, if it is about a program of tests.
fn program(message: &str) -> anyhow::Result<Option<Program>> {
    #[derive(Deserialize)]
    struct Message {
        reason: String,
        executable: Option<PathBuf>,
        manifest_path: Option<PathBuf>,
        target: Option<Target>,
        profile: Option<Profile>,
    }
    #[derive(Deserialize)]
    struct Target {
        name: String,
        kind: Vec<String>,
    }
    #[derive(Deserialize)]
    struct Profile {
        test: bool,
    }
    let message: Message = serde_json::from_str(message).context("a message of cargo")?;
    let (Some(path), Some(manifest), Some(target)) =
        (message.executable, message.manifest_path, message.target)
    else {
        return Ok(None);
    };
    if message.reason != "compiler-artifact" || !message.profile.is_some_and(|profile| profile.test) {
        return Ok(None);
    }
    let folder = manifest.parent().unwrap_or(Path::new(".")).to_owned();
    let of_a_crate = target.kind.iter().any(|kind| kind == "test");
    let package = folder.strip_prefix(root()).unwrap_or(&folder).display();
    let name = format!("{package} {}", if of_a_crate { &target.name } else { "unit tests" });
    Ok(Some(Program { name, path, folder, of_a_crate }))
}

/// How a program ended, and everything it said.
struct Ended {
    success: bool,
    seconds: f64,
    output: String,
}

fn perform(program: &Program, arguments: &[&str]) -> anyhow::Result<Ended> {
    let begin = Instant::now();
    let mut command = Command::new(&program.path);
    // Property tests try the same cases in every run here; by hand they try new ones.
    command.current_dir(&program.folder).env("PROPTEST_RNG_SEED", "20261115").arg("--quiet").args(arguments);
    let output = command.stdin(Stdio::null()).output()?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok(Ended {
        success: output.status.success(),
        seconds: begin.elapsed().as_secs_f64(),
        output: text(&output.stdout) + &text(&output.stderr),
    })
}

/// Counts, and shows what was said where something failed.
fn tell(program: &Program, result: anyhow::Result<Ended>, tally: &mut Tally) {
    let name = &program.name;
    let ended = match result {
        Ok(ended) => ended,
        Err(error) => {
            println!("tests: {name} ... FAILED\n  {error:#}");
            return tally.failed += 1;
        }
    };
    let Ended { success, seconds, output } = ended;
    let (passed, failed) = output.lines().find_map(counts).unwrap_or_default();
    tally.passed += passed;
    // A crash has no line of its own.
    tally.failed += if success { failed } else { failed.max(1) };
    if success && failed == 0 {
        println!("tests: {name} ... {passed} passed ({seconds:.1} s)");
    } else {
        println!("tests: {name} ... FAILED ({seconds:.1} s)\n{output}");
    }
}

fn has_some_clocked(program: &Program) -> bool {
    let mut command = Command::new(&program.path);
    let list = command.current_dir(&program.folder).args(["--list", "--format", "terse", CLOCKED]).output();
    // A program that cannot even list its tests has failed before.
    list.is_ok_and(|list| !list.stdout.is_empty())
}

/// `test result: ok. 12 passed; 0 failed; …`
fn counts(line: &str) -> Option<(usize, usize)> {
    let summary = line.strip_prefix("test result: ")?.split_once(". ")?.1;
    let mut numbers =
        summary.split("; ").map(|part| part.split(' ').next().and_then(|number| number.parse().ok()));
    Some((numbers.next()??, numbers.next()??))
}

#[cfg(test)]
mod tests {
    use super::{counts, program};

    #[test]
    fn reads_the_result_line_of_cargo() {
        let line = "test result: FAILED. 12 passed; 3 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.1s";
        assert_eq!(counts(line), Some((12, 3)));
        assert_eq!(counts("running 12 tests"), None);
    }

    #[test]
    fn finds_programs_of_tests_among_what_cargo_says() {
        let artifact = |test: bool, kind: &str| {
            let text = serde_json::json!({
                "reason": "compiler-artifact", "executable": "/t/it-1", "manifest_path": "/w/crates/x/Cargo.toml",
                "target": {"name": "it", "kind": [kind]}, "profile": {"test": test},
            });
            program(&text.to_string()).ok().flatten()
        };
        let found = artifact(true, "test").map(|program| (program.folder, program.of_a_crate));
        assert_eq!(found, Some(("/w/crates/x".into(), true)));
        assert_eq!(artifact(true, "lib").map(|program| program.of_a_crate), Some(false));
        assert_eq!(artifact(false, "bin"), None, "the product itself");
        assert_eq!(program(r#"{"reason":"build-finished","success":true}"#).ok().flatten(), None);
    }
}
