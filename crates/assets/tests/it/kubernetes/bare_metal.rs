//! Hosts of the user's in a cluster on vSphere: their kubelets wait for no cloud provider.

use std::path::{Path, PathBuf};
use std::process::Command;

use slipway_assets::ignition::{bare_metal, pointer};
use slipway_assets::kubernetes::{DISCOVERY_FILE, JOIN_FILE};
use slipway_assets::names::Role;
use slipway_testkit::scratch::Scratch;

use super::kubeadm::validate;
use super::served;
use crate::fixtures::{self, KUBERNETES};
use crate::ignition::{Ign, assert_accepted};

/// A unit as OpenShift's machine config operator writes it.
const UNIT: &str = "[Unit]
Description=Kubernetes Kubelet

[Service]
Type=notify
ExecStartPre=/bin/mkdir --parents /etc/kubernetes/manifests
ExecStart=/usr/local/bin/kubenswrapper \\
    /usr/bin/kubelet \\
      --config=/etc/kubernetes/kubelet.conf \\
      --cloud-provider=external \\
      --hostname-override=${KUBELET_NODE_NAME} \\
      --v=${KUBELET_LOG_LEVEL}
Restart=always
";

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("files/bare-metal/slipway-bare-metal.sh")
}

/// Runs the script on the files of a host.
fn prepare(files: &[(&str, &str)]) -> Scratch {
    let root = Scratch::new("bare-metal").unwrap();
    root.settle();
    for (path, contents) in files {
        let path = root.join(path.trim_start_matches('/'));
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        fs_err::write(path, contents).unwrap();
    }
    // Twice, as at the second start.
    for _ in 0..2 {
        let output = Command::new(script()).arg(root.join("")).output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    }
    root
}

#[test]
fn the_configuration_is_that_of_workers_and_more() {
    let cluster = fixtures::cluster(fixtures::EVERYTHING);
    let worker = pointer(&cluster, Role::Worker);
    let config = bare_metal(&worker, "metal-0");
    assert_accepted("bare metal", &config);
    let ign = Ign(serde_json::from_slice(&config).unwrap());
    assert_eq!(ign.contents("/etc/hostname").unwrap(), "metal-0\n");
    let text = fs_err::read_to_string(script()).unwrap();
    assert_eq!(ign.contents("/usr/local/bin/slipway-bare-metal.sh").unwrap(), text);
}

#[test]
fn shellcheck_has_nothing_to_say() {
    let flags = "--enable=avoid-nullary-conditions,check-unassigned-uppercase";
    let output = Command::new("shellcheck").arg(flags).arg(script()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

/// OpenShift: the kubelet's command is the same without the flag, and an upgrade that writes the unit anew is followed.
#[test]
fn a_kubelet_of_openshift_has_no_cloud_provider() {
    let path = "/etc/systemd/system/kubelet.service";
    let root = prepare(&[(path, UNIT)]);
    let dropin = root.join("run/systemd/system/kubelet.service.d/99-slipway-bare-metal.conf");
    assert_eq!(
        fs_err::read_to_string(dropin).unwrap(),
        "[Service]\nExecStart=\nExecStart=/usr/local/bin/kubenswrapper /usr/bin/kubelet \
         --config=/etc/kubernetes/kubelet.conf --hostname-override=${KUBELET_NODE_NAME} --v=${KUBELET_LOG_LEVEL}\n"
    );
    assert_eq!(
        fs_err::read_to_string(root.join(path.trim_start_matches('/'))).unwrap(),
        UNIT,
        "it is not ours"
    );
    let without = prepare(&[(path, &UNIT.replace("      --cloud-provider=external \\\n", ""))]);
    assert!(!without.join("run").exists(), "nothing to do");
}

/// kubeadm: its own reading of what is left has no cloud provider, and it accepts it.
#[test]
fn a_host_joins_without_a_cloud_provider() {
    let cluster = fixtures::cluster(KUBERNETES);
    let ign = served(&cluster, Role::Worker);
    let join = ign.contents(JOIN_FILE).unwrap();
    assert!(join.contains("name: cloud-provider"), "otherwise this shows nothing:\n{join}");
    let root = prepare(&[(JOIN_FILE, &join)]);
    let left = fs_err::read_to_string(root.join(JOIN_FILE.trim_start_matches('/'))).unwrap();
    assert!(!left.contains("cloud-provider") && !left.contains("external"), "{left}");
    assert_eq!(left.lines().count(), join.lines().count() - 2);
    assert_eq!(validate(&left, &ign.contents(DISCOVERY_FILE).unwrap()).unwrap(), "ok\n");
}
