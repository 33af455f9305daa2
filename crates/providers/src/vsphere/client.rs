//! A client of one vCenter: one SOAP session, made when it is first needed and again when it has expired.

mod exchange;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use tokio::sync::{OnceCell, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};
use tracing::{Instrument, debug};

use super::endpoint::{Endpoint, Login};
use super::error::{Cause, Error, Retry};
use super::moref::{MoRef, Reference};
use super::soap::{Body, Element, Malformed};
use super::tasks::Tracker;
use crate::connector::{Trust, http_client};
pub(super) use exchange::{Call, Service, VIM, cause, log_call, read_reply};

/// What errors call it, of either session.
const LOGIN: &str = "Login";

/// How often a call that changes nothing is repeated, and how long the first pause is.
const MAX_ATTEMPTS: u32 = 4;
const RETRY_INTERVAL: Duration = Duration::from_millis(200);

/// How long leaving waits for what is under way, for a login, and for the goodbye itself.
const LOGOUT_TIMEOUT: Duration = Duration::from_secs(10);

/// The same where the last call was not answered: the vCenter ends the session itself, after a while.
const SILENT_GOODBYE: Duration = Duration::from_secs(1);

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
    /// The volumes' service, once its version is known.
    volumes: OnceCell<Service>,
    /// Whether the client has left. Nothing logs in any more: nobody would end that session.
    closed: watch::Sender<bool>,
    /// Whether the last call was not answered.
    silent: AtomicBool,
    /// Work that goes on when whoever asked for it does not wait any more.
    detached: Mutex<JoinSet<()>>,
}

/// One login. A session that turns out to have expired is replaced as a whole, by whoever notices first.
#[derive(Debug, Default)]
pub(super) struct Session {
    /// The cookie, or the token of a REST session.
    pub(super) cookie: OnceCell<SecretString>,
    /// Whether it takes the place of another one.
    renewed: bool,
}

impl Session {
    /// The cookie; the first one to ask logs in, the others wait for it. A login that has been sent is not given up
    /// when nobody waits for it any more: the session it makes could not be ended.
    pub(super) async fn opened<F>(
        self: &Arc<Self>,
        client: &Client,
        log_in: impl Fn(Client, bool) -> F + Send + Sync + 'static,
    ) -> Result<&SecretString, Error>
    where
        F: Future<Output = Result<SecretString, Error>> + Send + 'static,
    {
        let method = LOGIN;
        if !self.cookie.initialized() {
            let (session, owner) = (self.clone(), client.clone());
            let login = async move {
                let attempt = async || {
                    owner.check_open(method)?;
                    owner.log_in_patiently(|| log_in(owner.clone(), session.renewed)).await
                };
                session.cookie.get_or_try_init(attempt).await.map(drop)
            };
            let login = tokio::spawn(login.in_current_span()).await;
            let login = login.map_err(|error| client.error(method, Cause::Setup(error.to_string())))?;
            login.map_err(|error| Error { method: method.into(), ..error })?;
        }
        self.cookie.get().ok_or_else(|| client.error(method, Malformed::Missing("session cookie")))
    }

    /// The cookie, if there is one or a login is under way that ends in time. One that ends later ends its session itself.
    pub(super) async fn left_open(&self, patience: Duration) -> Option<&SecretString> {
        timeout(patience, self.cookie.get_or_try_init(async || Err(()))).await.ok()?.ok()
    }
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
        let http = connector(&endpoint, &endpoint.trust).map_err(setup)?;
        let (session, rest) = (Mutex::default(), Mutex::default());
        let (content, tracker, placement, volumes) = Default::default();
        let (closed, silent, detached) =
            (watch::Sender::new(false), AtomicBool::new(false), Mutex::default());
        let inner = Inner {
            endpoint,
            login,
            http,
            content,
            session,
            rest,
            tracker,
            placement,
            volumes,
            closed,
            silent,
            detached,
        };
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
        self.inner.content.get_or_try_init(|| self.read_content()).await
    }

    async fn read_content(&self) -> Result<ServiceContent, Error> {
        let method = "RetrieveServiceContent";
        let (this, body) = (service_instance(), Body::new());
        let call = Call::new(&VIM, method, &this, &body);
        let ask = || self.post(call, None, self.inner.endpoint.timeout);
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
        self.call_at(&VIM, this, method, body, deadline).await
    }

    /// Calls a service of the vCenter that shares its session.
    pub(super) async fn call_at(
        &self,
        service: &Service,
        this: &MoRef,
        method: &str,
        body: &Body,
        deadline: Duration,
    ) -> Result<Element, Error> {
        if this.vcenter != *self.server() {
            return Err(self.error(method, Cause::Stranger { object: this.to_string() }));
        }
        let call = Call::new(service, method, &this.reference, body);
        let session = self.session();
        let cookie = self.cookie(&session).await?;
        let result = self.post(call, Some(cookie), deadline).await;
        let expired = matches!(&result, Err(error) if error.retry() == Retry::LogIn);
        if !expired {
            return result.map(|(reply, _)| reply);
        }
        // Without a session the server did not act, so the call can be repeated, whatever it does.
        self.check_open(method)?;
        debug!(server = %self.server(), "the session has expired");
        let session = replace(&self.inner.session, &session);
        let cookie = self.cookie(&session).await?;
        self.post(call, Some(cookie), deadline).await.map(|(reply, _)| reply)
    }

    /// Ends the sessions, if there are any, and with them the client: nothing logs in again. Who still waits for a task is
    /// told, and what goes on without anybody waiting is waited for.
    pub async fn logout(&self) -> Result<(), Error> {
        self.inner.closed.send_replace(true);
        self.inner.tracker.stop();
        let mut detached = std::mem::take(&mut *self.detached());
        // What takes longer meets a session that has ended.
        let _ = timeout(self.goodbye(), async { while detached.join_next().await.is_some() {} }).await;
        detached.detach_all();
        let (soap, rest) = tokio::join!(self.soap_logout(), self.rest_logout());
        soap.and(rest)
    }

    /// Does something whether or not anybody waits for it. Leaving waits for it, for a while.
    pub(super) fn spawn_detached(&self, work: impl Future<Output = ()> + Send + 'static) {
        // Without a runtime it cannot be done, and nobody can be told.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let mut detached = self.detached();
        while detached.try_join_next().is_some() {}
        detached.spawn_on(work.in_current_span(), &runtime);
    }

    fn detached(&self) -> std::sync::MutexGuard<'_, JoinSet<()>> {
        self.inner.detached.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the client leaves.
    pub(super) async fn closed(&self) {
        // The sender is ours: there is always one.
        let _ = self.inner.closed.subscribe().wait_for(|closed| *closed).await;
    }

    pub(super) fn check_open(&self, method: &str) -> Result<(), Error> {
        if *self.inner.closed.borrow() { Err(self.error(method, Cause::LoggedOut)) } else { Ok(()) }
    }

    /// Whether a session that was just made may be used: somebody still wants it, and it is on the vCenter it was on
    /// before. Calls that are repeated now name objects by ids that any vCenter has.
    pub(super) async fn check_session(&self, renewed: bool) -> Result<(), Error> {
        let method = "Login";
        if renewed {
            let was = &self.content().await?.about.instance_uuid;
            let is = self.read_content().await?.about.instance_uuid;
            if *was != is {
                return Err(self.error(method, Cause::AnotherVCenter { was: was.clone(), is }));
            }
        }
        self.check_open(method)
    }

    async fn soap_logout(&self) -> Result<(), Error> {
        let session = self.session();
        let Some(cookie) = session.left_open(self.goodbye()).await else { return Ok(()) };
        replace(&self.inner.session, &session);
        self.end_session(cookie).await
    }

    async fn end_session(&self, cookie: &SecretString) -> Result<(), Error> {
        let manager = self.manager("sessionManager").await?;
        let body = Body::new();
        let call = Call::new(&VIM, "Logout", &manager.reference, &body);
        match self.post(call, Some(cookie), self.goodbye()).await {
            Err(error) if error.retry() != Retry::LogIn => Err(error),
            // An expired session is as good as an ended one.
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// Remembers whether a call was answered, whatever the answer was.
    pub(super) fn heard(&self, ended: Result<(), &Cause>) {
        let silent = matches!(ended, Err(Cause::Timeout(_) | Cause::Connect(_)));
        self.inner.silent.store(silent, Ordering::Relaxed);
    }

    /// The longest a part of leaving may take.
    pub(super) fn goodbye(&self) -> Duration {
        let goodbye = if self.inner.silent.load(Ordering::Relaxed) { SILENT_GOODBYE } else { LOGOUT_TIMEOUT };
        self.inner.endpoint.timeout.min(goodbye)
    }

    /// Uses a session that was made in another way than by user and password, until it expires.
    pub(super) fn adopt(&self, cookie: SecretString) {
        let session = Session { cookie: OnceCell::new_with(Some(cookie)), ..Session::default() };
        *self.inner.session.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(session);
    }

    /// The cookie of the session, for services that want to see it.
    pub(super) async fn session_cookie(&self) -> Result<SecretString, Error> {
        self.cookie(&self.session()).await.cloned()
    }

    /// Drops a session that turned out to have expired.
    pub(super) fn forget(&self, expired: &Arc<Session>) {
        replace(&self.inner.session, expired);
    }

    pub(super) fn session(&self) -> Arc<Session> {
        current(&self.inner.session)
    }

    pub(super) fn rest_session(&self) -> Arc<Session> {
        current(&self.inner.rest)
    }

    pub(super) fn replace_rest(&self, expired: &Arc<Session>) -> Arc<Session> {
        replace(&self.inner.rest, expired)
    }

    pub(super) fn volume_slot(&self) -> &OnceCell<Service> {
        &self.inner.volumes
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

    async fn cookie<'a>(&self, session: &'a Arc<Session>) -> Result<&'a SecretString, Error> {
        session.opened(self, Client::log_in).await
    }

    async fn log_in(self, renewed: bool) -> Result<SecretString, Error> {
        let manager = self.manager("sessionManager").await?;
        let login = &self.inner.login;
        let body = Body::new()
            .text("userName", &login.user)
            .text("password", login.password.expose_secret())
            .text("locale", "en_US");
        let call = Call::new(&VIM, "Login", &manager.reference, &body);
        let (_, cookie) = self.post(call, None, self.inner.endpoint.timeout).await?;
        debug!(server = %self.server(), user = %login.user, "logged in");
        let cookie = cookie.ok_or_else(|| self.error("Login", Malformed::Missing("session cookie")))?;
        match self.check_session(renewed).await {
            Ok(()) => Ok(cookie),
            Err(error) => {
                let _ = self.end_session(&cookie).await;
                Err(error)
            }
        }
    }

    /// Repeats what fails for reasons that may pass.
    pub(super) async fn with_retries<T, F: Future<Output = Result<T, Error>>>(
        &self,
        attempt: impl FnMut() -> F,
    ) -> Result<T, Error> {
        // A login has been repeated as often as it may be.
        let of_login = |error: &Error| &*error.method == LOGIN && error.answer_is_lost();
        self.with_retries_if(|error| !of_login(error), attempt).await
    }

    /// Logging in. Where the answer is lost there may be a session that cannot be ended: that is risked once.
    async fn log_in_patiently<T, F: Future<Output = Result<T, Error>>>(
        &self,
        mut attempt: impl FnMut() -> F,
    ) -> Result<T, Error> {
        match self.with_retries_if(|error| !error.answer_is_lost(), &mut attempt).await {
            Err(error) if matches!(error.source, Cause::Broken(_)) => attempt().await,
            done => done,
        }
    }

    /// Repeats some of what fails for reasons that may pass, for no longer than one call may take: a server that does not
    /// answer is not asked again and again.
    async fn with_retries_if<T, F: Future<Output = Result<T, Error>>>(
        &self,
        may_repeat: impl Fn(&Error) -> bool,
        mut attempt: impl FnMut() -> F,
    ) -> Result<T, Error> {
        let mut pause = RETRY_INTERVAL;
        let end = Instant::now() + self.inner.endpoint.timeout;
        for _ in 1..MAX_ATTEMPTS {
            match attempt().await {
                Err(error) if !may_repeat(&error) || Instant::now() >= end => return Err(error),
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

/// An HTTP client for the endpoint's network, that trusts in its own way.
pub(super) fn connector(endpoint: &Endpoint, trust: &Trust) -> Result<reqwest::Client, String> {
    http_client(trust, &endpoint.proxy, endpoint.timeout)
}

fn current(slot: &Mutex<Arc<Session>>) -> Arc<Session> {
    slot.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Drops a session that has expired, unless somebody else has replaced it already.
fn replace(slot: &Mutex<Arc<Session>>, expired: &Arc<Session>) -> Arc<Session> {
    let mut current = slot.lock().unwrap_or_else(PoisonError::into_inner);
    if Arc::ptr_eq(&current, expired) {
        *current = Arc::new(Session { renewed: true, ..Session::default() });
    }
    current.clone()
}
