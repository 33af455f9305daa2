//! The REST side of a vCenter: a session of its own, made when it is first needed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use reqwest::Method;
use reqwest::header::RETRY_AFTER;
use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tracing::debug;

use super::client::{Client, Session, cause, log_call, read_reply};
use super::error::{Cause, Error, Retry};
use super::fault::Fault;
use super::soap::Malformed;

/// The header a session is named in.
const SESSION: &str = "vmware-api-session-id";

/// Where sessions are made and ended.
const SESSIONS: &str = "/rest/com/vmware/cis/session";

impl Client {
    /// Calls a REST method; `body` is sent as JSON. Reads are repeated after failures that may pass.
    pub async fn rest<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<&(impl Serialize + Sync)>,
    ) -> Result<T, Error> {
        let body = body.map(serde_json::to_value).transpose();
        let body = body.map_err(|error| self.error(path, Cause::Setup(error.to_string())))?;
        let repeatable = method == Method::GET || path.contains("~action=list");
        let value = if repeatable {
            self.with_retries(|| self.rest_once(&method, path, body.as_ref())).await?
        } else {
            self.rest_once(&method, path, body.as_ref()).await?
        };
        let value = match value {
            Value::Object(mut members) if members.contains_key("value") => {
                members.remove("value").unwrap_or_default()
            }
            other => other,
        };
        serde_json::from_value(value).map_err(|error| self.error(path, Malformed::Json(error.to_string())))
    }

    async fn rest_once(&self, method: &Method, path: &str, body: Option<&Value>) -> Result<Value, Error> {
        let session = self.rest_session();
        let token = self.rest_token(&session).await?;
        match self.exchange(method, path, body, Some(token)).await {
            Err(error) if error.retry() == Retry::LogIn => {
                self.check_open(path)?;
                debug!(server = %self.server(), "the REST session has expired");
                let session = self.replace_rest(&session);
                let token = self.rest_token(&session).await?;
                self.exchange(method, path, body, Some(token)).await
            }
            done => done,
        }
    }

    async fn rest_token<'a>(&self, session: &'a Arc<Session>) -> Result<&'a SecretString, Error> {
        session.opened(self, Client::rest_log_in).await
    }

    async fn rest_log_in(self, renewed: bool) -> Result<SecretString, Error> {
        let answer = self.exchange(&Method::POST, SESSIONS, None, None).await?;
        let token = answer.get("value").and_then(Value::as_str).map(SecretString::from);
        let token = token.ok_or_else(|| self.error("REST login", Malformed::Missing("session id")))?;
        match self.check_session(renewed).await {
            Ok(()) => Ok(token),
            Err(error) => {
                let _ = self.exchange(&Method::DELETE, SESSIONS, None, Some(&token)).await;
                Err(error)
            }
        }
    }

    /// Ends the REST session, if there is one.
    pub(super) async fn rest_logout(&self) -> Result<(), Error> {
        let session: Arc<Session> = self.rest_session();
        let Some(token) = session.left_open(self.goodbye()).await else { return Ok(()) };
        self.replace_rest(&session);
        match self.exchange(&Method::DELETE, SESSIONS, None, Some(token)).await {
            Err(error) if error.retry() != Retry::LogIn => Err(error),
            _ => Ok(()),
        }
    }

    /// One request and its answer. Without a token it is the login itself.
    async fn exchange(
        &self,
        method: &Method,
        path: &str,
        body: Option<&Value>,
        token: Option<&SecretString>,
    ) -> Result<Value, Error> {
        let (endpoint, login, http) = self.parts();
        let deadline = endpoint.timeout;
        let mut request = http.request(method.clone(), format!("{}{path}", endpoint.url())).timeout(deadline);
        request = match token {
            Some(token) => request.header(SESSION, token.expose_secret()),
            None => request.basic_auth(&login.user, Some(login.password.expose_secret())),
        };
        if let Some(body) = body {
            request = request.json(body);
        }
        let send = async {
            let response = request.send().await.map_err(|error| cause(error, deadline))?;
            let status = response.status().as_u16();
            let after = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
            let after = after.and_then(|after| pause(after, Timestamp::now()));
            let reply = read_reply(response, deadline).await?;
            Ok((status, understand(status, after, &reply)?))
        };
        let name = path.split('?').next().unwrap_or(path);
        let began = Instant::now();
        let ended: Result<(u16, Value), Cause> = send.await;
        let method = format!("{method} {name}");
        log_call(self.server(), &method, began, ended.as_ref().map(|(status, _)| *status));
        self.heard(ended.as_ref().map(|_| ()));
        ended.map(|(_, value)| value).map_err(|source| self.error(name, source))
    }
}

/// How long a server wants to be left alone: in seconds, or until a date.
fn pause(after: &str, now: Timestamp) -> Option<Duration> {
    if let Ok(seconds) = after.trim().parse() {
        return Some(Duration::from_secs(seconds));
    }
    let until = jiff::fmt::rfc2822::parse(after.trim()).ok()?.timestamp();
    Some(until.duration_since(now).try_into().unwrap_or_default())
}

/// An answer, or the error it describes.
fn understand(status: u16, retry_after: Option<Duration>, reply: &[u8]) -> Result<Value, Cause> {
    let value: Option<Value> =
        if reply.is_empty() { Some(Value::Null) } else { serde_json::from_slice(reply).ok() };
    if (200..300).contains(&status) {
        return value.ok_or_else(|| Malformed::Json("no JSON at all".to_owned()).into());
    }
    if status == 401 {
        return Err(Cause::Status { status, retry_after });
    }
    let described = value.as_ref().and_then(|value| {
        let name = value.get("type")?.as_str()?.rsplit('.').next()?;
        let messages = value.pointer("/value/messages").and_then(Value::as_array);
        let words =
            messages.into_iter().flatten().filter_map(|message| message.get("default_message")?.as_str());
        Some(Fault::of_rest(name, &words.collect::<Vec<_>>().join("; ")))
    });
    Err(described.map_or(Cause::Status { status, retry_after }, Cause::from))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use jiff::Timestamp;
    use rstest::rstest;

    use super::pause;

    #[rstest]
    #[case::seconds("120", Some(120))]
    #[case::date("Mon, 16 Nov 2026 06:00:30 GMT", Some(30))]
    #[case::past("Sun, 06 Nov 1994 08:49:37 GMT", Some(0))]
    #[case::nonsense("soon", None)]
    fn servers_say_when_to_come_back(#[case] after: &str, #[case] seconds: Option<u64>) {
        let now: Timestamp = "2026-11-16T06:00:00Z".parse().unwrap();
        assert_eq!(pause(after, now), seconds.map(Duration::from_secs));
    }
}
