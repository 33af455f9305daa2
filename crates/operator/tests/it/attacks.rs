//! What somebody may try who reaches the port of the machine-config server.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use slipway_operator::runtime::net::Limits;
use slipway_operator::server::machine_config::answer::Outcome;
use slipway_operator::server::machine_config::routes::Demand;
use tokio::net::TcpSocket;

use crate::served::{Served, WORKER_TOKEN, eventually};

/// A connection on which anything can be said.
fn raw(
    served: &Served,
    versions: &[&'static rustls::SupportedProtocolVersion],
) -> StreamOwned<ClientConnection, TcpStream> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(served.authority.as_bytes()).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_protocol_versions(versions).unwrap();
    let config = config.with_root_certificates(roots).with_no_client_auth();
    let name = ServerName::try_from("127.0.0.1").unwrap();
    let stream = TcpStream::connect(served.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    StreamOwned::new(ClientConnection::new(Arc::new(config), name).unwrap(), stream)
}

/// Says something and returns what comes back until the end.
fn conversation(served: &Served, said: &[u8]) -> String {
    let mut stream = raw(served, &[&rustls::version::TLS13]);
    // The server may close before all of it is said.
    let _ = stream.write_all(said);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn huge_requests() {
    let served = Served::start(Limits::default(), Demand::Token).await;
    let authorized = format!("Authorization: Bearer {WORKER_TOKEN}\r\n");
    let padding = "x".repeat(64 << 10);
    for said in [
        format!("GET /config/worker HTTP/1.1\r\nHost: a\r\n{authorized}X: {padding}\r\n\r\n"),
        format!("GET /config/{padding} HTTP/1.1\r\nHost: a\r\n\r\n"),
        format!("GET /config/worker HTTP/1.1\r\nHost: a\r\n{authorized}{}\r\n", "X: y\r\n".repeat(1000)),
    ] {
        let answer = tokio::task::block_in_place(|| conversation(&served, said.as_bytes()));
        assert!(!answer.contains("200 OK"), "{answer}");
    }
    eventually("all are counted", || served.metrics.counted("", Outcome::TooLarge) == 3).await;
    assert_eq!(served.get("/config/worker", Some(WORKER_TOKEN), None).await.status(), 200);
    served.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn paths_are_not_followed() {
    let served = Served::start(Limits::default(), Demand::Token).await;
    for path in
        ["/config/../worker.tokens", "/config/../../../../etc/passwd", "//config/worker", "/config/./worker"]
    {
        let said = format!("GET {path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {WORKER_TOKEN}\r\n\r\n");
        let answer = tokio::task::block_in_place(|| conversation(&served, said.as_bytes()));
        assert!(answer.starts_with("HTTP/1.1 404"), "{path}: {answer}");
    }
    let answer =
        tokio::task::block_in_place(|| conversation(&served, b"\x16\x03\x01 no HTTP at all\r\n\r\n"));
    assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
    eventually("it is counted", || served.metrics.counted("", Outcome::Malformed) == 1).await;
    served.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tls_from_1_2_on() {
    let served = Served::start(Limits::default(), Demand::Token).await;
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        let mut stream = raw(&served, &[version]);
        let answer = tokio::task::block_in_place(|| {
            stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
            let mut answer = String::new();
            let _ = stream.read_to_string(&mut answer);
            answer
        });
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
    // A hello of TLS 1.0, as old clients say it: no version above 3.1 in it.
    let mut hello = vec![0x16, 3, 1, 0, 45, 1, 0, 0, 41, 3, 1];
    hello.extend([7; 32]);
    hello.extend([0, 0, 2, 0, 47, 1, 0]);
    let answer = tokio::task::block_in_place(|| {
        let mut stream = TcpStream::connect(served.address).unwrap();
        stream.write_all(&hello).unwrap();
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        answer
    });
    assert_eq!(answer.first(), Some(&0x15), "an alert, no handshake: {answer:?}");
    eventually("it is counted", || served.metrics.counted("", Outcome::NoHandshake) == 1).await;
    served.end().await;
}

/// Those who say nothing, or a byte now and then, have their time and not more.
#[tokio::test(flavor = "multi_thread")]
async fn slow_ones_are_cut_off() {
    let short = Duration::from_millis(300);
    let limits = Limits { handshake: short, request: short, connection: 3 * short, ..Limits::default() };
    let served = Served::start(limits, Demand::Token).await;
    tokio::task::block_in_place(|| {
        let mut silent = TcpStream::connect(served.address).unwrap();
        silent.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        assert_eq!(silent.read(&mut [0; 16]).unwrap(), 0, "closed");
        let mut dripping = raw(&served, &[&rustls::version::TLS13]);
        let mut cut = false;
        for byte in b"GET /config/worker HTTP/1.1\r\nHost: a\r\n".iter().cycle().take(2000) {
            cut = dripping.write_all(&[*byte]).and_then(|()| dripping.flush()).is_err();
            if cut {
                break;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        assert!(cut, "somebody who drips is cut off");
    });
    eventually("both are counted", || served.metrics.counted("", Outcome::TooSlow) == 2).await;
    served.end().await;
}

/// A thousand silent connections from one address: that address has its share, and others are served at once.
#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_connections() {
    // Nobody's time passes: who is served did not wait for it.
    let limits =
        Limits { connections: 100, per_address: 20, handshake: Duration::from_mins(10), ..Limits::default() };
    let served = Served::start(limits, Demand::Token).await;
    let mut held = Vec::new();
    for _ in 0..1000 {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind((Ipv4Addr::new(127, 6, 6, 6), 0).into()).unwrap();
        held.push(socket.connect(served.address).await.unwrap());
    }
    eventually("980 are turned away", || served.metrics.counted("", Outcome::TooManyConnections) == 980)
        .await;
    for last in 1..=10 {
        let machine = served.machine([127, 0, 7, last]);
        let answer =
            machine.get(served.url("/config/worker")).bearer_auth(WORKER_TOKEN).send().await.unwrap();
        assert_eq!(answer.status(), 200);
    }
    drop(held);
    served.end().await;
}

/// From many addresses at once: all places are taken, the rest waits and is served when time has freed them.
#[tokio::test(flavor = "multi_thread")]
async fn a_full_house_empties_by_itself() {
    let limits =
        Limits { connections: 10, per_address: 1, handshake: Duration::from_secs(1), ..Limits::default() };
    let served = Served::start(limits, Demand::Token).await;
    let mut held = Vec::new();
    for last in 1..=10 {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind((Ipv4Addr::new(127, 6, 6, last), 0).into()).unwrap();
        held.push(socket.connect(served.address).await.unwrap());
    }
    // Its own time is short as well: on a busy machine it may have to come again.
    let machine = served.machine([127, 0, 0, 1]);
    let fetched = tokio::time::timeout(Duration::from_mins(1), async {
        loop {
            let request = machine.get(served.url("/config/worker")).bearer_auth(WORKER_TOKEN);
            if let Ok(answer) = request.send().await {
                return answer.status();
            }
        }
    });
    assert_eq!(fetched.await.unwrap(), 200);
    assert_eq!(served.metrics.counted("", Outcome::TooManyConnections), 0);
    served.end().await;
}

#[tokio::test]
async fn foreign_networks_do_not_even_get_a_handshake() {
    let limits = Limits { networks: vec!["127.0.5.0/24".parse().unwrap()], ..Limits::default() };
    let served = Served::start(limits, Demand::Token).await;
    let get =
        |machine: reqwest::Client| machine.get(served.url("/config/worker")).bearer_auth(WORKER_TOKEN).send();
    assert!(get(served.machine([127, 0, 0, 1])).await.is_err());
    assert_eq!(get(served.machine([127, 0, 5, 1])).await.unwrap().status(), 200);
    assert_eq!(served.metrics.counted("", Outcome::ForeignNetwork), 1);
    served.end().await;
}
