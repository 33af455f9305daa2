//! `/healthz`, `/readyz` and `/metrics`, for a port of their own.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::{Response, StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;
use prometheus_client::registry::Registry;

/// Says that the process runs, and what was counted. Being alive depends on nothing else: a process that is started again
/// because another one is slow makes that one slower.
pub fn health_router(registry: Registry) -> Router {
    let registry = Arc::new(registry);
    Router::new()
        .route("/healthz", get(async || "ok\n"))
        .route("/metrics", get(move || async move { metrics(&registry) }))
}

/// Says at `/readyz` whether there is any use in asking.
pub fn with_readiness<F, R>(router: Router, is_ready: F) -> Router
where
    F: Fn() -> R + Clone + Send + Sync + 'static,
    R: Future<Output = Result<(), &'static str>> + Send + 'static,
{
    let ready = move || {
        let ready = is_ready();
        async move {
            match ready.await {
                Ok(()) => (StatusCode::OK, "ok\n".to_owned()),
                Err(reason) => (StatusCode::SERVICE_UNAVAILABLE, format!("{reason}\n")),
            }
        }
    };
    router.route("/readyz", get(ready))
}

fn metrics(registry: &Registry) -> Response<Body> {
    let mut text = String::new();
    if prometheus_client::encoding::text::encode(&mut text, registry).is_err() {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    }
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(header::CONTENT_TYPE, kind)], text).into_response()
}
