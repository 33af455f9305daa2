//! Errors as text.

use std::error::Error;

/// The words of one error, without its sources. What an API server says is in its status, which the library shows twice,
/// the second time as a structure.
pub fn said(error: &(dyn Error + 'static)) -> String {
    match error.downcast_ref::<kube::Error>() {
        Some(kube::Error::Api(status)) if !status.message.is_empty() => status.message.clone(),
        _ => error.to_string(),
    }
}

/// An error with its sources. Some libraries repeat those: they are told once.
pub fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = said(error);
    let mut source = error.source();
    while let Some(error) = source {
        let next = said(error);
        if !text.contains(&next) {
            text.push_str(": ");
            text.push_str(&next);
        }
        source = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use kube::core::Status;

    use super::chain;

    #[derive(Debug, thiserror::Error)]
    #[error("reading the nodes")]
    struct Reading(#[source] kube::Error);

    #[test]
    fn an_api_server_is_quoted_once() {
        let status = Status::failure("nodes is forbidden: User \"me\" cannot list resource", "Forbidden")
            .with_code(403);
        let error = Reading(kube::Error::Api(Box::new(status)));
        assert_eq!(chain(&error), "reading the nodes: nodes is forbidden: User \"me\" cannot list resource");
    }
}
