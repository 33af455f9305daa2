//! Errors as text.

use std::error::Error;

use kube::core::Status;
use slipway_config::private_url::mask_urls;

use crate::cluster::connect::Unanswered;
use crate::transport;

/// An error with its sources, in one line.
pub fn chain(error: &(dyn Error + 'static)) -> String {
    words(error).join(": ")
}

/// What an error says, and then each of its sources. Some libraries repeat those: they are told once. Of a connection that
/// failed only the reason is told, and of URLs no login.
pub fn words(error: &(dyn Error + 'static)) -> Vec<String> {
    let mut told: Vec<String> = Vec::new();
    let mut in_client = false;
    for layer in std::iter::successors(Some(error), |layer| (**layer).source()) {
        if let Some(unanswered) = unanswered(layer) {
            told.push(unanswered.to_string());
            in_client = true;
            continue;
        }
        let reason = (in_client || is_transport(layer)).then(|| transport::plain(layer)).flatten();
        let next = reason.map_or_else(|| without_number(&mask_urls(&said(layer))), str::to_owned);
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
    let is_client =
        |error: &kube::Error| matches!(error, kube::Error::HyperError(_) | kube::Error::Service(_));
    error.is::<reqwest::Error>() || of_kube(error).is_some_and(is_client)
}

fn of_kube<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a kube::Error> {
    let boxed = || error.downcast_ref::<Box<kube::Error>>().map(|error| &**error);
    error.downcast_ref::<kube::Error>().or_else(boxed)
}

/// The server that could not be asked, if that is what a client says.
fn unanswered<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a Unanswered> {
    match of_kube(error)? {
        kube::Error::Service(inner) => inner.downcast_ref(),
        _ => None,
    }
}

/// What the operating system says, without the number it says it by.
fn without_number(text: &str) -> String {
    match text.split_once(" (os error ") {
        Some((before, rest)) => format!("{before}{}", rest.split_once(')').map_or("", |(_, after)| after)),
        None => text.to_owned(),
    }
}

/// What an API server says is in its status, which the library shows as a structure, too.
fn said(error: &(dyn Error + 'static)) -> String {
    let status = match of_kube(error) {
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
        let missing = std::io::Error::from_raw_os_error(2);
        assert_eq!(chain(&missing), "No such file or directory");
        let error = std::io::Error::other("asking http://me:swordfish@h/");
        assert_eq!(chain(&error), "asking http://***@h/");
    }
}
