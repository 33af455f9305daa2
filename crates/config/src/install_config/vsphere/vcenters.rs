//! Rules about `vcenters`.

use std::collections::HashMap;

use secrecy::{ExposeSecret, SecretString};

use super::super::{Check, pem};
use super::written::{WrittenTls, WrittenVCenter};
use crate::decode::{Entries, Field, Located, Port};
use crate::features::Gate;
use crate::findings::Rule;
use crate::names::{EnvName, ServerName, storage_driver_accepts};
use crate::yaml::At;

/// A vCenter and how to log in to it.
#[derive(Debug, Clone)]
pub struct VCenter {
    pub server: ServerName,
    pub port: Port,
    pub user: String,
    pub password: Password,
    pub datacenters: Vec<String>,
    pub tls: Tls,
}

/// Where a password comes from.
#[derive(Debug, Clone)]
pub enum Password {
    Inline(SecretString),
    File(String),
    Env(EnvName),
}

/// How a server's certificate is verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tls {
    /// By the trust store of the system.
    System,
    /// By these authorities, in PEM.
    CaBundle(String),
    /// By its fingerprint: SHA-1 (20 bytes) or SHA-256 (32 bytes).
    Thumbprint(Vec<u8>),
    /// Not at all.
    Insecure,
}

impl Tls {
    /// By a fingerprint: 20 or 32 bytes in hexadecimal, with or without colons.
    pub fn by_thumbprint(text: &str) -> Option<Self> {
        let digits: String = text.chars().filter(|c| *c != ':').collect();
        let hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit()) && matches!(digits.len(), 40 | 64);
        if !hex {
            return None;
        }
        let byte = |at| u8::from_str_radix(&digits[at..at + 2], 16).ok();
        (0..digits.len()).step_by(2).map(byte).collect::<Option<_>>().map(Tls::Thumbprint)
    }
}

/// Checks each vCenter and the list as a whole. `None` if any of them cannot be used.
pub(super) fn resolve(
    written: &Field<Entries<WrittenVCenter>>,
    platform: At,
    check: &mut Check<'_>,
) -> Option<Vec<VCenter>> {
    if written.is_invalid() {
        return None;
    }
    if written.is_empty() {
        check
            .findings
            .missing(platform, "vcenters", "at least one vCenter is required")
            .hint("add `vcenters:` with server, user, password and datacenters");
        return None;
    }
    if let Some(second) = written.get().and_then(|entries| entries.get(1)).and_then(Field::at) {
        check.gate(Gate::VSphereMultiVCenters, second, "more than one entry in `platform.vsphere.vcenters`");
    }
    duplicates(written, check);
    let vcenters: Vec<_> = written.items().map(|vcenter| resolve_one(vcenter, check)).collect();
    if written.is_partial() {
        return None;
    }
    vcenters.into_iter().collect()
}

/// The same server twice, whatever the case of its letters.
fn duplicates(written: &Field<Entries<WrittenVCenter>>, check: &mut Check<'_>) {
    let mut seen: HashMap<String, At> = HashMap::new();
    for vcenter in written.items() {
        let Some(at) = vcenter.value.server.at() else { continue };
        // What is not a valid server name can still be a duplicate.
        let Some(text) = check.document.scalar(at) else { continue };
        match seen.get(&text.to_lowercase()) {
            None => {
                seen.insert(text.to_lowercase(), at);
            }
            Some(first) => {
                check
                    .findings
                    .error(Rule::VCenterDuplicate, at, "this vCenter is listed twice")
                    .hint("merge the two entries; one entry can list several datacenters")
                    .related(*first, "first listed here");
            }
        }
    }
}

fn resolve_one(vcenter: &Located<WrittenVCenter>, check: &mut Check<'_>) -> Option<VCenter> {
    let WrittenVCenter { server, port, user, password, password_file, password_env, datacenters, tls } =
        &vcenter.value;
    if let Some(user) = user.located() {
        check_user(user, check);
    }
    let password = resolve_password(vcenter.at, password, password_file, password_env, check);
    if datacenters.is_empty() {
        check
            .findings
            .missing(vcenter.at, "datacenters", "at least one datacenter is required")
            .hint("add `datacenters:` with the names of the datacenters that are used");
    }
    let tls = resolve_tls(tls, check);
    if port.is_invalid() || datacenters.is_partial() || datacenters.is_empty() {
        return None;
    }
    Some(VCenter {
        server: server.get()?.clone(),
        port: port.cloned_or(Port::HTTPS),
        user: user.get()?.clone(),
        password: password?,
        datacenters: datacenters.items().map(|datacenter| datacenter.value.clone()).collect(),
        tls: tls?,
    })
}

fn check_user(user: &Located<String>, check: &mut Check<'_>) {
    if user.value.trim() != user.value {
        check
            .findings
            .error(Rule::CredentialWhitespace, user.at, "the user name begins or ends with white space")
            .hint("remove it; a block written with `|` ends in a line break");
    } else if storage_driver_accepts(&user.value) {
        // Fine for every driver.
    } else if user.value.contains(['@', '\\']) {
        check
            .findings
            .warning(
                Rule::UserDomain,
                user.at,
                format!("the vSphere storage driver refuses the user `{}`", user.value),
            )
            .hint("it accepts letters, digits, `.`, `-` and `_` only, as name@domain or DOMAIN\\name");
    } else {
        check
            .findings
            .warning(
                Rule::UserDomain,
                user.at,
                format!(
                    "the vSphere storage driver refuses the user `{}` because it names no domain",
                    user.value
                ),
            )
            .hint(format!("write `{}@vsphere.local`, or whatever the domain is", user.value));
    }
}

fn resolve_password(
    vcenter: At,
    password: &Field<SecretString>,
    file: &Field<String>,
    env: &Field<EnvName>,
    check: &mut Check<'_>,
) -> Option<Password> {
    let given: Vec<_> = [("password", password.at()), ("passwordFile", file.at()), ("passwordEnv", env.at())]
        .into_iter()
        .filter_map(|(key, at)| at.map(|at| (key, at)))
        .collect();
    match given.as_slice() {
        [] => {
            check
                .findings
                .missing(vcenter, "password", "a password is required")
                .hint("add `passwordFile:` or `passwordEnv:` to keep it out of this file, or `password:`");
            return None;
        }
        [_] => {}
        [(first, place), (second, at), ..] => {
            check
                .findings
                .error(Rule::PasswordSource, *at, format!("`{first}` and `{second}` are both given"))
                .hint("keep one of them")
                .related(*place, "the other one");
            return None;
        }
    }
    if let Some(password) = password.located() {
        let text = password.value.expose_secret();
        if text.ends_with(['\n', '\r']) {
            check
                .findings
                .error(Rule::CredentialWhitespace, password.at, "the password ends in a line break")
                .hint("use `|-` instead of `|`, or write it in quotes on one line");
        } else if text.trim() != text {
            check
                .findings
                .warning(
                    Rule::CredentialWhitespace,
                    password.at,
                    "the password begins or ends with white space",
                )
                .hint("fine if it really does");
        }
        return Some(Password::Inline(password.value.clone()));
    }
    file.get().cloned().map(Password::File).or_else(|| env.get().cloned().map(Password::Env))
}

fn resolve_tls(tls: &Field<WrittenTls>, check: &mut Check<'_>) -> Option<Tls> {
    let written = match tls {
        Field::Absent => return Some(Tls::System),
        Field::Invalid(_) => return None,
        Field::Set(tls) => tls,
    };
    let WrittenTls { ca_bundle, thumbprint, insecure } = &written.value;
    if ca_bundle.is_invalid() || thumbprint.is_invalid() || insecure.is_invalid() {
        return None;
    }
    let insecure_at = insecure.located().filter(|insecure| insecure.value).map(|insecure| insecure.at);
    let given: Vec<At> = [ca_bundle.at(), thumbprint.at(), insecure_at].into_iter().flatten().collect();
    if let [first, second, ..] = given.as_slice() {
        check
            .findings
            .error(Rule::TlsChoice, *second, "a certificate is verified in one way only")
            .hint("keep one of caBundle, thumbprint and insecure")
            .related(*first, "the other one");
        return None;
    }
    if let Some(at) = insecure_at {
        check
            .findings
            .warning(Rule::TlsInsecure, at, "anyone on the way to this vCenter can read its password")
            .hint("use `caBundle` or `thumbprint` instead");
        return Some(Tls::Insecure);
    }
    if let Some(bundle) = ca_bundle.located() {
        return pem::check_certificates(bundle, check).then(|| Tls::CaBundle(bundle.value.clone()));
    }
    if let Some(written) = thumbprint.located() {
        let Some(tls) = Tls::by_thumbprint(&written.value) else {
            check
                .findings
                .error(Rule::Thumbprint, written.at, "not a SHA-1 or SHA-256 fingerprint")
                .hint("write 20 or 32 bytes in hexadecimal, with or without colons");
            return None;
        };
        return Some(tls);
    }
    Some(Tls::System)
}
