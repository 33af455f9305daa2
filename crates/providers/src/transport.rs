//! Failures of connections, in the words people know.

use std::error::Error;
use std::io::{self, ErrorKind};

/// What the operating system said beneath all layers of a client. `None`: it was something else.
pub fn plain(error: &(dyn Error + 'static)) -> Option<&'static str> {
    let mut layers = std::iter::successors(Some(error), |layer| (**layer).source());
    layers.find_map(|layer| {
        if layer.to_string().contains("failed to lookup address") {
            return Some("its name cannot be resolved");
        }
        let error = layer.downcast_ref::<io::Error>()?;
        match error.kind() {
            ErrorKind::ConnectionRefused => Some("connection refused"),
            ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted => Some("the connection was reset"),
            ErrorKind::BrokenPipe | ErrorKind::UnexpectedEof => Some("the connection was closed"),
            ErrorKind::HostUnreachable => Some("no route to host"),
            ErrorKind::NetworkUnreachable => Some("network unreachable"),
            ErrorKind::TimedOut => Some("timed out"),
            // Others are wrapped in one.
            _ => error.get_ref().and_then(|inner| plain(inner)),
        }
    })
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
