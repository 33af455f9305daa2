//! Connecting to a cluster.

use std::path::Path;
use std::time::Duration;

use kube::client::ClientBuilder;
use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Client, Config};
use thiserror::Error;
use tower::BoxError;
use tower::util::MapErrLayer;

use super::call::CALL_TIMEOUT;
use super::error::AccessError;
use crate::text::chain;

/// No answer came from a server.
#[derive(Debug, Error)]
#[error("the API server at {server} cannot be reached")]
pub(crate) struct Unanswered {
    server: String,
    source: BoxError,
}

/// Connects as kubectl does: a file, or those of KUBECONFIG, or `~/.kube/config`; inside of a pod its own access.
pub async fn connect(kubeconfig: Option<&Path>, context: Option<&str>) -> Result<Client, AccessError> {
    client_of(config(kubeconfig, context).await?)
}

/// [`connect`], for controllers, which must not wait for a server that is gone: one that is silent for so long is given up. They try
/// again by themselves, so that an answer such as that of a disruption budget (429) reaches them at once.
pub async fn connect_within(
    kubeconfig: Option<&Path>,
    context: Option<&str>,
    silence: Duration,
) -> Result<Client, AccessError> {
    let mut config = config(kubeconfig, context).await?;
    config.read_timeout = Some(silence);
    config.default_retry = false;
    client_of(config)
}

async fn config(kubeconfig: Option<&Path>, context: Option<&str>) -> Result<Config, AccessError> {
    let options =
        KubeConfigOptions { context: context.map(ToOwned::to_owned), ..KubeConfigOptions::default() };
    let file = kubeconfig.map_or_else(usual, |file| format!("`{}`", file.display()));
    let broken =
        |error: KubeconfigError| AccessError::Kubeconfig { file: file.clone(), problem: problem(&error) };
    let config = match (kubeconfig, context) {
        (Some(file), _) => {
            let file = Kubeconfig::read_from(file).map_err(broken)?;
            Config::from_custom_kubeconfig(file, &options).await.map_err(broken)?
        }
        (None, Some(_)) => Config::from_kubeconfig(&options).await.map_err(broken)?,
        (None, None) => Config::infer().await.map_err(|error| {
            // A command hardly runs in a pod: what is wrong with the file is what can be repaired.
            match std::error::Error::source(&error)
                .and_then(|source| source.downcast_ref::<KubeconfigError>())
            {
                Some(missing @ (KubeconfigError::FindPath | KubeconfigError::ReadConfig(..))) => {
                    AccessError::NoAccess(problem(missing))
                }
                Some(found) => AccessError::Kubeconfig { file: file.clone(), problem: problem(found) },
                None => AccessError::NoAccess(error.to_string()),
            }
        })?,
    };
    Ok(config)
}

/// The configuration of one kubeconfig; `file` names it in messages.
pub async fn config_of(
    kubeconfig: Result<Kubeconfig, KubeconfigError>,
    file: &str,
) -> Result<Config, AccessError> {
    let broken =
        |error: KubeconfigError| AccessError::Kubeconfig { file: file.to_owned(), problem: problem(&error) };
    let kubeconfig = kubeconfig.map_err(broken)?;
    Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.map_err(broken)
}

/// Where a kubeconfig is by default.
fn usual() -> String {
    let named = std::env::var("KUBECONFIG").ok().filter(|named| !named.is_empty());
    named.map_or_else(|| "~/.kube/config".to_owned(), |named| format!("`{named}` (KUBECONFIG)"))
}

/// What is wrong with a kubeconfig, without a word of what is in it.
fn problem(error: &KubeconfigError) -> String {
    match error {
        KubeconfigError::Parse(error) => match error.location() {
            Some(place) => format!("it is not understood from line {} on", place.line()),
            None => "it is not YAML with clusters, contexts and users".to_owned(),
        },
        KubeconfigError::ReadConfig(error, file) => format!("reading `{}`: {error}", file.display()),
        other => chain(other),
    }
}

/// A client with this configuration.
pub fn client_of(mut config: Config) -> Result<Client, AccessError> {
    config.connect_timeout = Some(CALL_TIMEOUT);
    let failed = |source| AccessError::Api { doing: "connecting".to_owned(), source: Box::new(source) };
    let server = config.cluster_url.to_string();
    let named = MapErrLayer::new(move |source: BoxError| -> BoxError {
        // Those of the client itself it recognises again.
        if source.is::<kube::Error>() { source } else { Unanswered { server: server.clone(), source }.into() }
    });
    Ok(ClientBuilder::try_from(config).map_err(failed)?.with_layer(&named).build())
}
