use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use super::cluster::{Ign, cluster, example, manifests};

/// Units and programs of the operating system that ours speak of.
const FOREIGN_UNITS: [&str; 9] = [
    "basic.target",
    "crio.service",
    "getty.target",
    "multi-user.target",
    "network-online.target",
    "shutdown.target",
    "sshd.service",
    "sysinit.target",
    "systemd-user-sessions.service",
];
const FOREIGN_PROGRAMS: [&str; 3] =
    ["/usr/bin/chcon", "/usr/bin/systemctl", "/usr/lib/systemd/systemd-journal-gatewayd"];

fn write(root: &Path, path: &str, contents: &str, mode: u32) {
    let path = root.join(path.trim_start_matches('/'));
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, contents).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
}

/// systemd itself reads the units, in a tree that holds the files of the machine.
#[test]
fn systemd_has_nothing_to_say() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let ign = Ign::bootstrap(&cluster(example("vsphere-multi-vcenter.yaml")), &manifests());
    for name in FOREIGN_UNITS {
        let service =
            if name.ends_with(".service") { "[Service]\nExecStart=/usr/bin/systemctl\n" } else { "" };
        write(
            root,
            &format!("usr/lib/systemd/system/{name}"),
            &format!("[Unit]\nDescription={name}\nDefaultDependencies=no\n{service}"),
            0o644,
        );
    }
    write(
        root,
        "usr/lib/systemd/system/systemd-journal-gatewayd.service",
        "[Service]\nExecStart=/usr/bin/systemctl\n",
        0o644,
    );
    for path in FOREIGN_PROGRAMS {
        write(root, path, "", 0o755);
    }
    for file in ign.files() {
        let path = file["path"].as_str().unwrap();
        if path.starts_with("/usr/local/bin") {
            write(root, path, "", 0o755);
        }
    }
    let mut names = Vec::new();
    for unit in ign.units() {
        let name = unit["name"].as_str().unwrap();
        if let Some(contents) = unit["contents"].as_str() {
            write(root, &format!("etc/systemd/system/{name}"), contents, 0o644);
            names.push(name);
        }
        for dropin in unit["dropins"].as_array().into_iter().flatten() {
            let path = format!("etc/systemd/system/{name}.d/{}", dropin["name"].as_str().unwrap());
            write(root, &path, dropin["contents"].as_str().unwrap(), 0o644);
            names.push(name);
        }
    }
    let output = Command::new("systemd-analyze")
        .args(["verify", "--man=no", "--generators=no", "--root"])
        .arg(root)
        .args(names)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.is_empty(), "{said}");
}
