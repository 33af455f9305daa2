//! One file, from the archive to the host.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use reqwest::header::CONTENT_TYPE;
use tokio::sync::mpsc;

use super::ImportError;
use crate::connector::Trust;
use crate::vsphere::client::{Client, cause, connector};
use crate::vsphere::error::Cause;
use crate::vsphere::ova::{Content, Ova, OvaError};
use crate::vsphere::soap::Element;

/// What is read at a time, and how much of it may wait for the network.
const CHUNK: usize = 1 << 20;
const AHEAD: usize = 4;

/// A file the vCenter wants.
#[derive(Debug)]
pub(super) struct FileItem {
    pub(super) device: String,
    pub(super) path: String,
    /// Whether it is something else than a disk, such as an image of a CD.
    create: bool,
}

impl FileItem {
    pub(super) fn of(element: &Element) -> Self {
        FileItem {
            device: element.text_of("deviceId").to_owned(),
            path: element.text_of("path").to_owned(),
            create: matches!(element.text_of("create"), "true" | "1"),
        }
    }
}

/// Where a file goes.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) key: String,
    url: String,
    thumbprint: String,
}

impl Target {
    pub(super) fn of(element: &Element) -> Self {
        Target {
            key: element.text_of("importKey").to_owned(),
            url: element.text_of("url").to_owned(),
            thumbprint: element.text_of("sslThumbprint").to_owned(),
        }
    }
}

pub(super) async fn send(
    client: &Client,
    ova: &Ova,
    item: &FileItem,
    target: &Target,
    sent: &Arc<AtomicU64>,
) -> Result<(), ImportError> {
    let (endpoint, _, http) = client.parts();
    let method = "upload";
    // A host's certificate is vouched for by the vCenter, which has named it in its own, verified, answer.
    let http = match thumbprint(&target.thumbprint) {
        Some(bytes) => connector(endpoint, &Trust::Fingerprint(bytes))
            .map_err(|reason| client.error(method, Cause::Setup(reason)))?,
        None => http.clone(),
    };
    let host = if endpoint.server.contains(':') {
        format!("[{}]", endpoint.server)
    } else {
        endpoint.server.to_string()
    };
    let url = target.url.replacen("://*", &format!("://{host}"), 1);
    let (chunks, received) = mpsc::channel(AHEAD);
    let content = ova.content(&item.path)?;
    let size = ova.size(&item.path)?;
    let reading = tokio::task::spawn_blocking(move || read(content, &chunks));
    let body = Upload { received, left: size, sent: sent.clone() };
    let request = if item.create {
        http.put(url).header("Overwrite", "t")
    } else {
        http.post(url).header(CONTENT_TYPE, "application/x-vnd.vmware-streamVmdk")
    };
    // The upload as a whole has no deadline of its own: the caller has one, and looks whether it moves.
    let result = request.body(reqwest::Body::wrap(body)).send().await;
    // A file that is not what it should be explains a broken upload.
    match reading.await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => return Err(error.into()),
        Err(error) => return Err(client.error(method, Cause::Setup(error.to_string())).into()),
    }
    let response = result.map_err(|error| client.error(method, cause(error, endpoint.timeout)))?;
    let status = response.status();
    if status.is_success() {
        return Ok(());
    }
    Err(client.error(method, Cause::Status { status: status.as_u16(), retry_after: None }).into())
}

/// `AB:CD:…`, SHA-1 or SHA-256.
fn thumbprint(text: &str) -> Option<Vec<u8>> {
    let bytes: Option<Vec<u8>> = text.split(':').map(|pair| u8::from_str_radix(pair, 16).ok()).collect();
    bytes.filter(|bytes| bytes.len() == 20 || bytes.len() == 32)
}

/// Reads ahead of the network, and checks what it reads.
fn read(mut content: Content, chunks: &mpsc::Sender<Bytes>) -> Result<(), OvaError> {
    let mut buffer = vec![0; CHUNK];
    loop {
        let count = content.read(&mut buffer)?;
        if count == 0 {
            return content.finish();
        }
        if chunks.blocking_send(Bytes::copy_from_slice(&buffer[..count])).is_err() {
            // The upload is over, for a reason of its own.
            return Ok(());
        }
    }
}

/// What is read, as the body of a request. Hosts want to know its length before.
struct Upload {
    received: mpsc::Receiver<Bytes>,
    left: u64,
    sent: Arc<AtomicU64>,
}

impl HttpBody for Upload {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, std::io::Error>>> {
        let chunk = ready!(self.received.poll_recv(context));
        Poll::Ready(match chunk {
            Some(chunk) => {
                let count = chunk.len() as u64;
                self.left = self.left.saturating_sub(count);
                self.sent.fetch_add(count, Ordering::Relaxed);
                Some(Ok(Frame::data(chunk)))
            }
            // Reading failed: an upload that ends early must not look complete.
            None if self.left > 0 => Some(Err(std::io::ErrorKind::UnexpectedEof.into())),
            None => None,
        })
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}
