use std::path::{Path, PathBuf};
use std::process::Command;

use super::cluster::{Ign, cluster, example, manifests};

pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("files/bootstrap")
}

/// All files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

fn scripts() -> Vec<PathBuf> {
    let is_script = |path: &PathBuf| std::fs::read_to_string(path).unwrap().starts_with("#!");
    files(&folder()).into_iter().filter(is_script).collect()
}

#[test]
fn shellcheck_has_nothing_to_say() {
    let output = Command::new("shellcheck")
        .args([
            "--external-sources",
            "--source-path=SCRIPTDIR",
            "--enable=avoid-nullary-conditions,check-unassigned-uppercase",
        ])
        .arg("--exclude=SC2154")
        .args(scripts())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn scripts_stop_at_the_first_error() {
    for path in scripts() {
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("#!/usr/bin/env bash\n# "), "{}", path.display());
        let sourced = ["release.sh", "stages.sh"].iter().any(|name| path.ends_with(format!("lib/{name}")));
        assert!(sourced || text.contains("\nset -euo pipefail\n"), "{}", path.display());
        assert!(text.lines().count() <= 80, "{} is long", path.display());
    }
}

/// What a script mentions is there, and what is there is delivered.
#[test]
fn every_file_is_on_the_machine() {
    let ign = Ign::bootstrap(&cluster(example("vsphere-multi-vcenter.yaml")), &manifests());
    let mut delivered: Vec<String> =
        ign.files().iter().filter_map(|file| ign.contents(file["path"].as_str().unwrap())).collect();
    for unit in ign.units() {
        delivered.extend(unit["contents"].as_str().map(str::to_owned));
        for dropin in unit["dropins"].as_array().into_iter().flatten() {
            delivered.extend(dropin["contents"].as_str().map(str::to_owned));
        }
    }
    for path in files(&folder()) {
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(delivered.contains(&text), "{} is not delivered", path.display());
        for word in text.split(|c: char| c.is_whitespace() || "\"'".contains(c)) {
            if word.starts_with("/usr/local/") && word.contains('.') {
                assert!(ign.contents(word).is_some(), "{} mentions {word}", path.display());
            }
        }
    }
}
