//! What the cloud provider makes of its configuration: defaults and inheritance.

use super::{CloudConfig, VCenter};
use crate::secret::Secret;

/// A vCenter as the provider uses it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EffectiveVCenter {
    /// The name other settings refer to it with.
    pub name: String,
    pub server: String,
    pub port: u16,
    pub insecure: bool,
    pub datacenters: Vec<String>,
    pub soap_roundtrip_count: u32,
    pub ca_file: String,
    pub thumbprint: String,
    pub ip_family: Vec<String>,
    pub credentials: Credentials,
    /// The provider's name for the place it takes other credentials from when these fail.
    pub secret_ref: String,
}

/// Where the provider takes credentials from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Credentials {
    /// User and password in the configuration itself.
    Inline { user: String, password: Secret },
    /// A Secret named for this vCenter.
    OwnSecret { namespace: String, name: String },
    /// What the global section names: a Secret, or a directory.
    Global,
    /// Nothing usable; the provider refuses to start.
    Missing,
}

/// What the provider calls the credentials of the global section.
const GLOBAL: &str = "Global";

impl CloudConfig {
    /// All vCenters, with what they inherit.
    pub fn effective(&self) -> Vec<EffectiveVCenter> {
        let global = &self.global;
        let mut vcenters: Vec<EffectiveVCenter> =
            self.vcenters.iter().map(|(name, vcenter)| self.inherit(name, vcenter)).collect();
        // The oldest form names the only vCenter in the global section.
        if !global.server.is_empty() && !self.vcenters.contains_key(&global.server) {
            let only = VCenter {
                server: global.server.clone(),
                secret_name: global.secret_name.clone(),
                secret_namespace: global.secret_namespace.clone(),
                secret_ref: GLOBAL.to_owned(),
                ..VCenter::default()
            };
            vcenters.push(self.inherit(&global.server, &only));
            vcenters.sort_by(|a, b| a.name.cmp(&b.name));
        }
        vcenters
    }

    fn inherit(&self, name: &str, vcenter: &VCenter) -> EffectiveVCenter {
        let global = &self.global;
        let text =
            |own: &String, inherited: &String| if own.is_empty() { inherited.clone() } else { own.clone() };
        let list = |own: &Vec<String>, inherited: &Vec<String>| {
            if own.is_empty() { inherited.clone() } else { own.clone() }
        };
        let count = [vcenter.soap_roundtrip_count, global.soap_roundtrip_count];
        let credentials = self.credentials(vcenter);
        let secret_ref = match &credentials {
            Credentials::OwnSecret { namespace, name } => format!("{namespace}/{name}"),
            Credentials::Global => GLOBAL.to_owned(),
            Credentials::Inline { .. } | Credentials::Missing => vcenter.secret_ref.clone(),
        };
        let mut ip_family = list(&vcenter.ip_family, &global.ip_family);
        if ip_family.is_empty() {
            ip_family.push("ipv4".to_owned());
        }
        EffectiveVCenter {
            name: name.to_owned(),
            server: text(&vcenter.server, &name.to_owned()),
            port: vcenter.port.get().or(global.port.get()).unwrap_or(443),
            insecure: vcenter.insecure_flag || global.insecure_flag,
            datacenters: list(&vcenter.datacenters, &global.datacenters),
            soap_roundtrip_count: count.into_iter().find(|count| *count != 0).unwrap_or(3),
            ca_file: text(&vcenter.ca_file, &global.ca_file),
            thumbprint: text(&vcenter.thumbprint, &global.thumbprint),
            ip_family,
            credentials,
            secret_ref,
        }
    }

    fn credentials(&self, vcenter: &VCenter) -> Credentials {
        let global = &self.global;
        if !vcenter.secret_name.is_empty() && !vcenter.secret_namespace.is_empty() {
            return Credentials::OwnSecret {
                namespace: vcenter.secret_namespace.clone(),
                name: vcenter.secret_name.clone(),
            };
        }
        // A Secret and a directory at once count as neither.
        let secret = (!global.secret_name.is_empty(), !global.secret_namespace.is_empty());
        if matches!(
            (secret, !global.secrets_directory.is_empty()),
            ((true, true), false) | ((false, false), true)
        ) {
            return Credentials::Global;
        }
        let user = if vcenter.user.is_empty() { &global.user } else { &vcenter.user };
        let password = if vcenter.password.is_empty() { &global.password } else { &vcenter.password };
        if user.is_empty() || password.is_empty() {
            return Credentials::Missing;
        }
        Credentials::Inline { user: user.clone(), password: password.clone() }
    }
}
