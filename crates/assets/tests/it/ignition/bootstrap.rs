use std::collections::BTreeSet;
use std::process::Command;

use rstest::rstest;
use serde_json::{Value, json};
use slipway_assets::ignition::{Encoding, encoded_for, hostname_wrapper, pointer};
use slipway_assets::names::Role;
use slipway_assets::{Access, Error, ignition};
use slipway_config::install_config::{Mirror, Platform, Proxy};
use slipway_testkit::peers;
use slipway_testkit::scratch::Scratch;

use crate::fixtures;

use super::cluster::{Ign, cluster, decoded, example, manifests, noise, without_release};

const OPENSHIFT: [&str; 5] =
    ["vsphere-multi-vcenter.yaml", "seed-multi-vcenter.yaml", "ovirt.yaml", "kubevirt.yaml", "none.yaml"];

/// The real validator has nothing to say.
pub(crate) fn assert_accepted(name: &str, config: &[u8]) {
    let scratch = Scratch::new("ignition").unwrap();
    scratch.settle();
    let file = scratch.write("config.ign", config).unwrap();
    let output = Command::new(peers::find("ignition-validate").unwrap()).arg(file).output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    assert!(output.status.success() && said.is_empty(), "{name}: {}", String::from_utf8_lossy(&said));
}

#[test]
fn every_configuration_is_accepted() {
    let clusters = OPENSHIFT.into_iter().map(|name| cluster(example(name)));
    for cluster in clusters.chain([fixtures::cluster(fixtures::EVERYTHING)]) {
        let tree = ignition(&cluster, &slipway_assets::manifests(&cluster).unwrap()).unwrap();
        let mut seen = Vec::new();
        for (path, file) in tree.iter() {
            assert_eq!(file.access, if path == "metadata.json" { Access::Group } else { Access::Owner });
            if path.strip_suffix(".ign").is_some() {
                assert_accepted(path, &file.contents);
                seen.push(path);
            }
        }
        assert_eq!(seen, ["bootstrap.ign", "master.ign", "worker.ign"]);
        assert_accepted("wrapper", &hostname_wrapper(&pointer(&cluster, Role::Worker), "worker-0"));
    }
}

#[test]
fn the_same_inputs_give_the_same_bytes() {
    let made = || {
        let config = example("vsphere-multi-vcenter.yaml");
        ignition(&cluster(config), &manifests()).unwrap()
    };
    assert_eq!(made(), made());
}

#[test]
fn pointers_lead_to_the_machine_config_server() {
    let text = |name| String::from_utf8(pointer(&cluster(example(name)), Role::Master)).unwrap();
    let shorten = |text: String| {
        let (start, rest) = text.split_once(";base64,").unwrap();
        format!("{start};base64,…{}", rest.split_once('"').unwrap().1)
    };
    insta::assert_snapshot!(shorten(text("kubevirt.yaml")), @r#"{"ignition":{"config":{"merge":[{"source":"https://192.168.50.10:22623/config/master"}]},"security":{"tls":{"certificateAuthorities":[{"source":"data:text/plain;charset=utf-8;base64,…}]}},"version":"3.2.0"}}"#);
    insta::assert_snapshot!(shorten(text("none.yaml")), @r#"{"ignition":{"config":{"merge":[{"source":"https://api-int.pontoon.example.com:22623/config/master"}]},"security":{"tls":{"certificateAuthorities":[{"source":"data:text/plain;charset=utf-8;base64,…}]}},"version":"3.2.0"}}"#);
    let mut config = example("ovirt.yaml");
    if let Platform::Ovirt(platform) = &mut config.platform {
        platform.vips.api = vec!["fd00::10".parse().unwrap()];
    }
    let worker: Value = serde_json::from_slice(&pointer(&cluster(config), Role::Worker)).unwrap();
    assert_eq!(worker["ignition"]["config"]["merge"][0]["source"], "https://[fd00::10]:22623/config/worker");
}

#[test]
fn a_wrapper_names_the_machine_and_keeps_the_pointer() {
    let pointer = pointer(&cluster(example("kubevirt.yaml")), Role::Worker);
    let wrapped: Value = serde_json::from_slice(&hostname_wrapper(&pointer, "raft-worker-0")).unwrap();
    assert_eq!(decoded(&wrapped["ignition"]["config"]["merge"][0]), pointer);
    let file = &wrapped["storage"]["files"][0];
    assert_eq!(file["path"], "/etc/hostname");
    assert_eq!(file["mode"], 0o644);
    assert_eq!(decoded(&file["contents"]), b"raft-worker-0\n");
}

#[test]
fn the_bootstrap_machine_has_everything() {
    let cluster = cluster(example("vsphere-multi-vcenter.yaml"));
    let ign = Ign::bootstrap(&cluster, &manifests());
    let mut listing = String::new();
    for file in ign.files() {
        listing.push_str(&format!(
            "{:04o} {}\n",
            file["mode"].as_i64().unwrap(),
            file["path"].as_str().unwrap()
        ));
    }
    for unit in ign.units() {
        let enabled = if unit["enabled"] == true { "enabled" } else { "-" };
        listing.push_str(&format!("{} {enabled}\n", unit["name"].as_str().unwrap()));
    }
    insta::assert_snapshot!(listing);
    let paths: BTreeSet<&str> = ign.files().iter().map(|file| file["path"].as_str().unwrap()).collect();
    assert_eq!(paths.len(), ign.files().len(), "every path once");
    assert_eq!(ign.contents("/etc/hostname").unwrap(), "harbour-hz2cc-bootstrap\n");
    let key = cluster.pki.pem("bootstrap-ssh.pub").trim();
    let keys = ign.0["passwd"]["users"][0]["sshAuthorizedKeys"].as_array().unwrap();
    assert!(!key.is_empty() && keys.contains(&json!(key)), "{keys:?}");
    insta::assert_snapshot!(ign.contents("/opt/openshift/bootstrap.env").unwrap());
}

#[test]
fn kubeconfigs_fit_their_places() {
    let cluster = cluster(example("ovirt.yaml"));
    let ign = Ign::bootstrap(&cluster, &manifests());
    for (path, server, user) in [
        ("kubeconfig", "https://api-int.barge.example.com:6443", "admin"),
        ("kubeconfig-kubelet", "https://api-int.barge.example.com:6443", "kubelet"),
        ("kubeconfig-loopback", "https://localhost:6443", "loopback"),
    ] {
        let text = ign.contents(&format!("/opt/openshift/auth/{path}")).unwrap();
        let config = slipway_config::yaml::from_yaml(&text).unwrap();
        assert_eq!(config["clusters"][0]["cluster"]["server"], server);
        assert_eq!(config["current-context"], user);
    }
    let tree = ignition(&cluster, &manifests()).unwrap();
    let text = String::from_utf8(tree.get("auth/kubeconfig").unwrap().contents.clone()).unwrap();
    assert!(text.contains("server: https://api.barge.example.com:6443"), "{text}");
    assert_eq!(tree.get("auth/kubeadmin-password").unwrap().contents.len(), 23);
}

#[test]
fn metadata_names_the_cluster_without_passwords() {
    let text = |name| {
        let tree = ignition(&cluster(example(name)), &manifests()).unwrap();
        String::from_utf8(tree.get("metadata.json").unwrap().contents.clone()).unwrap()
    };
    insta::assert_snapshot!("metadata_vsphere", text("seed-multi-vcenter.yaml"));
    insta::assert_snapshot!("metadata_ovirt", text("ovirt.yaml"));
    insta::assert_snapshot!("metadata_kubevirt", text("kubevirt.yaml"));
}

#[test]
fn options_bring_their_files() {
    let mut config = example("vsphere-multi-vcenter.yaml");
    config.ssh_keys = vec!["ssh-ed25519 BBBB user".to_owned()];
    config.additional_trust_bundle = Some("a certificate\n".to_owned());
    config.mirrors = vec![Mirror {
        source: "quay.io/openshift-release-dev".to_owned(),
        mirrors: vec!["mirror.example.com/release".to_owned()],
        source_policy: None,
    }];
    config.proxy = Some(Proxy {
        http: Some("http://proxy.example.com:3128".into()),
        https: None,
        no_proxy: vec!["example.org".to_owned()],
    });
    let mut manifests = manifests();
    let proxy = "apiVersion: config.openshift.io/v1\nkind: Proxy\nmetadata: {name: cluster}\nstatus: {httpProxy: 'http://proxy.example.com:3128', noProxy: '.svc,example.org'}\n";
    manifests.insert("manifests/cluster-proxy-01-config.yaml", proxy, Access::Group);
    let ign = Ign::bootstrap(&cluster(config), &manifests);
    let contents = |path: &str| ign.contents(path).unwrap();
    assert_eq!(ign.0["passwd"]["users"][0]["sshAuthorizedKeys"][0], "ssh-ed25519 BBBB user");
    assert_eq!(contents("/etc/pki/ca-trust/source/anchors/ca.crt"), "a certificate\n");
    assert!(contents("/etc/containers/registries.conf").contains("mirror.example.com/release"));
    let environment = contents("/etc/systemd/system.conf.d/10-default-env.conf");
    assert!(environment.contains(r#"DefaultEnvironment="NO_PROXY=.svc,example.org""#), "{environment}");
    assert!(
        contents("/etc/profile.d/proxy.sh").contains("export HTTP_PROXY='http://proxy.example.com:3128'")
    );
    assert!(contents("/root/.docker/config.json").contains("auths"));
    let ovirt = Ign::bootstrap(&cluster(example("ovirt.yaml")), &self::manifests());
    assert!(ovirt.contents("/etc/NetworkManager/conf.d/99-ovirt.conf").is_some());
    let plain = Ign::bootstrap(&cluster(example("none.yaml")), &self::manifests());
    for path in [
        "/etc/containers/registries.conf",
        "/etc/profile.d/proxy.sh",
        "/etc/NetworkManager/conf.d/99-vsphere.conf",
    ] {
        assert_eq!(plain.contents(path), None);
    }
}

#[rstest]
#[case::vsphere("vsphere-multi-vcenter.yaml", "the guestinfo of the virtual machine takes 960 KiB")]
#[case::ovirt("ovirt.yaml", "the custom script of the machine takes 2048 KiB")]
#[case::kubevirt("kubevirt.yaml", "the Secret with the user data takes 1024 KiB")]
fn what_does_not_fit_is_refused(#[case] name: &str, #[case] expected: &str) {
    let mut manifests = manifests();
    let big = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: big}}\ndata: {{x: {}}}\n",
        noise(2 << 20)
    );
    manifests.insert("openshift/big.yaml", big, Access::Group);
    let error = ignition(&cluster(example(name)), &manifests).unwrap_err().to_string();
    assert!(error.contains(expected) && error.contains("/opt/openshift/openshift/big.yaml ("), "{error}");
    assert!(ignition(&cluster(example("none.yaml")), &manifests).is_ok(), "there is no limit of ours");
}

#[test]
fn guestinfo_is_compressed() {
    let cluster = cluster(example("vsphere-multi-vcenter.yaml"));
    let tree = ignition(&cluster, &slipway_assets::manifests(&cluster).unwrap()).unwrap();
    let bootstrap = &tree.get("bootstrap.ign").unwrap().contents;
    let encoded = encoded_for(&cluster.config.platform, bootstrap);
    assert_eq!(encoded.encoding, Encoding::GzipBase64);
    assert!(encoded.data.len() < bootstrap.len(), "{} of {}", encoded.data.len(), bootstrap.len());
    assert!(bootstrap.len() < 256 << 10, "{} bytes", bootstrap.len());
}

#[test]
fn what_is_missing_is_said() {
    let config = without_release(example("none.yaml"));
    let error = ignition(&cluster(config), &manifests()).unwrap_err();
    assert!(matches!(error, Error::ReleaseImage));
    assert!(error.to_string().contains("set `payload.releaseImage`"));
    let mut bare = cluster(example("none.yaml"));
    bare.pki = serde_json::from_value(json!({"created": "2026-11-15T12:00:00Z", "files": {}})).unwrap();
    let error = ignition(&bare, &manifests()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`aggregator-ca.crt` is not among the keys and certificates of this cluster"
    );
}
