//! Connections with bounds: how many, from where, how long.
//!
//! A connection carries one request and has one deadline for everything: handshake, request and answer. So whatever
//! somebody does with it, it is over soon, and its place is free.

mod gate;
pub mod health;
pub mod tls;

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::body::Incoming;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use ipnet::IpNet;
use rustls::AlertDescription;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use self::gate::{Gate, Pass};
use super::stop::stopped;

/// Who is at the other end; in the extensions of every request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer(pub IpAddr);

/// How much of the server somebody may have.
#[derive(Debug, Clone)]
pub struct Limits {
    /// At the same time. Those that come later wait until there is room.
    pub connections: usize,
    /// At the same time from one address. Those above it are closed.
    pub per_address: usize,
    /// Networks that may connect at all; all of them if there is none.
    pub networks: Vec<IpNet>,
    /// Until TLS is agreed on.
    pub handshake: Duration,
    /// Until the request is there.
    pub request: Duration,
    /// For everything.
    pub connection: Duration,
    /// Bytes of request line and headers.
    pub head: usize,
    /// How long answers may take that are under way when the server is told to end.
    pub shutdown_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            connections: 1024,
            per_address: 64,
            networks: Vec::new(),
            handshake: Duration::from_secs(10),
            request: Duration::from_secs(10),
            connection: Duration::from_mins(1),
            head: 16 << 10,
            shutdown_timeout: Duration::from_secs(10),
        }
    }
}

/// Why a connection ended without an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    ForeignNetwork,
    TooManyConnections,
    NoHandshake,
    /// The other side does not accept our certificate: it trusts another authority, or its clock is off.
    Distrusted,
    TooSlow,
    TooLarge,
    Malformed,
}

/// Is told what happens to connections.
pub trait Watch: Send + Sync + 'static {
    fn opened(&self) {}
    fn closed(&self) {}
    fn ended(&self, _peer: IpAddr, _end: End) {}
}

impl Watch for () {}

/// What is spoken below HTTP.
#[derive(Clone)]
pub enum Transport {
    Plain,
    Tls(TlsAcceptor),
}

impl std::fmt::Debug for Transport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Transport::Plain => "Plain",
            Transport::Tls(_) => "Tls",
        })
    }
}

/// Serves until it is told to end, by `true` or by the sender's going away; answers under way are finished.
pub async fn serve(
    listener: TcpListener,
    transport: Transport,
    router: Router,
    limits: Limits,
    watcher: impl Watch,
    mut stop: watch::Receiver<bool>,
) {
    let shutdown_timeout = limits.shutdown_timeout;
    let places = Arc::new(Semaphore::new(limits.connections));
    let gate = Arc::new(Gate::new(limits.per_address, limits.networks.clone()));
    let state = Arc::new(ServerState { transport, router, limits, watcher, stop: stop.clone() });
    let mut connections = JoinSet::new();
    loop {
        let next = next(&listener, &places);
        let (stream, peer, place) = tokio::select! {
            () = stopped(&mut stop) => break,
            next = next => next,
            Some(_) = connections.join_next() => continue,
        };
        let peer = peer.ip().to_canonical();
        match gate.pass(peer) {
            Ok(pass) => {
                let state = Arc::clone(&state);
                connections.spawn(async move { state.receive(stream, peer, place, pass).await });
            }
            Err(end) => state.watcher.ended(peer, end),
        }
    }
    drop(listener);
    let finish = async { while connections.join_next().await.is_some() {} };
    let _ = timeout(shutdown_timeout, finish).await;
}

/// The next connection, once there is a place for it.
async fn next(
    listener: &TcpListener,
    places: &Arc<Semaphore>,
) -> (TcpStream, SocketAddr, Option<OwnedSemaphorePermit>) {
    // The semaphore is never closed.
    let place = Arc::clone(places).acquire_owned().await.ok();
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => return (stream, peer, place),
            Err(error) => {
                // Most likely there are no file descriptors left; trying at once would only burn time.
                tracing::warn!(%error, "a connection could not be taken");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

/// Whether a handshake ended because our certificate was refused. Which alert says so depends on the client.
fn is_untrusted(error: &std::io::Error) -> bool {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    let Some(rustls::Error::AlertReceived(alert)) = inner else { return false };
    matches!(
        alert,
        AlertDescription::BadCertificate
            | AlertDescription::CertificateExpired
            | AlertDescription::CertificateUnknown
            | AlertDescription::UnknownCA
    )
}

/// What all connections share.
struct ServerState<W> {
    transport: Transport,
    router: Router,
    limits: Limits,
    watcher: W,
    stop: watch::Receiver<bool>,
}

impl<W: Watch> ServerState<W> {
    async fn receive(
        &self,
        stream: TcpStream,
        peer: IpAddr,
        place: Option<OwnedSemaphorePermit>,
        pass: Pass,
    ) {
        self.watcher.opened();
        let all = timeout(self.limits.connection, self.converse(stream, peer));
        if let Err(end) = all.await.unwrap_or(Err(End::TooSlow)) {
            self.watcher.ended(peer, end);
        }
        self.watcher.closed();
        drop((place, pass));
    }

    async fn converse(&self, stream: TcpStream, peer: IpAddr) -> Result<(), End> {
        match &self.transport {
            Transport::Plain => self.answer(stream, peer).await,
            Transport::Tls(acceptor) => match timeout(self.limits.handshake, acceptor.accept(stream)).await {
                Ok(Ok(stream)) => self.answer(stream, peer).await,
                Ok(Err(error)) if is_untrusted(&error) => Err(End::Distrusted),
                Ok(Err(_)) => Err(End::NoHandshake),
                Err(_) => Err(End::TooSlow),
            },
        }
    }

    async fn answer(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        peer: IpAddr,
    ) -> Result<(), End> {
        let router = TowerToHyperService::new(self.router.clone());
        let service = service_fn(move |mut request: hyper::Request<Incoming>| {
            request.extensions_mut().insert(Peer(peer));
            router.call(request)
        });
        let mut builder = hyper::server::conn::http1::Builder::new();
        builder
            .timer(TokioTimer::new())
            .header_read_timeout(self.limits.request)
            .max_header_size(self.limits.head)
            .keep_alive(false);
        let mut connection = std::pin::pin!(builder.serve_connection(TokioIo::new(stream), service));
        let mut stop = self.stop.clone();
        let result = tokio::select! {
            result = connection.as_mut() => result,
            () = stopped(&mut stop) => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        match result {
            Err(error) if error.is_timeout() => Err(End::TooSlow),
            Err(error) if error.is_parse_too_large() => Err(End::TooLarge),
            Err(error) if error.is_parse() => Err(End::Malformed),
            // Answered, or the other side went away.
            Ok(()) | Err(_) => Ok(()),
        }
    }
}
