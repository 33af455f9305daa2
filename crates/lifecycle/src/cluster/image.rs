//! The image templates are made from: downloaded once, verified every time.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use fs_err::tokio as fs;
use sha2::{Digest, Sha256};
use slipway_config::install_config::vsphere::{DiskType, OsImage};
use slipway_config::install_config::{InstallConfig, Platform};
use slipway_providers::vsphere::kinds::Image;
use slipway_providers::vsphere::machines::Provisioning;
use thiserror::Error;
use tokio::io::AsyncWriteExt;

use crate::environment::Environment;

/// A download that stands still for so long is given up.
const STALL: Duration = Duration::from_mins(1);

/// Why there is no image.
#[derive(Debug, Error)]
pub enum ImageError {
    #[error("neither XDG_CACHE_HOME nor HOME is set, so there is no place for the image")]
    NoPlace,
    #[error("downloading {url}")]
    Download { url: String, source: reqwest::Error },
    #[error("downloading {url}: the server answers with status {status}")]
    Status { url: String, status: u16 },
    #[error("downloading {url}: nothing has come for {STALL:?}")]
    Stalled { url: String },
    #[error("the image at {url} has the checksum {found}, not {expected}")]
    Checksum { url: String, expected: String, found: String },
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

fn os_image(config: &InstallConfig) -> Option<(&OsImage, Provisioning)> {
    let Platform::VSphere(platform) = &config.platform else { return None };
    let provisioning = match platform.disk_type {
        Some(DiskType::Thick) => Provisioning::Thick,
        Some(DiskType::EagerZeroedThick) => Provisioning::EagerlyZeroed,
        Some(DiskType::Thin) | None => Provisioning::Thin,
    };
    Some((platform.os_image.as_ref()?, provisioning))
}

pub(super) fn url(config: &InstallConfig) -> Option<&str> {
    os_image(config).map(|(image, _)| image.url.as_str())
}

/// Where the image is, or will be: named after its checksum, or its address where nobody gave one.
pub(super) fn plan(
    config: &InstallConfig,
    environment: &Environment,
) -> Result<Option<Arc<Image>>, ImageError> {
    let Some((image, provisioning)) = os_image(config) else { return Ok(None) };
    let cache = environment.get("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = cache.or_else(|| environment.in_home(".cache")).ok_or(ImageError::NoPlace)?;
    let key = image.sha256.clone().unwrap_or_else(|| hex(&Sha256::digest(&image.url)));
    let path = cache.join("slipway/images").join(format!("{key}.ova"));
    Ok(Some(Arc::new(Image { path, provisioning })))
}

/// Downloads the image. What is there already is verified, and downloaded again if it is not what it should be.
pub(super) async fn fetch(config: &InstallConfig, path: &Path) -> Result<(), ImageError> {
    let Some((OsImage { url, sha256 }, _)) = os_image(config) else { return Ok(()) };
    if let (true, Some(expected)) = (path.exists(), sha256)
        && sum(path)? == *expected
    {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).await?;
    }
    let part = path.with_extension(format!("part-{}", std::process::id()));
    let result = download(url, sha256.as_deref(), &part).await;
    match result {
        Ok(()) => Ok(fs::rename(&part, path).await?),
        Err(error) => {
            let _ = fs::remove_file(&part).await;
            Err(error)
        }
    }
}

async fn download(url: &str, sha256: Option<&str>, part: &Path) -> Result<(), ImageError> {
    let failed =
        |source: reqwest::Error| ImageError::Download { url: url.to_owned(), source: source.without_url() };
    let client = reqwest::Client::builder().connect_timeout(STALL).build().map_err(failed)?;
    // The checksum is for us, not for the server.
    let address = url.split('?').next().unwrap_or(url);
    let mut response = client.get(address).send().await.map_err(failed)?;
    if !response.status().is_success() {
        return Err(ImageError::Status { url: url.to_owned(), status: response.status().as_u16() });
    }
    let mut file = fs::File::create(part).await?;
    let mut hash = Sha256::new();
    loop {
        let chunk = tokio::time::timeout(STALL, response.chunk()).await;
        let chunk = chunk.map_err(|_| ImageError::Stalled { url: url.to_owned() })?.map_err(failed)?;
        let Some(chunk) = chunk else { break };
        hash.update(&chunk);
        file.write_all(&chunk).await?;
    }
    file.sync_all().await?;
    let found = hex(&hash.finalize());
    match sha256 {
        Some(expected) if expected != found => {
            let (url, expected) = (url.to_owned(), expected.to_owned());
            Err(ImageError::Checksum { url, expected, found })
        }
        _ => Ok(()),
    }
}

fn sum(path: &Path) -> Result<String, ImageError> {
    let mut file = fs_err::File::open(path)?;
    let (mut hash, mut buffer) = (Sha256::new(), vec![0; 1 << 20]);
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hex(&hash.finalize())),
            read => hash.update(&buffer[..read]),
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
