//! How the engine says no.

use serde_json::{Value, json};

/// Why a request is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The object is not there: no body at all.
    Missing,
    /// No such path.
    NoPath,
    Malformed,
    Unrecognized {
        field: String,
        of: &'static str,
    },
    /// A field that is required.
    Incomplete(String),
    /// A name in the body names nothing.
    NotFound(String),
    /// A rule of the engine's, 400.
    Invalid(String),
    /// The state forbids it, 409.
    Conflict(String),
    Forbidden(String),
    NotAllowed,
}

impl Refusal {
    pub(super) fn invalid(text: impl Into<String>) -> Self {
        Refusal::Invalid(format!("[{}]", text.into()))
    }

    pub(super) fn conflict(text: impl Into<String>) -> Self {
        Refusal::Conflict(format!("[{}]", text.into()))
    }

    pub(super) fn entity(kind: &str, by: &str, value: &str) -> Self {
        Refusal::NotFound(format!("Entity not found: {kind}: {by}={value}"))
    }

    pub(super) fn status(&self) -> u16 {
        match self {
            Refusal::Missing | Refusal::NoPath | Refusal::NotFound(_) => 404,
            Refusal::Malformed
            | Refusal::Unrecognized { .. }
            | Refusal::Incomplete(_)
            | Refusal::Invalid(_) => 400,
            Refusal::Conflict(_) => 409,
            Refusal::Forbidden(_) => 403,
            Refusal::NotAllowed => 405,
        }
    }

    /// The fault, if it is told by one. `usage` is where the correct usage is described.
    pub(super) fn fault(&self, usage: &str) -> Option<Value> {
        let (reason, detail) = match self {
            Refusal::Malformed => {
                ("Request syntactically incorrect.", format!("For correct usage, see: {usage}"))
            }
            Refusal::Incomplete(detail) => ("Incomplete parameters", detail.clone()),
            Refusal::NotFound(detail)
            | Refusal::Invalid(detail)
            | Refusal::Conflict(detail)
            | Refusal::Forbidden(detail) => ("Operation Failed", detail.clone()),
            _ => return None,
        };
        Some(json!({"detail": detail, "reason": reason}))
    }
}

/// What is told by plain text.
pub(super) fn unrecognized(field: &str, of: &str) -> String {
    let class: String = of
        .split('_')
        .map(|word| {
            word.chars()
                .next()
                .map_or_else(String::new, |first| format!("{}{}", first.to_ascii_uppercase(), &word[1..]))
        })
        .collect();
    format!(
        "Unrecognized field &quot;{field}&quot; (class org.ovirt.engine.api.model.{class}), not marked as ignorable"
    )
}

/// The page of a login that failed, as the engine's web server gives it.
pub(super) fn unauthorized_page(text: &str) -> String {
    format!("<html><head><title>Error</title></head><body>{text}</body></html>")
}

/// What stands where the engine does not: a proxy's page, or the web server's while the engine starts.
pub(super) fn unavailable_page(status: u16) -> String {
    format!(
        "<!DOCTYPE HTML PUBLIC \"-//IETF//DTD HTML 2.0//EN\">\n<html><head>\n<title>{status} Service Unavailable</title>\n</head><body>\n\
         <h1>Service Unavailable</h1>\n<p>The server is temporarily unable to service your request due to maintenance downtime or \
         capacity problems. Please try again later.</p>\n</body></html>\n"
    )
}
