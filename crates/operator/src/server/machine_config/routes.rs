//! The paths that are served.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Extension, Path, State};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;
use jiff::Timestamp;
use slipway_providers::text::chain;

use super::accept::{MEDIA_TYPE, RequestedVersion, wanted};
use super::answer::{Answer, Refusal};
use super::metrics::Metrics;
use super::role::Role;
use super::source::{Source, SourceError};
use super::throttle::Throttle;
use super::token::{Admission, is_presented};
use crate::runtime::net::Peer;

/// What a request must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Demand {
    /// A token of the role. A role without tokens is given to nobody.
    Token,
    /// Nothing: whoever reaches the port reads everything.
    Nothing,
}

#[derive(Debug)]
struct App<S> {
    source: S,
    demand: Demand,
    metrics: Metrics,
    /// For lines that requests without a token lead to.
    lines: Throttle,
    /// For troubles of our own, which a flood of requests must not hide.
    troubles: Throttle,
}

/// `/config/<role>` and `/healthz`.
pub fn router<S: Source>(source: S, demand: Demand, metrics: Metrics) -> Router {
    let app =
        Arc::new(App { source, demand, metrics, lines: Throttle::default(), troubles: Throttle::default() });
    Router::new()
        .route("/config/{role}", get(config::<S>))
        .route("/healthz", get(health::<S>))
        .fallback(nothing::<S>)
        .method_not_allowed_fallback(not_so::<S>)
        .with_state(app)
}

async fn health<S: Source>(State(app): State<Arc<App<S>>>) -> impl IntoResponse {
    health_of(&app.source).await
}

async fn health_of<S: Source>(source: &S) -> (StatusCode, &'static str) {
    if source.is_ready().await {
        (StatusCode::OK, "ok\n")
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "the source of configurations cannot be read\n")
    }
}

async fn config<S: Source>(
    State(app): State<Arc<App<S>>>,
    Extension(peer): Extension<Peer>,
    Path(role): Path<String>,
    headers: HeaderMap,
) -> Response<Body> {
    let (role, answer) = app.answer(&role, &headers).await;
    app.tell(peer, role.as_ref(), answer)
}

async fn nothing<S: Source>(
    State(app): State<Arc<App<S>>>,
    Extension(peer): Extension<Peer>,
) -> Response<Body> {
    app.tell(peer, None, Answer::Refusal(Refusal::NoSuchPath))
}

async fn not_so<S: Source>(
    State(app): State<Arc<App<S>>>,
    Extension(peer): Extension<Peer>,
) -> Response<Body> {
    app.tell(peer, None, Answer::Refusal(Refusal::OtherMethod))
}

impl<S: Source> App<S> {
    /// The answer, and the role if there is one of that name.
    async fn answer(&self, role: &str, headers: &HeaderMap) -> (Option<Role>, Answer) {
        let Ok(role) = role.parse::<Role>() else {
            return (None, Answer::Refusal(Refusal::UnknownRole));
        };
        let unavailable = |role: Role, error: &SourceError| {
            if let Some(untold) = self.troubles.pass() {
                let reason = chain(error);
                tracing::error!(%role, reason, untold, "a configuration cannot be used");
            }
            (Some(role), Answer::Refusal(Refusal::Unavailable))
        };
        let authorization = headers.get(header::AUTHORIZATION).map(HeaderValue::as_bytes);
        if self.demand == Demand::Token && !is_presented(authorization) {
            let refusal = if self.source.knows(&role).await {
                (Some(role), Refusal::MissingToken)
            } else {
                (None, Refusal::UnknownRole)
            };
            return (refusal.0, Answer::Refusal(refusal.1));
        }
        let offer = match self.source.offer(&role).await {
            Ok(Some(offer)) => offer,
            Ok(None) => return (None, Answer::Refusal(Refusal::UnknownRole)),
            Err(error) => return unavailable(role, &error),
        };
        // Who asks comes first: nobody else learns anything about the configuration.
        if self.demand == Demand::Token {
            let refusal = match offer.tokens().admit(authorization, Timestamp::now()) {
                Admission::Admitted => None,
                Admission::Missing => Some(Refusal::MissingToken),
                Admission::Wrong => Some(Refusal::WrongToken),
                Admission::Expired => Some(Refusal::ExpiredToken),
            };
            if let Some(refusal) = refusal {
                return (Some(role), Answer::Refusal(refusal));
            }
        }
        let offer = match self.source.hand_out(&role, offer).await {
            Ok(offer) => offer,
            Err(error) => return unavailable(role, &error),
        };
        let render = || {
            let version = match wanted(accept(headers)?.as_deref())? {
                RequestedVersion::Version(version) => version,
                RequestedVersion::Stored => offer.version(),
            };
            Ok(Answer::Config { text: offer.render(version)?, version })
        };
        let answer = render().unwrap_or_else(Answer::Refusal);
        (Some(role), answer)
    }

    /// Counts, logs and sends an answer.
    fn tell(&self, Peer(peer): Peer, role: Option<&Role>, answer: Answer) -> Response<Body> {
        let outcome = answer.outcome();
        self.metrics.count(role, outcome);
        let (role, outcome) = (role.map(Role::as_str).unwrap_or_default(), outcome.as_str());
        match answer {
            Answer::Config { text, version } => {
                tracing::info!(%peer, role, outcome, %version, bytes = text.len(), "a machine has its configuration");
                let kind = format!("{MEDIA_TYPE}; version={version}");
                let headers = [(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, "no-store".to_owned())];
                (headers, text).into_response()
            }
            Answer::Refusal(refusal) => {
                let reason = refusal.to_string();
                if let Some(untold) = self.lines.pass() {
                    tracing::warn!(%peer, role, outcome, reason, untold, "a request was refused");
                }
                (refusal.status(), format!("{reason}\n")).into_response()
            }
        }
    }
}

/// All Accept headers as one, as HTTP has it.
fn accept(headers: &HeaderMap) -> Result<Option<String>, Refusal> {
    let mut parts = Vec::new();
    for value in headers.get_all(header::ACCEPT) {
        parts.push(value.to_str().map_err(|_| super::accept::AcceptError::Malformed)?);
    }
    Ok((!parts.is_empty()).then(|| parts.join(",")))
}
