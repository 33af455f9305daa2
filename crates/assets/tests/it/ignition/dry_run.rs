//! All stages, one after the other, with a podman that only pretends. Proves that the scripts run, in which
//! order and with which arguments, and where the results go; not that a release likes the arguments.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::cluster::{Ign, cluster, example};

const RELEASE: &str = r#"{"kind": "ImageStream", "spec": {"tags": ["#;

fn write(path: &Path, contents: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, contents).unwrap();
}

/// Runs the machine; `help` is what every command says about its flags. Stages that do not end with one of
/// `only` are left out.
fn run(name: &str, help: &str, only: &[&str]) -> (String, String, String) {
    let here = tempfile::tempdir().unwrap();
    let here = here.path();
    let cluster = cluster(example(name));
    let ign = Ign::bootstrap(&cluster, &slipway_assets::manifests(&cluster).unwrap());
    for file in ign.files() {
        let path = file["path"].as_str().unwrap();
        if path.contains(".d/") && !only.iter().any(|stage| path.ends_with(stage)) {
            continue;
        }
        if path.starts_with("/opt/") || path.starts_with("/usr/local/") {
            write(&here.join("machine").join(&path[1..]), &ign.contents(path).unwrap());
        }
    }
    let images = "cluster-config-api cluster-authentication-operator cluster-config-operator cluster-etcd-operator etcd \
        cluster-kube-apiserver-operator hyperkube cluster-kube-controller-manager-operator cluster-policy-controller \
        cluster-kube-scheduler-operator cluster-ingress-operator cluster-node-tuning-operator \
        machine-config-operator cloud-credential-operator cluster-bootstrap";
    let tags = images.split_whitespace().map(|name| {
        format!(
            r#"{{"name": "{name}", "from": {{"name": "img/{name}"}}, "annotations": {{"io.openshift.build.versions": "kubernetes=1.33.5"}}}}"#
        )
    });
    let references = format!("{RELEASE}{}]}}}}", tags.collect::<Vec<_>>().join(","));
    let release = here.join("machine/opt/openshift/release");
    write(&release.join("image-references"), &references);
    write(&release.join("release-metadata"), r#"{"version": "4.20.3"}"#);
    write(&release.join("digest"), "img/release@sha256:1\n");
    write(&here.join("help"), help);
    let stubs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/ignition/stubs");
    std::os::unix::fs::symlink(&stubs, here.join("stubs")).unwrap();
    let output = Command::new("unshare")
        .args(["--map-root-user", "--mount", "bash"])
        .arg(stubs.join("machine.sh"))
        .arg(here)
        .output()
        .unwrap();
    let read = |name: &str| std::fs::read_to_string(here.join(name)).unwrap_or_default();
    assert!(
        output.status.success(),
        "{}\n{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    (read("commands"), read("files"), read("log/bootkube.json") + &read("log/progress.json"))
}

#[test]
fn all_stages_run_in_order() {
    let help = "--rendered-manifest-dir --cluster-version-manifest-path --feature-gate-manifest-path \
        --operand-kubernetes-version\n";
    let (commands, files, log) = run("vsphere-multi-vcenter.yaml", help, &[".sh"]);
    insta::assert_snapshot!(commands.replace(" --", "\n    --"));
    insta::assert_snapshot!(files);
    let ends = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let ends: Vec<String> = ends
        .filter(|line| line["event"] != "start")
        .map(|line| format!("{} {}", line["stage"].as_str().unwrap(), line["event"].as_str().unwrap()))
        .collect();
    insta::assert_snapshot!(ends.join("\n"));
}

/// A release that knows none of the newer flags is not given them.
#[test]
fn older_releases_are_spared_newer_flags() {
    let stages = ["manifests.sh", "auth-api.sh", "cvo.sh", "kube-apiserver.sh", "mco.sh", "report.sh"];
    let (commands, ..) = run("vsphere-multi-vcenter.yaml", "--something\n", &stages);
    assert!(
        !commands.contains("operand-kubernetes-version")
            && !commands.contains("cluster-version-manifest-path")
    );
    assert!(!commands.contains("img/cluster-authentication-operator"));
    let mco = commands.lines().find(|line| line.starts_with("img/machine-config-operator")).unwrap();
    assert!(!mco.contains("payload-version"), "{mco}");
}

/// The other platforms have differences in a few stages; all of them end there too.
#[rstest::rstest]
#[case("ovirt.yaml")]
#[case("kubevirt.yaml")]
#[case("none.yaml")]
fn all_stages_run_on_other_platforms(#[case] name: &str) {
    let (commands, _, log) = run(name, "--rendered-manifest-dir\n", &[".sh"]);
    assert!(commands.contains("machine-config-operator"), "{commands}");
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let count = |wanted: &str| lines.iter().filter(|line| line["event"] == wanted).count();
    assert_eq!(count("start"), count("success") + count("warning"), "{log}");
    assert!(count("start") > 20, "{log}");
}
