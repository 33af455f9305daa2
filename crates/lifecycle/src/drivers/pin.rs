//! Tags of a matrix become digests, so that the registry cannot serve another image for them.

use std::collections::{BTreeMap, BTreeSet};

use slipway_assets::drivers::settings::{images, relocate};
use slipway_config::findings::Report;
use slipway_config::matrix::{Driver, Matrix, read};
use thiserror::Error;

use crate::registry::{Registries, RegistryError};

/// Why a matrix was not pinned.
#[derive(Debug, Error)]
pub enum PinError {
    #[error("it is not a compatibility matrix")]
    Invalid(Box<Report>),
    #[error("{} of {all} images could not be looked up", failed.len())]
    Images { all: usize, failed: Vec<RegistryError> },
    #[error("the digest of `{0}` cannot be written where it is in the file")]
    Unwritable(String),
}

/// A matrix with digests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pinned {
    /// The file as it was, comments included, with digests behind the tags.
    pub text: String,
    /// The digests that were added, by image.
    pub digests: BTreeMap<String, String>,
    /// Images that had one before.
    pub kept: usize,
}

/// All images of a matrix.
pub fn images_of(matrix: &Matrix) -> BTreeSet<String> {
    let rows = Driver::ALL.into_iter().flat_map(|driver| matrix.rows(driver));
    rows.flat_map(|row| images(row, None)).collect()
}

/// Looks every tag up, all of them before anything is said to be wrong. With a registry that takes the place of the others
/// they are looked up there: copies have the digests of what they are copies of.
pub async fn pin(
    text: &str,
    registry: Option<&str>,
    registries: &mut Registries,
) -> Result<Pinned, PinError> {
    let reading = read(text);
    let Some(matrix) = reading.matrix else { return Err(PinError::Invalid(Box::new(reading.report))) };
    let (kept, tagged): (Vec<String>, Vec<String>) =
        images_of(&matrix).into_iter().partition(|image| image.contains('@'));
    let (mut digests, mut failed) = (BTreeMap::new(), Vec::new());
    for image in tagged {
        match registries.digest(&relocate(&image, registry)).await {
            Ok(digest) => drop(digests.insert(image, digest)),
            Err(error) => failed.push(error),
        }
    }
    if !failed.is_empty() {
        return Err(PinError::Images { all: digests.len() + failed.len(), failed });
    }
    let text = written(text, &digests)?;
    Ok(Pinned { text, digests, kept: kept.len() })
}

/// Digests behind the tags. The file is read again: whatever it is written in, it must say the same with them.
fn written(text: &str, digests: &BTreeMap<String, String>) -> Result<String, PinError> {
    let mut text = text.to_owned();
    for (image, digest) in digests {
        text = behind(&text, image, &format!("@{digest}"));
    }
    let reading = read(&text);
    let matrix = reading.matrix.ok_or_else(|| PinError::Invalid(Box::new(reading.report)))?;
    match images_of(&matrix).into_iter().find(|image| !image.contains('@')) {
        Some(image) => Err(PinError::Unwritable(image)),
        None => Ok(text),
    }
}

/// Puts something behind each occurrence of a name that does not go on.
fn behind(text: &str, name: &str, addition: &str) -> String {
    let goes_on = |c: char| c.is_ascii_alphanumeric() || "._-/:@".contains(c);
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(name) {
        let (before, after) = rest.split_at(at + name.len());
        let begins = !before[..at].ends_with(goes_on);
        result.push_str(before);
        if begins && !after.starts_with(goes_on) {
            result.push_str(addition);
        }
        rest = after;
    }
    result + rest
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use rstest::rstest;
    use slipway_config::matrix::{EMBEDDED, embedded};

    use super::{behind, images_of, written};

    #[rstest]
    #[case("image: a/b:v1\n", "image: a/b:v1@x\n")]
    #[case("{image: a/b:v1}", "{image: a/b:v1@x}")]
    #[case("\"a/b:v1\", 'a/b:v1'", "\"a/b:v1@x\", 'a/b:v1@x'")]
    #[case("a/b:v1", "a/b:v1@x")]
    #[case(
        "a/b:v11 a/b:v1.0 a/b:v1-rc a/b:v1@sha256:1 c.a/b:v1",
        "a/b:v11 a/b:v1.0 a/b:v1-rc a/b:v1@sha256:1 c.a/b:v1"
    )]
    fn only_whole_names(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(behind(text, "a/b:v1", "@x"), expected);
    }

    #[test]
    fn the_built_in_matrix_can_be_pinned() {
        let images = images_of(&embedded().matrix.unwrap());
        let digest = |image: &String| (image.clone(), format!("sha256:{:064x}", image.len()));
        let digests: BTreeMap<String, String> = images.iter().map(digest).collect();
        let text = written(EMBEDDED, &digests).unwrap();
        let pinned = images_of(&slipway_config::matrix::read(&text).matrix.unwrap());
        let expected = digests.iter().map(|(image, digest)| format!("{image}@{digest}")).collect();
        assert_eq!(pinned, expected);
        assert_eq!(written(&text, &digests).unwrap(), text, "once is enough");
    }
}
