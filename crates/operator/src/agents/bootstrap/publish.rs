//! The record, for those outside: in the cluster, and from this machine as long as there is no cluster.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, Client};
use serde_json::json;
use slipway_assets::kubernetes::record::Record;
use slipway_assets::kubernetes::rights::SYSTEM;
use slipway_assets::kubernetes::{RECORD_KEY, RECORD_NAME, RECORD_PATH};
use slipway_providers::cluster::{AccessError, Manager, apply};
use slipway_providers::text::chain;
use tokio::sync::watch;

use super::access::{Server, client};
use super::{Ledger, MANAGER, Stage, StageError};
use crate::runtime::host::Files;
use crate::runtime::stop::ordered;
use crate::server::machine_config::role::Role;
use crate::server::machine_config::source::Source;
use crate::server::machine_config::token::Admission;

const RETRY_INTERVAL: Duration = Duration::from_secs(3);
const MAX_LAST_TRIES: u32 = 20;

/// Writes a ConfigMap in `kube-system`.
pub async fn put(client: &Client, name: &str, data: serde_json::Value) -> Result<(), AccessError> {
    let object = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": SYSTEM}, "data": data,
    });
    let api: Api<ConfigMap> = Api::namespaced(client.clone(), SYSTEM);
    let doing = format!("writing the ConfigMap `{name}`");
    apply(&api, Manager::forcing(MANAGER), name, &doing, &object).await.map(drop)
}

/// Writes the record into the cluster.
pub async fn publish(client: &Client, record: &Record) -> Result<(), AccessError> {
    let text = serde_json::to_string_pretty(record).unwrap_or_default();
    put(client, RECORD_NAME, json!({ RECORD_KEY: text })).await
}

#[derive(Clone)]
struct App<S> {
    source: S,
    record: watch::Receiver<Record>,
}

/// Adds the record to what the machine-config server answers, for those who have the token of the control plane.
pub fn with_record<S: Source + Clone>(router: Router, source: S, record: watch::Receiver<Record>) -> Router {
    let app = App { source, record };
    router.merge(Router::new().route(RECORD_PATH, get(tell::<S>)).with_state(app))
}

async fn tell<S: Source + Clone>(State(app): State<App<S>>, headers: HeaderMap) -> impl IntoResponse {
    let Ok(role) = "master".parse::<Role>() else { return (StatusCode::NOT_FOUND, String::new()) };
    let Ok(Some(offer)) = app.source.offer(&role).await else {
        return (StatusCode::SERVICE_UNAVAILABLE, String::new());
    };
    let authorization = headers.get(header::AUTHORIZATION).map(header::HeaderValue::as_bytes);
    if offer.tokens().admit(authorization, Timestamp::now()) != Admission::Admitted {
        return (StatusCode::UNAUTHORIZED, "the token of the control plane is needed\n".to_owned());
    }
    let record = app.record.borrow().clone();
    (StatusCode::OK, serde_json::to_string_pretty(&record).unwrap_or_default())
}

/// Keeps the record in the cluster up to date as long as the agent runs, and once more at its end.
pub async fn keep_published(ledger: Arc<Ledger>, files: Files, mut stop: watch::Receiver<bool>) {
    let mut record = ledger.follow();
    record.mark_changed();
    loop {
        tokio::select! {
            changed = record.changed() => if changed.is_err() { break },
            () = ordered(&mut stop) => break,
        }
        let now = record.borrow_and_update().clone();
        if let Err(error) = try_publish(&files, &now).await {
            tracing::debug!(error = %chain(&error), "the record is not in the cluster yet");
            tokio::time::sleep(RETRY_INTERVAL).await;
            record.mark_changed();
        }
    }
    // The last word counts most: those who wait learn from it that this machine may go.
    for _ in 0..MAX_LAST_TRIES {
        match try_publish(&files, &ledger.record()).await {
            Ok(()) => return,
            Err(error) => tracing::warn!(error = %chain(&error), "the last record is not in the cluster yet"),
        }
        tokio::time::sleep(RETRY_INTERVAL).await;
    }
}

async fn try_publish(files: &Files, record: &Record) -> Result<(), StageError> {
    if !record.is_done(Stage::ControlPlane) {
        return Ok(());
    }
    let server = if record.is_done(Stage::Complete) { Server::Cluster } else { Server::Own };
    Ok(publish(&client(files, server).await?, record).await?)
}
