//! A client that stops working at a certain write, before or after the API server has done it: the moment of a crash.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::http::{Method, Request, Response};
use kube::Client;
use kube::client::Body;
use tokio::sync::watch;

/// When it stops working.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum When {
    /// The write never reaches the API server.
    Before,
    /// The write is done, and its answer never comes.
    After,
}

/// Burns through at a write.
#[derive(Debug)]
pub(super) struct Fuse {
    at: usize,
    when: When,
    writes: AtomicUsize,
    blown: watch::Sender<bool>,
}

impl Fuse {
    pub(super) fn new(at: usize, when: When) -> Arc<Self> {
        Arc::new(Fuse { at, when, writes: AtomicUsize::new(0), blown: watch::Sender::default() })
    }

    /// Waits until it has burnt through.
    pub(super) async fn blown(&self) {
        self.blown.subscribe().wait_for(|blown| *blown).await.unwrap();
    }

    /// The client with the fuse in it.
    pub(super) fn client(self: &Arc<Self>, inner: &Client) -> Client {
        let (inner, fuse) = (inner.clone(), Arc::clone(self));
        let service = tower::service_fn(move |request: Request<Body>| {
            let (inner, fuse) = (inner.clone(), Arc::clone(&fuse));
            async move { Ok::<Response<Body>, Infallible>(fuse.pass(&inner, request).await) }
        });
        Client::new(service, "default")
    }

    async fn pass(&self, inner: &Client, request: Request<Body>) -> Response<Body> {
        // Events are for people: losing one changes nothing.
        let is_write = request.method() != Method::GET && !request.uri().path().contains("/events");
        let number = if is_write { self.writes.fetch_add(1, Ordering::SeqCst) } else { usize::MAX };
        if *self.blown.borrow() || number == self.at && self.when == When::Before {
            return self.burn().await;
        }
        let response = inner.send(request).await.unwrap();
        if number == self.at {
            return self.burn().await;
        }
        response
    }

    async fn burn(&self) -> Response<Body> {
        self.blown.send_replace(true);
        std::future::pending().await
    }
}
