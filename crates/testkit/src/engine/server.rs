//! The engine's web server: TLS, logins, formats.

use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::Context;
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Method, Request as HttpRequest, Response, StatusCode, header};
use axum::routing::{get, post};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;
use tower::ServiceExt;

use super::fault::{Refusal, unauthorized_page, unavailable_page, unrecognized};
use super::judge::Judge;
use super::render::ROOT;
use super::route::{Reply, Request};
use super::trouble::{Fault, Trouble, take};
use super::world::{Caller, World};
use super::{Call, xml};
use crate::pki::Identity;

/// More than any request has.
const MAX_BODY: usize = 16 << 20;

/// What requests and the handle share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) world: Mutex<World>,
    pub(super) faults: Mutex<Vec<Fault>>,
    pub(super) calls: Mutex<Vec<Call>>,
    pub(super) is_down: AtomicBool,
    pub(super) is_held: watch::Sender<bool>,
    pub(super) authority: String,
    pub(super) ca: String,
    /// The published model, where it is to be had.
    pub(super) judge: Option<&'static Judge>,
    /// What was said beyond it.
    pub(super) objections: Mutex<Vec<String>>,
}

/// A test that failed while it held a lock is shown by itself.
pub(super) fn hold<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Marks answers that do not arrive.
#[derive(Debug, Clone)]
struct Lost;

pub(super) fn acceptor(identity: &Identity) -> anyhow::Result<TlsAcceptor> {
    let chain =
        CertificateDer::pem_slice_iter(identity.certificate.as_bytes()).collect::<Result<Vec<_>, _>>()?;
    let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes())?;
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .context("the engine's certificate")?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// Answers until the test is over.
pub(super) async fn serve(
    listener: TcpListener,
    acceptor: TlsAcceptor,
    shared: Arc<Shared>,
    mut stop: watch::Receiver<bool>,
) {
    let router = Router::new()
        .route("/ovirt-engine/sso/oauth/token", post(token))
        .route("/ovirt-engine/services/sso-logout", post(logout))
        .route("/ovirt-engine/sso/oauth/revoke", post(logout))
        .route("/ovirt-engine/services/pki-resource", get(authority))
        .route(ROOT, axum::routing::any(api))
        .route(&format!("{ROOT}/"), axum::routing::any(api))
        .route(&format!("{ROOT}/{{*path}}"), axum::routing::any(api))
        .fallback(welcome)
        .with_state(shared);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stop.changed() => return,
        };
        if let Ok((stream, _)) = accepted {
            tokio::spawn(converse(stream, acceptor.clone(), router.clone()));
        }
    }
}

async fn converse(stream: TcpStream, acceptor: TlsAcceptor, router: Router) {
    let Ok(stream) = acceptor.accept(stream).await else { return };
    let service = service_fn(move |request| {
        let router = router.clone();
        async move {
            let answer: Result<Response<Body>, Infallible> = router.oneshot(request).await;
            match answer {
                Ok(answer) if answer.extensions().get::<Lost>().is_none() => Ok(answer),
                // An error ends the connection without an answer.
                _ => Err(std::io::Error::other("lost")),
            }
        }
    });
    let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

fn reply(status: u16, kind: &str, body: String) -> Response<Body> {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    if let Ok(kind) = kind.parse() {
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
    }
    response
}

fn lost() -> Response<Body> {
    let mut response = Response::new(Body::empty());
    response.extensions_mut().insert(Lost);
    response
}

const HTML: &str = "text/html;charset=UTF-8";
const JSON: &str = "application/json";

/// Everything else is the web pages for people.
async fn welcome() -> Response<Body> {
    reply(
        404,
        HTML,
        "<html><head><title>404 - Page not found</title></head><body><h1>Not Found</h1></body></html>".into(),
    )
}

async fn authority(State(shared): State<Arc<Shared>>) -> Response<Body> {
    reply(200, "application/x-x509-ca-cert", shared.ca.clone())
}

async fn token(State(shared): State<Arc<Shared>>, request: HttpRequest<Body>) -> Response<Body> {
    if shared.is_down.load(Ordering::Relaxed) {
        return reply(503, HTML, unavailable_page(503));
    }
    let (parts, body) = request.into_parts();
    let refused =
        |code: &str, text: &str| reply(400, JSON, json!({"error_code": code, "error": text}).to_string());
    if parts.headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()) != Some(JSON) {
        return refused("invalid_request", "Missing parameter: 'Accept Header'");
    }
    let form = form(&read(body).await);
    let field = |name: &str| form.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
    let mut world = hold(&shared.world);
    let (user, password) = match field("grant_type") {
        Some("password") => match (field("username"), field("password")) {
            (Some(user), Some(password)) => (user.to_owned(), password.to_owned()),
            (None, _) => return refused("invalid_request", "Missing parameter: 'username'"),
            _ => return refused("invalid_request", "Missing parameter: 'password'"),
        },
        Some("urn:ovirt:params:oauth:grant-type:http") => match basic(&parts.headers) {
            Some(credentials) => credentials,
            None => return refused("access_denied", "Cannot authenticate user."),
        },
        Some(_) => return refused("unsupported_grant_type", "Unsupported grant type"),
        None => return refused("invalid_request", "Missing parameter: 'grant_type'"),
    };
    if field("scope").is_none() {
        return refused("invalid_request", "Missing parameter: 'scope'");
    }
    if let Err(text) = world.access.check(&user, &password) {
        let text_of_event = format!(
            "User {user} connecting from '127.0.0.1' failed to log in : 'Unable to log in. Verify your login information or contact the \
             system administrator.'."
        );
        world.login_failed(&user, text_of_event);
        return refused("access_denied", &text);
    }
    let now = world.now();
    let token = world.access.issue(&user, now);
    let answer = json!({"access_token": token, "scope": "ovirt-app-api ovirt-ext=token-info:authz-search",
                        "exp": "9223372036854775807", "token_type": "bearer"});
    reply(200, JSON, answer.to_string())
}

async fn logout(State(shared): State<Arc<Shared>>, request: HttpRequest<Body>) -> Response<Body> {
    let query = request.uri().query().unwrap_or_default().to_owned();
    let body = read(request.into_body()).await;
    let mut fields = form(&query);
    fields.extend(form(&body));
    let Some((_, token)) = fields.iter().find(|(key, _)| key == "token") else {
        let text = "Missing parameter: 'token'";
        return reply(400, JSON, json!({"error_code": "invalid_request", "error": text}).to_string());
    };
    hold(&shared.world).access.revoke(token);
    reply(200, JSON, "{ }".to_owned())
}

async fn read(body: Body) -> String {
    let bytes = to_bytes(body, MAX_BODY).await.unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Fields of a form, or of a query.
pub(super) fn form(text: &str) -> Vec<(String, String)> {
    let pairs = text.split('&').filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decoded(key), decoded(value))
        })
        .collect()
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digits = [rest.next().unwrap_or_default(), rest.next().unwrap_or_default()];
                let digits = std::str::from_utf8(&digits).unwrap_or_default();
                u8::from_str_radix(digits, 16).unwrap_or(b'?')
            }
            other => other,
        });
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn basic(headers: &HeaderMap) -> Option<(String, String)> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?.strip_prefix("Basic ")?;
    let text = String::from_utf8(BASE64.decode(value).ok()?).ok()?;
    let (user, password) = text.split_once(':')?;
    Some((user.to_owned(), password.to_owned()))
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// A request of the API.
async fn api(State(shared): State<Arc<Shared>>, request: HttpRequest<Body>) -> Response<Body> {
    if shared.is_down.load(Ordering::Relaxed) {
        return reply(503, HTML, unavailable_page(503));
    }
    let (parts, body) = request.into_parts();
    let body = read(body).await;
    let path = parts.uri.path().strip_prefix(ROOT).unwrap_or_default();
    let segments: Vec<String> = path.split('/').filter(|segment| !segment.is_empty()).map(decoded).collect();
    let query = form(parts.uri.query().unwrap_or_default());
    let method = parts.method.as_str().to_owned();
    let trouble = take(&mut hold(&shared.faults), &method, &segments);
    if trouble == Some(Trouble::Cut) {
        return lost();
    }
    if trouble == Some(Trouble::Hold) {
        let mut held = shared.is_held.subscribe();
        // The sender lives as long as the engine.
        let _ = held.wait_for(|held| !held).await;
    }
    let headers = &parts.headers;
    let is_json = text(headers, "accept").is_some_and(|accept| accept.contains("json"));
    let (user, mut answer) =
        respond(&shared, &parts.method, headers, &segments, &query, &body, is_json, trouble.as_ref());
    let correlation = correlation_of(headers, &query);
    if let (Some(correlation), Ok(name)) = (&correlation, "Correlation-Id".parse::<header::HeaderName>())
        && let Ok(value) = correlation.parse()
    {
        answer.0.headers_mut().insert(name, value);
    }
    hold(&shared.calls).push(Call {
        method,
        path: format!("/{}", segments.join("/")),
        query,
        status: answer.0.status().as_u16(),
        user,
        correlation_id: correlation.unwrap_or_default(),
        request: body,
        reply: answer.1,
    });
    if trouble == Some(Trouble::LoseAnswer) { lost() } else { answer.0 }
}

/// Cut and cleaned like the engine does it.
fn correlation_of(headers: &HeaderMap, query: &[(String, String)]) -> Option<String> {
    let from_query = query.iter().find(|(key, _)| key == "correlation_id").map(|(_, value)| value.clone());
    let given = from_query.or_else(|| text(headers, "correlation-id").map(str::to_owned))?;
    let clean = given.chars().filter(|one| one.is_ascii_alphanumeric() || matches!(one, '_' | '-'));
    Some(clean.take(36).collect())
}

type Told = (Response<Body>, String);

#[expect(clippy::too_many_arguments, reason = "all that a request has")]
fn respond(
    shared: &Shared,
    method: &Method,
    headers: &HeaderMap,
    segments: &[String],
    query: &[(String, String)],
    body: &str,
    is_json: bool,
    trouble: Option<&Trouble>,
) -> (String, Told) {
    let write = |status: u16, root: &str, value: &Value| -> Told {
        let (kind, text) = if is_json {
            let is_empty = value.as_object().is_some_and(serde_json::Map::is_empty);
            (JSON, if is_empty { "{ }".to_owned() } else { value.to_string() })
        } else {
            ("application/xml;charset=UTF-8", xml::write(root, value))
        };
        (reply(status, kind, text.clone()), text)
    };
    let plain = |status: u16, kind: &str, text: String| -> Told { (reply(status, kind, text.clone()), text) };
    match trouble {
        Some(Trouble::Page { status }) => {
            return (String::new(), plain(*status, HTML, unavailable_page(*status)));
        }
        Some(Trouble::Refuse { status, detail }) => {
            let fault = json!({"detail": detail, "reason": "Operation Failed"});
            return (String::new(), write(*status, "fault", &fault));
        }
        _ => {}
    }
    let mut world = hold(&shared.world);
    let user = match login(&mut world, headers) {
        Ok(user) => user,
        Err(why) => {
            let (mut answer, text) = plain(401, HTML, unauthorized_page(why));
            if let Ok(realm) = "Basic realm=\"RESTAPI\"".parse() {
                answer.headers_mut().insert(header::WWW_AUTHENTICATE, realm);
            }
            return (String::new(), (answer, text));
        }
    };
    let kind = text(headers, "content-type").unwrap_or_default();
    if matches!(*method, Method::POST | Method::PUT) && !kind.contains("json") && !kind.contains("xml") {
        return (user, plain(415, "text/plain", "RESTEASY003065: Cannot consume content type".to_owned()));
    }
    let request = Request {
        method: method.to_string(),
        segments: segments.to_vec(),
        query: query.to_vec(),
        is_xml: kind.contains("xml"),
        body: body.to_owned(),
    };
    let caller = Caller {
        user: user.clone(),
        correlation: correlation_of(headers, query).unwrap_or_else(|| world.draw()),
        is_filtered: text(headers, "filter") == Some("true") || request.flag("filter"),
        all_content: text(headers, "all-content") == Some("true") || request.flag("all_content"),
    };
    world.settle();
    world.look_at_transfers();
    let answer = world.answer(&request, &caller);
    drop(world);
    if let Some(judge) = shared.judge {
        let objections = judge.objections(&request, answer.as_ref().ok());
        hold(&shared.objections).extend(objections);
    }
    let told = match answer {
        Ok(Reply { status, root, value }) => write(status, root, &value),
        Err(Refusal::Unrecognized { field, of }) => plain(400, "text/plain", unrecognized(&field, of)),
        Err(Refusal::NoPath) => {
            let path = segments.join("/");
            let text = format!(
                "RESTEASY003210: Could not find resource for full path: https://{}{ROOT}/v4/{path}",
                shared.authority
            );
            plain(404, "text/plain", text)
        }
        Err(refusal) => {
            let status = refusal.status();
            let usage = format!(
                "https://{}/ovirt-engine/apidoc#services/{}/methods/{}",
                shared.authority,
                segments.first().map_or("", String::as_str),
                if *method == Method::PUT { "update" } else { "add" }
            );
            match refusal.fault(&usage) {
                Some(fault) if request.is_action() => {
                    write(status, "action", &json!({"fault": fault, "status": "failed"}))
                }
                Some(fault) => write(status, "fault", &fault),
                None => (reply(status, "text/plain", String::new()), String::new()),
            }
        }
    };
    (user, told)
}

/// By token, or by name and password.
fn login(world: &mut World, headers: &HeaderMap) -> Result<String, &'static str> {
    let given = text(headers, "authorization").ok_or("Unauthorized")?;
    let now = world.now();
    if let Some(token) = given.strip_prefix("Bearer ") {
        let expired = "invalid_grant: The provided authorization grant for the auth code has expired.";
        return world.access.user_of(token, now).ok_or(expired);
    }
    let (user, password) = basic(headers).ok_or("Unauthorized")?;
    world.access.check(&user, &password).map_err(|_| "access_denied: Cannot authenticate user.")?;
    Ok(user)
}
