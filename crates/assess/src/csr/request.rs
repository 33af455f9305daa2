//! What a request asks for.

use std::collections::BTreeSet;
use std::fmt;

use jiff::Timestamp;
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;

use super::judge::node_of;
use super::pkcs10::{self, Content, Flaw};

/// Those who sign for kubelets. Requests to others are none of our business.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Signer {
    /// `kubernetes.io/kube-apiserver-client-kubelet`
    Client,
    /// `kubernetes.io/kubelet-serving`
    Serving,
}

impl Signer {
    pub fn of(name: &str) -> Option<Self> {
        match name {
            "kubernetes.io/kube-apiserver-client-kubelet" => Some(Signer::Client),
            "kubernetes.io/kubelet-serving" => Some(Signer::Serving),
            _ => None,
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Signer::Client => "client",
            Signer::Serving => "serving",
        }
    }
}

impl fmt::Display for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A request of a kubelet, or of a client that claims to be one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Csr {
    pub name: String,
    pub uid: String,
    /// As the API server noted it.
    pub created: Timestamp,
    pub signer: Signer,
    /// Who asks; the API server vouches for it.
    pub username: String,
    pub groups: BTreeSet<String>,
    pub usages: BTreeSet<String>,
    /// The same usage may be listed twice; then it is not what a kubelet wrote.
    pub usage_count: usize,
    pub content: Result<Content, Flaw>,
    pub state: State,
}

/// What was decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Pending,
    Decided,
}

impl Csr {
    /// `None` if another signer is asked.
    pub fn read(object: &CertificateSigningRequest) -> Option<Self> {
        let spec = &object.spec;
        let signer = Signer::of(&spec.signer_name)?;
        let usages = spec.usages.clone().unwrap_or_default();
        let created = object.metadata.creation_timestamp.as_ref().map_or(Timestamp::MIN, |time| time.0);
        Some(Csr {
            name: object.metadata.name.clone().unwrap_or_default(),
            uid: object.metadata.uid.clone().unwrap_or_default(),
            created,
            signer,
            username: spec.username.clone().unwrap_or_default(),
            groups: spec.groups.iter().flatten().cloned().collect(),
            usage_count: usages.len(),
            usages: usages.into_iter().collect(),
            content: pkcs10::parse(&spec.request.0),
            state: if Csr::is_undecided(object) { State::Pending } else { State::Decided },
        })
    }

    /// Whether it is neither approved, denied nor failed.
    pub fn is_undecided(object: &CertificateSigningRequest) -> bool {
        let Some(status) = &object.status else { return true };
        let decision = |kind: &str| matches!(kind, "Approved" | "Denied" | "Failed");
        let decided = status.conditions.iter().flatten().any(|found| decision(&found.type_));
        let issued = status.certificate.as_ref().is_some_and(|certificate| !certificate.0.is_empty());
        !decided && !issued
    }

    /// The node that it is about, if that can be told.
    pub fn node(&self) -> Option<&str> {
        node_of(&self.content.as_ref().ok()?.common_name)
    }

    pub fn is_pending(&self) -> bool {
        self.state == State::Pending
    }
}
