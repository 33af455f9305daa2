//! kubeadm itself reads what it is told, and makes its certificates from our signers.

use std::path::Path;
use std::process::Command;

use slipway_assets::kubernetes::{DISCOVERY_FILE, INIT_FILE, JOIN_FILE};
use slipway_assets::names::Role;
use slipway_testkit::peers;
use slipway_testkit::scratch::Scratch;

use super::{bootstrap, clusters, dual, served};
use crate::fixtures::{self, Fresh, KUBERNETES};

fn run(program: &Path, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(program).args(arguments).output().unwrap();
    let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    if output.status.success() { Ok(said) } else { Err(said) }
}

fn kubeadm(arguments: &[&str]) -> Result<String, String> {
    run(&peers::find("kubeadm").unwrap(), arguments)
}

/// Some texts name another file, which must be there.
pub(super) fn validate(text: &str, discovery: &str) -> Result<String, String> {
    let scratch = Scratch::new("kubeadm").unwrap();
    scratch.settle();
    let other = scratch.write("discovery", discovery).unwrap();
    let text = text.replace(DISCOVERY_FILE, other.to_str().unwrap());
    let file = scratch.write("kubeadm.yaml", text).unwrap();
    kubeadm(&["config", "validate", "--config", file.to_str().unwrap()])
}

#[test]
fn kubeadm_accepts_its_configurations() {
    for (name, cluster) in clusters() {
        let init = bootstrap(&cluster).contents(INIT_FILE).unwrap();
        let said = validate(&init, "").unwrap_or_else(|error| panic!("{name}: {error}\n{init}"));
        assert_eq!(said, "ok\n", "{name}\n{init}");
        for role in Role::ALL {
            let ign = served(&cluster, role);
            let join = ign.contents(JOIN_FILE).unwrap();
            let discovery = ign.contents(DISCOVERY_FILE).unwrap();
            let said = validate(&join, &discovery).unwrap_or_else(|error| panic!("{name}: {error}\n{join}"));
            assert_eq!(said, "ok\n", "{name}\n{join}");
        }
    }
}

/// It does refuse what it does not know: the test above can fail.
#[test]
fn kubeadm_finds_mistakes() {
    let cluster = fixtures::cluster(KUBERNETES);
    let init = bootstrap(&cluster).contents(INIT_FILE).unwrap();
    assert!(validate(&init.replace("certSANs", "certSan"), "").is_err());
    assert!(validate(&init.replace("podSubnet: ", "podSubnet: 10.0.0.0/33,"), "").is_err());
}

/// kubeadm finds our signers, signs with them, and openssl agrees. All keys are different ones.
#[test]
fn kubeadm_signs_with_our_signers() {
    for (text, name, addresses) in [
        (
            KUBERNETES.to_owned(),
            "api.dinghy.example.com",
            &["10.30.0.5", "10.30.0.20", "172.30.0.1", "127.0.0.1"][..],
        ),
        (dual(), "api-int.dinghy.example.com", &["fd00:30::5", "10.30.0.5", "fd02::1", "::1"][..]),
    ] {
        let cluster = fixtures::cluster_with(fixtures::config(&text), &Fresh);
        let ign = bootstrap(&cluster);
        let scratch = Scratch::new("pki").unwrap();
        scratch.settle();
        let folder = scratch.join("pki");
        let found =
            ign.files().iter().filter_map(|file| file["path"].as_str()?.strip_prefix("/etc/kubernetes/pki/"));
        for path in found {
            let target = folder.join(path);
            fs_err::create_dir_all(target.parent().unwrap()).unwrap();
            fs_err::write(target, ign.contents(&format!("/etc/kubernetes/pki/{path}")).unwrap()).unwrap();
        }
        let init = ign.contents(INIT_FILE).unwrap();
        let init = init
            .replace(
                "kind: ClusterConfiguration\n",
                &format!("kind: ClusterConfiguration\ncertificatesDir: {}\n", folder.display()),
            )
            // There is no default route of that family here.
            .replace("advertiseAddress: '::'", "advertiseAddress: fd00:30::20")
            .replace("advertiseAddress: \"::\"", "advertiseAddress: fd00:30::20");
        let file = scratch.write("kubeadm.yaml", &init).unwrap();
        let said = kubeadm(&["init", "phase", "certs", "all", "--config", file.to_str().unwrap()])
            .unwrap_or_else(|error| panic!("{error}\n{init}"));
        for signer in ["ca", "front-proxy-ca", "etcd/ca"] {
            assert!(said.contains(&format!("Using existing {signer} certificate authority")), "{said}");
        }
        assert!(said.contains("Using the existing \"sa\" key"), "{said}");
        let verify = |authority: &str, leaf: &str, more: &[&str]| {
            let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
            let (authority, leaf) = (path(authority), path(leaf));
            let arguments = [&["verify", "-CAfile", &authority][..], more, &[&leaf]].concat();
            run(Path::new("openssl"), &arguments)
        };
        for (authority, leaf) in [
            ("ca.crt", "apiserver.crt"),
            ("ca.crt", "apiserver-kubelet-client.crt"),
            ("etcd/ca.crt", "etcd/server.crt"),
            ("etcd/ca.crt", "etcd/peer.crt"),
            ("etcd/ca.crt", "apiserver-etcd-client.crt"),
            ("front-proxy-ca.crt", "front-proxy-client.crt"),
        ] {
            verify(authority, leaf, &[]).unwrap();
        }
        verify("etcd/ca.crt", "apiserver.crt", &[]).unwrap_err();
        verify("ca.crt", "apiserver.crt", &["-verify_hostname", name]).unwrap();
        for address in addresses {
            verify("ca.crt", "apiserver.crt", &["-verify_ip", address]).unwrap();
        }
        for (leaf, authority, purpose) in [
            ("admin-kubeconfig-client", "kubernetes-ca", "sslclient"),
            ("machine-config-server", "root-ca", "sslserver"),
        ] {
            fs_err::write(folder.join("leaf.crt"), cluster.pki.pem(&format!("{leaf}.crt"))).unwrap();
            fs_err::write(folder.join("authority.crt"), cluster.pki.pem(&format!("{authority}.crt")))
                .unwrap();
            verify("authority.crt", "leaf.crt", &["-x509_strict", "-purpose", purpose]).unwrap();
        }
    }
}
