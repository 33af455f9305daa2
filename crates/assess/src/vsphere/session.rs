//! Asking a vCenter.

use jiff::Timestamp;
use slipway_providers::vsphere::{Endpoint, Error, Trust};
use tokio::time::timeout;

use super::certificate::expiry;
use crate::runner::{self, Asked, Options};

pub(crate) fn endpoint(options: &Options, server: &str, port: u16, trust: Trust) -> Endpoint {
    Endpoint {
        server: server.into(),
        port,
        trust,
        proxy: options.proxy.clone(),
        timeout: options.call.min(options.whole),
    }
}

/// Asks a vCenter, and looks at its certificate at the same time: until when it is valid, or why that is not known.
pub(crate) async fn ask<T>(
    endpoint: &Endpoint,
    options: &Options,
    question: impl Future<Output = Result<T, Error>>,
) -> (Asked<T, Error>, Result<Timestamp, String>) {
    let (asking, _) = options.shares();
    let expiry = timeout(asking, expiry(endpoint, endpoint.timeout));
    let (asked, expires) = tokio::join!(runner::ask(options, question), expiry);
    (asked, expires.unwrap_or_else(|_| Err(format!("no answer within {asking:?}"))))
}
