//! A machine-config server of a test's own.

use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use reqwest::{Certificate, Client, Response};
use slipway_operator::runtime::net::{Limits, Transport, serve, tls};
use slipway_operator::server::machine_config::directory::Directory;
use slipway_operator::server::machine_config::metrics::Metrics;
use slipway_operator::server::machine_config::routes::{Demand, router};
use slipway_operator::server::machine_config::token::{TokenHash, Tokens};
use slipway_testkit::pki::Authority;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

pub(crate) const WORKER_TOKEN: &str = "swordfish";
pub(crate) const MASTER_TOKEN: &str = "marlin";
pub(crate) const SECRET: &str = "c2VjcmV0";

pub(crate) struct Served {
    pub(crate) address: SocketAddr,
    pub(crate) metrics: Metrics,
    pub(crate) authority: String,
    pub(crate) directory: TempDir,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

/// A configuration with a secret, in a version.
pub(crate) fn ignition(version: &str) -> String {
    serde_json::json!({
        "ignition": {"version": version},
        "storage": {"files": [{
            "path": "/etc/kubernetes/token",
            "mode": 0o600,
            "contents": {"source": format!("data:;base64,{SECRET}")},
        }]},
    })
    .to_string()
}

pub(crate) fn tokens(token: &str) -> String {
    Tokens::default()
        .rotated(TokenHash::of(&token.into()), jiff::Timestamp::now(), jiff::SignedDuration::ZERO)
        .to_string()
}

impl Served {
    pub(crate) async fn start(limits: Limits, demand: Demand) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(directory.path().join(name), text).unwrap();
        write("worker.ign", &ignition("3.2.0"));
        write("worker.tokens", &tokens(WORKER_TOKEN));
        write("master.ign", &ignition("3.4.0"));
        write("master.tokens", &tokens(MASTER_TOKEN));
        write("open.ign", &ignition("3.2.0"));
        let ca = Authority::new("root-ca").unwrap();
        let identity = ca.issue("machine-config-server", None, &["127.0.0.1", "localhost"]).unwrap();
        write("tls.crt", &identity.certificate);
        write("tls.key", &identity.key);
        let file = |name: &str| directory.path().join(name);
        let transport = Transport::Tls(tls::acceptor(&file("tls.crt"), &file("tls.key")).unwrap());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let metrics = Metrics::default();
        let routes = router(Directory::new(directory.path()), demand, metrics.clone());
        let (stop, stopped) = watch::channel(false);
        let task = tokio::spawn(serve(listener, transport, routes, limits, metrics.clone(), stopped));
        Served { address, metrics, authority: ca.certificate(), directory, stop, task }
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("https://{}{path}", self.address)
    }

    /// A machine with an address of its own: all of 127.0.0.0/8 is ours.
    pub(crate) fn machine(&self, address: impl Into<IpAddr>) -> Client {
        Client::builder()
            .tls_certs_only([Certificate::from_pem(self.authority.as_bytes()).unwrap()])
            .no_proxy()
            .local_address(Some(address.into()))
            .timeout(Duration::from_mins(1))
            .build()
            .unwrap()
    }

    pub(crate) async fn get(&self, path: &str, token: Option<&str>, accept: Option<&str>) -> Response {
        let mut request = self.machine([127, 0, 0, 1]).get(self.url(path));
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        if let Some(accept) = accept {
            request = request.header("Accept", accept);
        }
        request.send().await.unwrap()
    }

    /// Ends the server and waits for it.
    pub(crate) async fn end(self) {
        self.stop.send(true).unwrap();
        self.task.await.unwrap();
    }
}

/// Waits for a condition.
pub(crate) async fn eventually(what: &str, mut check: impl FnMut() -> bool) {
    let wait = async {
        while !check() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    assert!(tokio::time::timeout(Duration::from_secs(90), wait).await.is_ok(), "{what}");
}
