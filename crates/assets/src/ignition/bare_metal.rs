//! The configuration of a host that is no machine of the platform, in a cluster whose other machines are.

use ignition_config::v3_2::{Config, Ignition, IgnitionConfig};

use super::config::{self, Builder, PROGRAM, PUBLIC};

macro_rules! text {
    ($path:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/files/bare-metal/", $path))
    };
}

/// What a host of the user's is ignited with: the workers' configuration, its name, and a kubelet that waits for no
/// cloud provider, as on `platform: none`.
pub fn bare_metal(worker: &[u8], hostname: &str) -> Vec<u8> {
    let mut builder = Builder::default();
    builder.file("/etc/hostname", PUBLIC, format!("{hostname}\n"));
    builder.file("/usr/local/bin/slipway-bare-metal.sh", PROGRAM, text!("slipway-bare-metal.sh"));
    builder.unit("slipway-bare-metal.service", text!("slipway-bare-metal.service"), true);
    config::bytes(&Config {
        ignition: Ignition {
            config: Some(IgnitionConfig { merge: Some(vec![config::resource(worker)]), replace: None }),
            ..Config::default().ignition
        },
        ..builder.config()
    })
}
