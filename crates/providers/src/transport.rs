//! Failures of connections: what the operating system said beneath all layers of a client.

use std::error::Error;
use std::io::{self, ErrorKind};

/// Why a connection failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    Unresolved,
    Refused,
    Reset,
    Closed,
    HostUnreachable,
    NetworkUnreachable,
    TimedOut,
}

impl Reason {
    /// In the words people know.
    pub fn as_str(self) -> &'static str {
        match self {
            Reason::Unresolved => "its name cannot be resolved",
            Reason::Refused => "connection refused",
            Reason::Reset => "the connection was reset",
            Reason::Closed => "the connection was closed",
            Reason::HostUnreachable => "no route to host",
            Reason::NetworkUnreachable => "network unreachable",
            Reason::TimedOut => "timed out",
        }
    }
}

/// Why a connection failed. `None`: it was something else.
pub fn reason(error: &(dyn Error + 'static)) -> Option<Reason> {
    let mut layers = std::iter::successors(Some(error), |layer| (**layer).source());
    layers.find_map(|layer| {
        // The standard library has no kind for a failed lookup, and no client has a type for it: this text is all there is.
        if layer.to_string().contains("failed to lookup address") {
            return Some(Reason::Unresolved);
        }
        let error = layer.downcast_ref::<io::Error>()?;
        match error.kind() {
            ErrorKind::ConnectionRefused => Some(Reason::Refused),
            ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted => Some(Reason::Reset),
            ErrorKind::BrokenPipe | ErrorKind::UnexpectedEof => Some(Reason::Closed),
            ErrorKind::HostUnreachable => Some(Reason::HostUnreachable),
            ErrorKind::NetworkUnreachable => Some(Reason::NetworkUnreachable),
            ErrorKind::TimedOut => Some(Reason::TimedOut),
            // Others are wrapped in one.
            _ => error.get_ref().and_then(|inner| reason(inner)),
        }
    })
}

/// [`reason`] in words.
pub fn plain(error: &(dyn Error + 'static)) -> Option<&'static str> {
    reason(error).map(Reason::as_str)
}

/// A failure in plain words, or else as it is.
pub fn in_plain_words(error: impl Error + Send + Sync + 'static) -> Box<dyn Error + Send + Sync> {
    match plain(&error) {
        Some(words) => words.into(),
        None => error.into(),
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error;
    use std::io::{self, ErrorKind};

    use thiserror::Error;

    use super::{in_plain_words, plain};

    #[derive(Debug, Error)]
    #[error("client error (Connect)")]
    struct Layer(#[source] Box<dyn Error + Send + Sync>);

    #[test]
    fn what_the_system_says_is_found_beneath() {
        let refused = || io::Error::from(ErrorKind::ConnectionRefused);
        let wrapped = io::Error::other(Layer(refused().into()));
        for error in [Layer(refused().into()), Layer(wrapped.into())] {
            assert_eq!(plain(&error), Some("connection refused"));
        }
        let lookup = io::Error::other("failed to lookup address information: Name or service not known");
        assert_eq!(in_plain_words(Layer(lookup.into())).to_string(), "its name cannot be resolved");
        let other = Layer("something else".into());
        assert_eq!(in_plain_words(other).to_string(), "client error (Connect)");
    }
}
