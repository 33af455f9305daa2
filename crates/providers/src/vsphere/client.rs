//! A client of one vCenter: one SOAP session, made when it is first needed and again when it has expired.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, COOKIE, HeaderMap, RETRY_AFTER, SET_COOKIE};
use secrecy::{ExposeSecret, SecretString};
use tokio::sync::OnceCell;
use tracing::{Instrument, debug, debug_span};

use super::endpoint::{Endpoint, Login, Proxy};
use super::error::{Cause, Error, Retry};
use super::fault::Fault;
use super::moref::{MoRef, Reference};
use super::soap::{Body, Element, Malformed, element};
use super::tasks::Tracker;
use super::tls;

/// More than a page of a property collector ever is.
const LARGEST_REPLY: usize = 256 << 20;

/// How often a call that changes nothing is repeated, and how long the first pause is.
const ATTEMPTS: u32 = 4;
const FIRST_PAUSE: Duration = Duration::from_millis(200);

/// The one object whose id is the same everywhere.
fn service_instance() -> Reference {
    Reference::new("ServiceInstance", "ServiceInstance")
}

/// A client of one vCenter. Clones share session and connections.
#[derive(Debug, Clone)]
pub struct Client {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    endpoint: Endpoint,
    login: Login,
    http: reqwest::Client,
    content: OnceCell<ServiceContent>,
    session: Mutex<Arc<Session>>,
    rest: Mutex<Arc<Session>>,
    tracker: Tracker,
    placement: tokio::sync::Mutex<()>,
}

/// One login. A session that turns out to have expired is replaced as a whole, by whoever notices first.
#[derive(Debug, Default)]
pub(super) struct Session {
    /// The cookie, or the token of a REST session.
    pub(super) cookie: OnceCell<SecretString>,
}

/// What the vCenter says of itself, and where its managers are.
#[derive(Debug, Clone)]
pub struct ServiceContent {
    pub about: About,
    element: Element,
}

impl ServiceContent {
    /// A manager, such as `propertyCollector`.
    pub fn manager(&self, name: &'static str) -> Result<Reference, Malformed> {
        self.element.need(name).map(Reference::of)
    }
}

/// Product and version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct About {
    pub full_name: String,
    pub version: String,
    pub build: String,
    pub api_version: String,
    pub instance_uuid: String,
}

impl Client {
    /// Nothing is sent yet.
    pub fn new(endpoint: Endpoint, login: Login) -> Result<Self, Error> {
        let setup = |source: String| Error {
            server: endpoint.server.clone(),
            method: "setting up".into(),
            source: Cause::Setup(source),
        };
        let mut builder = reqwest::Client::builder()
            .connect_timeout(endpoint.timeout.min(Duration::from_secs(30)))
            .redirect(reqwest::redirect::Policy::none())
            .https_only(true)
            .user_agent(concat!("slipway/", env!("CARGO_PKG_VERSION")));
        if let Some(config) = tls::config(&endpoint.trust).map_err(setup)? {
            builder = builder.tls_backend_preconfigured(config);
        }
        builder = match &endpoint.proxy {
            Proxy::FromEnvironment => builder,
            Proxy::None => builder.no_proxy(),
            Proxy::Url(url) => {
                builder.proxy(reqwest::Proxy::https(url).map_err(|error| setup(error.to_string()))?)
            }
        };
        let http = builder.build().map_err(|error| setup(error.to_string()))?;
        let (session, rest) = (Mutex::default(), Mutex::default());
        let (content, tracker, placement) = Default::default();
        let inner = Inner { endpoint, login, http, content, session, rest, tracker, placement };
        Ok(Client { inner: Arc::new(inner) })
    }

    pub fn server(&self) -> &Arc<str> {
        &self.inner.endpoint.server
    }

    /// A reference of this vCenter.
    pub fn moref(&self, reference: Reference) -> MoRef {
        MoRef { vcenter: self.server().clone(), reference }
    }

    pub(crate) fn error(&self, method: &str, source: impl Into<Cause>) -> Error {
        Error { server: self.server().clone(), method: method.into(), source: source.into() }
    }

    /// What the vCenter says of itself. Needs no session and is asked once.
    pub async fn content(&self) -> Result<&ServiceContent, Error> {
        let method = "RetrieveServiceContent";
        self.inner
            .content
            .get_or_try_init(|| async {
                let (this, body) = (service_instance(), Body::new());
                let deadline = self.inner.endpoint.timeout;
                let ask = || self.post(method, &this, &body, None, deadline);
                let (reply, _) = self.with_retries(ask).await?;
                let element = reply.need("returnval").map_err(|cause| self.error(method, cause))?.clone();
                let about = element.need("about").map_err(|cause| self.error(method, cause))?;
                let text = |name: &str| about.text_of(name).to_owned();
                let about = About {
                    full_name: text("fullName"),
                    version: text("version"),
                    build: text("build"),
                    api_version: text("apiVersion"),
                    instance_uuid: text("instanceUuid"),
                };
                Ok(ServiceContent { about, element })
            })
            .await
    }

    /// A manager of the vCenter, such as `propertyCollector`.
    pub async fn manager(&self, name: &'static str) -> Result<MoRef, Error> {
        let reference = self.content().await?.manager(name).map_err(|cause| self.error(name, cause))?;
        Ok(self.moref(reference))
    }

    /// Calls a method that may change something: once, unless the server surely did not act.
    pub async fn call(&self, this: &MoRef, method: &str, body: &Body) -> Result<Element, Error> {
        self.call_within(this, method, body, self.inner.endpoint.timeout).await
    }

    /// Calls a method that changes nothing; it is repeated after failures that may pass.
    pub async fn read(&self, this: &MoRef, method: &str, body: &Body) -> Result<Element, Error> {
        self.with_retries(|| self.call(this, method, body)).await
    }

    /// Like [`Client::call`], with another deadline.
    pub async fn call_within(
        &self,
        this: &MoRef,
        method: &str,
        body: &Body,
        deadline: Duration,
    ) -> Result<Element, Error> {
        if this.vcenter != *self.server() {
            return Err(self.error(method, Cause::Stranger { object: this.to_string() }));
        }
        let session = self.session();
        let cookie = self.cookie(&session).await?;
        let result = self.post(method, &this.reference, body, Some(cookie), deadline).await;
        let expired = matches!(&result, Err(error) if error.retry() == Retry::LogIn);
        if !expired {
            return result.map(|(reply, _)| reply);
        }
        // Without a session the server did not act, so the call can be repeated, whatever it does.
        debug!(server = %self.server(), "the session has expired");
        let session = replace(&self.inner.session, &session);
        let cookie = self.cookie(&session).await?;
        self.post(method, &this.reference, body, Some(cookie), deadline).await.map(|(reply, _)| reply)
    }

    /// Ends the sessions, if there are any. Who still waits for a task is told.
    pub async fn logout(&self) -> Result<(), Error> {
        self.inner.tracker.stop();
        let rest = self.rest_logout().await;
        let session = self.session();
        if let Some(cookie) = session.cookie.get() {
            let manager = self.manager("sessionManager").await?;
            replace(&self.inner.session, &session);
            let deadline = self.inner.endpoint.timeout.min(Duration::from_secs(10));
            match self.post("Logout", &manager.reference, &Body::new(), Some(cookie), deadline).await {
                Err(error) if error.retry() != Retry::LogIn => return Err(error),
                // An expired session is as good as an ended one.
                Ok(_) | Err(_) => {}
            }
        }
        rest
    }

    fn session(&self) -> Arc<Session> {
        current(&self.inner.session)
    }

    pub(super) fn rest_session(&self) -> Arc<Session> {
        current(&self.inner.rest)
    }

    pub(super) fn replace_rest(&self, expired: &Arc<Session>) -> Arc<Session> {
        replace(&self.inner.rest, expired)
    }

    pub(super) fn tracker(&self) -> &Tracker {
        &self.inner.tracker
    }

    /// Whoever holds it is the only one of this client that edits the groups of clusters.
    pub(super) async fn placement_turn(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.inner.placement.lock().await
    }

    pub(super) fn parts(&self) -> (&Endpoint, &Login, &reqwest::Client) {
        (&self.inner.endpoint, &self.inner.login, &self.inner.http)
    }

    /// The cookie of a session; the first one to ask logs in, the others wait for it.
    async fn cookie<'a>(&self, session: &'a Session) -> Result<&'a SecretString, Error> {
        session.cookie.get_or_try_init(|| self.with_retries(|| self.log_in())).await
    }

    async fn log_in(&self) -> Result<SecretString, Error> {
        let manager = self.manager("sessionManager").await?;
        let login = &self.inner.login;
        let body = Body::new()
            .text("userName", &login.user)
            .text("password", login.password.expose_secret())
            .text("locale", "en_US");
        let (_, cookie) =
            self.post("Login", &manager.reference, &body, None, self.inner.endpoint.timeout).await?;
        debug!(server = %self.server(), user = %login.user, "logged in");
        cookie.ok_or_else(|| self.error("Login", Malformed::Missing("session cookie")))
    }

    /// One exchange: the content of the response element, and the session cookie if one was set.
    async fn post(
        &self,
        method: &str,
        this: &Reference,
        body: &Body,
        cookie: Option<&SecretString>,
        deadline: Duration,
    ) -> Result<(Element, Option<SecretString>), Error> {
        let endpoint = &self.inner.endpoint;
        let version = self.inner.content.get().map_or("", |content| &content.about.api_version);
        let action = if version.is_empty() { "urn:vim25".to_owned() } else { format!("urn:vim25/{version}") };
        let mut request = self
            .inner
            .http
            .post(format!("{}/sdk", endpoint.url()))
            .timeout(deadline)
            .header(CONTENT_TYPE, "text/xml; charset=utf-8")
            .header("SOAPAction", action)
            .body(body.envelope(method, this, "urn:vim25"));
        if let Some(cookie) = cookie {
            request = request.header(COOKIE, cookie.expose_secret());
        }
        let span = debug_span!("call", server = %endpoint.server, method, object = %this);
        let exchange = async {
            let response = request.send().await.map_err(|error| cause(error, deadline))?;
            let (status, headers) = (response.status().as_u16(), response.headers().clone());
            let reply = read_reply(response, deadline).await?;
            understand(method, status, &headers, &reply)
        };
        exchange.instrument(span).await.map_err(|source| self.error(method, source))
    }

    /// Repeats what fails for reasons that may pass.
    pub(super) async fn with_retries<T, F: Future<Output = Result<T, Error>>>(
        &self,
        mut attempt: impl FnMut() -> F,
    ) -> Result<T, Error> {
        let mut pause = FIRST_PAUSE;
        for _ in 1..ATTEMPTS {
            match attempt().await {
                Err(error) => match error.retry() {
                    Retry::Later(wanted) => {
                        debug!(server = %self.server(), %error, "trying again");
                        tokio::time::sleep(wanted.unwrap_or(pause).min(Duration::from_secs(30))).await;
                        pause *= 2;
                    }
                    Retry::LogIn | Retry::Never => return Err(error),
                },
                done => return done,
            }
        }
        attempt().await
    }
}

fn current(slot: &Mutex<Arc<Session>>) -> Arc<Session> {
    slot.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Drops a session that has expired, unless somebody else has replaced it already.
fn replace(slot: &Mutex<Arc<Session>>, expired: &Arc<Session>) -> Arc<Session> {
    let mut current = slot.lock().unwrap_or_else(PoisonError::into_inner);
    if Arc::ptr_eq(&current, expired) {
        *current = Arc::default();
    }
    current.clone()
}

/// The whole body, as far as it is bearable.
pub(super) async fn read_reply(
    mut response: reqwest::Response,
    deadline: Duration,
) -> Result<Vec<u8>, Cause> {
    let mut reply = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| cause(error, deadline))? {
        if reply.len() + chunk.len() > LARGEST_REPLY {
            return Err(Cause::TooLarge(LARGEST_REPLY));
        }
        reply.extend_from_slice(&chunk);
    }
    Ok(reply)
}

/// A reply or a fault. Faults come with status 500; anything else is not from the API.
fn understand(
    method: &str,
    status: u16,
    headers: &HeaderMap,
    reply: &[u8],
) -> Result<(Element, Option<SecretString>), Cause> {
    if status != 200 && status != 500 {
        let seconds = headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
        return Err(Cause::Status { status, retry_after: seconds.map(Duration::from_secs) });
    }
    let envelope = match element::parse(reply) {
        Err(_) if status == 500 => return Err(Cause::Status { status, retry_after: None }),
        parsed => parsed?,
    };
    let mut content = envelope.need("Body")?.children.iter();
    let Some(content) = content.next() else { return Err(Malformed::Missing("Body").into()) };
    if &*content.name == "Fault" {
        return Err(Fault::of_message(content).into());
    }
    if content.name.strip_suffix("Response") != Some(method) {
        return Err(Malformed::Missing("response").into());
    }
    let cookie = headers.get_all(SET_COOKIE).iter().find_map(|value| {
        let pair = value.to_str().ok()?.split(';').next()?.trim();
        pair.starts_with("vmware_soap_session").then(|| SecretString::from(pair))
    });
    Ok((content.clone(), cookie))
}

/// Sorts what the HTTP client reports.
pub(super) fn cause(error: reqwest::Error, deadline: Duration) -> Cause {
    // The address is part of every message above; the query never holds secrets, but is of no use either.
    let error = error.without_url();
    if error.is_timeout() {
        return Cause::Timeout(deadline);
    }
    if untrusted(&error) {
        return Cause::Untrusted(error.into());
    }
    if error.is_connect() { Cause::Connect(error.into()) } else { Cause::Broken(error.into()) }
}

/// Whether the certificate was the problem, somewhere down the chain of errors. What an I/O error wraps is not
/// its source.
fn untrusted(error: &(dyn std::error::Error + 'static)) -> bool {
    if let Some(error) = error.downcast_ref::<rustls::Error>() {
        return matches!(error, rustls::Error::InvalidCertificate(_));
    }
    let wrapped = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
    wrapped.is_some_and(|inner| untrusted(inner)) || error.source().is_some_and(untrusted)
}

impl From<Fault> for Cause {
    fn from(fault: Fault) -> Self {
        Cause::Fault(Box::new(fault))
    }
}
