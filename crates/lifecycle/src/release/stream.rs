//! From the manifest about OS images to an OVA: a ConfigMap with the default stream in `stream`, and in newer releases all
//! of them in `streams`.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use slipway_config::install_config::OsImageStream;
use slipway_config::install_config::vsphere::OsImage;
use slipway_config::yaml::from_yaml;

use super::{ARCHITECTURE, ReleaseError};

/// Metadata of a stream, as CoreOS publishes it.
#[derive(Debug, Deserialize)]
struct Stream {
    #[serde(default)]
    stream: String,
    architectures: BTreeMap<String, Architecture>,
}

#[derive(Debug, Deserialize)]
struct Architecture {
    #[serde(default)]
    artifacts: BTreeMap<String, Artifact>,
}

#[derive(Debug, Deserialize)]
struct Artifact {
    #[serde(default)]
    formats: BTreeMap<String, BTreeMap<String, File>>,
}

#[derive(Debug, Deserialize)]
struct File {
    location: String,
    sha256: String,
}

/// The OVA of a stream, or of the default one.
pub(super) fn ova(image: &str, text: &str, wanted: Option<OsImageStream>) -> Result<OsImage, ReleaseError> {
    let bad = |reason: &str| ReleaseError::BootImages { image: image.to_owned(), reason: reason.to_owned() };
    let map = from_yaml(text).map_err(|_| bad("it is not YAML"))?;
    let data = |key: &str| map.pointer(&format!("/data/{key}")).and_then(Value::as_str);
    let default = || {
        let text = data("stream").ok_or_else(|| bad("it has no `stream`"))?;
        serde_json::from_str::<Stream>(text).map_err(|error| bad(&format!("its `stream` is odd, {error}")))
    };
    let stream = match (wanted, data("streams")) {
        (Some(wanted), Some(text)) => {
            let mut streams = serde_json::from_str::<BTreeMap<String, Value>>(text)
                .map_err(|error| bad(&format!("its `streams` are odd, {error}")))?;
            let one = streams.remove(wanted.as_str());
            let one = one.ok_or_else(|| bad(&format!("it has no stream `{}`", wanted.as_str())))?;
            serde_json::from_value(one)
                .map_err(|error| bad(&format!("its stream `{}` is odd, {error}", wanted.as_str())))?
        }
        // Releases with a single stream have no list of them, and that is of version 9.
        (Some(OsImageStream::Rhel10), None) => return Err(bad("it has no stream `rhel-10`")),
        _ => default()?,
    };
    let name = wanted.map_or(stream.stream.clone(), |wanted| wanted.as_str().to_owned());
    let file = (|| {
        let artifact = stream.architectures.get(ARCHITECTURE.1)?.artifacts.get("vmware")?;
        artifact.formats.get("ova")?.get("disk")
    })();
    let Some(File { location, sha256 }) = file else {
        return Err(ReleaseError::NoOva { image: image.to_owned(), stream: name });
    };
    if sha256.len() != 64 || !sha256.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(bad("the checksum of its OVA is none"));
    }
    Ok(OsImage { url: location.as_str().into(), sha256: Some(sha256.to_ascii_lowercase()) })
}
