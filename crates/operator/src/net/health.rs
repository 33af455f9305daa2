//! `/healthz` and `/metrics`, for a port of their own.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::{Response, StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;
use prometheus_client::registry::Registry;

/// Says whether all is well, and what was counted.
pub fn health_router<F, R>(is_well: F, registry: Registry) -> Router
where
    F: Fn() -> R + Clone + Send + Sync + 'static,
    R: Future<Output = bool> + Send + 'static,
{
    let registry = Arc::new(registry);
    let health = move || {
        let well = is_well();
        async move {
            if well.await {
                (StatusCode::OK, "ok\n")
            } else {
                (StatusCode::SERVICE_UNAVAILABLE, "not well\n")
            }
        }
    };
    Router::new()
        .route("/healthz", get(health))
        .route("/metrics", get(move || async move { metrics(&registry) }))
}

fn metrics(registry: &Registry) -> Response<Body> {
    let mut text = String::new();
    if prometheus_client::encoding::text::encode(&mut text, registry).is_err() {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    }
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(header::CONTENT_TYPE, kind)], text).into_response()
}
