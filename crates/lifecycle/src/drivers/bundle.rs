//! Everything a site without the internet needs, in one file: the matrix, the operator's objects, and the images to mirror.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use slipway_assets::drivers::operator::{IMAGE, Placed};
use slipway_assets::drivers::settings::{images, relocate};
use slipway_config::matrix::{Driver, EMBEDDED, embedded};
use thiserror::Error;

use super::deploy::{self, DeployError};

/// The format of a bundle.
const FORMAT: &str = "slipway.dev/drivers-bundle/v1";

/// What is wrong with a bundle.
#[derive(Debug, Error)]
pub enum BundleError {
    #[error("it is not a bundle: {0}")]
    Json(#[from] serde_json::Error),
    #[error("its format is `{0}`, and not {FORMAT}")]
    Format(String),
    #[error(transparent)]
    Objects(#[from] DeployError),
    #[error("the built-in matrix cannot be read")]
    Matrix,
}

/// A bundle.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Bundle {
    format: String,
    /// The version of Slipway that wrote it.
    pub version: String,
    /// What has to be in the registry of the site.
    pub images: Vec<Mirrored>,
    /// The registry, which takes the place of every other.
    pub registry: Option<String>,
    /// The compatibility matrix.
    pub matrix: String,
    /// The operator, in the order it is applied.
    pub objects: Vec<Value>,
}

/// An image, and where it is to be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mirrored {
    pub from: String,
    pub to: String,
}

impl Bundle {
    /// For all versions of the built-in matrix.
    pub fn new(registry: Option<&str>, placed: &Placed<'_>) -> Result<Self, BundleError> {
        let matrix = embedded().matrix.ok_or(BundleError::Matrix)?;
        let mut from: BTreeSet<String> = BTreeSet::new();
        for driver in Driver::ALL {
            from.extend(matrix.rows(driver).iter().flat_map(|row| images(row, None)));
        }
        from.insert(placed.image.unwrap_or(IMAGE).to_owned());
        let images = from.into_iter().map(|from| Mirrored { to: relocate(&from, registry), from });
        let image = relocate(placed.image.unwrap_or(IMAGE), registry);
        let placed = Placed { image: Some(&image), ..placed.clone() };
        Ok(Bundle {
            format: FORMAT.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            images: images.collect(),
            registry: registry.map(str::to_owned),
            matrix: EMBEDDED.to_owned(),
            objects: deploy::objects(&placed)?,
        })
    }

    pub fn read(text: &str) -> Result<Self, BundleError> {
        let bundle: Bundle = serde_json::from_str(text)?;
        if bundle.format == FORMAT { Ok(bundle) } else { Err(BundleError::Format(bundle.format)) }
    }

    pub fn to_text(&self) -> Result<String, BundleError> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }
}

#[cfg(test)]
mod tests {
    use slipway_assets::drivers::operator::Placed;

    use super::Bundle;

    #[test]
    fn every_image_is_from_the_registry() {
        let bundle = Bundle::new(Some("mirror.example.com/vsphere"), &Placed::default()).unwrap();
        assert!(bundle.images.iter().all(|image| image.to.starts_with("mirror.example.com/vsphere/")));
        let objects = serde_json::to_string(&bundle.objects).unwrap();
        assert!(objects.contains("mirror.example.com/vsphere/") && !objects.contains("ghcr.io"));
        assert_eq!(Bundle::read(&bundle.to_text().unwrap()).unwrap(), bundle);
        assert!(Bundle::read("{}").is_err());
    }
}
