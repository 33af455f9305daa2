//! Requests as they go over the wire.

use reqwest::{Certificate, Client, Method};
use serde_json::{Value, json};
use slipway_testkit::engine::{ADMIN, Engine};

/// An answer: status, and what came, as JSON if it was.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) text: String,
    pub(super) kind: String,
}

impl Answer {
    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or(Value::Null)
    }
}

#[derive(Debug)]
pub(super) struct Wire {
    client: Client,
    runtime: tokio::runtime::Runtime,
    url: String,
    pub(super) token: String,
}

impl Wire {
    /// Logged in as the administrator.
    pub(super) fn new(engine: &Engine) -> Self {
        let mut wire = Wire::anonymous(engine);
        let answer = wire.log_in(engine, ADMIN.0, ADMIN.1).json();
        answer["access_token"].as_str().unwrap().clone_into(&mut wire.token);
        wire
    }

    pub(super) fn anonymous(engine: &Engine) -> Self {
        let authority = Certificate::from_pem(engine.ca().as_bytes()).unwrap();
        let client = Client::builder().tls_certs_only([authority]).no_proxy().build().unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        Wire { client, runtime, url: engine.url(), token: String::new() }
    }

    pub(super) fn log_in(&self, engine: &Engine, user: &str, password: &str) -> Answer {
        let form = format!("grant_type=password&scope=ovirt-app-api&username={user}&password={password}");
        let request = self
            .client
            .post(format!("https://{}/ovirt-engine/sso/oauth/token", engine.address()))
            .header("accept", "application/json")
            .header("content-type", "application/x-www-form-urlencoded")
            .body(form);
        self.send(request).unwrap()
    }

    /// Below the API, in JSON. Nothing if the connection ended without an answer.
    pub(super) fn ask(&self, method: &str, path: &str, body: &str) -> Option<Answer> {
        self.ask_with(method, path, body, &[])
    }

    pub(super) fn ask_with(
        &self,
        method: &str,
        path: &str,
        body: &str,
        headers: &[(&str, &str)],
    ) -> Option<Answer> {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let mut request = self.client.request(method, format!("{}{path}", self.url)).bearer_auth(&self.token);
        for (name, value) in [("accept", "application/json"), ("content-type", "application/json")] {
            if !headers.iter().any(|(given, _)| *given == name) {
                request = request.header(name, value);
            }
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.send(request.body(body.to_owned()))
    }

    pub(super) fn get(&self, path: &str) -> Value {
        let answer = self.ask("GET", path, "").unwrap();
        assert_eq!(answer.status, 200, "{path}: {}", answer.text);
        answer.json()
    }

    /// What has to work.
    pub(super) fn post(&self, path: &str, body: &Value) -> Value {
        let answer = self.ask("POST", path, &body.to_string()).unwrap();
        assert!(answer.status < 300, "{path}: {} {}", answer.status, answer.text);
        answer.json()
    }

    fn send(&self, request: reqwest::RequestBuilder) -> Option<Answer> {
        self.runtime.block_on(async {
            let answer = request.send().await.ok()?;
            let kind = answer.headers().get("content-type").map(|kind| kind.to_str().unwrap().to_owned());
            Some(Answer {
                status: answer.status().as_u16(),
                kind: kind.unwrap_or_default(),
                text: answer.text().await.unwrap(),
            })
        })
    }
}

/// A machine of nothing.
pub(super) fn machine(name: &str) -> Value {
    json!({"name": name, "cluster": {"name": "Default"}, "template": {"name": "Blank"}})
}
