//! One request and its reply.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use reqwest::header::{CONTENT_TYPE, COOKIE, HeaderMap, RETRY_AFTER, SET_COOKIE};
use secrecy::{ExposeSecret, SecretString};
use tracing::{Instrument, debug, debug_span};

use super::Client;
use crate::transport::in_plain_words;
use crate::vsphere::error::{Cause, Error};
use crate::vsphere::fault::Fault;
use crate::vsphere::moref::Reference;
use crate::vsphere::soap::{Body, Element, Malformed, element};
use crate::vsphere::trust_error::TrustError;

/// Several times a page of 500 machines with their devices. The operator's pod has 256 MiB, and a reply is there twice, as
/// text and as elements.
const MAX_REPLY_BYTES: usize = 32 << 20;

/// The cookie that is the session.
const SESSION: &str = "vmware_soap_session";

/// A SOAP service of a vCenter.
#[derive(Debug)]
pub(in crate::vsphere) struct Service {
    pub(in crate::vsphere) path: Cow<'static, str>,
    pub(in crate::vsphere) namespace: &'static str,
    /// The version of the API that is spoken, where it is not that of the vCenter itself.
    pub(in crate::vsphere) version: Option<String>,
    /// Whether it wants to see the vCenter's session in the message as well.
    pub(in crate::vsphere) shows_session: bool,
}

/// The API of the vCenter itself.
pub(in crate::vsphere) static VIM: Service =
    Service { path: Cow::Borrowed("/sdk"), namespace: "urn:vim25", version: None, shows_session: false };

/// What is asked, and of whom.
#[derive(Debug, Clone, Copy)]
pub(in crate::vsphere) struct Call<'a> {
    service: &'a Service,
    method: &'a str,
    this: &'a Reference,
    body: &'a Body,
    /// The content of the message's header.
    header: Option<&'a str>,
}

impl<'a> Call<'a> {
    pub(in crate::vsphere) fn new(
        service: &'a Service,
        method: &'a str,
        this: &'a Reference,
        body: &'a Body,
    ) -> Self {
        Call { service, method, this, body, header: None }
    }

    pub(in crate::vsphere) fn with_header(self, header: &'a SecretString) -> Self {
        Call { header: Some(header.expose_secret()), ..self }
    }
}

impl Client {
    /// One exchange: the content of the response element, and the session cookie if one was set.
    pub(in crate::vsphere) async fn post(
        &self,
        call: Call<'_>,
        cookie: Option<&SecretString>,
        deadline: Duration,
    ) -> Result<(Element, Option<SecretString>), Error> {
        let Call { service, method, this, body, header } = call;
        let version = match &service.version {
            Some(version) => version,
            None => self.inner.content.get().map_or("", |content| &content.about.api_version),
        };
        let action = match version {
            "" => service.namespace.to_owned(),
            version => format!("{}/{version}", service.namespace),
        };
        // The service takes the value alone, without the name and the quotes of the cookie.
        let shown = cookie.filter(|_| service.shows_session).and_then(|cookie| {
            let pair = cookie.expose_secret().split("; ").find(|pair| pair.starts_with(SESSION))?;
            let (_, value) = pair.split_once('=')?;
            Some(Body::new().text("vcSessionCookie", value.trim_matches('"')).into_text())
        });
        let header = header.or(shown.as_deref());
        let message = body.envelope(method, this, service.namespace, header.unwrap_or_default());
        let (status, headers, reply) =
            self.send(method, &service.path, &action, message, cookie, deadline).await?;
        let understood = understand(method, status, &headers, &reply);
        if let Err(cause) = &understood {
            debug!(server = %self.server(), method, %cause, "refused");
        }
        understood.map_err(|source| self.error(method, source))
    }

    /// Sends a message and takes what comes back.
    pub(in crate::vsphere) async fn send(
        &self,
        method: &str,
        path: &str,
        action: &str,
        message: String,
        cookie: Option<&SecretString>,
        deadline: Duration,
    ) -> Result<(u16, HeaderMap, Vec<u8>), Error> {
        let endpoint = &self.inner.endpoint;
        let mut request = self
            .inner
            .http
            .post(format!("{}{path}", endpoint.url()))
            .timeout(deadline)
            .header(CONTENT_TYPE, "text/xml; charset=utf-8")
            .header("SOAPAction", action)
            .body(message);
        if let Some(cookie) = cookie {
            request = request.header(COOKIE, cookie.expose_secret());
        }
        let exchange = async {
            let response = request.send().await.map_err(|error| cause(error, deadline))?;
            let (status, headers) = (response.status().as_u16(), response.headers().clone());
            Ok((status, headers, read_reply(response, deadline).await?))
        };
        let span = debug_span!("call", server = %endpoint.server, method);
        let began = Instant::now();
        let ended: Result<(u16, HeaderMap, Vec<u8>), Cause> = exchange.instrument(span).await;
        log_call(&endpoint.server, method, began, ended.as_ref().map(|(status, ..)| *status));
        self.heard(ended.as_ref().map(|_| ()));
        ended.map_err(|source| self.error(method, source))
    }
}

/// What every call leaves in the log: never what was said in it.
pub(in crate::vsphere) fn log_call(server: &str, method: &str, began: Instant, ended: Result<u16, &Cause>) {
    let took = began.elapsed();
    match ended {
        Ok(status) => debug!(server, method, status, ?took, "called"),
        Err(cause) => debug!(server, method, %cause, ?took, "called in vain"),
    }
}

/// The whole body, as far as it is bearable.
pub(in crate::vsphere) async fn read_reply(
    mut response: reqwest::Response,
    deadline: Duration,
) -> Result<Vec<u8>, Cause> {
    let mut reply = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| cause(error, deadline))? {
        if reply.len() + chunk.len() > MAX_REPLY_BYTES {
            return Err(Cause::TooLarge(MAX_REPLY_BYTES));
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
    let body = envelope.children.into_iter().find(|child| &*child.name == "Body");
    let content = body.and_then(|body| body.children.into_iter().next()).ok_or(Malformed::Missing("Body"))?;
    if &*content.name == "Fault" {
        return Err(Fault::of_message(&content).into());
    }
    if content.name.strip_suffix("Response") != Some(method) {
        return Err(Malformed::Missing("response").into());
    }
    let cookies: Vec<&str> = headers
        .get_all(SET_COOKIE)
        .iter()
        .filter_map(|value| Some(value.to_str().ok()?.split(';').next()?.trim()))
        .collect();
    let cookie = (!cookies.is_empty()).then(|| SecretString::from(cookies.join("; ")));
    Ok((content, cookie))
}

/// Sorts what the HTTP client reports.
pub(in crate::vsphere) fn cause(error: reqwest::Error, deadline: Duration) -> Cause {
    // The address is part of every message above; the query never holds secrets, but is of no use either.
    let error = error.without_url();
    if error.is_timeout() {
        return Cause::Timeout(deadline);
    }
    if let Some(reason) = TrustError::find(&error) {
        return Cause::Untrusted(reason);
    }
    if error.is_connect() {
        Cause::Connect(in_plain_words(error))
    } else {
        Cause::Broken(in_plain_words(error))
    }
}

impl From<Fault> for Cause {
    fn from(fault: Fault) -> Self {
        Cause::Fault(Box::new(fault))
    }
}
