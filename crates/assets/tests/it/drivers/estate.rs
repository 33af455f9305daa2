//! Two vCenters, and what the drivers are told about them.

use slipway_api::slipway::vdo_config::{CloudProvider, StorageProvider};
use slipway_assets::drivers::{
    Connection, DriverError, DriverSettings, NodeMark, Object, StorageSettings, WebhookCertificate, cloud,
    storage,
};
use slipway_config::install_config::vsphere::Tls;
use slipway_config::matrix::{Driver, Matrix, Row, embedded};
use slipway_config::secret::Secret;

pub(super) struct Estate {
    pub(super) matrix: Matrix,
    pub(super) connections: Vec<Connection>,
    pub(super) registry: Option<&'static str>,
    pub(super) pull_secrets: Vec<String>,
    pub(super) control_plane_nodes: u32,
    pub(super) hash_key: Secret,
    pub(super) webhook: Option<WebhookCertificate>,
    pub(super) node_mark: NodeMark,
}

impl Estate {
    pub(super) fn new() -> Self {
        let webhook = WebhookCertificate {
            authority: "authority".to_owned(),
            certificate: "certificate".to_owned(),
            key: "key".into(),
        };
        Estate {
            matrix: embedded().matrix.unwrap(),
            connections: vec![connection("north", Tls::System)],
            registry: None,
            pull_secrets: Vec::new(),
            control_plane_nodes: 3,
            hash_key: "random".into(),
            webhook: Some(webhook),
            node_mark: NodeMark::InstanceType,
        }
    }

    pub(super) fn row(&self, driver: Driver, version: &str) -> &Row {
        self.matrix.row(driver, &version.parse().unwrap()).unwrap()
    }

    fn settings<'a>(&'a self, row: &'a Row) -> DriverSettings<'a> {
        DriverSettings {
            row,
            connections: &self.connections,
            registry: self.registry,
            pull_secrets: &self.pull_secrets,
            control_plane_nodes: self.control_plane_nodes,
            hash_key: &self.hash_key,
        }
    }

    pub(super) fn cloud(&self, version: &str, spec: &CloudProvider) -> Result<Vec<Object>, DriverError> {
        self.cloud_of(self.row(Driver::CloudProvider, version), spec)
    }

    pub(super) fn cloud_of(&self, row: &Row, spec: &CloudProvider) -> Result<Vec<Object>, DriverError> {
        cloud::objects(&self.settings(row), spec)
    }

    pub(super) fn storage(&self, version: &str, spec: &StorageProvider) -> Result<Vec<Object>, DriverError> {
        self.storage_of(self.row(Driver::StorageProvider, version), spec)
    }

    pub(super) fn storage_of(&self, row: &Row, spec: &StorageProvider) -> Result<Vec<Object>, DriverError> {
        let driver = self.settings(row);
        storage::objects(&StorageSettings {
            driver: &driver,
            spec,
            cluster_id: "harbour-hz2cc",
            node_mark: self.node_mark,
            webhook: self.webhook.as_ref(),
        })
    }
}

pub(super) fn connection(name: &str, tls: Tls) -> Connection {
    Connection {
        name: name.to_owned(),
        server: format!("{name}.example.com"),
        port: 443,
        datacenters: vec!["DC0".to_owned()],
        tls,
        user: format!("{name}@vsphere.local"),
        password: "hunter2 \"quoted\" \\ #".into(),
    }
}

pub(super) fn find<'o>(objects: &'o [Object], kind: &str, name: &str) -> &'o Object {
    let found = objects.iter().find(|object| object.kind == kind && object.name == name);
    found.unwrap_or_else(|| panic!("no {kind} {name} among {objects:?}"))
}
