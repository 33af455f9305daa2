//! A client of the cluster that stops at a chosen write, as a process that is killed there does.

use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use axum::http::{Method, Request};
use kube::client::{Body, ClientBuilder};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use tokio::sync::Notify;
use tower::layer::layer_fn;
use tower::{BoxError, Service};

/// Where it stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum At {
    /// The n-th write of a status is not sent.
    Before(usize),
    /// It is sent, and its answer is not heard.
    After(usize),
}

/// What stops, and whether it has.
#[derive(Debug, Default)]
pub(super) struct Gate {
    at: Mutex<Option<At>>,
    writes: AtomicUsize,
    stopped: Notify,
}

impl Gate {
    pub(super) fn at(at: At) -> Arc<Self> {
        Arc::new(Gate { at: Mutex::new(Some(at)), ..Gate::default() })
    }

    /// Waits until it has stopped.
    pub(super) async fn stopped(&self) {
        self.stopped.notified().await;
    }

    /// How many statuses were written.
    pub(super) fn writes(&self) -> usize {
        self.writes.load(Ordering::SeqCst)
    }

    async fn stop(&self) {
        self.stopped.notify_one();
        std::future::pending::<()>().await;
    }
}

#[derive(Debug)]
struct Gated<S> {
    inner: S,
    gate: Arc<Gate>,
}

impl<S> Service<Request<Body>> for Gated<S>
where
    S: Service<Request<Body>, Error = BoxError>,
    S::Future: Send + 'static,
    S::Response: Send,
{
    type Response = S::Response;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let path = request.uri().path();
        let is_status =
            request.method() == Method::PATCH && path.ends_with("/status") && path.contains("/machines/");
        if !is_status {
            return Box::pin(self.inner.call(request));
        }
        let number = self.gate.writes.fetch_add(1, Ordering::SeqCst);
        let (at, gate) = (*self.gate.at.lock().unwrap(), self.gate.clone());
        match at {
            Some(At::Before(chosen)) if number >= chosen => Box::pin(async move {
                gate.stop().await;
                Err("never".into())
            }),
            Some(At::After(chosen)) if number >= chosen => {
                let answer = self.inner.call(request);
                Box::pin(async move {
                    let answer = answer.await;
                    gate.stop().await;
                    answer
                })
            }
            _ => Box::pin(self.inner.call(request)),
        }
    }
}

/// A client with a kubeconfig, through a gate.
pub(super) async fn client(kubeconfig: &std::path::Path, gate: Arc<Gate>) -> Client {
    let file = Kubeconfig::read_from(kubeconfig).unwrap();
    let config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await.unwrap();
    let gated = layer_fn(move |inner| Gated { inner, gate: gate.clone() });
    ClientBuilder::try_from(config).unwrap().with_layer(&gated).build()
}
