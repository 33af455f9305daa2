//! The machine-config server in front of an API server that is slow, or has nothing: whoever has no token costs it nothing, and
//! holds up nobody.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kube::{Client, Config};
use serde_json::json;
use slipway_operator::runtime::net::{Limits, Peer, Transport, serve};
use slipway_operator::server::machine_config::answer::Outcome;
use slipway_operator::server::machine_config::cluster::ClusterSource;
use slipway_operator::server::machine_config::metrics::Metrics;
use slipway_operator::server::machine_config::routes::{Demand, router};
use slipway_operator::server::machine_config::source::Source;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tower::ServiceExt;

use crate::served::{MASTER_TOKEN, SECRET, WORKER_TOKEN, eventually, ignition, tokens};

/// An API server that has the Secret of `master`, knows nothing of `absent`, and does not answer about `worker` until it is let.
#[derive(Clone)]
struct Slow {
    asked: Arc<Mutex<BTreeMap<String, usize>>>,
    answers: Arc<Semaphore>,
    /// The server lives as long as this.
    _end: watch::Sender<bool>,
}

impl Slow {
    async fn start() -> (Self, ClusterSource) {
        let end = watch::Sender::new(false);
        let slow = Slow { asked: Arc::default(), answers: Arc::new(Semaphore::new(0)), _end: end.clone() };
        let routes = Router::new()
            .route("/api/v1/namespaces/kube-system/secrets/{name}", get(Self::answer))
            .with_state(slow.clone());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(serve(listener, Transport::Plain, routes, Limits::default(), (), end.subscribe()));
        let client = Client::try_from(Config::new(address.parse().unwrap())).unwrap();
        let roles = ["master", "worker", "absent"].map(|role| role.parse().unwrap());
        (slow, ClusterSource::new(client, "a", roles))
    }

    async fn answer(State(slow): State<Slow>, Path(name): Path<String>) -> impl IntoResponse {
        *slow.asked.lock().unwrap().entry(name.clone()).or_default() += 1;
        let (status, text) = match name.as_str() {
            "machine-config-master" => {
                let data = [("config.ign", ignition("3.4.0")), ("tokens", tokens(MASTER_TOKEN))];
                let data: BTreeMap<_, _> =
                    data.into_iter().map(|(key, text)| (key, STANDARD.encode(text))).collect();
                let metadata = json!({"name": name, "resourceVersion": "1"});
                (
                    StatusCode::OK,
                    json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data}),
                )
            }
            "machine-config-worker" => {
                slow.answers.acquire().await.unwrap().forget();
                (StatusCode::INTERNAL_SERVER_ERROR, status(500, "InternalError"))
            }
            _ => (StatusCode::NOT_FOUND, status(404, "NotFound")),
        };
        (status, [(header::CONTENT_TYPE, "application/json")], text.to_string())
    }

    fn asked(&self, name: &str) -> usize {
        self.asked.lock().unwrap().get(name).copied().unwrap_or_default()
    }
}

fn status(code: u16, reason: &str) -> serde_json::Value {
    json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "message": reason, "code": code})
}

/// What a request is answered with.
async fn get_config(routes: &Router, role: &str, token: Option<&str>) -> (u16, String) {
    let mut request = axum::http::Request::get(format!("/config/{role}"));
    if let Some(token) = token {
        request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
    }
    let mut request = request.body(axum::body::Body::empty()).unwrap();
    request.extensions_mut().insert(Peer([127, 0, 0, 1].into()));
    let answer = routes.clone().oneshot(request).await.unwrap();
    let status = answer.status().as_u16();
    let body = axum::body::to_bytes(answer.into_body(), 1 << 20).await.unwrap();
    (status, String::from_utf8(body.to_vec()).unwrap())
}

#[tokio::test]
async fn whoever_has_no_token_holds_up_nobody() {
    let (slow, source) = Slow::start().await;
    let metrics = Metrics::default();
    let routes = router(source.clone(), Demand::Token, metrics.clone());

    // Roles that nobody has configured, and requests without a token, do not reach the API server.
    for (role, token, expected) in [
        ("infra", Some(WORKER_TOKEN), 404),
        ("random-0", None, 404),
        ("worker", None, 401),
        ("absent", None, 401),
    ] {
        assert_eq!(get_config(&routes, role, token).await.0, expected, "{role}");
    }
    assert!(slow.asked.lock().unwrap().is_empty());
    assert_eq!(metrics.counted("worker", Outcome::MissingToken), 1);

    // What is not there is not asked for again by every request.
    for _ in 0..20 {
        assert_eq!(get_config(&routes, "absent", Some("wrong")).await.0, 404);
    }
    assert!(slow.asked("machine-config-absent") < 20);

    // Many wait for the Secret of one role; another role is served meanwhile.
    let waiting: Vec<_> = (0..32)
        .map(|_| {
            let routes = routes.clone();
            tokio::spawn(async move { get_config(&routes, "worker", Some("wrong")).await.0 })
        })
        .collect();
    eventually("the slow Secret was asked for", || slow.asked("machine-config-worker") == 1).await;
    let served =
        tokio::time::timeout(Duration::from_mins(1), get_config(&routes, "master", Some(MASTER_TOKEN)));
    let (status, text) = served.await.expect("a machine of another role waits");
    assert_eq!(status, 200, "{text}");
    assert!(text.contains(SECRET));
    assert!(waiting.iter().all(|one| !one.is_finished()));

    // One failure is the answer for all who waited for it.
    slow.answers.add_permits(1);
    for one in waiting {
        assert_eq!(one.await.unwrap(), 503);
    }
    assert_eq!(slow.asked("machine-config-worker"), 1);

    // Being ready is a question to the API server, and not one per request.
    for _ in 0..20 {
        assert!(source.is_ready().await);
    }
    assert!(slow.asked("machine-config-server-tls") < 20);
}
