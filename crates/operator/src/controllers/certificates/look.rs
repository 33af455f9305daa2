//! Until when certificates are good.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use kube::config::Kubeconfig;
use x509_parser::pem::parse_x509_pem;

use crate::runtime::host::Files;

pub(super) const FOLDER: &str = "/etc/kubernetes";
/// What `kubeadm certs renew all` renews. Signers last longer than machines, and kubelets renew their own.
const CERTIFICATES: [&str; 7] = [
    "pki/apiserver.crt",
    "pki/apiserver-etcd-client.crt",
    "pki/apiserver-kubelet-client.crt",
    "pki/front-proxy-client.crt",
    "pki/etcd/healthcheck-client.crt",
    "pki/etcd/peer.crt",
    "pki/etcd/server.crt",
];
const KUBECONFIGS: [&str; 4] =
    ["admin.conf", "controller-manager.conf", "scheduler.conf", "super-admin.conf"];

/// Why it is not known.
#[derive(Debug, thiserror::Error)]
pub enum LookError {
    #[error(transparent)]
    Files(#[from] std::io::Error),
    #[error("`{FOLDER}/{file}` has no certificate that can be read")]
    Unreadable { file: &'static str },
    #[error("there are no certificates of a control plane in `{FOLDER}`")]
    None,
}

/// The certificate that ends first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Earliest {
    /// Its file, below `/etc/kubernetes`.
    pub file: &'static str,
    pub until: Timestamp,
}

/// Reads all certificates of the control plane. Not every machine has all of them.
pub fn earliest(files: &Files) -> Result<Earliest, LookError> {
    let mut found = Vec::new();
    for file in CERTIFICATES {
        let Some(text) = files.read_if_there(format!("{FOLDER}/{file}"))? else { continue };
        found.push((file, end_of(text.as_bytes())));
    }
    for file in KUBECONFIGS {
        let Some(text) = files.read_if_there(format!("{FOLDER}/{file}"))? else { continue };
        found.push((file, certificate_in(&text).and_then(|pem| end_of(&pem))));
    }
    let mut ends = Vec::new();
    for (file, until) in found {
        ends.push(Earliest { file, until: until.ok_or(LookError::Unreadable { file })? });
    }
    ends.into_iter().min_by_key(|one| one.until).ok_or(LookError::None)
}

/// All files that `kubeadm certs renew all` writes, below `/etc/kubernetes`.
pub(super) fn renewed() -> Vec<String> {
    let keys = CERTIFICATES.iter().map(|file| file.replace(".crt", ".key"));
    let certificates = CERTIFICATES.iter().chain(&KUBECONFIGS).map(|file| (*file).to_owned());
    certificates.chain(keys).collect()
}

fn end_of(pem: &[u8]) -> Option<Timestamp> {
    let (_, pem) = parse_x509_pem(pem).ok()?;
    let certificate = pem.parse_x509().ok()?;
    Timestamp::from_second(certificate.validity().not_after.timestamp()).ok()
}

/// The certificate that a kubeconfig has in itself.
fn certificate_in(text: &str) -> Option<Vec<u8>> {
    let users = Kubeconfig::from_yaml(text).ok()?.auth_infos;
    let data = users.into_iter().find_map(|user| user.auth_info?.client_certificate_data)?;
    STANDARD.decode(data).ok()
}
