//! Why a call did not succeed.

use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;

use crate::trust_error::TrustError;

/// A call that failed, and on which engine.
#[derive(Debug, Error)]
#[error("{doing} on {server}")]
pub struct Error {
    pub server: Arc<str>,
    /// `creating the machine m`.
    pub doing: Box<str>,
    pub source: Cause,
}

/// Why a call failed.
#[derive(Debug, Error)]
pub enum Cause {
    #[error("the engine cannot be reached")]
    Connect(#[source] Box<dyn std::error::Error + Send + Sync>),
    #[error("its certificate is not trusted")]
    Untrusted(#[source] TrustError),
    #[error("no answer within {0:?}")]
    Timeout(Duration),
    #[error("the connection broke before the answer was complete")]
    Broken(#[source] Box<dyn std::error::Error + Send + Sync>),
    #[error("the login of `{user}` was refused: {reason}")]
    LoginRefused { user: String, reason: String },
    #[error("the engine does not know the session any more")]
    SessionLost,
    /// What a proxy, or a wrong URL, answers.
    #[error("the answer is a web page with status {status}{}, and not the engine's API", titled(.title.as_ref()))]
    WebPage { status: u16, title: Option<String> },
    /// The engine is starting, or its proxy waits for it.
    #[error("the engine is not ready: status {status}")]
    NotReady { status: u16, retry_after: Option<Duration> },
    /// The object of the call is not there, or not visible to the user.
    #[error("it is not there, or not visible to the user")]
    NotFound,
    #[error("{}", told(.detail, *.status))]
    Fault { status: u16, reason: String, detail: String },
    #[error("the answer cannot be read: {0}")]
    Malformed(String),
    #[error("{0}")]
    Setup(String),
}

fn titled(title: Option<&String>) -> String {
    title.map_or_else(String::new, |title| format!(" (\"{title}\")"))
}

/// The engine writes a list in brackets, which is one sentence most of the time.
fn told(detail: &str, status: u16) -> String {
    let text = detail.trim().trim_start_matches('[').trim_end_matches(']').trim();
    if text.is_empty() { format!("refused with status {status}, without a reason") } else { text.to_owned() }
}

impl Error {
    pub fn is_not_found(&self) -> bool {
        matches!(self.source, Cause::NotFound)
    }

    /// Whether the engine refused the call because of how things are: a name that is taken, something locked. It answers
    /// some of these with 400 and some with 409.
    pub fn is_refusal(&self) -> bool {
        matches!(self.source, Cause::Fault { status: 400 | 409, .. })
    }

    pub fn is_forbidden(&self) -> bool {
        matches!(self.source, Cause::Fault { status: 403, .. })
    }

    /// Whether there was no answer at all, or one of something before the engine.
    pub fn is_silence(&self) -> bool {
        matches!(
            self.source,
            Cause::Connect(_) | Cause::Timeout(_) | Cause::Broken(_) | Cause::NotReady { .. }
        )
    }

    /// What can be done about it.
    pub fn hint(&self) -> Option<String> {
        let hint = match &self.source {
            Cause::Untrusted(TrustError::Expired) => "give the engine a new certificate",
            Cause::Untrusted(TrustError::NotYet) => "compare the clocks of this machine and of the engine",
            Cause::Untrusted(TrustError::Name) => "name the engine in `ovirt_url` as its certificate does",
            Cause::Untrusted(_) => {
                "fetch the engine's authority from /ovirt-engine/services/pki-resource?resource=ca-certificate&format=X509-PEM-CA, \
                 compare its fingerprint with the administrator, and name the file in `ovirt_cafile`"
            }
            Cause::Connect(_) => {
                "check the engine's name and port in `ovirt_url`, DNS, firewalls and `NO_PROXY`"
            }
            Cause::Timeout(_) => "the engine is busy or a firewall drops packets; try again later",
            Cause::WebPage { .. } => {
                "`ovirt_url` has to be of the form https://ENGINE/ovirt-engine/api; if it is, a proxy answers: add the engine to \
                 `NO_PROXY`"
            }
            Cause::LoginRefused { user, .. } => return Some(other_form(user)),
            Cause::Fault { status: 403, .. } => {
                "the user lacks a permission; see the roles in the guide about oVirt"
            }
            _ => return None,
        };
        Some(hint.to_owned())
    }
}

/// An engine with Keycloak has users of another form than one without, and says only that the login is wrong.
fn other_form(user: &str) -> String {
    let check = "check user and password";
    match user.rsplit_once('@') {
        Some((name, "internal")) => format!(
            "{check}; an engine that logs in through Keycloak, as oVirt 4.5 and OLVM are set up by default, has the user as \
             `{name}@ovirt@internalsso`"
        ),
        Some((name, "internalsso")) => {
            let name = name.split('@').next().unwrap_or(name);
            format!("{check}; an engine without Keycloak has the user as `{name}@internal`")
        }
        Some(_) => {
            format!("{check}, and the profile behind the last `@`, which the login page of the engine lists")
        }
        None => format!(
            "{check}; the user is written with its profile: `{user}@internal`, or with Keycloak `{user}@ovirt@internalsso`"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::{Cause, Error, other_form};

    #[test]
    fn details_are_told_without_brackets() {
        let fault = |detail: &str| Cause::Fault {
            status: 409,
            reason: "Operation Failed".to_owned(),
            detail: detail.to_owned(),
        };
        assert_eq!(
            fault("[Cannot remove VM. VM is running.]").to_string(),
            "Cannot remove VM. VM is running."
        );
        assert_eq!(fault("[]").to_string(), "refused with status 409, without a reason");
    }

    #[test]
    fn the_other_form_of_a_user_is_named() {
        assert!(other_form("admin@internal").contains("`admin@ovirt@internalsso`"));
        assert!(other_form("admin@ovirt@internalsso").contains("`admin@internal`"));
        assert!(other_form("me@corp").contains("profile"));
    }

    #[test]
    fn a_page_is_explained() {
        let source = Cause::WebPage { status: 200, title: Some("Welcome".to_owned()) };
        let error = Error { server: "engine".into(), doing: "logging in".into(), source };
        assert!(error.source.to_string().contains("(\"Welcome\")"), "{}", error.source);
        assert!(error.hint().is_some_and(|hint| hint.contains("NO_PROXY")));
    }
}
