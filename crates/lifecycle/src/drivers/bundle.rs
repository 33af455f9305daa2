//! Everything a site without the internet needs, in one file: the matrix, the operator's objects, and the images to mirror.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use slipway_assets::drivers::operator::{IMAGE, NAMESPACE, Placed};
use slipway_assets::drivers::settings::relocate;
use slipway_assets::drivers::signature::{PublicKey, SignatureError, verify};
use slipway_config::findings::Report;
use slipway_config::matrix::{EMBEDDED, Reading, read};
use thiserror::Error;

use super::deploy::{self, DeployError};
use super::pin::images_of;
use crate::registry::reference::by_tag_and_by_digest;

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
    #[error("it is not a compatibility matrix")]
    Matrix(Box<Report>),
    #[error("the operator would not take the matrix: {0}")]
    Signature(#[from] SignatureError),
}

/// The ConfigMap with a matrix that is not the built-in one.
const MATRIX: &str = "slipway-matrix";

/// What a bundle is for.
#[derive(Debug, Clone, Copy, Default)]
pub struct BundleOptions<'a> {
    /// The registry of the site, which takes the place of every other.
    pub registry: Option<&'a str>,
    /// Secrets in the operator's namespace for pulling images.
    pub pull_secrets: &'a [String],
    /// Another matrix than the built-in one.
    pub matrix: Option<SignedMatrix<'a>>,
}

/// A matrix as the operator takes it.
#[derive(Debug, Clone, Copy)]
pub struct SignedMatrix<'a> {
    pub text: &'a str,
    pub signature: &'a str,
    pub keys: &'a [PublicKey],
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
    /// For all versions of a matrix.
    pub fn new(site: BundleOptions<'_>) -> Result<Self, BundleError> {
        let BundleOptions { registry, pull_secrets, matrix } = site;
        let text = matrix.map_or(EMBEDDED, |matrix| matrix.text);
        let Reading { matrix: rows, report } = read(text);
        let mut from = images_of(&rows.ok_or_else(|| BundleError::Matrix(Box::new(report)))?);
        from.insert(IMAGE.to_owned());
        let images = from.into_iter().map(|image| {
            // Tools that copy images take a tag or a digest, not both.
            let (_, from) = by_tag_and_by_digest(&image);
            let (to, _) = by_tag_and_by_digest(&relocate(&image, registry));
            Mirrored { from, to }
        });
        // What the drivers are pulled with, unless the VDOConfig says otherwise.
        let mut arguments: Vec<String> =
            registry.iter().map(|registry| format!("--registry={registry}")).collect();
        arguments.extend(pull_secrets.iter().map(|name| format!("--pull-secret={name}")));
        if let Some(SignedMatrix { text, signature, keys }) = matrix {
            verify(text, Some(signature), keys)?;
            arguments.push(format!("--matrix=configmap:{MATRIX}"));
            arguments.extend(keys.iter().map(|key| format!("--matrix-key={key}")));
        }
        let image = relocate(IMAGE, registry);
        let placed = Placed { image: Some(&image), pull_secrets, arguments: &arguments };
        let mut objects = deploy::objects(&placed)?;
        if let Some(SignedMatrix { text, signature, .. }) = matrix {
            let map = json!({
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": MATRIX, "namespace": NAMESPACE},
                "data": {"matrix.yaml": text, "matrix.yaml.sig": signature},
            });
            deploy::before_operator(&mut objects, map);
        }
        Ok(Bundle {
            format: FORMAT.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            images: images.collect(),
            registry: registry.map(str::to_owned),
            matrix: text.to_owned(),
            objects,
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
    use std::collections::BTreeMap;

    use slipway_assets::drivers::signature::{draw, sign};
    use slipway_config::matrix::EMBEDDED;

    use super::{Bundle, BundleOptions, SignedMatrix};

    const REGISTRY: &str = "mirror.example.com/vsphere";

    #[test]
    fn every_image_is_from_the_registry() {
        let site = BundleOptions { registry: Some(REGISTRY), ..BundleOptions::default() };
        let bundle = Bundle::new(site).unwrap();
        assert!(bundle.images.iter().all(|image| image.to.starts_with("mirror.example.com/vsphere/")));
        let objects = serde_json::to_string(&bundle.objects).unwrap();
        assert!(objects.contains("mirror.example.com/vsphere/") && !objects.contains("ghcr.io"));
        assert!(objects.contains("--registry=mirror.example.com/vsphere"));
        assert_eq!(Bundle::read(&bundle.to_text().unwrap()).unwrap(), bundle);
        assert!(Bundle::read("{}").is_err());
    }

    #[test]
    fn a_matrix_with_digests_comes_along() {
        let digest = format!("sha256:{}", "ab".repeat(32));
        let image = "registry.k8s.io/csi-vsphere/driver:v3.7.0";
        let text = EMBEDDED.replace(image, &format!("{image}@{digest}"));
        let (key, public) = draw().unwrap();
        let (signature, _) = sign(&text, &key).unwrap();
        let keys = [public];
        let matrix = SignedMatrix { text: &text, signature: &signature, keys: &keys };
        let site =
            BundleOptions { registry: Some(REGISTRY), matrix: Some(matrix), ..BundleOptions::default() };
        let bundle = Bundle::new(site).unwrap();
        let copied: BTreeMap<&str, &str> =
            bundle.images.iter().map(|image| (image.from.as_str(), image.to.as_str())).collect();
        let from = format!("registry.k8s.io/csi-vsphere/driver@{digest}");
        assert_eq!(copied[from.as_str()], "mirror.example.com/vsphere/csi-vsphere/driver:v3.7.0");
        let kinds: Vec<&str> = bundle.objects.iter().filter_map(|object| object["kind"].as_str()).collect();
        assert_eq!(kinds[kinds.len() - 2..], ["ConfigMap", "Deployment"]);
        let arguments = bundle.objects.last().unwrap().pointer("/spec/template/spec/containers/0/args");
        assert!(arguments.unwrap().to_string().contains("--matrix=configmap:slipway-matrix"));
        // One that the operator would refuse is refused here.
        let matrix = SignedMatrix { text: EMBEDDED, ..matrix };
        assert!(Bundle::new(BundleOptions { matrix: Some(matrix), ..site }).is_err());
    }
}
