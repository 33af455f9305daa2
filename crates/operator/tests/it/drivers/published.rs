//! A matrix from a server, behind a proxy: what the server does wrong has its reason, and changes nothing that runs.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use slipway_operator::controllers::drivers::matrix::{MatrixSource, Source};
use slipway_operator::runtime::net::{Limits, Transport, serve, tls};
use slipway_testkit::pki::Authority;
use slipway_testkit::process::eventually;
use slipway_testkit::proxy::Proxy;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::watch;

use super::estate::{Estate, NAMESPACE, TIMEOUT, condition_of, matrix_up_to};

/// What the server has.
#[derive(Debug, Clone, Default)]
struct Shelf {
    status: Option<u16>,
    text: String,
    signature: Option<String>,
}

#[derive(Debug, Clone, Default)]
struct Server {
    shelf: Arc<Mutex<Shelf>>,
    unchanged: Arc<AtomicUsize>,
}

async fn answer(State(server): State<Server>, uri: Uri, headers: HeaderMap) -> Response {
    let Shelf { status, text, signature } = server.shelf.lock().unwrap().clone();
    if let Some(status) = status {
        return StatusCode::from_u16(status).unwrap().into_response();
    }
    if uri.path().strip_suffix(".sig").is_some() {
        return signature.map_or_else(|| StatusCode::NOT_FOUND.into_response(), IntoResponse::into_response);
    }
    // Two different matrices of these tests differ in length.
    let etag = format!("\"{}\"", text.len());
    if headers.get("if-none-match").is_some_and(|known| known.as_bytes() == etag.as_bytes()) {
        server.unchanged.fetch_add(1, Ordering::Relaxed);
        return (StatusCode::NOT_MODIFIED, [("etag", etag)]).into_response();
    }
    ([("etag", etag)], text).into_response()
}

impl Server {
    fn put(&self, text: &str, signature: Option<&str>) {
        let signature = signature.map(str::to_owned);
        *self.shelf.lock().unwrap() = Shelf { status: None, text: text.to_owned(), signature };
    }

    /// Serves until it is told to end.
    fn start(&self, runtime: &Runtime, port: u16, authority: &Authority) -> (u16, watch::Sender<bool>) {
        let identity = authority.issue("matrix", None, &["127.0.0.1"]).unwrap();
        let names = ("matrix.crt", "matrix.key");
        let acceptor =
            tls::acceptor_from(identity.certificate.as_bytes(), identity.key.as_bytes(), names).unwrap();
        let (stop, stopped) = watch::channel(false);
        let listener = runtime.block_on(TcpListener::bind(("127.0.0.1", port))).unwrap();
        let port = listener.local_addr().unwrap().port();
        let router = Router::new().fallback(answer).with_state(self.clone());
        runtime.spawn(serve(listener, Transport::Tls(acceptor), router, Limits::default(), (), stopped));
        (port, stop)
    }
}

/// The storage driver is there, in the version that the matrix before had.
pub(super) fn a_server_changes_nothing_by_its_troubles(estate: &mut Estate) {
    let runtime = Runtime::new().unwrap();
    let (server, authority) = (Server::default(), Authority::new("matrix-ca").unwrap());
    let good = matrix_up_to("3.7.0");
    let signature = estate.signature(&good);
    server.put(&good, Some(&signature));
    let (port, stop) = server.start(&runtime, 0, &authority);
    let proxy = Proxy::start(None).unwrap();
    let url = format!("https://127.0.0.1:{port}/matrix.yaml");
    let map = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "matrix-ca", "namespace": NAMESPACE},
        "data": {"ca.crt": Authority::new("another").unwrap().certificate()},
    });
    estate.plane.kubectl().apply_value(&map).unwrap();
    let source = Source {
        place: MatrixSource::Url(url.as_str().into()),
        authorities: Some("matrix-ca".to_owned()),
        proxy: Some(format!("http://127.0.0.1:{}", proxy.port())),
        ask: Duration::from_millis(200),
        ..Source::default()
    };
    let driver = |estate: &Estate| {
        let set = estate.get("daemonset", "vmware-system-csi", "vsphere-csi-node");
        assert!(set["spec"].is_object(), "{set:#}");
        (set["metadata"]["uid"].clone(), set["metadata"]["generation"].clone())
    };
    let before = driver(estate);
    estate.operate_from(source, Duration::from_mins(5));
    let refused = |estate: &Estate, reason: &str| {
        let config = estate.wait_until(reason, |config| {
            config["status"]["matrix"]["refused"].as_str().is_some_and(|refused| refused.contains(reason))
        });
        assert_eq!(driver(estate), before, "the driver stays: {reason}");
        assert_eq!(config["status"]["storageProvider"]["deployedVersion"], "3.7.0");
        let failures = config["status"]["failures"].to_string();
        assert!(failures.contains("MatrixRefused"), "{failures}");
        let available = condition_of(&config["status"]["storageProvider"], "Available")["status"].clone();
        assert_eq!(available, "True", "{:#}", config["status"]);
        config
    };
    // Somebody else's authority, at first.
    refused(estate, "certificate");
    let map = json!({"data": {"ca.crt": authority.certificate()}});
    estate.patch("configmap", "matrix-ca", &map);
    let taken = |estate: &Estate| {
        let is = |config: &Value| {
            let matrix = &config["status"]["matrix"];
            matrix["refused"].is_null() && matrix["source"] == url
        };
        estate.wait_until("the server's matrix is taken", is);
        assert_eq!(driver(estate), before);
    };
    taken(estate);
    // As long as it is the same it is not sent again.
    let same = server.unchanged.load(Ordering::Relaxed);
    eventually("it has not changed", TIMEOUT, || {
        Ok((server.unchanged.load(Ordering::Relaxed) > same + 1).then_some(()))
    })
    .unwrap();
    assert!(proxy.tunnels() > 2, "nobody came through the proxy");
    taken(estate);

    let garbage = "garbage: [";
    server.put(garbage, Some(&estate.signature(garbage)));
    refused(estate, "it is not a compatibility matrix");
    server.put(&"x".repeat(2 << 20), Some(&signature));
    refused(estate, "it is larger than 1048576 bytes");
    // The next version would be installed if it were taken.
    let other = matrix_up_to("3.6.0");
    server.put(&other, Some(&signature));
    refused(estate, "its signature was not made by any of the trusted keys, or the file was changed");
    server.put(&other, None);
    refused(estate, "it is not signed");
    server.shelf.lock().unwrap().status = Some(503);
    refused(estate, "HTTP status 503");
    stop.send(true).unwrap();
    refused(estate, "tunnel");
    server.put(&good, Some(&signature));
    let (_, _stop) = server.start(&runtime, port, &authority);
    taken(estate);
    assert!(estate.stop().is_some());
}
