//! Keys and certificates, judged by openssl and ssh-keygen.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use jiff::{SignedDuration, Timestamp};
use slipway_assets::Pki;
use slipway_assets::pki::{Bundle, Extent, SHORTEST_VALIDITY, Signer};
use slipway_assets::random::Random;
use slipway_config::install_config::{Curve, SignerKey};
use tempfile::TempDir;

use crate::fixtures::{self, ALL, EVERYTHING, Fresh, Repeating, config, now};

/// Each leaf: signer, what it is for, names and addresses.
const LEAVES: [(&str, Signer, &str, &[&str]); 13] = [
    ("admin-kubeconfig-client", Signer::AdminKubeconfig, "sslclient", &[]),
    ("kube-apiserver-lb-server", Signer::ApiLoadBalancer, "sslserver", &["api.galleon.example.com"]),
    (
        "kube-apiserver-internal-lb-server",
        Signer::ApiLoadBalancer,
        "sslserver",
        &["api-int.galleon.example.com"],
    ),
    (
        "kube-apiserver-localhost-server",
        Signer::ApiLocalhost,
        "sslserver",
        &["localhost", "127.0.0.1", "::1"],
    ),
    (
        "kube-apiserver-service-network-server",
        Signer::ApiServiceNetwork,
        "sslserver",
        &[
            "kubernetes",
            "kubernetes.default",
            "kubernetes.default.svc",
            "kubernetes.default.svc.cluster.local",
            "openshift",
            "openshift.default",
            "openshift.default.svc",
            "openshift.default.svc.cluster.local",
            "172.30.0.1",
            "fd02::1",
        ],
    ),
    ("kube-apiserver-to-kubelet-client", Signer::ApiToKubelet, "sslclient", &[]),
    ("kube-control-plane-kube-controller-manager-client", Signer::ControlPlane, "sslclient", &[]),
    ("kube-control-plane-kube-scheduler-client", Signer::ControlPlane, "sslclient", &[]),
    ("apiserver-proxy", Signer::AggregatorCa, "sslclient", &[]),
    ("aggregator-client", Signer::Aggregator, "sslclient", &[]),
    ("kubelet-client", Signer::KubeletBootstrap, "sslclient", &[]),
    (
        "machine-config-server",
        Signer::Root,
        "sslserver",
        &["api-int.galleon.example.com", "10.30.0.10", "fd00:30::10"],
    ),
    ("journal-gatewayd", Signer::Root, "sslserver", &["api-int.galleon.example.com", "10.30.0.10"]),
];

fn openssl(folder: &Path, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new("openssl").current_dir(folder).args(arguments).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        Ok(text)
    } else {
        Err(format!("{text}{}", String::from_utf8_lossy(&output.stderr)))
    }
}

fn pki(key: SignerKey) -> (Pki, TempDir) {
    let mut config = config(EVERYTHING);
    config.signer_key = Some(key);
    // As commands do: some for the manifests, the others afterwards.
    let mut pki = Pki::new(now());
    pki.draw(&config, Extent::Manifests, &Fresh).unwrap();
    pki.draw(&config, Extent::All, &Fresh).unwrap();
    let folder = tempfile::tempdir().unwrap();
    for (name, pem) in pki.files() {
        fs_err::write(folder.path().join(name), pem).unwrap();
    }
    (pki, folder)
}

/// Whether a certificate is good at a time.
fn verify(
    folder: &Path,
    leaf: &str,
    authority: &str,
    at: Timestamp,
    more: &[&str],
) -> Result<String, String> {
    let (authority, leaf) = (format!("{authority}.crt"), format!("{leaf}.crt"));
    let at = at.as_second().to_string();
    let arguments = ["verify", "-x509_strict", "-attime", &at, "-CAfile", &authority];
    openssl(folder, &[&arguments[..], more, &[&leaf]].concat())
}

fn judge(key: SignerKey) {
    let (pki, folder) = pki(key);
    let folder = folder.path();
    for (leaf, signer, purpose, names) in LEAVES {
        verify(folder, leaf, signer.name(), now(), &["-purpose", purpose]).unwrap();
        for name in names {
            let check =
                if name.parse::<std::net::IpAddr>().is_ok() { "-verify_ip" } else { "-verify_hostname" };
            verify(folder, leaf, signer.name(), now(), &["-purpose", purpose, check, name]).unwrap();
        }
        let stranger = if signer == Signer::Kubelet { Signer::Root } else { Signer::Kubelet };
        verify(folder, leaf, stranger.name(), now(), &[]).unwrap_err();
        same_key(folder, leaf);
    }
    verify(folder, "journal-gatewayd", "root-ca", now(), &["-purpose", "sslclient"]).unwrap();
    for signer in Signer::OPENSHIFT {
        verify(folder, signer.name(), signer.name(), now(), &[]).unwrap();
        same_key(folder, signer.name());
    }
    for bundle in Bundle::ALL {
        for (leaf, signer, ..) in LEAVES {
            let good = verify(folder, leaf, bundle.name(), now(), &[]).is_ok();
            assert_eq!(good, bundle.signers().contains(&signer), "{leaf} by {}", bundle.name());
        }
    }
    let expected = LEAVES.len() * 2 + Signer::OPENSHIFT.len() * 2 + Bundle::ALL.len() + 6;
    assert_eq!(pki.files().count(), expected, "no file is left unjudged");
}

fn same_key(folder: &Path, name: &str) {
    let certificate = openssl(folder, &["x509", "-noout", "-pubkey", "-in", &format!("{name}.crt")]).unwrap();
    let key = openssl(folder, &["pkey", "-pubout", "-in", &format!("{name}.key")]).unwrap();
    assert_eq!(certificate, key, "{name}");
}

#[test]
fn chains_and_names_with_rsa() {
    judge(SignerKey::Rsa(2048));
}

#[test]
fn chains_and_names_with_ecdsa() {
    judge(SignerKey::Ecdsa(Curve::P384));
}

/// A new key every time, but for those that take long.
struct Quick;

impl Random for Quick {
    fn fill(&self, buffer: &mut [u8]) {
        Fresh.fill(buffer);
    }

    fn key(&self, kind: SignerKey) -> Result<String, rcgen::Error> {
        match kind {
            SignerKey::Rsa(_) => Repeating::default().key(kind),
            SignerKey::Ecdsa(_) => Fresh.key(kind),
        }
    }
}

/// What manifests contain is drawn for them, and what is drawn is never drawn again.
#[test]
fn manifests_need_few_keys() {
    for (name, text) in ALL {
        let mut cluster = fixtures::cluster(text);
        cluster.named.config.signer_key = Some(SignerKey::Ecdsa(Curve::P256));
        let config = cluster.config.clone();
        cluster.pki = Pki::new(now());
        cluster.pki.draw(&config, Extent::Manifests, &Quick).unwrap();
        let early = cluster.pki.clone();
        let manifests = slipway_assets::manifests(&cluster).unwrap();
        cluster.pki.draw(&config, Extent::All, &Quick).unwrap();
        let complete = cluster.pki.clone();
        assert!(early.files().all(|(file, pem)| complete.pem(file) == pem), "{name}");
        assert!(slipway_assets::manifests(&cluster).unwrap() == manifests, "{name}");
        for signer in Signer::of(config.payload.kind()) {
            let key = format!("{}.key", signer.name());
            assert_eq!(!early.pem(&key).is_empty(), *signer == Signer::Root, "{name}: {key}");
            assert!(!complete.pem(&key).is_empty(), "{name}: {key}");
        }
        cluster.pki.draw(&config, Extent::All, &Quick).unwrap();
        assert!(cluster.pki == complete, "{name}");
    }
}

/// Runs out of keys.
struct Exhausted(AtomicUsize);

impl Random for Exhausted {
    fn fill(&self, buffer: &mut [u8]) {
        Fresh.fill(buffer);
    }

    fn key(&self, kind: SignerKey) -> Result<String, rcgen::Error> {
        let left = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        left.map_err(|_| rcgen::Error::KeyGenerationUnavailable)?;
        Repeating::default().key(kind)
    }
}

#[test]
fn all_keys_of_a_step_are_drawn_or_none() {
    let config = config(EVERYTHING);
    let mut pki = Pki::new(now());
    pki.draw(&config, Extent::Manifests, &Repeating::default()).unwrap();
    let before = pki.clone();
    for keys in [0, 5, 13] {
        pki.draw(&config, Extent::All, &Exhausted(AtomicUsize::new(keys))).unwrap_err();
        assert!(pki == before, "{keys} keys");
    }
}

/// A cluster that is first started months after its files were made meets no expired certificate, nor does
/// one whose clock lags by a time zone. Afterwards, Slipway knows.
#[test]
fn a_late_first_boot_meets_valid_certificates() {
    let (pki, folder) = pki(SignerKey::Ecdsa(Curve::P256));
    let hour = SignedDuration::from_hours(1);
    let last = now() + SHORTEST_VALIDITY - hour;
    assert!(pki.expires() - last.duration_until(pki.expires()) == last);
    for (leaf, signer, ..) in LEAVES {
        for at in [now() - hour * 23, last] {
            verify(folder.path(), leaf, signer.name(), at, &[]).unwrap();
        }
    }
    let after = pki.expires() + hour;
    let expired = LEAVES
        .iter()
        .filter(|(leaf, signer, ..)| verify(folder.path(), leaf, signer.name(), after, &[]).is_err());
    assert!(expired.count() > 0, "the date that Slipway knows is the right one");
}

#[test]
fn subjects_are_those_the_api_server_knows() {
    let (_, folder) = pki(SignerKey::Ecdsa(Curve::P256));
    let subject = |leaf: &str| {
        let file = format!("{leaf}.crt");
        let text =
            openssl(folder.path(), &["x509", "-noout", "-subject", "-nameopt", "RFC2253", "-in", &file]);
        text.unwrap().trim().trim_start_matches("subject=").to_owned()
    };
    assert_eq!(subject("admin-kubeconfig-client"), "CN=system:admin,O=system:masters");
    assert_eq!(
        subject("kubelet-client"),
        "CN=system:serviceaccount:openshift-machine-config-operator:node-bootstrapper,\
         O=system:serviceaccounts,O=system:serviceaccounts:openshift-machine-config-operator"
    );
    assert_eq!(subject("root-ca"), "CN=root-ca,OU=openshift");
}

#[test]
fn ssh_understands_the_bootstrap_key() {
    let (pki, folder) = pki(SignerKey::Ecdsa(Curve::P256));
    let key = folder.path().join("bootstrap-ssh.key");
    fs_err::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let output = Command::new("ssh-keygen").arg("-y").arg("-f").arg(&key).output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap().trim(), pki.pem("bootstrap-ssh.pub").trim());
    let verify = openssl(folder.path(), &["pkey", "-pubout", "-in", "service-account.key"]).unwrap();
    assert_eq!(verify, pki.pem("service-account.pub"));
}
