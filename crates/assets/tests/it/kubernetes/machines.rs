//! Scripts and units of the machines.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use rstest::rstest;
use slipway_assets::names::Role;

use super::{bootstrap, clusters, served};
use crate::fixtures::{self, KUBERNETES};
use crate::ignition::Ign;

pub(super) fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("files/kubernetes").join(name)
}

fn scripts() -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> =
        fs_err::read_dir(folder("bin")).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.sort();
    found
}

#[test]
fn shellcheck_has_nothing_to_say() {
    let output = Command::new("shellcheck")
        .arg("--enable=avoid-nullary-conditions,check-unassigned-uppercase")
        .args(scripts())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    for path in scripts() {
        let text = fs_err::read_to_string(&path).unwrap();
        assert!(text.starts_with("#!/usr/bin/env bash\n# "), "{}", path.display());
        assert!(text.contains("\nset -euo pipefail\n"), "{}", path.display());
        assert!(text.lines().count() <= 40, "{} is long", path.display());
    }
}

/// Every file of the folder is on some machine, and whatever a unit starts is on the same one.
#[test]
fn every_file_is_delivered() {
    let text = KUBERNETES.replace("baseDomain:", "additionalTrustBundle: |\n  PEM\nbaseDomain:");
    let pem = fixtures::cluster(KUBERNETES).pki.pem("root-ca.crt").replace('\n', "\n  ");
    let cluster = fixtures::cluster(&text.replace("  PEM", &format!("  {}", pem.trim())));
    let mut delivered = String::new();
    for ign in [bootstrap(&cluster), served(&cluster, Role::Master), served(&cluster, Role::Worker)] {
        let paths: Vec<&str> = ign.files().iter().filter_map(|file| file["path"].as_str()).collect();
        for path in &paths {
            delivered.push_str(&ign.contents(path).unwrap());
        }
        for unit in units(&ign) {
            delivered.push_str(&unit.1);
            let programs =
                unit.1.split(['=', ' ', '\n']).filter(|word| word.starts_with("/usr/local/bin/slipway"));
            for program in programs {
                assert!(paths.contains(&program), "{} starts {program}", unit.0);
            }
        }
    }
    for part in ["bin", "units", "etc"] {
        for entry in fs_err::read_dir(folder(part)).unwrap() {
            let path = entry.unwrap().path();
            // The settings of IPv6 are for clusters that have it.
            let contained = delivered.contains(&fs_err::read_to_string(&path).unwrap());
            assert_eq!(contained, !path.ends_with("sysctl-ipv6.conf"), "{}", path.display());
        }
    }
}

/// Names and texts, drop-ins among them.
fn units(ign: &Ign) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for unit in ign.units() {
        let name = unit["name"].as_str().unwrap();
        if let Some(text) = unit["contents"].as_str() {
            found.push((name.to_owned(), text.to_owned()));
        }
        for dropin in unit["dropins"].as_array().into_iter().flatten() {
            let path = format!("{name}.d/{}", dropin["name"].as_str().unwrap());
            found.push((path, dropin["contents"].as_str().unwrap().to_owned()));
        }
    }
    found
}

pub(super) fn write(root: &Path, path: &str, contents: &str, mode: u32) {
    let path = root.join(path.trim_start_matches('/'));
    fs_err::create_dir_all(path.parent().unwrap()).unwrap();
    fs_err::write(&path, contents).unwrap();
    fs_err::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
}

/// systemd itself reads the units, in a tree that holds the files of the machine.
#[test]
fn systemd_has_nothing_to_say() {
    for (name, cluster) in clusters() {
        for ign in [bootstrap(&cluster), served(&cluster, Role::Master), served(&cluster, Role::Worker)] {
            let root = tempfile::tempdir().unwrap();
            let root = root.path();
            for target in ["basic", "multi-user", "network-online", "shutdown", "sysinit"] {
                let text = format!("[Unit]\nDescription={target}\nDefaultDependencies=no\n");
                write(root, &format!("usr/lib/systemd/system/{target}.target"), &text, 0o644);
            }
            for service in ["containerd", "kubelet", "vmtoolsd"] {
                let text = "[Service]\nExecStart=/usr/bin/env true\n";
                write(root, &format!("usr/lib/systemd/system/{service}.service"), text, 0o644);
            }
            for program in ["/usr/bin/env", "/opt/slipway/bin/slipway-operator"] {
                write(root, program, "", 0o755);
            }
            for file in ign.files() {
                let path = file["path"].as_str().unwrap();
                if path.starts_with("/usr/local/bin") {
                    write(root, path, "", 0o755);
                }
            }
            let units = units(&ign);
            for (unit, text) in &units {
                write(root, &format!("etc/systemd/system/{unit}"), text, 0o644);
            }
            let names = units.iter().map(|(unit, _)| unit.split(".d/").next().unwrap());
            let output = Command::new("systemd-analyze")
                .args(["verify", "--man=no", "--generators=no", "--root"])
                .arg(root)
                .args(names)
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success() && said.is_empty(), "{name}: {said}");
        }
    }
}

/// The servers that pods are told, from what the machine was told.
#[rstest]
#[case::of_the_network(
    "nameserver 10.30.0.2\nsearch example.com\n",
    "nameserver 10.30.0.2\nsearch example.com\n"
)]
#[case::without_loopback(
    "# made\nnameserver 127.0.0.1\nnameserver ::1\nnameserver 10.30.0.2\n",
    "nameserver 10.30.0.2\n"
)]
#[case::only_loopback("nameserver 127.0.0.53\n", "")]
fn pods_never_ask_themselves(#[case] told: &str, #[case] expected: &str) {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    write(root, "etc/resolv.conf", told, 0o644);
    let text = fs_err::read_to_string(folder("bin/slipway-resolv.sh")).unwrap();
    let here = text
        .replace("/run/", &format!("{}/run/", root.display()))
        .replace(" /etc/", &format!(" {}/etc/", root.display()));
    let status = Command::new("bash").args(["-c", &here]).status().unwrap();
    assert!(status.success());
    assert_eq!(fs_err::read_to_string(root.join("run/slipway/resolv.conf")).unwrap(), expected);
}
