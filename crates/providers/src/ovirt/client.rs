//! A client of one engine: one token, fetched when it is first needed and again when it has expired.

mod answer;
mod search;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use reqwest::{Method, RequestBuilder};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use tokio::sync::Mutex;
use tracing::debug;
use uuid::Uuid;

use self::answer::Answer;
pub use self::search::Query;
use self::search::encoded;
use super::error::{Cause, Error};
use crate::connector::{Proxy, Trust, http_client};
use crate::transport::in_plain_words;
use crate::trust_error::TrustError;

const SCOPE: &str = "ovirt-app-api";
/// Objects of an answer: more come in further ones.
const PAGE: usize = 100;
/// How long a goodbye may take.
const LOGOUT_TIMEOUT: Duration = Duration::from_secs(10);

/// Where an engine is, who logs in, and how its certificate is verified.
#[derive(Debug, Clone)]
pub struct Server {
    /// As the user wrote it: `https://ENGINE/ovirt-engine/api`.
    pub url: String,
    /// With its profile: `admin@internal`, or with Keycloak `admin@ovirt@internalsso`.
    pub user: String,
    pub password: SecretString,
    pub trust: Trust,
    pub proxy: Proxy,
    /// The longest a call may take.
    pub timeout: Duration,
}

impl Server {
    /// The engine's name, and its port where it is not the usual one.
    pub fn name(&self) -> &str {
        let rest = self.url.split_once("://").map_or(&*self.url, |(_, rest)| rest);
        let host = rest.split('/').next().unwrap_or(rest);
        host.strip_suffix(":443").unwrap_or(host)
    }

    /// What everything of the engine is below: `https://ENGINE/ovirt-engine`.
    fn base(&self) -> String {
        let url = self.url.trim_end_matches('/');
        let url = url.strip_suffix("/api").unwrap_or(url).trim_end_matches('/');
        let is_host_alone = url.split_once("://").is_some_and(|(_, rest)| !rest.contains('/'));
        if is_host_alone { format!("{url}/ovirt-engine") } else { url.to_owned() }
    }
}

/// A client of one engine. Clones share token and connections.
#[derive(Debug, Clone)]
pub struct Client {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    server: Server,
    name: Arc<str>,
    base: String,
    http: reqwest::Client,
    session: Mutex<Session>,
    /// The user is no administrator: reads are only answered if they ask for what this user may see.
    is_filtered: AtomicBool,
}

/// A token that turns out to have expired is replaced by the call that notices first.
#[derive(Debug, Default)]
struct Session {
    token: Option<Arc<SecretString>>,
    closed: bool,
}

impl Client {
    /// Nothing is sent yet.
    pub fn new(server: Server) -> Result<Self, Error> {
        let name: Arc<str> = server.name().into();
        let http = http_client(&server.trust, &server.proxy, server.timeout).map_err(|reason| Error {
            server: name.clone(),
            doing: "setting up".into(),
            source: Cause::Setup(reason),
        })?;
        let base = server.base();
        Ok(Client {
            inner: Arc::new(Inner {
                name,
                base,
                http,
                session: Mutex::default(),
                is_filtered: AtomicBool::new(false),
                server,
            }),
        })
    }

    pub fn user(&self) -> &str {
        &self.inner.server.user
    }

    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// Logs in unless that was done, and says what the engine says of itself.
    pub async fn root(&self) -> Result<Value, Error> {
        self.get("logging in", "").await
    }

    /// One object, or a collection in one piece. The path is below `/ovirt-engine/api`.
    pub async fn get(&self, doing: &str, path: &str) -> Result<Value, Error> {
        self.call(doing, Method::GET, path, None, None).await
    }

    /// Creates, or does; the correlation id is what jobs and events of it carry.
    pub async fn post(
        &self,
        doing: &str,
        path: &str,
        body: &Value,
        correlation: Uuid,
    ) -> Result<Value, Error> {
        self.call(doing, Method::POST, path, Some(body), Some(correlation)).await
    }

    pub async fn put(
        &self,
        doing: &str,
        path: &str,
        body: &Value,
        correlation: Uuid,
    ) -> Result<Value, Error> {
        self.call(doing, Method::PUT, path, Some(body), Some(correlation)).await
    }

    /// What is gone already is as wanted.
    pub async fn delete(&self, doing: &str, path: &str, correlation: Uuid) -> Result<(), Error> {
        match self.call(doing, Method::DELETE, path, None, Some(correlation)).await {
            Err(error) if error.is_not_found() => Ok(()),
            answer => answer.map(drop),
        }
    }

    /// All objects of a collection that a query finds, page by page.
    pub async fn list(&self, doing: &str, query: &Query<'_>) -> Result<Vec<Value>, Error> {
        let mut objects: Vec<Value> = Vec::new();
        for page in 1.. {
            let answer = self.get(doing, &query.path(page, PAGE)).await?;
            let found = search::items(answer, query.key);
            let is_last = found.len() < PAGE || !query.has_pages();
            // What was made or removed meanwhile moves others to another page.
            let is_new = |one: &Value| objects.iter().all(|other| other["id"] != one["id"]);
            let new: Vec<Value> = found.into_iter().filter(|one| is_new(one)).collect();
            objects.extend(new);
            if is_last {
                break;
            }
        }
        Ok(objects)
    }

    /// Ends the session. Nothing logs in after that.
    pub async fn log_out(&self) {
        let mut session = self.inner.session.lock().await;
        session.closed = true;
        let Some(token) = session.token.take() else { return };
        let form = [("scope", SCOPE), ("token", token.expose_secret())];
        let goodbye = self.sso("services/sso-logout", &form).timeout(LOGOUT_TIMEOUT).send().await;
        if let Err(error) = goodbye {
            debug!(server = %self.inner.name, error = %error.without_url(), "logging out");
        }
    }

    async fn call(
        &self,
        doing: &str,
        method: Method,
        path: &str,
        body: Option<&Value>,
        correlation: Option<Uuid>,
    ) -> Result<Value, Error> {
        let token = self.token(doing, None).await?;
        let was_filtered = self.inner.is_filtered.load(Ordering::Relaxed);
        match self.attempt(doing, &method, path, body, correlation, &token).await {
            // It did not act: it did not know who asks.
            Err(Error { source: Cause::SessionLost, .. }) => {
                let token = self.token(doing, Some(&token)).await?;
                self.attempt(doing, &method, path, body, correlation, &token).await
            }
            Err(error) if error.is_forbidden() && method == Method::GET && !was_filtered => {
                self.inner.is_filtered.store(true, Ordering::Relaxed);
                self.attempt(doing, &method, path, body, correlation, &token).await
            }
            answer => answer,
        }
    }

    async fn attempt(
        &self,
        doing: &str,
        method: &Method,
        path: &str,
        body: Option<&Value>,
        correlation: Option<Uuid>,
        token: &SecretString,
    ) -> Result<Value, Error> {
        let path = path.trim_start_matches('/');
        let url = format!("{}/api/{path}", self.inner.base);
        let mut request = self.inner.http.request(method.clone(), url.trim_end_matches('/'));
        request = request.bearer_auth(token.expose_secret()).header("Version", "4");
        if *method == Method::GET && self.inner.is_filtered.load(Ordering::Relaxed) {
            request = request.header("Filter", "true");
        }
        if let Some(body) = body {
            request = request.json(body);
        }
        if let Some(correlation) = correlation {
            request = request.header("Correlation-Id", correlation.to_string());
        }
        let answer = self.exchange(doing, request).await?;
        debug!(server = %self.inner.name, %method, path, status = answer.status, "{doing}");
        answer.into_value().map_err(|source| self.error(doing, source))
    }

    /// The token; if it is the one that is not known any more, another one.
    async fn token(&self, doing: &str, lost: Option<&Arc<SecretString>>) -> Result<Arc<SecretString>, Error> {
        let mut session = self.inner.session.lock().await;
        if session.closed {
            return Err(self.error(doing, Cause::Setup("the session was closed by this program".to_owned())));
        }
        match &session.token {
            Some(token) if lost.is_none_or(|lost| !Arc::ptr_eq(lost, token)) => Ok(token.clone()),
            _ => {
                let token = Arc::new(self.log_in(doing).await?);
                session.token = Some(token.clone());
                Ok(token)
            }
        }
    }

    async fn log_in(&self, doing: &str) -> Result<SecretString, Error> {
        let Server { user, password, .. } = &self.inner.server;
        let form = [
            ("grant_type", "password"),
            ("scope", SCOPE),
            ("username", user),
            ("password", password.expose_secret()),
        ];
        let answer = self.exchange(doing, self.sso("sso/oauth/token", &form)).await?;
        answer.into_token(user).map_err(|source| self.error(doing, source))
    }

    fn sso(&self, path: &str, form: &[(&str, &str)]) -> RequestBuilder {
        let fields = form.iter().map(|(key, value)| format!("{key}={}", encoded(value)));
        let body = fields.collect::<Vec<_>>().join("&");
        let request = self.inner.http.post(format!("{}/{path}", self.inner.base));
        request.header(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded")).body(body)
    }

    async fn exchange(&self, doing: &str, request: RequestBuilder) -> Result<Answer, Error> {
        let timeout = self.inner.server.timeout;
        let failed = |error: reqwest::Error| self.error(doing, cause(error, timeout));
        // Faults are texts of the engine, in the reader's language if it is not told otherwise.
        let request = request
            .timeout(timeout)
            .header(ACCEPT, HeaderValue::from_static("application/json"))
            .header("Accept-Language", "en-US");
        let response = request.send().await.map_err(failed)?;
        Answer::read(response).await.map_err(failed)
    }

    fn error(&self, doing: &str, source: Cause) -> Error {
        Error { server: self.inner.name.clone(), doing: doing.into(), source }
    }
}

fn cause(error: reqwest::Error, timeout: Duration) -> Cause {
    let error = error.without_url();
    if let Some(reason) = TrustError::find(&error) {
        return Cause::Untrusted(reason);
    }
    if error.is_timeout() {
        return Cause::Timeout(timeout);
    }
    if error.is_connect() {
        return Cause::Connect(in_plain_words(error));
    }
    if error.is_builder() {
        return Cause::Setup("`ovirt_url` is not a URL with https".to_owned());
    }
    Cause::Broken(in_plain_words(error))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rstest::rstest;

    use super::{Proxy, Server, Trust};

    #[rstest]
    #[case(
        "https://engine.example.com/ovirt-engine/api",
        "engine.example.com",
        "https://engine.example.com/ovirt-engine"
    )]
    #[case("https://engine:8443/ovirt-engine/api/", "engine:8443", "https://engine:8443/ovirt-engine")]
    #[case("https://engine:443/", "engine", "https://engine:443/ovirt-engine")]
    #[case("https://engine/elsewhere/ovirt-engine", "engine", "https://engine/elsewhere/ovirt-engine")]
    fn urls_are_taken_as_people_write_them(#[case] url: &str, #[case] name: &str, #[case] base: &str) {
        let server = Server {
            url: url.to_owned(),
            user: "admin@internal".to_owned(),
            password: "x".into(),
            trust: Trust::System,
            proxy: Proxy::None,
            timeout: Duration::from_secs(1),
        };
        assert_eq!((server.name(), server.base().as_str()), (name, base));
    }
}
