//! Calls with a deadline.

use std::time::Duration;

use super::error::AccessError;

/// For each call.
pub const CALL_TIMEOUT: Duration = Duration::from_secs(30);

/// A call with the usual deadline.
// Not async itself: a future within a future has its size twice.
pub fn call<T>(
    doing: &str,
    call: impl Future<Output = kube::Result<T>>,
) -> impl Future<Output = Result<T, AccessError>> {
    call_within(CALL_TIMEOUT, doing, call)
}

/// A call with a deadline of its own.
pub async fn call_within<T>(
    limit: Duration,
    doing: &str,
    call: impl Future<Output = kube::Result<T>>,
) -> Result<T, AccessError> {
    match tokio::time::timeout(limit, call).await {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(source)) => Err(AccessError::Api { doing: doing.to_owned(), source: Box::new(source) }),
        Err(_) => Err(AccessError::Timeout { doing: doing.to_owned(), limit }),
    }
}

/// Nothing, where the kind or the object is not there.
pub fn or_absent<T: Default>(result: Result<T, AccessError>) -> Result<T, AccessError> {
    match result {
        Err(error) if error.is_absent() => Ok(T::default()),
        other => other,
    }
}
