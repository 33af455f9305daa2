//! Errors as text.

use std::error::Error;

use kube::core::Status;
use slipway_config::private_url::mask_urls;
use slipway_providers::transport;

/// An error with its sources, in one line.
pub fn chain(error: &(dyn Error + 'static)) -> String {
    words(error).join(": ")
}

/// What an error says, and then each of its sources. Some libraries repeat those: they are told once. Of a connection that
/// failed only the reason is told, and of URLs no login.
pub fn words(error: &(dyn Error + 'static)) -> Vec<String> {
    let mut told: Vec<String> = Vec::new();
    for layer in std::iter::successors(Some(error), |layer| (**layer).source()) {
        let reason = is_transport(layer).then(|| transport::plain(layer)).flatten();
        let next = reason.map_or_else(|| mask_urls(&said(layer)), str::to_owned);
        if !told.iter().any(|earlier| earlier.contains(&next)) {
            told.push(next);
        }
        if reason.is_some() {
            break;
        }
    }
    told
}

/// Whether this and everything below are layers of a client.
fn is_transport(error: &(dyn Error + 'static)) -> bool {
    let of_kube = error.downcast_ref::<kube::Error>();
    error.is::<reqwest::Error>()
        || matches!(of_kube, Some(kube::Error::HyperError(_) | kube::Error::Service(_)))
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

    #[tokio::test]
    async fn a_connection_that_fails_has_one_reason() {
        let error = reqwest::get("http://127.0.0.1:1/x?sig=swordfish").await.unwrap_err();
        assert_eq!(chain(&error), "connection refused");
        let error = Reading(kube::Error::Service(Box::new(error)));
        assert_eq!(chain(&error), "reading the nodes: connection refused");
        let error = std::io::Error::other("asking http://me:swordfish@h/");
        assert_eq!(chain(&error), "asking http://***@h/");
    }
}
