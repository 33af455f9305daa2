//! Names with rules: clusters, domains, servers, identifiers.

use std::fmt;
use std::net::IpAddr;

use crate::decode::{BadText, FromText, text};
use crate::findings::Rule;
use crate::shape::Text;

/// Declares a newtype over text that only holds values its `FromText` accepted.
macro_rules! name {
    ($(#[doc = $doc:literal])+ $name:ident) => {
        $(#[doc = $doc])+
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(String);

        impl $name {
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl std::str::FromStr for $name {
            type Err = InvalidName;

            fn from_str(text: &str) -> Result<Self, InvalidName> {
                Self::from_text(text).map_err(|bad| InvalidName(bad.reason))
            }
        }

        text!($name);
    };
}

/// A text that is not a valid name of its kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidName(String);

const SUBDOMAIN: &str = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";

name! {
    /// The name of a cluster: a DNS name of at most 54 characters.
    ClusterName
}

impl FromText for ClusterName {
    /// 63 characters of a DNS label less what machine names add to it.
    const TEXT: Text = Text::new("a cluster name").pattern(SUBDOMAIN).max_length(54);

    fn from_text(text: &str) -> Result<Self, BadText> {
        subdomain(text)?;
        Ok(ClusterName(text.to_owned()))
    }
}

name! {
    /// A DNS domain, without a trailing dot.
    DomainName
}

impl FromText for DomainName {
    const TEXT: Text = Text::new("a DNS domain")
        .pattern(r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\.?$")
        .max_length(254);

    fn from_text(text: &str) -> Result<Self, BadText> {
        let name = text.strip_suffix('.').unwrap_or(text);
        subdomain(name)?;
        Ok(DomainName(name.to_owned()))
    }
}

name! {
    /// The DNS name or IP address of a server, without scheme or port.
    ServerName
}

impl FromText for ServerName {
    const TEXT: Text = Text::new("a DNS name or IP address").max_length(255);

    fn from_text(text: &str) -> Result<Self, BadText> {
        if text.parse::<IpAddr>().is_ok() {
            return Ok(ServerName(text.to_owned()));
        }
        let bad = |reason: &str| BadText::new(reason).rule(Rule::ServerName);
        if let Some((_, rest)) = text.split_once("://") {
            let authority = rest.rsplit('@').next().unwrap_or(rest);
            let authority = authority.split('/').next().unwrap_or(authority);
            let (host, port) = host_and_port(authority);
            let hint = match port {
                Some(port) if port != "443" => format!("write `{host}`, and {port} as its port"),
                _ => format!("write `{host}`"),
            };
            return Err(bad("a server is a name or an address, not a URL").hint(hint));
        }
        if let Some(inner) = text.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            return Err(bad("an IPv6 address is written without brackets").hint(format!("write `{inner}`")));
        }
        if let Some((host, port)) = text.split_once(':')
            && port.parse::<u16>().is_ok()
        {
            return Err(bad("the port does not belong here")
                .hint(format!("write `{host}` and put {port} into the field `port`")));
        }
        subdomain(text).map_err(|error| error.rule(Rule::ServerName))?;
        Ok(ServerName(text.to_owned()))
    }
}

name! {
    /// The name of a failure domain, which machine pools refer to as a zone.
    FailureDomainName
}

impl FromText for FailureDomainName {
    const TEXT: Text = Text::new("a failure domain name")
        .pattern(r"^[a-z]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$")
        .max_length(253);

    fn from_text(text: &str) -> Result<Self, BadText> {
        subdomain(text)?;
        if !text.starts_with(|c: char| c.is_ascii_lowercase()) {
            return Err(BadText::new("a failure domain's name starts with a lower-case letter"));
        }
        Ok(FailureDomainName(text.to_owned()))
    }
}

name! {
    /// The name of an environment variable.
    EnvName
}

impl FromText for EnvName {
    const TEXT: Text =
        Text::new("the name of an environment variable").pattern("^[A-Za-z_][A-Za-z0-9_]*$").secret();

    fn from_text(text: &str) -> Result<Self, BadText> {
        let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if !text.chars().all(allowed) || text.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(BadText::new("not the name of an environment variable")
                .hint("write the variable's name here, never the password itself"));
        }
        Ok(EnvName(text.to_owned()))
    }
}

name! {
    /// A UUID in its usual form.
    Uuid
}

impl FromText for Uuid {
    const TEXT: Text = Text::new("a UUID")
        .pattern("^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$");

    fn from_text(text: &str) -> Result<Self, BadText> {
        if !is_uuid(text) {
            return Err(BadText::new("not a UUID")
                .rule(Rule::Uuid)
                .hint("a UUID looks like 3b9f2c5e-0c1d-4f6a-9a57-2f1e6d8c4b10"));
        }
        Ok(Uuid(text.to_ascii_lowercase()))
    }
}

name! {
    /// An object of an oVirt engine, by its name or its UUID.
    EngineObject
}

impl FromText for EngineObject {
    const TEXT: Text = Text::new("the name or UUID of an object of the engine").max_length(255);

    fn from_text(text: &str) -> Result<Self, BadText> {
        if text.trim().is_empty() || text.chars().any(char::is_control) || text.len() > 255 {
            return Err(BadText::new("not the name or UUID of an object of the engine").hint(
                "write its name as the engine shows it, or a UUID like 3b9f2c5e-0c1d-4f6a-9a57-2f1e6d8c4b10",
            ));
        }
        // The engine writes ids in lower case; names are as they are.
        let text = if is_uuid(text) { text.to_ascii_lowercase() } else { text.to_owned() };
        Ok(EngineObject(text))
    }
}

impl EngineObject {
    /// Whether it is an id rather than a name.
    pub fn is_id(&self) -> bool {
        is_uuid(&self.0)
    }
}

name! {
    /// The id of a vSphere tag, `urn:vmomi:InventoryServiceTag:<uuid>:<scope>`.
    TagId
}

impl FromText for TagId {
    const TEXT: Text =
        Text::new("a vSphere tag id").pattern(r"^urn:vmomi:InventoryServiceTag:[0-9a-fA-F-]{36}:\S+$");

    fn from_text(text: &str) -> Result<Self, BadText> {
        let valid = text
            .strip_prefix("urn:vmomi:InventoryServiceTag:")
            .and_then(|rest| rest.split_once(':'))
            .is_some_and(|(uuid, scope)| {
                is_uuid(uuid) && !scope.is_empty() && !scope.contains(char::is_whitespace)
            });
        if !valid {
            return Err(BadText::new("not the id of a vSphere tag").rule(Rule::TagId).hint(
                "a tag's id looks like urn:vmomi:InventoryServiceTag:<uuid>:GLOBAL; its name will not do",
            ));
        }
        Ok(TagId(text.to_owned()))
    }
}

name! {
    /// A name as Kubernetes objects have it (RFC 1123).
    ObjectName
}

impl FromText for ObjectName {
    const TEXT: Text = Text::new("the name of a Kubernetes object").pattern(SUBDOMAIN).max_length(253);

    fn from_text(text: &str) -> Result<Self, BadText> {
        subdomain(text)?;
        Ok(ObjectName(text.to_owned()))
    }
}

/// The parts of `host:port`, where an IPv6 address is in brackets.
fn host_and_port(authority: &str) -> (&str, Option<&str>) {
    match authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, port)) => (host, port.strip_prefix(':')),
        None => authority.split_once(':').map_or((authority, None), |(host, port)| (host, Some(port))),
    }
}

/// Whether the vSphere storage driver accepts a user name: `name@domain` or `DOMAIN\name`, of letters, digits,
/// dots and dashes, with underscores in the name only.
pub(crate) fn storage_driver_accepts(user: &str) -> bool {
    let domain =
        |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || ".-".contains(c));
    let name = |text: &str| domain(&text.replace('_', "-"));
    user.split_once('@').is_some_and(|(user, at)| name(user) && domain(at))
        || user.split_once('\\').is_some_and(|(before, user)| domain(before) && name(user))
}

fn is_uuid(text: &str) -> bool {
    const DASHES: [usize; 4] = [8, 13, 18, 23];
    text.len() == 36
        && text.bytes().enumerate().all(|(index, byte)| {
            if DASHES.contains(&index) { byte == b'-' } else { byte.is_ascii_hexdigit() }
        })
}

/// RFC 1123 subdomain: labels of lower-case letters, digits and dashes.
pub(crate) fn subdomain(text: &str) -> Result<(), BadText> {
    let bad = |reason: String| BadText::new(reason).rule(Rule::DnsName);
    if text.len() > 253 {
        return Err(bad("a DNS name has at most 253 characters".to_owned()));
    }
    for label in text.split('.') {
        if label.is_empty() {
            return Err(bad("a DNS name has no empty part between its dots".to_owned()));
        }
        if label.len() > 63 {
            return Err(bad(format!(
                "`{label}` is longer than the 63 characters a part of a DNS name may have"
            )));
        }
        let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if let Some(c) = label.chars().find(|c| !allowed(*c)) {
            let error = bad(format!(
                "a DNS name has lower-case letters, digits, `-` and `.`, not `{}`",
                c.escape_debug()
            ));
            let lower = text.to_lowercase();
            return Err(if c.is_uppercase() && subdomain(&lower).is_ok() {
                error.hint(format!("write `{lower}`"))
            } else {
                error
            });
        }
        if label.starts_with('-') || label.ends_with('-') {
            return Err(bad("a part of a DNS name starts and ends with a letter or digit".to_owned()));
        }
    }
    Ok(())
}
