//! Members of etcd, by the JSON form of its API.

use std::net::IpAddr;
use std::time::Duration;

use reqwest::{Certificate, Identity};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::runtime::host::Files;

const CALL_TIMEOUT: Duration = Duration::from_secs(15);
const FOLDER: &str = "/etc/kubernetes/pki";
/// Of the client side of etcd.
pub const PORT: u16 = 2379;

/// What can go wrong.
#[derive(Debug, thiserror::Error)]
pub enum EtcdError {
    #[error("reading the certificates of etcd")]
    Unreadable(#[from] std::io::Error),
    #[error("the certificates of etcd cannot be used")]
    Certificates(#[source] reqwest::Error),
    #[error("asking etcd at {server}")]
    Silent { server: String, source: reqwest::Error },
    #[error("etcd at {server} refuses: {reason}")]
    Refused { server: String, reason: String },
}

/// A member.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Member {
    /// A number of 64 bits, as text.
    #[serde(rename = "ID")]
    pub id: String,
    /// The name of its node; empty as long as it has never been up.
    #[serde(default)]
    pub name: String,
    /// It has no vote yet.
    #[serde(default, rename = "isLearner")]
    pub learner: bool,
    /// Where it is asked.
    #[serde(default, rename = "clientURLs")]
    pub urls: Vec<String>,
    /// Where the others reach it. One that has never been up has nothing else.
    #[serde(default, rename = "peerURLs")]
    pub peers: Vec<String>,
}

impl Member {
    /// The address it is asked at.
    pub fn address(&self) -> Option<IpAddr> {
        let host =
            |url: &String| reqwest::Url::parse(url).ok()?.host_str()?.trim_matches(['[', ']']).parse().ok();
        self.urls.iter().chain(&self.peers).find_map(host)
    }
}

#[derive(Debug, Deserialize)]
struct Members {
    #[serde(default)]
    members: Vec<Member>,
}

/// A client of one member.
#[derive(Debug, Clone)]
pub struct Etcd {
    client: reqwest::Client,
    server: String,
}

impl Etcd {
    /// With the certificate that the API server of this machine has; `host` is an address.
    pub fn new(files: &Files, host: IpAddr) -> Result<Self, EtcdError> {
        let read = |name: &str| files.read(format!("{FOLDER}/{name}"));
        let identity = read("apiserver-etcd-client.crt")? + &read("apiserver-etcd-client.key")?;
        let identity = Identity::from_pem(identity.as_bytes()).map_err(EtcdError::Certificates)?;
        let authority =
            Certificate::from_pem(read("etcd/ca.crt")?.as_bytes()).map_err(EtcdError::Certificates)?;
        let client = reqwest::Client::builder()
            .tls_certs_only([authority])
            .identity(identity)
            .no_proxy()
            .timeout(CALL_TIMEOUT)
            .build()
            .map_err(EtcdError::Certificates)?;
        Ok(Etcd { client, server: format!("https://{}", std::net::SocketAddr::new(host, PORT)) })
    }

    pub async fn members(&self) -> Result<Vec<Member>, EtcdError> {
        let answer = self.post("/v3/cluster/member/list", &json!({})).await?;
        let reason = |error: serde_json::Error| EtcdError::Refused {
            server: self.server.clone(),
            reason: error.to_string(),
        };
        Ok(serde_json::from_value::<Members>(answer).map_err(reason)?.members)
    }

    /// Removes a member. etcd itself refuses if the others could not go on.
    pub async fn remove(&self, id: &str) -> Result<(), EtcdError> {
        self.post("/v3/cluster/member/remove", &json!({"ID": id})).await.map(|_| ())
    }

    /// Whether the member takes part: it knows a leader, and can read.
    pub async fn is_healthy(&self) -> bool {
        let answer = self.client.get(format!("{}/health", self.server)).send().await;
        let Ok(answer) = answer else { return false };
        answer.json::<Value>().await.is_ok_and(|health| health["health"] == "true")
    }

    async fn post(&self, path: &str, body: &Value) -> Result<Value, EtcdError> {
        let silent = |source| EtcdError::Silent { server: self.server.clone(), source };
        let answer =
            self.client.post(format!("{}{path}", self.server)).json(body).send().await.map_err(silent)?;
        let good = answer.status().is_success();
        let answer: Value = answer.json().await.map_err(silent)?;
        if good {
            return Ok(answer);
        }
        let reason = answer["message"].as_str().unwrap_or("no reason is given").to_owned();
        Err(EtcdError::Refused { server: self.server.clone(), reason })
    }
}
