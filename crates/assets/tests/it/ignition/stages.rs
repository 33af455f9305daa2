use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

use super::scripts::folder;

/// A service of three stages, in a folder of its own.
struct Service(TempDir);

impl Service {
    fn new(stages: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("demo.d")).unwrap();
        for (name, script) in stages {
            std::fs::write(folder.path().join("demo.d").join(name), script).unwrap();
        }
        Service(folder)
    }

    fn run(&self) -> Output {
        let folder_of = |name: &str| self.0.path().join(name);
        Command::new("bash")
            .args(["-euo", "pipefail", "-c", ". \"$1\"; run_stages demo", "bash"])
            .arg(folder().join("lib/stages.sh"))
            .env("STAGE_DIR", self.0.path())
            .env("DONE_DIR", folder_of("done"))
            .env("RECORD_DIR", folder_of("log"))
            .env("HERE", self.0.path())
            .output()
            .unwrap()
    }

    /// Stage, event and message of each line.
    fn record(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.0.path().join("log/demo.json")).unwrap();
        let lines = text.lines().map(|line| {
            let line: Value = serde_json::from_str(line).unwrap();
            assert_eq!(line["time"].as_str().unwrap().len(), 20);
            let message = line["message"].as_str().unwrap_or_default();
            format!("{} {} {message}", line["stage"].as_str().unwrap(), line["event"].as_str().unwrap())
        });
        lines.map(|line| line.trim_end().to_owned()).collect()
    }
}

#[test]
fn a_restart_goes_on_where_it_was() {
    let service = Service::new(&[
        ("10-first.sh", "echo ran >> \"$HERE/first\""),
        ("20-second.sh", "echo \"it's \\\"broken\\\"\" >&2; [[ -e $HERE/mended ]]"),
        ("30-third.sh", "echo careful; exit 10"),
        ("40-last.sh", "true"),
    ]);
    assert_eq!(service.run().status.code(), Some(1));
    assert_eq!(
        service.record(),
        ["first start", "first success", "second start", "second failure it's \"broken\""]
    );
    std::fs::write(service.0.path().join("mended"), "").unwrap();
    let output = service.run();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(
        service.record()[4..],
        [
            "second start",
            "second success",
            "third start",
            "third warning careful",
            "last start",
            "last success"
        ]
    );
    assert_eq!(std::fs::read_to_string(service.0.path().join("first")).unwrap(), "ran\n");
    assert!(service.run().status.success());
    assert_eq!(service.record().len(), 10, "nothing is left to do");
}

/// Facts about a release, from files as release images have them.
#[test]
fn a_release_is_read_from_its_own_files() {
    let assets = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(assets.path().join(name), text).unwrap();
    std::fs::create_dir(assets.path().join("release")).unwrap();
    write("bootstrap.env", "PLATFORM='vsphere'\n");
    write("release/release-metadata", r#"{"kind": "cincinnati-metadata-v0", "version": "4.20.3"}"#);
    write(
        "release/image-references",
        r#"{"kind": "ImageStream", "spec": {"tags": [
            {"name": "etcd", "from": {"kind": "DockerImage", "name": "quay.io/x@sha256:1"}},
            {"name": "hyperkube", "annotations": {"io.openshift.build.versions": "kubernetes-tests=9,kubernetes=1.33.5"},
             "from": {"kind": "DockerImage", "name": "quay.io/x@sha256:2"}}]}}"#,
    );
    let script =
        ". \"$1\"; release_version; kubernetes_version; image_for etcd; image_for nothing || echo none; pwd";
    let output = Command::new("bash")
        .args(["-euo", "pipefail", "-c", script, "bash"])
        .arg(folder().join("lib/release.sh"))
        .env("ASSETS", assets.path())
        .output()
        .unwrap();
    let expected = format!("4.20.3\n1.33.5\nquay.io/x@sha256:1\nnone\n{}\n", assets.path().display());
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        expected,
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
