use std::net::TcpListener;

use rstest::rstest;
use serde_json::json;

use crate::files::file;
use crate::run::{slipway, transcript, transcript_of};
use crate::terminal::{INTERRUPT, Terminal};

const BROKEN: &str = "format: slipway.dev/matrix/v1
published: 2026-11-16
storageProvider:
- version: 3.7
  line: \"3.9\"
  kubernetes: {min: \"1.35\", max: \"1.33\"}
  vsphere: {min: new}
  iamges: {}
";

/// 32 bytes.
const KEY: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";

#[test]
fn shows_the_matrix() {
    let shown = transcript(&["drivers", "matrix", "show"]);
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    insta::assert_snapshot!(shown);
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

/// A signature is good for the file as it is, with the key that was printed; what is not a matrix is not signed.
#[test]
fn signs_a_matrix() {
    let (directory, _) = file(include_str!("../../../config/src/matrix/embedded.yaml"));
    let arguments = ["drivers", "matrix", "sign", "install-config.yaml", "--key", "matrix.key"];
    let run = || slipway(&arguments).current_dir(directory.path()).output().expect("the command runs");
    let (first, second) = (run(), run());
    assert_eq!(first.status.code(), Some(0), "{}", String::from_utf8_lossy(&first.stderr));
    assert_eq!(first.stdout, second.stdout, "the key is created once");
    let text = |name: &str| std::fs::read_to_string(directory.path().join(name)).expect("a file");
    let key = String::from_utf8(first.stdout).expect("UTF-8").parse().expect("a public key");
    let verify = |matrix: &str| {
        let signature = text("install-config.yaml.sig");
        slipway_assets::drivers::signature::verify(matrix, Some(&signature), std::slice::from_ref(&key))
    };
    assert_eq!(verify(&text("install-config.yaml")), Ok(()));
    assert!(verify("another").is_err());
    let (broken, _) = file(BROKEN);
    let refused = slipway(&arguments).current_dir(broken.path()).output().expect("the command runs");
    assert_eq!(refused.status.code(), Some(1));
    assert!(!broken.path().join("matrix.key").exists());
}

/// Flags that contradict each other are reported before any question.
#[rstest]
#[case(&["configure", "--user", "csi@vsphere.local"], "`--user` is about a vCenter", 1)]
#[case(&["configure", "--insecure"], "`--insecure` is about a vCenter", 1)]
#[case(&["configure", "--server", "vc.example.com"], "add `--user NAME@DOMAIN`, and `--password-env` or", 1)]
#[case(&["configure", "--file", "-", "--pull-secret", "mirror"], "cannot be used with '--pull-secret", 2)]
#[case(&["deploy", "--matrix", "https://a.example/m", "--matrix-key", KEY, "--matrix-proxy", "http://me:hunter2@proxy:8080"], "has credentials", 1)]
#[case(&["deploy", "--matrix", "https://me:hunter2@a.example/m", "--matrix-key", KEY], "has credentials", 1)]
#[case(&["deploy", "--matrix", "https://a.example/m?sig=hunter2", "--matrix-key", KEY], "or a signature", 1)]
#[case(&["bundle", "--registry", "https://mirror.example.com"], "leave out the scheme", 2)]
#[case(&["bundle", "--registry", "mirror; true"], "write name and path", 2)]
#[case(&["bundle", "--matrix", "install-config.yaml", "--matrix-key", KEY], "`iamges`", 1)]
fn refused_at_once(#[case] arguments: &[&str], #[case] part: &str, #[case] code: i32) {
    let (directory, _) = file(BROKEN);
    std::fs::write(directory.path().join("install-config.yaml.sig"), "AAAA").expect("a file");
    let mut command = slipway(&[&["drivers"], arguments].concat());
    let output = command.current_dir(directory.path()).output().expect("the command runs");
    let told = String::from_utf8(output.stderr).expect("UTF-8");
    assert!(told.contains(part) && !told.contains("hunter2"), "{told}");
    assert_eq!(output.status.code(), Some(code), "{told}");
}

/// Ctrl-C is heard after the prompt: the cluster takes its time.
#[test]
fn removing_can_be_interrupted() {
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let server = format!("http://{}", silent.local_addr().expect("an address"));
    let kubeconfig = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "c", "users": [],
        "clusters": [{"name": "k", "cluster": {"server": server}}],
        "contexts": [{"name": "c", "context": {"cluster": "k", "user": ""}}],
    });
    let (_directory, path) = file(kubeconfig.to_string());
    let mut terminal =
        Terminal::run(&slipway(&["drivers", "remove", "--kubeconfig", path.to_str().expect("UTF-8")]));
    terminal.expect("to remove the drivers; ").send("yes\n");
    let _asked = silent.accept().expect("a request that stays unanswered");
    terminal.send(INTERRUPT).expect("interrupted").expect("run it again to remove the rest");
    assert_eq!(terminal.finish(), 8);
    // In the moment the question is there, too.
    let mut terminal =
        Terminal::run(&slipway(&["drivers", "remove", "--kubeconfig", path.to_str().expect("UTF-8")]));
    terminal.expect("to remove the drivers; ").send(INTERRUPT).expect("error: interrupted");
    assert_eq!(terminal.finish(), 8);
}
