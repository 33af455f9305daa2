//! Completions and manual pages, checked by the programs that read them.

use std::io::Write;
use std::process::{Command, Stdio};

use rstest::rstest;

use crate::run::slipway;

fn feed(program: &str, arguments: &[&str], input: &[u8]) -> (bool, String) {
    let child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child =
        child.unwrap_or_else(|error| panic!("{program}: {error}; `cargo xtask test` installs it"));
    child.stdin.take().expect("stdin").write_all(input).expect("the input is read");
    let output = child.wait_with_output().expect("the program ends");
    let said = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&said).into_owned())
}

#[rstest]
#[case("bash")]
#[case("zsh")]
fn completions_are_scripts_of_their_shell(#[case] shell: &str) {
    let script = slipway(&["completion", shell]).output().expect("the command runs").stdout;
    assert!(String::from_utf8_lossy(&script).contains("validate"));
    let (fine, said) = feed(shell, &["-n"], &script);
    assert!(fine && said.is_empty(), "{said}");
}

#[test]
fn bash_completes_commands() {
    let script = slipway(&["completion", "bash"]).output().expect("the command runs").stdout;
    let ask =
        "\nCOMP_WORDS=(slipway va); COMP_CWORD=1; _slipway slipway va slipway; echo \"${COMPREPLY[@]}\"\n";
    let (fine, said) = feed("bash", &[], &[script, ask.as_bytes().to_vec()].concat());
    assert!(fine, "{said}");
    assert_eq!(said.trim(), "validate");
}

#[test]
fn manual_pages_are_clean() {
    let pages = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/man");
    let mut count = 0;
    for page in std::fs::read_dir(pages).expect("manual pages") {
        let text = std::fs::read(page.expect("a page").path()).expect("a page");
        let (_, said) = feed("mandoc", &["-T", "lint", "-W", "error"], &text);
        assert!(said.is_empty(), "{said}");
        count += 1;
    }
    assert!(count > 3, "only {count} pages");
}
