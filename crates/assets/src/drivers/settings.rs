//! What the objects of the drivers are made from.

use aws_lc_rs::hmac;
use slipway_api::slipway::vdo_config::UpdatePolicy;
use slipway_api::well_known::VSPHERE_NODE_LABEL;
use slipway_config::driver_config::{cloud, csi};
use slipway_config::gcfg::WriteError;
use slipway_config::install_config::vsphere::Tls;
use slipway_config::matrix::{Component, Policy, Row, Source};
use slipway_config::secret::Secret;
use thiserror::Error;

use super::connection::Connection;
use super::manifests;

/// How a node of a vCenter is told from others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeMark {
    /// By the label that the cloud provider sets once it has found the machine.
    InstanceType,
    /// By a label of ours, where there is no cloud provider that would.
    Slipway,
}

impl NodeMark {
    pub fn label(self) -> &'static str {
        match self {
            NodeMark::InstanceType => "node.kubernetes.io/instance-type",
            NodeMark::Slipway => VSPHERE_NODE_LABEL,
        }
    }
}

/// The certificate of the storage driver's webhook, for the name in [`super::storage::WEBHOOK_HOST`].
#[derive(Debug, Clone)]
pub struct WebhookCertificate {
    /// The authority, in PEM.
    pub authority: String,
    pub certificate: String,
    pub key: Secret,
}

/// A version of a driver, and what is the same for both.
#[derive(Debug, Clone)]
pub struct DriverSettings<'a> {
    /// The version to install.
    pub row: &'a Row,
    /// The vCenters it uses.
    pub connections: &'a [Connection],
    /// Takes the place of the registry in every image.
    pub registry: Option<&'a str>,
    /// Secrets for pulling images, in the namespace of the driver.
    pub pull_secrets: &'a [String],
    /// How many machines the control plane has.
    pub control_plane_nodes: u32,
    /// Random, and the same from run to run. It keeps passwords from being guessed by the hash of a configuration.
    pub hash_key: &'a Secret,
}

/// Why objects cannot be made.
#[derive(Debug, Error)]
pub enum DriverError {
    #[error("the connection `{name}` cannot be used: {problem}")]
    Connection { name: String, problem: &'static str },
    #[error("the manifests of {version} cannot be used: {}", problems.join("; "))]
    Manifests { version: semver::Version, problems: Vec<String> },
    #[error("the row of {version} names no image for `{}`", component.key())]
    NoImage { version: semver::Version, component: Component },
    #[error(
        "two connections lead to `{server}`, `{first}` and `{second}`: name the ones to use in `connections`"
    )]
    SameServer { server: String, first: String, second: String },
    #[error("the cloud provider cannot store credentials of `{server}`, an IPv6 address: use its DNS name")]
    ServerName { server: String },
    #[error("the driver would not start with this configuration: {}", problems.join("; "))]
    Refused { problems: Vec<String> },
    #[error("the configuration cannot be written")]
    Unwritable(#[from] WriteError),
    #[error("an object cannot be written as JSON")]
    Json(#[from] serde_json::Error),
}

impl DriverSettings<'_> {
    /// An image, from the registry that is wanted.
    pub(super) fn image(&self, component: Component) -> Result<String, DriverError> {
        let missing = || DriverError::NoImage { version: self.row.version.clone(), component };
        match &self.row.source {
            Source::Line { images, .. } => {
                let image = images.get(&component).ok_or_else(missing)?;
                Ok(relocate(image.as_str(), self.registry))
            }
            // Containers have their images in the manifests; only the webhook is made here.
            Source::Manifests(text) => {
                let image = manifests::image_of(text, container_of(component)).ok_or_else(missing)?;
                Ok(relocate(&image, self.registry))
            }
        }
    }

    /// No two connections to one server: the drivers know vCenters by it.
    pub(super) fn check_servers(&self) -> Result<(), DriverError> {
        for (index, second) in self.connections.iter().enumerate() {
            if let Some(first) = self.connections[..index].iter().find(|first| first.server == second.server)
            {
                return Err(DriverError::SameServer {
                    server: second.server.clone(),
                    first: first.name.clone(),
                    second: second.name.clone(),
                });
            }
        }
        Ok(())
    }

    /// A value for an annotation that changes with any of the texts, and says nothing about them.
    pub(super) fn hash<'t>(&self, texts: impl IntoIterator<Item = (&'t str, &'t str)>) -> String {
        let key = hmac::Key::new(hmac::HMAC_SHA256, self.hash_key.expose().as_bytes());
        let mut context = hmac::Context::with_key(&key);
        for text in texts.into_iter().flat_map(|(name, text)| [name, text]) {
            // The length first, so that no text can run into the next.
            context.update(&(text.len() as u64).to_be_bytes());
            context.update(text.as_bytes());
        }
        context.sign().as_ref().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
    }
}

/// The container that a component is in the drivers' own manifests.
fn container_of(component: Component) -> &'static str {
    match component {
        Component::Manager => "vsphere-cloud-controller-manager",
        Component::Driver => "vsphere-csi-controller",
        Component::Syncer => "vsphere-syncer",
        Component::Attacher => "csi-attacher",
        Component::Provisioner => "csi-provisioner",
        Component::Resizer => "csi-resizer",
        Component::Snapshotter => "csi-snapshotter",
        Component::LivenessProbe => "liveness-probe",
        Component::Registrar => "node-driver-registrar",
    }
}

/// What an update policy means for the choice of a version.
pub fn policy(written: Option<UpdatePolicy>) -> Policy {
    match written.unwrap_or_default() {
        UpdatePolicy::Latest => Policy::Latest,
        UpdatePolicy::Lts => Policy::Lts,
        UpdatePolicy::Disabled => Policy::Disabled,
    }
}

/// The same image in another registry.
pub fn relocate(image: &str, registry: Option<&str>) -> String {
    match (registry, image.split_once('/')) {
        (Some(registry), Some((_, path))) => format!("{}/{path}", registry.trim_end_matches('/')),
        _ => image.to_owned(),
    }
}

/// The images of a version, where they are to be pulled from: what has to be mirrored.
pub fn images(row: &Row, registry: Option<&str>) -> Vec<String> {
    match &row.source {
        Source::Line { images, .. } => {
            images.values().map(|image| relocate(image.as_str(), registry)).collect()
        }
        Source::Manifests(text) => {
            manifests::images(text).iter().map(|image| relocate(image, registry)).collect()
        }
    }
}

/// The part of a vCenter that both files spell alike.
pub(super) fn cloud_vcenter(connection: &Connection, directory: &str) -> cloud::VCenter {
    cloud::VCenter {
        server: connection.server.clone(),
        port: connection.port.into(),
        insecure_flag: connection.tls == Tls::Insecure,
        datacenters: connection.datacenters.clone(),
        thumbprint: super::thumbprint(&connection.tls),
        ca_file: ca_file(connection, directory),
        ..cloud::VCenter::default()
    }
}

pub(super) fn csi_vcenter(connection: &Connection, directory: &str) -> csi::VCenter {
    csi::VCenter {
        user: connection.user.clone(),
        password: connection.password.clone(),
        port: connection.port.into(),
        insecure_flag: connection.tls == Tls::Insecure,
        datacenters: connection.datacenters.clone(),
        thumbprint: super::thumbprint(&connection.tls),
        ca_file: ca_file(connection, directory),
        ..csi::VCenter::default()
    }
}

fn ca_file(connection: &Connection, directory: &str) -> String {
    connection.ca_key().map(|(key, _)| format!("{directory}/{key}")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::relocate;

    #[rstest]
    #[case(None, "registry.k8s.io/a/b:v1", "registry.k8s.io/a/b:v1")]
    #[case(Some("mirror.example.com:5000"), "registry.k8s.io/a/b:v1", "mirror.example.com:5000/a/b:v1")]
    #[case(
        Some("mirror.example.com/vsphere/"),
        "gcr.io/a/b@sha256:12",
        "mirror.example.com/vsphere/a/b@sha256:12"
    )]
    fn images_move_to_other_registries(
        #[case] registry: Option<&str>,
        #[case] image: &str,
        #[case] expected: &str,
    ) {
        assert_eq!(relocate(image, registry), expected);
    }
}
