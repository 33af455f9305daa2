//! Where the compatibility matrix comes from. One that is not signed, or not understood, is refused, and the one before
//! it stays.

use std::collections::BTreeMap;
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
use slipway_config::private_url::PrivateUrl;
use slipway_providers::cluster::call;
use slipway_providers::text::chain;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::runtime::trigger::Trigger;

/// How long each of two downloads may take, and one connection of them.
const DOWNLOAD_TIMEOUT: Duration = Duration::from_secs(30);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The keys of a ConfigMap.
const KEY: &str = "matrix.yaml";
const SIGNATURE_KEY: &str = "matrix.yaml.sig";
const AUTHORITIES_KEY: &str = "ca.crt";

/// Where a matrix is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MatrixSource {
    Embedded,
    /// Its signature is in the file beside it, with `.sig` at the end.
    File(PathBuf),
    /// In the operator's namespace.
    ConfigMap(String),
    /// Its signature is at the same address with `.sig` at the end of the path.
    Url(PrivateUrl),
}

impl FromStr for MatrixSource {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once(':') {
            _ if text == "embedded" => Ok(MatrixSource::Embedded),
            Some(("configmap", name)) if !name.is_empty() => Ok(MatrixSource::ConfigMap(name.to_owned())),
            Some(("https", _)) => {
                let url = PrivateUrl::from(text);
                if url.has_login_or_signature() {
                    return Err("the URL of a matrix has credentials or a signature, which are visible in the operator's pods \
                                would read"
                        .to_owned());
                }
                Ok(MatrixSource::Url(url))
            }
            Some(("http", _)) => Err("a matrix is fetched by https only".to_owned()),
            _ => Ok(MatrixSource::File(text.into())),
        }
    }
}

impl std::fmt::Display for MatrixSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            MatrixSource::Embedded => f.write_str("embedded"),
            MatrixSource::File(path) => write!(f, "{}", path.display()),
            MatrixSource::ConfigMap(name) => write!(f, "configmap:{name}"),
            MatrixSource::Url(url) => write!(f, "{url}"),
        }
    }
}

/// Where a matrix is, and whom it is taken from.
#[derive(Debug, Clone)]
pub struct Source {
    pub place: MatrixSource,
    /// Who may have signed it.
    pub keys: Vec<PublicKey>,
    /// A ConfigMap with the authorities that a server is trusted by, instead of those of the system.
    pub authorities: Option<String>,
    /// A proxy on the way to a server; without it that of the environment.
    pub proxy: Option<String>,
    /// A server is not asked more often than this.
    pub ask: Duration,
}

impl Default for Source {
    fn default() -> Self {
        Source {
            place: MatrixSource::Embedded,
            keys: Vec::new(),
            authorities: None,
            proxy: None,
            ask: Duration::from_mins(5),
        }
    }
}

/// A text and its signature.
#[derive(Debug)]
struct Found {
    text: String,
    signature: Option<String>,
}

/// What came from a server: nothing, if it has not changed.
type Downloaded = Result<Option<(Found, Option<String>)>, String>;

/// The matrix that is in use.
#[derive(Debug)]
pub struct Library {
    source: Source,
    etag: Option<String>,
    asked: Option<Instant>,
    download: Option<JoinHandle<Downloaded>>,
    /// Told when a download has ended.
    news: Trigger,
    current: Matrix,
    status: MatrixStatus,
    /// The matrix in use is the one that was asked for.
    settled: bool,
    /// When the newest one of this source was published. Days compare like their texts.
    latest: Option<String>,
}

impl Library {
    /// Starts with the one that is built in.
    pub fn new(source: Source, news: Trigger) -> Result<Self, String> {
        let reading = read(EMBEDDED);
        let current = reading.matrix.ok_or("the built-in matrix cannot be read")?;
        let status = MatrixStatus {
            source: MatrixSource::Embedded.to_string(),
            published: current.published.to_string(),
            digest: hash(EMBEDDED),
            refused: None,
        };
        let settled = source.place == MatrixSource::Embedded;
        Ok(Library {
            source,
            etag: None,
            asked: None,
            download: None,
            news,
            current,
            status,
            settled,
            latest: None,
        })
    }

    /// What another copy of the operator, or this one before it was started again, took from the same source.
    pub fn recall(&mut self, before: Option<&MatrixStatus>) {
        let same = before.filter(|before| before.source == self.source.place.to_string());
        self.latest = self.latest.take().max(same.map(|before| before.published.clone()));
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

    /// Looks again. A server is waited for by somebody else, who tells when it has answered.
    pub async fn refresh(&mut self, client: &Client, namespace: &str) {
        let found = match self.source.place.clone() {
            MatrixSource::Embedded => return,
            MatrixSource::File(path) => file(&path).await,
            MatrixSource::ConfigMap(name) => config_map(client, namespace, &name).await,
            MatrixSource::Url(url) => match self.downloaded(client, namespace, url.expose()).await {
                None | Some(Ok(None)) => return,
                Some(Ok(Some((found, etag)))) => {
                    self.etag = etag;
                    Ok(found)
                }
                Some(Err(error)) => Err(error),
            },
        };
        let accepted = found.and_then(|found| self.accept(&found));
        let (refused, place) = (accepted.err(), &self.source.place);
        if refused != self.status.refused {
            match &refused {
                Some(reason) => tracing::warn!(matrix = %place, reason, "a matrix was refused"),
                None => {
                    tracing::info!(matrix = %place, digest = self.status.digest, "a matrix is in use");
                }
            }
        }
        self.status.refused = refused;
    }

    /// What a download has come to, if one has ended. Starts one when it is time.
    async fn downloaded(&mut self, client: &Client, namespace: &str, url: &str) -> Option<Downloaded> {
        if let Some(download) = self.download.take_if(|download| download.is_finished()) {
            let ended = download.await;
            return Some(ended.unwrap_or_else(|_| Err("the download was cut off".to_owned())));
        }
        if self.download.is_none() && self.asked.is_none_or(|asked| asked.elapsed() >= self.source.ask) {
            self.asked = Some(Instant::now());
            // Only of a matrix that was taken it is enough to know that it has not changed.
            let etag = self.etag.clone().filter(|_| self.status.refused.is_none() && self.settled);
            let (client, namespace) = (client.clone(), namespace.to_owned());
            let (source, url, news) = (self.source.clone(), url.to_owned(), self.news.clone());
            self.download = Some(tokio::spawn(async move {
                let downloaded = download(&client, &namespace, &source, &url, etag.as_deref()).await;
                news.wake();
                downloaded
            }));
        }
        None
    }

    fn accept(&mut self, found: &Found) -> Result<(), String> {
        let digest = hash(&found.text);
        verify(&found.text, found.signature.as_deref(), &self.source.keys)
            .map_err(|error| error.to_string())?;
        if self.settled && digest == self.status.digest {
            return Ok(());
        }
        let reading = read(&found.text);
        let Some(matrix) = reading.matrix else {
            let errors = reading.report.findings.iter().filter(|finding| finding.severity == Severity::Error);
            let words: Vec<String> = errors.take(3).map(|finding| finding.message.clone()).collect();
            return Err(format!("it is not a compatibility matrix: {}", words.join("; ")));
        };
        // An old one is signed as well as a new one: versions that were withdrawn since would come back.
        let published = matrix.published.to_string();
        if let Some(latest) = self.latest.as_ref().filter(|latest| published < **latest) {
            return Err(format!(
                "it was published on {published}, before the one that was in use, of {latest}"
            ));
        }
        self.latest = Some(published.clone());
        self.status.source = self.source.place.to_string();
        self.status.published = published;
        self.status.digest = digest;
        self.current = matrix;
        self.settled = true;
        Ok(())
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        if let Some(download) = &self.download {
            download.abort();
        }
    }
}

/// Both files of a server, with connections of their own: it is minutes until the next.
async fn download(
    client: &Client,
    namespace: &str,
    source: &Source,
    url: &str,
    etag: Option<&str>,
) -> Downloaded {
    let http = connector(client, namespace, source).await?;
    let mut request = http.get(url);
    if let Some(etag) = etag {
        request = request.header("if-none-match", etag);
    }
    let answer = request.send().await.map_err(|error| chain(&error))?;
    if etag.is_some() && answer.status() == reqwest::StatusCode::NOT_MODIFIED {
        return Ok(None);
    }
    let etag = answer.headers().get("etag").and_then(|etag| etag.to_str().ok()).map(str::to_owned);
    let text = body(answer).await?;
    let signature = http.get(beside(url)).send().await.map_err(|error| chain(&error))?;
    let signature = if signature.status().is_success() { Some(body(signature).await?) } else { None };
    Ok(Some((Found { text, signature }, etag)))
}

/// Where the signature of a matrix is.
fn beside(url: &str) -> String {
    let end = url.find(['?', '#']).unwrap_or(url.len());
    let (path, rest) = url.split_at(end);
    format!("{path}.sig{rest}")
}

async fn connector(client: &Client, namespace: &str, source: &Source) -> Result<reqwest::Client, String> {
    let mut builder = reqwest::Client::builder()
        .timeout(DOWNLOAD_TIMEOUT)
        .connect_timeout(CONNECT_TIMEOUT)
        .https_only(true);
    if let Some(name) = &source.authorities {
        let pem = key_of(client, namespace, name, AUTHORITIES_KEY).await?.0;
        let bad = || format!("the key `{AUTHORITIES_KEY}` of the ConfigMap `{name}` holds no certificate");
        let authorities = reqwest::Certificate::from_pem_bundle(pem.as_bytes()).map_err(|_| bad())?;
        if authorities.is_empty() {
            return Err(bad());
        }
        builder = builder.tls_certs_only(authorities);
    }
    if let Some(proxy) = &source.proxy {
        let proxy = reqwest::Proxy::https(proxy).map_err(|_| "the proxy is not a URL".to_owned())?;
        builder = builder.proxy(proxy);
    }
    builder.build().map_err(|error| chain(&error))
}

/// A text of limited size.
async fn body(mut answer: reqwest::Response) -> Result<String, String> {
    if !answer.status().is_success() {
        return Err(format!("the answer has HTTP status {}", answer.status().as_u16()));
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
    let (text, mut data) = key_of(client, namespace, name, KEY).await?;
    Ok(Found { text, signature: data.remove(SIGNATURE_KEY) })
}

/// A key of a ConfigMap, and its others.
async fn key_of(
    client: &Client,
    namespace: &str,
    name: &str,
    key: &str,
) -> Result<(String, BTreeMap<String, String>), String> {
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
    let found = call(&format!("reading the ConfigMap `{name}`"), maps.get_opt(name)).await;
    let map =
        found.map_err(|error| chain(&error))?.ok_or_else(|| format!("there is no ConfigMap `{name}`"))?;
    let mut data = map.data.unwrap_or_default();
    let text = data.remove(key).ok_or_else(|| format!("the ConfigMap `{name}` has no key `{key}`"))?;
    Ok((text, data))
}

fn hash(text: &str) -> String {
    digest(&SHA256, text.as_bytes()).as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rstest::rstest;
    use slipway_api::slipway::vdo_status::MatrixStatus;
    use slipway_assets::drivers::signature::{draw, sign};
    use slipway_config::matrix::EMBEDDED;

    use super::{Found, Library, MatrixSource, Source};
    use crate::runtime::trigger::Trigger;

    #[rstest]
    #[case::plain("https://matrix.example.com/m@trix.yaml", true)]
    #[case::branch("https://matrix.example.com/matrix.yaml?ref=main", true)]
    #[case::signed("https://matrix.example.com/matrix.yaml?sig=hunter2", false)]
    #[case::login("https://user:hunter2@matrix.example.com/matrix.yaml", false)]
    #[case::user("https://user@matrix.example.com", false)]
    #[case::http("http://matrix.example.com/matrix.yaml", false)]
    fn a_place_has_no_login(#[case] text: &str, #[case] good: bool) {
        let place = text.parse::<MatrixSource>();
        assert_eq!(place.is_ok(), good);
        assert!(!format!("{place:?}").contains("hunter2"));
    }

    #[test]
    fn a_signature_is_beside_the_file() {
        assert_eq!(super::beside("https://h/m.yaml"), "https://h/m.yaml.sig");
        assert_eq!(super::beside("https://h/m.yaml?ref=main"), "https://h/m.yaml.sig?ref=main");
    }

    /// One that was signed once is not taken for ever.
    #[test]
    fn an_older_matrix_does_not_come_back() {
        let (key, public) = draw().unwrap();
        let source = || Source {
            place: MatrixSource::ConfigMap("matrix".to_owned()),
            keys: vec![public.clone()],
            ..Source::default()
        };
        let found = |day: &str| {
            let line = EMBEDDED.lines().find(|line| line.starts_with("published:")).unwrap();
            let text = EMBEDDED.replace(line, &format!("published: {day}"));
            let signature = Some(sign(&text, &key).unwrap().0);
            Found { text, signature }
        };
        let mut library = Library::new(source(), Trigger::new(Duration::ZERO)).unwrap();
        library.accept(&found("2027-02-01")).unwrap();
        let refused = library.accept(&found("2027-01-31")).unwrap_err();
        assert!(refused.contains("before the one that was in use, of 2027-02-01"), "{refused}");
        assert_eq!(library.status().published, "2027-02-01");
        library.accept(&found("2027-02-02")).unwrap();

        // The operator was started again; a matrix of another source says nothing about this one.
        for (from, good) in [("configmap:matrix", false), ("embedded", true)] {
            let before = MatrixStatus { source: from.to_owned(), ..library.status().clone() };
            let mut again = Library::new(source(), Trigger::new(Duration::ZERO)).unwrap();
            again.recall(Some(&before));
            assert_eq!(again.accept(&found("2027-02-01")).is_ok(), good, "{from}");
        }
    }
}
