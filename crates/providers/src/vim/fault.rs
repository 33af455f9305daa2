//! Faults of vCenter as types.

use std::fmt;

use super::moref::Reference;
use super::soap::Element;

/// What a vCenter refused, and its own words about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub kind: FaultKind,
    /// The type as vCenter names it, such as `InvalidPowerState`.
    pub name: Box<str>,
    pub message: Box<str>,
    /// Everything else about it.
    pub detail: Element,
}

/// The faults somebody acts on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FaultKind {
    /// There is no session, or no more.
    NotAuthenticated,
    /// User or password are wrong.
    InvalidLogin,
    NoPermission {
        object: Option<Reference>,
        privilege: Box<str>,
    },
    /// The object does not exist, or no more.
    NotFound {
        object: Option<Reference>,
    },
    /// There is another object of that name.
    DuplicateName {
        object: Option<Reference>,
        name: Box<str>,
    },
    InvalidPowerState,
    /// Somebody else is changing the same object.
    Busy,
    /// The task was cancelled by somebody.
    Cancelled,
    Other,
}

impl Fault {
    /// From the `Fault` element of a message.
    pub fn of_message(fault: &Element) -> Self {
        let detail = fault.child("detail").and_then(|detail| detail.children.first());
        let message = fault.text_of("faultstring");
        match detail {
            // The element is called after the fault; its dynamic type is the more special name.
            Some(detail) => {
                let name = if detail.kind().is_empty() {
                    detail.name.trim_end_matches("Fault")
                } else {
                    detail.kind()
                };
                Fault::new(name, message, detail)
            }
            None => Fault::new(fault.text_of("faultcode"), message, fault),
        }
    }

    /// From a `LocalizedMethodFault`: the error of a task, or of one object among several.
    pub fn of_method(fault: &Element) -> Self {
        let empty = Element::default();
        let detail = fault.child("fault").unwrap_or(&empty);
        Fault::new(detail.kind(), fault.text_of("localizedMessage"), detail)
    }

    fn new(name: &str, message: &str, detail: &Element) -> Self {
        // Names without a detail have a prefix that says nothing.
        let kind = match name.rsplit(':').next().unwrap_or(name) {
            "NotAuthenticated" => FaultKind::NotAuthenticated,
            "InvalidLogin" | "NoPermissionOnAD" | "PasswordExpired" | "FailedAuthentication" => {
                FaultKind::InvalidLogin
            }
            "NoPermission" => FaultKind::NoPermission {
                object: detail.child("object").map(Reference::of),
                privilege: detail.text_of("privilegeId").into(),
            },
            "ManagedObjectNotFound" | "NotFound" => {
                FaultKind::NotFound { object: detail.child("obj").map(Reference::of) }
            }
            "DuplicateName" | "AlreadyExists" => FaultKind::DuplicateName {
                object: detail.child("object").map(Reference::of),
                name: detail.text_of("name").into(),
            },
            "InvalidPowerState" => FaultKind::InvalidPowerState,
            "TaskInProgress" | "ConcurrentAccess" | "FileLocked" => FaultKind::Busy,
            "RequestCanceled" => FaultKind::Cancelled,
            _ => FaultKind::Other,
        };
        Fault { kind, name: name.into(), message: message.into(), detail: detail.clone() }
    }

    /// From an error of the REST API, which spells the names its own way.
    pub(crate) fn of_rest(name: &str, message: &str) -> Self {
        let words: String = name
            .split('_')
            .map(|word| {
                let mut letters = word.chars();
                letters.next().map(|first| first.to_uppercase().chain(letters).collect::<String>())
            })
            .map(Option::unwrap_or_default)
            .collect();
        let mut fault = Fault::new(&words, message, &Element::default());
        fault.kind = match name {
            "unauthenticated" => FaultKind::NotAuthenticated,
            "unauthorized" => FaultKind::NoPermission { object: None, privilege: Box::default() },
            "not_found" => FaultKind::NotFound { object: None },
            "already_exists" => FaultKind::DuplicateName { object: None, name: Box::default() },
            "resource_busy" | "concurrent_change" | "service_unavailable" => FaultKind::Busy,
            _ => FaultKind::Other,
        };
        fault
    }

    /// Something failed and nobody said why.
    pub(crate) fn unknown() -> Self {
        Fault::new("Unknown", "it ended without a word", &Element::default())
    }

    /// Whether the same call may succeed a little later.
    pub fn is_transient(&self) -> bool {
        matches!(self.kind, FaultKind::Busy | FaultKind::NotAuthenticated)
            || matches!(
                &*self.name,
                "HostCommunication" | "HostNotConnected" | "TooManyConcurrentNativeClones"
            )
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = self.message.trim();
        match &self.kind {
            FaultKind::NoPermission { object, privilege } if !privilege.is_empty() => {
                write!(f, "the privilege {privilege} is missing")?;
                match object {
                    Some(object) => write!(f, " on {object}"),
                    None => Ok(()),
                }
            }
            _ if words.is_empty() => f.write_str(&self.name),
            _ => write!(f, "{words} ({})", self.name),
        }
    }
}

impl std::error::Error for Fault {}

#[cfg(test)]
mod tests {
    use super::{Fault, FaultKind};
    use crate::vim::moref::Reference;
    use crate::vim::soap::element::parse;

    #[test]
    fn faults_of_messages_have_types() {
        let xml = br#"<Fault><faultcode>ServerFaultCode</faultcode><faultstring>no</faultstring><detail>
            <NoPermissionFault xmlns="urn:vim25" xsi:type="NoPermission"><object type="Folder">group-v3</object>
            <privilegeId>Folder.Create</privilegeId></NoPermissionFault></detail></Fault>"#;
        let fault = Fault::of_message(&parse(xml).unwrap());
        let object = Some(Reference::new("Folder", "group-v3"));
        assert_eq!(fault.kind, FaultKind::NoPermission { object, privilege: "Folder.Create".into() });
        assert_eq!(fault.to_string(), "the privilege Folder.Create is missing on Folder:group-v3");
    }

    #[test]
    fn faults_without_detail_keep_their_words() {
        let xml = b"<Fault><faultcode>s:Server</faultcode><faultstring>odd</faultstring></Fault>";
        let fault = Fault::of_message(&parse(xml).unwrap());
        assert_eq!((fault.kind.clone(), fault.to_string()), (FaultKind::Other, "odd (s:Server)".to_owned()));
    }
}
