//! Configurations that say where the real one is.

use std::net::IpAddr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ignition_config::v3_2::{
    Config, File, HttpHeadersItem, Ignition, IgnitionConfig, Resource, Security, SecurityTls, Storage,
};
use slipway_config::install_config::InstallConfig;

use super::config::{self, PUBLIC};
use crate::Cluster;
use crate::names::{Role, vips};
use crate::pki::machine_config_token;

/// Port of the machine config server.
const PORT: u16 = 22623;

/// The configuration of every machine but the bootstrap one: where the machine config server is, and whom it
/// must be vouched for by. Our own server also demands a token; that of OpenShift knows none. `master.ign`, `worker.ign` and
/// the user-data Secrets hold exactly these bytes.
pub fn pointer(cluster: &Cluster, role: Role) -> Vec<u8> {
    let source = format!("https://{}:{PORT}/config/{}", server(&cluster.config), role.as_str());
    let authority =
        format!("data:text/plain;charset=utf-8;base64,{}", STANDARD.encode(cluster.pki.pem("root-ca.crt")));
    let at = |source| Resource { source: Some(source), ..Resource::default() };
    let mut server = at(source);
    let token = cluster.pki.pem(&machine_config_token(role));
    if !token.is_empty() {
        let mut header = HttpHeadersItem::new("Authorization".to_owned());
        header.value = Some(format!("Bearer {token}"));
        server.http_headers = Some(vec![header]);
    }
    config::bytes(&Config {
        ignition: Ignition {
            config: Some(IgnitionConfig { merge: Some(vec![server]), replace: None }),
            security: Some(Security {
                tls: Some(SecurityTls { certificate_authorities: Some(vec![at(authority)]) }),
            }),
            ..Config::default().ignition
        },
        ..Config::default()
    })
}

/// A configuration that gives the machine its name and merges another one, for platforms whose machines do
/// not learn their names otherwise.
pub fn hostname_wrapper(pointer: &[u8], hostname: &str) -> Vec<u8> {
    let mut file = File::new("/etc/hostname".to_owned());
    file.mode = Some(PUBLIC);
    file.overwrite = Some(true);
    file.contents = Some(config::resource(format!("{hostname}\n").as_bytes()));
    config::bytes(&Config {
        ignition: Ignition {
            config: Some(IgnitionConfig { merge: Some(vec![config::resource(pointer)]), replace: None }),
            ..Config::default().ignition
        },
        storage: Some(Storage { files: Some(vec![file]), ..Storage::default() }),
        ..Config::default()
    })
}

/// An address rather than a name where there is one: a machine can reach it before it can resolve names.
fn server(config: &InstallConfig) -> String {
    match vips(config).api.first() {
        Some(IpAddr::V4(address)) => address.to_string(),
        Some(IpAddr::V6(address)) => format!("[{address}]"),
        None => format!("api-int.{}", config.cluster_domain()),
    }
}
