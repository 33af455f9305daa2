//! Where the compatibility matrix comes from. One that is not signed, or not understood, is refused, and the one before
//! it stays.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use aws_lc_rs::digest::{SHA256, digest};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, Client};
use slipway_api::slipway::vdo_status::MatrixStatus;
use slipway_assets::drivers::signature::{PublicKey, verify};
use slipway_config::findings::Severity;
use slipway_config::matrix::{EMBEDDED, LIMITS, Matrix, read};
use slipway_lifecycle::text::chain;
use tokio::time::Instant;

use crate::csr::approve::call;

/// How long a download may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// A server is not asked more often than this.
const ASK: Duration = Duration::from_mins(5);
/// The keys of a ConfigMap.
const KEY: &str = "matrix.yaml";
const SIGNATURE_KEY: &str = "matrix.yaml.sig";

/// Where a matrix is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    Embedded,
    /// Its signature is in the file beside it, with `.sig` at the end.
    File(PathBuf),
    /// In the operator's namespace.
    ConfigMap(String),
    /// Its signature is at the same address with `.sig` at the end.
    Url(String),
}

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once(':') {
            _ if text == "embedded" => Ok(Place::Embedded),
            Some(("configmap", name)) if !name.is_empty() => Ok(Place::ConfigMap(name.to_owned())),
            Some(("https", _)) => Ok(Place::Url(text.to_owned())),
            Some(("http", _)) => Err("a matrix is fetched by https only".to_owned()),
            _ => Ok(Place::File(text.into())),
        }
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Place::Embedded => f.write_str("embedded"),
            Place::File(path) => write!(f, "{}", path.display()),
            Place::ConfigMap(name) => write!(f, "configmap:{name}"),
            Place::Url(url) => f.write_str(url),
        }
    }
}

/// A text and its signature.
struct Found {
    text: String,
    signature: Option<String>,
}

/// The matrix that is in use.
#[derive(Debug)]
pub struct Library {
    place: Place,
    keys: Vec<PublicKey>,
    http: Option<reqwest::Client>,
    etag: Option<String>,
    asked: Option<Instant>,
    current: Matrix,
    status: MatrixStatus,
    /// The matrix in use is the one that was asked for.
    settled: bool,
}

impl Library {
    /// Starts with the one that is built in.
    pub fn new(place: Place, keys: Vec<PublicKey>) -> Result<Self, String> {
        let reading = read(EMBEDDED);
        let current = reading.matrix.ok_or("the built-in matrix cannot be read")?;
        let status = MatrixStatus {
            source: Place::Embedded.to_string(),
            published: current.published.to_string(),
            digest: hash(EMBEDDED),
            refused: None,
        };
        let settled = place == Place::Embedded;
        Ok(Library { place, keys, http: None, etag: None, asked: None, current, status, settled })
    }

    pub fn matrix(&self) -> &Matrix {
        &self.current
    }

    pub fn status(&self) -> &MatrixStatus {
        &self.status
    }

    /// Whether versions may be chosen from it; otherwise whatever runs stays.
    pub fn is_settled(&self) -> bool {
        self.settled
    }

    /// Looks again.
    pub async fn refresh(&mut self, client: &Client, namespace: &str) {
        let found = match self.place.clone() {
            Place::Embedded => return,
            Place::File(path) => file(&path).await,
            Place::ConfigMap(name) => config_map(client, namespace, &name).await,
            Place::Url(_) if self.asked.is_some_and(|asked| asked.elapsed() < ASK) => return,
            Place::Url(url) => match self.download(&url).await {
                Ok(None) => return,
                Ok(Some(found)) => Ok(found),
                Err(error) => Err(error),
            },
        };
        let accepted = found.and_then(|found| self.accept(&found));
        let refused = accepted.err();
        if refused != self.status.refused {
            match &refused {
                Some(reason) => tracing::warn!(matrix = %self.place, reason, "a matrix was refused"),
                None => {
                    tracing::info!(matrix = %self.place, digest = self.status.digest, "a matrix is in use");
                }
            }
        }
        self.status.refused = refused;
    }

    fn accept(&mut self, found: &Found) -> Result<(), String> {
        let digest = hash(&found.text);
        verify(&found.text, found.signature.as_deref(), &self.keys).map_err(|error| error.to_string())?;
        if self.settled && digest == self.status.digest {
            return Ok(());
        }
        let reading = read(&found.text);
        let Some(matrix) = reading.matrix else {
            let errors = reading.report.findings.iter().filter(|finding| finding.severity == Severity::Error);
            let words: Vec<String> = errors.take(3).map(|finding| finding.message.clone()).collect();
            return Err(format!("it is not a compatibility matrix: {}", words.join("; ")));
        };
        self.status.source = self.place.to_string();
        self.status.published = matrix.published.to_string();
        self.status.digest = digest;
        self.current = matrix;
        self.settled = true;
        Ok(())
    }

    /// Nothing if it has not changed.
    async fn download(&mut self, url: &str) -> Result<Option<Found>, String> {
        let http = if let Some(http) = &self.http {
            http.clone()
        } else {
            let built = reqwest::Client::builder().timeout(PATIENCE).https_only(true).build();
            self.http.insert(built.map_err(|error| chain(&error))?).clone()
        };
        self.asked = Some(Instant::now());
        let mut request = http.get(url);
        if let Some(etag) = self.etag.as_ref().filter(|_| self.status.refused.is_none()) {
            request = request.header("if-none-match", etag);
        }
        let answer = request.send().await.map_err(|error| chain(&error))?;
        if answer.status() == reqwest::StatusCode::NOT_MODIFIED {
            return Ok(None);
        }
        let etag = answer.headers().get("etag").and_then(|etag| etag.to_str().ok()).map(str::to_owned);
        let text = body(answer).await?;
        let signature = http.get(format!("{url}.sig")).send().await.map_err(|error| chain(&error))?;
        let signature = if signature.status().is_success() { Some(body(signature).await?) } else { None };
        self.etag = etag;
        Ok(Some(Found { text, signature }))
    }
}

/// A text of limited size.
async fn body(mut answer: reqwest::Response) -> Result<String, String> {
    if !answer.status().is_success() {
        return Err(format!("the server answers with HTTP status {}", answer.status().as_u16()));
    }
    let mut bytes = Vec::new();
    while let Some(chunk) = answer.chunk().await.map_err(|error| chain(&error))? {
        bytes.extend_from_slice(&chunk);
        if bytes.len() > LIMITS.bytes {
            return Err(format!("it is larger than {} bytes", LIMITS.bytes));
        }
    }
    String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())
}

async fn file(path: &std::path::Path) -> Result<Found, String> {
    let size = fs_err::tokio::metadata(path).await.map_err(|error| error.to_string())?.len();
    if size > LIMITS.bytes as u64 {
        return Err(format!("it is larger than {} bytes", LIMITS.bytes));
    }
    let text = fs_err::tokio::read_to_string(path).await.map_err(|error| error.to_string())?;
    let mut beside = path.as_os_str().to_owned();
    beside.push(".sig");
    let signature = fs_err::tokio::read_to_string(beside).await.ok();
    Ok(Found { text, signature })
}

async fn config_map(client: &Client, namespace: &str, name: &str) -> Result<Found, String> {
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
    let found = call(&format!("reading the ConfigMap `{name}`"), maps.get_opt(name)).await;
    let map =
        found.map_err(|error| chain(&error))?.ok_or_else(|| format!("there is no ConfigMap `{name}`"))?;
    let mut data = map.data.unwrap_or_default();
    let text = data.remove(KEY).ok_or_else(|| format!("the ConfigMap `{name}` has no key `{KEY}`"))?;
    Ok(Found { text, signature: data.remove(SIGNATURE_KEY) })
}

fn hash(text: &str) -> String {
    digest(&SHA256, text.as_bytes()).as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}
