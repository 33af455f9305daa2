//! The image templates are made from: downloaded once, verified every time.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fs_err::tokio as fs;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use slipway_config::install_config::vsphere::OsImage;
use slipway_config::private_url::PrivateUrl;
use thiserror::Error;
use tokio::io::AsyncWriteExt;

use crate::environment::Environment;
use crate::registry::hex;

/// A download that stands still for so long is given up.
const STALL_TIMEOUT: Duration = Duration::from_mins(1);

/// Why there is no image.
#[derive(Debug, Error)]
pub enum ImageError {
    #[error("neither XDG_CACHE_HOME nor HOME is set, so there is no place for the image")]
    NoPlace,
    #[error("downloading {url}")]
    Download { url: PrivateUrl, source: reqwest::Error },
    #[error("downloading {url}: the server answers with status {status}")]
    Status { url: PrivateUrl, status: u16 },
    #[error("downloading {url}: nothing has come for {STALL_TIMEOUT:?}")]
    Stalled { url: PrivateUrl },
    #[error("the image at {url} has the checksum {found}, not {expected}")]
    Checksum { url: PrivateUrl, expected: String, found: String },
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// What is known of an image without a checksum: as its server described it, and as it was when it came.
#[derive(Debug, Serialize, Deserialize)]
struct Origin {
    etag: Option<String>,
    last_modified: Option<String>,
    sha256: String,
}

/// Where the image is, or will be: named after its checksum, or its address where there is none.
pub(super) fn path(image: &OsImage, environment: &Environment) -> Result<PathBuf, ImageError> {
    let cache = environment.get("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = cache.or_else(|| environment.in_home(".cache")).ok_or(ImageError::NoPlace)?;
    let key = image.sha256.clone().unwrap_or_else(|| hex(&Sha256::digest(image.url.expose())));
    Ok(cache.join("slipway/images").join(format!("{key}.ova")))
}

/// Downloads the image. What is there already is verified, and downloaded again if it is not what it should be: by its
/// checksum, or where there is none, by asking the server whether it still has the same.
pub(super) async fn ensure(image: &OsImage, path: &Path) -> Result<(), ImageError> {
    let origin = path.with_extension("json");
    let cached = match (&image.sha256, path.exists()) {
        (Some(expected), true) if sum(path).await? == *expected => return Ok(()),
        (None, true) => known_origin(&origin, path).await?,
        _ => None,
    };
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).await?;
    }
    let part = path.with_extension(format!("part-{}", std::process::id()));
    let downloaded = match download(image, cached.as_ref(), &part).await {
        Ok(Some(downloaded)) => downloaded,
        Ok(None) => return Ok(()),
        Err(error) => {
            let _ = fs::remove_file(&part).await;
            return Err(error);
        }
    };
    if image.sha256.is_none() {
        // Before the image: one without is downloaded again, another one's is found out by its checksum.
        fs::write(&origin, serde_json::to_vec(&downloaded).unwrap_or_default()).await?;
    }
    Ok(fs::rename(&part, path).await?)
}

/// What was written down when an image came, if the image is still that one.
async fn known_origin(origin: &Path, image: &Path) -> Result<Option<Origin>, ImageError> {
    let Ok(bytes) = fs::read(origin).await else { return Ok(None) };
    let Ok(known) = serde_json::from_slice::<Origin>(&bytes) else { return Ok(None) };
    let asks = known.etag.is_some() || known.last_modified.is_some();
    Ok(if asks && sum(image).await? == known.sha256 { Some(known) } else { None })
}

/// `None` if the server still has the image that is known.
async fn download(
    image: &OsImage,
    known: Option<&Origin>,
    part: &Path,
) -> Result<Option<Origin>, ImageError> {
    let OsImage { url, sha256 } = image;
    let failed =
        |source: reqwest::Error| ImageError::Download { url: url.clone(), source: source.without_url() };
    let secure = sha256.is_none() && url.expose().starts_with("https://");
    let client = reqwest::Client::builder()
        .connect_timeout(STALL_TIMEOUT)
        .https_only(secure)
        .build()
        .map_err(failed)?;
    let mut request = client.get(address(url.expose()));
    let validators =
        known.map(|known| [("if-none-match", &known.etag), ("if-modified-since", &known.last_modified)]);
    for (name, value) in validators.into_iter().flatten() {
        if let Some(value) = value {
            request = request.header(name, value);
        }
    }
    let mut response = request.send().await.map_err(failed)?;
    if known.is_some() && response.status() == reqwest::StatusCode::NOT_MODIFIED {
        return Ok(None);
    }
    if !response.status().is_success() {
        return Err(ImageError::Status { url: url.clone(), status: response.status().as_u16() });
    }
    let header = |name: &str| Some(response.headers().get(name)?.to_str().ok()?.to_owned());
    let (etag, last_modified) = (header("etag"), header("last-modified"));
    let mut file = fs::File::create(part).await?;
    let mut hash = Sha256::new();
    loop {
        let chunk = tokio::time::timeout(STALL_TIMEOUT, response.chunk()).await;
        let chunk = chunk.map_err(|_| ImageError::Stalled { url: url.clone() })?.map_err(failed)?;
        let Some(chunk) = chunk else { break };
        hash.update(&chunk);
        file.write_all(&chunk).await?;
    }
    file.sync_all().await?;
    let found = hex(&hash.finalize());
    match sha256 {
        Some(expected) if *expected != found => {
            Err(ImageError::Checksum { url: url.clone(), expected: expected.clone(), found })
        }
        _ => Ok(Some(Origin { etag, last_modified, sha256: found })),
    }
}

/// What the server is asked for: the checksum is for us, everything else in the query may be a signature.
fn address(url: &str) -> String {
    let Some((place, query)) = url.split_once('?') else { return url.to_owned() };
    let kept: Vec<&str> = query.split('&').filter(|part| !part.starts_with("sha256=")).collect();
    if kept.is_empty() { place.to_owned() } else { format!("{place}?{}", kept.join("&")) }
}

/// Beside everything else: an image has gigabytes.
async fn sum(path: &Path) -> Result<String, ImageError> {
    let path = path.to_owned();
    let summed = tokio::task::spawn_blocking(move || {
        let mut file = fs_err::File::open(path)?;
        let (mut hash, mut buffer) = (Sha256::new(), vec![0; 1 << 20]);
        loop {
            match file.read(&mut buffer)? {
                0 => return Ok(hex(&hash.finalize())),
                read => hash.update(&buffer[..read]),
            }
        }
    });
    summed.await.unwrap_or_else(|error| Err(std::io::Error::other(error).into()))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::sync::{Arc, Mutex};

    use rstest::rstest;
    use slipway_config::install_config::vsphere::OsImage;

    use super::{ImageError, address, ensure};

    #[rstest]
    #[case("https://h/x.ova", "https://h/x.ova")]
    #[case("https://h/x.ova?sha256=ab", "https://h/x.ova")]
    #[case("https://h/x.ova?a=1&sha256=ab&sig=2", "https://h/x.ova?a=1&sig=2")]
    fn signatures_reach_the_server(#[case] url: &str, #[case] asked: &str) {
        assert_eq!(address(url), asked);
    }

    /// What a server has, and how often it has sent it.
    #[derive(Debug, Default)]
    struct Shelf {
        content: &'static str,
        etag: Option<&'static str>,
        sent: usize,
    }

    fn serve(shelf: &Arc<Mutex<Shelf>>) -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (port, shelf) = (listener.local_addr().unwrap().port(), shelf.clone());
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let mut request = [0; 4096];
                let read = stream.read(&mut request).unwrap();
                let asked = String::from_utf8_lossy(&request[..read]).to_lowercase();
                let mut shelf = shelf.lock().unwrap();
                let known = shelf.etag.is_some_and(|etag| asked.contains(&format!("if-none-match: {etag}")));
                let etag = shelf.etag.map(|etag| format!("ETag: {etag}\r\n")).unwrap_or_default();
                let answer = if known {
                    format!("HTTP/1.1 304 Not Modified\r\n{etag}Connection: close\r\n\r\n")
                } else {
                    shelf.sent += 1;
                    let length = shelf.content.len();
                    format!(
                        "HTTP/1.1 200 OK\r\n{etag}Content-Length: {length}\r\nConnection: close\r\n\r\n{}",
                        shelf.content
                    )
                };
                stream.write_all(answer.as_bytes()).unwrap();
            }
        });
        port
    }

    /// Without a checksum, one that was downloaded before is only used if its server says that it is the same.
    #[tokio::test]
    async fn without_a_checksum_the_server_is_asked_again() {
        let shelf = Arc::new(Mutex::new(Shelf { content: "first", ..Shelf::default() }));
        let url = format!("http://127.0.0.1:{}/x.ova", serve(&shelf));
        let image = OsImage { url: url.as_str().into(), sha256: None };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("images/key.ova");
        let fetched = async || {
            ensure(&image, &path).await.unwrap();
            (fs_err::read_to_string(&path).unwrap(), shelf.lock().unwrap().sent)
        };
        assert_eq!(fetched().await, ("first".to_owned(), 1));
        assert_eq!(fetched().await, ("first".to_owned(), 2), "the server says nothing about it");
        shelf.lock().unwrap().etag = Some("one");
        assert_eq!(fetched().await, ("first".to_owned(), 3));
        assert_eq!(fetched().await, ("first".to_owned(), 3), "it is the same");
        *shelf.lock().unwrap() = Shelf { content: "second", etag: Some("two"), sent: 3 };
        assert_eq!(fetched().await, ("second".to_owned(), 4), "it is another one");
        fs_err::write(&path, "tampered").unwrap();
        assert_eq!(fetched().await, ("second".to_owned(), 5), "it is not what was downloaded");
    }

    #[tokio::test]
    async fn errors_show_no_login() {
        let image = OsImage { url: "http://me:swordfish@127.0.0.1:1/x.ova?sig=trout".into(), sha256: None };
        let folder = tempfile::tempdir().unwrap();
        let error = ensure(&image, &folder.path().join("key.ova")).await.unwrap_err();
        assert!(matches!(error, ImageError::Download { .. }), "{error:?}");
        let shown = format!("{error} {error:?} {}", crate::text::chain(&error));
        assert!(shown.contains("http://***@127.0.0.1:1/x.ova?sig=***"), "{shown}");
        assert!(!shown.contains("swordfish") && !shown.contains("trout"), "{shown}");
    }
}
