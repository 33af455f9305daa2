//! A file in a layer of an image.

use std::io::{self, Read};

use flate2::read::MultiGzDecoder;
use tar::Archive;

/// Where a release image has its manifests, and how the name of the one about OS images ends.
const FOLDER: &str = "release-manifests";
const SUFFIX: &str = "coreos-bootimages.yaml";
/// A layer that unpacks to more is not read to its end.
const MAX_UNPACKED_BYTES: u64 = 2 << 30;
/// The manifest has some hundred kilobytes.
const MAX_FILE_BYTES: u64 = 8 << 20;
const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// The manifest about OS images, if it is in this layer.
pub(super) fn boot_images(layer: &[u8]) -> io::Result<Option<String>> {
    if layer.starts_with(ZSTD) {
        return Err(io::Error::other("it is compressed by zstd, which is not supported"));
    }
    if layer.starts_with(GZIP) { find(MultiGzDecoder::new(layer)) } else { find(layer) }
}

fn find(unpacked: impl Read) -> io::Result<Option<String>> {
    let mut archive = Archive::new(unpacked.take(MAX_UNPACKED_BYTES));
    for entry in archive.entries()? {
        let mut entry = entry?;
        let path = entry.path()?.into_owned();
        let path = path.strip_prefix("/").unwrap_or(&path);
        let path = path.strip_prefix("./").unwrap_or(path);
        let is_it = path.starts_with(FOLDER)
            && path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.ends_with(SUFFIX));
        if !is_it || !entry.header().entry_type().is_file() {
            continue;
        }
        if entry.size() > MAX_FILE_BYTES {
            return Err(io::Error::other(format!("`{}` has {} bytes", path.display(), entry.size())));
        }
        let mut text = String::new();
        entry.read_to_string(&mut text)?;
        return Ok(Some(text));
    }
    Ok(None)
}
