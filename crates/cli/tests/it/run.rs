//! Runs the command and shows what came of it.

use std::process::Command;

use assert_cmd::cargo::cargo_bin;

/// The directory commands are run in: the root of the repository.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// A command in a clean environment.
pub(crate) fn slipway(arguments: &[&str]) -> Command {
    let mut command = Command::new(cargo_bin("slipway"));
    command.args(arguments).current_dir(ROOT).env_clear();
    command
}

/// Exit code, stdout and stderr of a whole run.
pub(crate) fn transcript(arguments: &[&str]) -> String {
    transcript_of(&mut slipway(arguments), arguments)
}

pub(crate) fn transcript_of(command: &mut Command, arguments: &[&str]) -> String {
    let output = command.output().expect("the command runs");
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("UTF-8");
    format!(
        "$ slipway {}\nexit: {}\n--- stdout\n{}--- stderr\n{}",
        arguments.join(" "),
        output.status.code().expect("an exit code"),
        text(&output.stdout),
        text(&output.stderr),
    )
}

/// What programs and shells read is the same with colours as without.
#[test]
fn data_has_no_colours() {
    for command in [
        &["schema"][..],
        &["completion", "bash"],
        &["completion", "zsh"],
        &["version"],
        &["validate", "-o", "json", "examples/none.yaml"],
    ] {
        let output = |color: &str| {
            slipway(&[command, &["--color", color]].concat()).output().expect("the command runs")
        };
        let (plain, coloured) = (output("never"), output("always"));
        assert!(plain.status.success() && !plain.stdout.is_empty(), "{command:?}");
        assert_eq!(plain.stdout, coloured.stdout, "{command:?}");
        assert!(plain.stderr.is_empty() && coloured.stderr.is_empty(), "{command:?}");
    }
}
