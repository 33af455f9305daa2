//! Requests and a cluster to judge them by.

use std::net::IpAddr;
use std::sync::OnceLock;

use jiff::Timestamp;
use k8s_openapi::ByteString;
use k8s_openapi::api::certificates::v1::{CertificateSigningRequest, CertificateSigningRequestSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use rcgen::{
    Attribute, BasicConstraints, CertificateParams, DistinguishedName, DnType, IsCa, KeyPair, SanType,
};

use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::json;
use slipway_assets::names::Role;

use crate::csr::keys::Keys;
use crate::csr::{Bootstrapper, Cluster, Csr, Machine, OPENSHIFT_BOOTSTRAPPER};

pub(super) const BOOTSTRAPPER: &str = OPENSHIFT_BOOTSTRAPPER;
const CREATED: &str = "2026-11-16T12:00:00Z";

pub(super) fn time(text: &str) -> Timestamp {
    text.parse().unwrap()
}

pub(super) fn machine(name: &str, node: Option<&str>) -> Machine {
    Machine {
        name: name.to_owned(),
        made: Some(time(CREATED)),
        internal_names: [name.to_owned()].into(),
        names: [name.to_owned()].into(),
        node: node.map(ToOwned::to_owned),
        ..Machine::default()
    }
}

/// Six machines, three nodes of which one belongs to no machine, and virtual addresses.
pub(super) fn cluster() -> Cluster {
    let mut master = machine("harbour-master-0", Some("harbour-master-0"));
    master.names.extend(["master-0.example.com", "*.harbour.example.com"].map(ToOwned::to_owned));
    // The last one is a virtual address that has strayed into the list.
    master
        .addresses
        .extend(["10.0.0.10", "fd00::10", "10.0.0.3"].map(|address| address.parse::<IpAddr>().unwrap()));
    let mut worker = machine("harbour-worker-0", None);
    worker.names.insert("worker-0.example.com".to_owned());
    let mut twin = machine("harbour-other", None);
    twin.internal_names = ["harbour-twin".to_owned()].into();
    let mut leaving = machine("harbour-leaving", None);
    leaving.leaving = true;
    let taken = machine("harbour-taken", Some("harbour-taken-before"));
    let vips = ["10.0.0.2", "10.0.0.3", "fd00::2"].map(|vip| vip.parse().unwrap());
    Cluster::new(vec![Bootstrapper::of(BOOTSTRAPPER).unwrap()], vips)
        .with_machines([master, worker, machine("harbour-twin", None), twin, leaving, taken])
        .with_nodes(["harbour-master-0", "harbour-master-1", "stowaway"].map(ToOwned::to_owned))
}

/// A request that can be bent.
#[derive(Debug, Clone)]
pub(super) struct Ask {
    pub(super) signer: &'static str,
    pub(super) common_name: String,
    pub(super) organizations: Vec<&'static str>,
    pub(super) names: Vec<&'static str>,
    pub(super) mail: Option<&'static str>,
    pub(super) unit: Option<&'static str>,
    pub(super) authority: bool,
    pub(super) hidden: bool,
    pub(super) usages: Vec<&'static str>,
    pub(super) username: String,
    pub(super) groups: Vec<&'static str>,
    pub(super) created: Timestamp,
    pub(super) pem: Option<String>,
}

/// A cluster of kubeadm's, where each role has a token: a worker and a control-plane machine that were not made by
/// hand, and one whose role is not known. The worker came with a key before.
pub(super) fn cluster_with_tokens(first_key: &str) -> Cluster {
    let token = |text: &str| Bootstrapper::of(text).unwrap();
    let of = |name: &str, role: Option<Role>| Machine { role, made: None, ..machine(name, None) };
    let data = [("harbour-worker-0".to_owned(), json!({"key": first_key}).to_string())].into();
    let keys = Keys::of_map(&ConfigMap { data: Some(data), ..ConfigMap::default() });
    Cluster::new(vec![token("master=system:bootstrap:aaaaaa"), token("worker=system:bootstrap:bbbbbb")], [])
        .with_machines([
            of("harbour-worker-0", Some(Role::Worker)),
            of("harbour-master-0", Some(Role::Master)),
            of("harbour-strange", None),
        ])
        .with_keys(keys)
}

impl Ask {
    /// A machine's first certificate, with the token of its role.
    pub(super) fn with_token(name: &str, token: &str) -> Self {
        Ask {
            common_name: format!("system:node:{name}"),
            username: format!("system:bootstrap:{token}"),
            groups: vec!["system:bootstrappers", "system:bootstrappers:slipway", "system:authenticated"],
            ..Ask::first()
        }
    }

    /// A machine's first certificate.
    pub(super) fn first() -> Self {
        Ask {
            signer: "kubernetes.io/kube-apiserver-client-kubelet",
            common_name: "system:node:harbour-worker-0".to_owned(),
            organizations: vec!["system:nodes"],
            names: Vec::new(),
            mail: None,
            unit: None,
            authority: false,
            hidden: false,
            usages: vec!["digital signature", "key encipherment", "client auth"],
            username: BOOTSTRAPPER.to_owned(),
            groups: vec![
                "system:serviceaccounts",
                "system:serviceaccounts:openshift-machine-config-operator",
                "system:authenticated",
            ],
            created: time("2026-11-16T12:05:00Z"),
            pem: None,
        }
    }

    /// A node's own, again.
    pub(super) fn renewal() -> Self {
        let mut ask = Ask { groups: vec!["system:nodes", "system:authenticated"], ..Ask::first() };
        ask.of_node("harbour-master-0");
        ask
    }

    /// What a kubelet serves with.
    pub(super) fn serving() -> Self {
        Ask {
            signer: "kubernetes.io/kubelet-serving",
            names: vec!["harbour-master-0", "10.0.0.10"],
            usages: vec!["digital signature", "server auth"],
            ..Ask::renewal()
        }
    }

    pub(super) fn of_node(&mut self, node: &str) {
        self.common_name = format!("system:node:{node}");
        self.username = self.common_name.clone();
    }

    pub(super) fn csr(&self) -> Csr {
        let pem = self.pem.clone().unwrap_or_else(|| self.request());
        let object = CertificateSigningRequest {
            metadata: ObjectMeta {
                name: Some("csr-1".to_owned()),
                creation_timestamp: Some(Time(self.created)),
                ..ObjectMeta::default()
            },
            spec: CertificateSigningRequestSpec {
                request: ByteString(pem.into_bytes()),
                signer_name: self.signer.to_owned(),
                username: Some(self.username.clone()),
                groups: Some(self.groups.iter().map(ToString::to_string).collect()),
                usages: Some(self.usages.iter().map(ToString::to_string).collect()),
                ..CertificateSigningRequestSpec::default()
            },
            status: None,
        };
        Csr::read(&object).unwrap()
    }

    fn request(&self) -> String {
        static KEY: OnceLock<KeyPair> = OnceLock::new();
        let key = KEY.get_or_init(|| KeyPair::generate().unwrap());
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        for organization in &self.organizations {
            // The library keeps one of each kind; a second one has its kind under a custom name.
            let kind = match params.distinguished_name.get(&DnType::OrganizationName) {
                None => DnType::OrganizationName,
                Some(_) => DnType::CustomDnType(vec![2, 5, 4, 10]),
            };
            params.distinguished_name.push(kind, *organization);
        }
        params.distinguished_name.push(DnType::CommonName, self.common_name.as_str());
        if let Some(unit) = self.unit {
            params.distinguished_name.push(DnType::OrganizationalUnitName, unit);
        }
        params.subject_alt_names = self.names.iter().map(|name| alternative(name)).collect();
        params.subject_alt_names.extend(self.mail.map(|mail| SanType::Rfc822Name(mail.try_into().unwrap())));
        if self.authority {
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        }
        let hidden = if self.hidden { vec![second_list()] } else { Vec::new() };
        params.serialize_request_with_attributes(key, hidden).unwrap().pem().unwrap()
    }
}

fn alternative(name: &str) -> SanType {
    match name.parse() {
        Ok(address) => SanType::IpAddress(address),
        Err(_) => SanType::DnsName(name.try_into().unwrap()),
    }
}

/// An attribute `extensionRequest` with 10.0.0.2 as alternative name.
fn second_list() -> Attribute {
    let san = [0x30, 6, 0x87, 4, 10, 0, 0, 2];
    let mut extension = vec![6, 3, 0x55, 0x1d, 0x11, 4, 8];
    extension.extend(san);
    let wrap = |tag: u8, inside: Vec<u8>| [vec![tag, u8::try_from(inside.len()).unwrap()], inside].concat();
    let values = wrap(0x31, wrap(0x30, wrap(0x30, extension)));
    Attribute { oid: &[1, 2, 840, 113_549, 1, 9, 14], values }
}
