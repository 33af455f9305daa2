use crate::files::file;
use crate::run::{slipway, transcript, transcript_of};

const BROKEN: &str = "format: slipway.dev/matrix/v1
published: 2026-11-16
storageProvider:
- version: 3.7
  line: \"3.9\"
  kubernetes: {min: \"1.35\", max: \"1.33\"}
  vsphere: {min: new}
  iamges: {}
";

#[test]
fn shows_the_matrix() {
    insta::assert_snapshot!(transcript(&["drivers", "matrix", "show"]));
}

#[test]
fn explains_a_choice() {
    let arguments = [
        "drivers",
        "matrix",
        "show",
        "--explain",
        "--kubernetes",
        "v1.34.4",
        "--vcenter",
        "8.0.3.0",
        "--vcenter",
        "7.0.3",
    ];
    insta::assert_snapshot!(transcript(&arguments));
}

#[test]
fn explains_that_nothing_fits() {
    let arguments = [
        "drivers",
        "matrix",
        "show",
        "--explain",
        "--kubernetes",
        "1.36.1",
        "--vcenter",
        "6.5.0",
        "--driver",
        "storage-provider",
        "--deployed",
        "3.7.0",
    ];
    insta::assert_snapshot!(transcript(&arguments));
}

#[test]
fn explains_for_programs() {
    let arguments = [
        "drivers",
        "matrix",
        "show",
        "--explain",
        "--kubernetes",
        "1.34.4",
        "--driver",
        "cloud-provider",
        "--output",
        "json",
    ];
    insta::assert_snapshot!(transcript(&arguments));
}

#[test]
fn judges_a_matrix() {
    let (directory, _) = file(BROKEN);
    for (name, arguments) in [
        ("text", &["drivers", "matrix", "validate", "install-config.yaml"][..]),
        ("json", &["drivers", "matrix", "validate", "install-config.yaml", "--output", "json"]),
        ("show", &["drivers", "matrix", "show", "--file", "install-config.yaml"]),
    ] {
        let transcript = transcript_of(slipway(arguments).current_dir(directory.path()), arguments);
        insta::assert_snapshot!(format!("judges_a_matrix_{name}"), transcript);
    }
}

#[test]
fn the_embedded_matrix_is_valid() {
    insta::assert_snapshot!(transcript(&[
        "drivers",
        "matrix",
        "validate",
        "crates/config/src/matrix/embedded.yaml"
    ]));
}

#[test]
fn a_version_that_is_none_is_named() {
    let arguments = ["drivers", "matrix", "show", "--explain", "--kubernetes", "newest"];
    insta::assert_snapshot!(transcript(&arguments));
}
