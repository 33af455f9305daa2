use std::process::Stdio;

use crate::files::{example, file};
use crate::run::{slipway, transcript, transcript_of};

/// Three mistakes in a file that is otherwise fine.
fn three_mistakes() -> String {
    example(
        "vsphere-multi-vcenter.yaml",
        &[
            ("memoryMB: 32768", "memroyMB: 32768"),
            ("- server: vcenter-east.example.com", "- server: vcenter-north.example.com"),
            ("datastore: /south/datastore/vsan", "datastore: /south2/datastore/vsan"),
            ("server: vcenter-east.example.com", "server: vcenter-north.example.com"),
            ("datacenters: [north]", "datacenters: [north, east]"),
        ],
    )
}

fn transcript_in_directory(content: &str, arguments: &[&str]) -> String {
    let (directory, _) = file(content);
    transcript_of(slipway(arguments).current_dir(directory.path()), arguments)
}

#[test]
fn a_clean_bill() {
    insta::assert_snapshot!(transcript(&["validate", "examples/vsphere-multi-vcenter.yaml"]));
}

#[test]
fn warnings_and_notes() {
    insta::assert_snapshot!(transcript(&["validate", "examples/seed-multi-vcenter.yaml"]));
}

#[test]
fn warnings_count_when_strict() {
    insta::assert_snapshot!(transcript(&["validate", "--strict", "examples/seed-multi-vcenter.yaml"]));
}

#[test]
fn all_mistakes_with_their_lines() {
    insta::assert_snapshot!(transcript_in_directory(&three_mistakes(), &["validate", "--color", "never"]));
}

#[test]
fn all_mistakes_in_colour() {
    insta::assert_snapshot!(transcript_in_directory(&three_mistakes(), &["validate", "--color", "always"]));
}

#[test]
fn all_mistakes_for_programs() {
    insta::assert_snapshot!(transcript_in_directory(&three_mistakes(), &["validate", "--output", "json"]));
}

#[test]
fn a_clean_bill_for_programs() {
    insta::assert_snapshot!(transcript(&["validate", "-o", "json", "examples/vsphere-multi-vcenter.yaml"]));
}

#[test]
fn no_color_is_respected() {
    let (directory, _) = file(three_mistakes());
    let arguments = ["validate"];
    let output =
        transcript_of(slipway(&arguments).current_dir(directory.path()).env("NO_COLOR", "1"), &arguments);
    assert!(!output.contains('\u{1b}'), "{output}");
}

#[test]
fn broken_yaml_does_not_show_secrets() {
    let text =
        example("seed-multi-vcenter.yaml", &[("password: \"password\"", "password: \"hunter2\" oops: [")]);
    let output = transcript_in_directory(&text, &["validate"]);
    assert!(!output.contains("hunter2"), "{output}");
    insta::assert_snapshot!(output);
}

#[test]
fn a_misspelt_password_is_not_shown() {
    let text = example("seed-multi-vcenter.yaml", &[("password: \"password\"", "pasword: hunter2")]);
    let output = transcript_in_directory(&text, &["validate"]);
    assert!(!output.contains("hunter2"), "{output}");
    insta::assert_snapshot!(output);
}

#[test]
fn standard_input() {
    let arguments = ["validate", "-"];
    let mut command = slipway(&arguments);
    let (_directory, path) = file(example("none.yaml", &[("replicas: 3", "replicas: three")]));
    command.stdin(Stdio::from(std::fs::File::open(path).expect("the file")));
    insta::assert_snapshot!(transcript_of(&mut command, &arguments));
}

#[test]
fn files_that_cannot_be_read() {
    insta::assert_snapshot!(transcript(&["validate", "examples/absent.yaml"]));
    insta::assert_snapshot!(transcript(&["validate", "examples"]));
    insta::assert_snapshot!(transcript(&["validate", "--dir", "examples/absent"]));
}

#[test]
fn a_file_that_is_not_text() {
    let (directory, _) = file(b"apiVersion: v1\nmetadata: \xff\xfe\n");
    let arguments = ["validate"];
    insta::assert_snapshot!(transcript_of(slipway(&arguments).current_dir(directory.path()), &arguments));
}

/// The cut at the limit lies within a character; the file is too large, not broken text.
#[test]
fn a_file_that_is_too_large() {
    let output = transcript_in_directory(&format!("#{}", "é".repeat(5 << 20)), &["validate"]);
    assert!(output.contains("error[document-too-large]") && output.contains("exit: 3"), "{}", &output[..500]);
}

#[test]
fn a_long_list_is_cut() {
    let many: String = (0..80).map(|index| format!("nonsense{index}: 1\n")).collect();
    let output = transcript_in_directory(&many, &["validate"]);
    assert!(output.contains("… and"), "{output}");
    assert_eq!(output.matches("error[").count(), 50);
}

/// Whatever is not listed is counted all the same.
#[test]
fn a_very_long_list_is_counted() {
    let many: String = (0..6000).map(|index| format!("nonsense{index}: 1\n")).collect();
    let text = example("none.yaml", &[("apiVersion:", &format!("{many}apiVersion:"))]);
    let output = transcript_in_directory(&text, &["validate"]);
    assert!(output.contains("… and 5950 more") && output.contains("(6000 errors)"), "{}", &output[..500]);
    let output = transcript_in_directory(&text, &["validate", "-o", "json"]);
    assert!(
        output.contains(r#""errors": 6000"#) && output.contains(r#""leftOut": 5000"#),
        "{}",
        &output[..500]
    );
}

/// A time of nothing is a mistake in the command line, whatever it is for.
#[test]
fn times_that_leave_no_time() {
    for arguments in [
        &["preflight", "--timeout", "0s"][..],
        &["plan", "--call-timeout", "0s"],
        &["create", "cluster", "--silence-timeout", "0m"],
        &["wait-for", "install-complete", "--install-timeout", "0s"],
        &["check", "--every", "0s"],
    ] {
        let output = slipway(arguments).output().expect("the command runs");
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {told}");
        assert!(told.contains("the time must be greater than zero"), "{arguments:?}: {told}");
    }
}

/// A program that asked for JSON gets it, whatever is wrong with what it typed.
#[rstest::rstest]
#[case::unknown_word(&["vaildate", "-o", "json"], "unrecognized subcommand", true)]
#[case::unknown_flag(&["plan", "--output=json", "--wnat"], "unexpected argument", true)]
#[case::no_time(&["status", "-ojson", "--call-timeout", "soon"], "write a time like 90s", false)]
#[case::do_not_go_together(&["plan", "--keep-volumes", "-o", "json"], "is for `slipway plan destroy`", false)]
#[case::of_no_use(&["plan", "destroy", "--save", "x", "-o", "json"], "is for `slipway plan create`", false)]
fn wrong_usage_is_told_to_programs(#[case] arguments: &[&str], #[case] message: &str, #[case] hint: bool) {
    let output = slipway(arguments).output().expect("the command runs");
    assert_eq!(output.status.code(), Some(2));
    let told: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let error = &told["error"];
    assert!(error["message"].as_str().is_some_and(|text| text.contains(message)), "{told}");
    assert_eq!(error["hint"].is_string(), hint, "{told}");
    assert!(error["causes"].is_array() && error["details"].is_array(), "{told}");
    assert!(!output.stderr.is_empty(), "people are told as well");
    let silent = slipway(&arguments[..1]).arg("--wnat").output().expect("the command runs");
    assert!(silent.stdout.is_empty(), "without it nothing is data");
}

/// YAML is the same document as JSON.
#[rstest::rstest]
#[case::result(&["version"], 0)]
#[case::wrong_usage(&["vaildate"], 2)]
#[case::error(&["validate", "there-is-no-such-file.yaml"], 3)]
fn yaml_says_what_json_says(#[case] arguments: &[&str], #[case] code: i32) {
    let [json, yaml] = ["json", "yaml"].map(|format| {
        let output = slipway(arguments).args(["-o", format]).output().expect("the command runs");
        assert_eq!(output.status.code(), Some(code));
        String::from_utf8(output.stdout).expect("text")
    });
    assert_ne!(json, yaml);
    let read = slipway_config::yaml::from_yaml(&yaml).unwrap_or_else(|_| panic!("{yaml}"));
    assert_eq!(read, serde_json::from_str::<serde_json::Value>(&json).expect("JSON"));
}

#[test]
fn usage() {
    insta::assert_snapshot!(transcript(&["validate", "--help"]));
    insta::assert_snapshot!(transcript(&["--help"]));
    insta::assert_snapshot!(transcript(&["vaildate"]));
    insta::assert_snapshot!(transcript(&["version"]).replace(env!("CARGO_PKG_VERSION"), "VERSION"));
}
