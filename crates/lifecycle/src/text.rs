//! Errors as text.

use std::error::Error;

use kube::core::Status;

/// An error with its sources, in one line.
pub fn chain(error: &(dyn Error + 'static)) -> String {
    words(error).join(": ")
}

/// What an error says, and then each of its sources. Some libraries repeat those: they are told once.
pub fn words(error: &(dyn Error + 'static)) -> Vec<String> {
    let mut told = vec![said(error)];
    let mut source = error.source();
    while let Some(error) = source {
        let next = said(error);
        if !told.iter().any(|earlier| earlier.contains(&next)) {
            told.push(next);
        }
        source = error.source();
    }
    told
}

/// What an API server says is in its status, which the library shows as a structure, too.
fn said(error: &(dyn Error + 'static)) -> String {
    let status = match error.downcast_ref::<kube::Error>() {
        Some(kube::Error::Api(status)) => Some(&**status),
        _ => error
            .downcast_ref::<Status>()
            .or_else(|| error.downcast_ref::<Box<Status>>().map(|status| &**status)),
    };
    let message = status.map(|status| &status.message).filter(|message| !message.is_empty());
    message.map_or_else(|| error.to_string(), Clone::clone)
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
