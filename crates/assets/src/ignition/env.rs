//! What the scripts on the bootstrap machine need to know of this one cluster.

use slipway_config::install_config::{InstallConfig, OsImageStream, Stack};

use crate::Cluster;
use crate::names::{texts, vips};

/// `/opt/openshift/bootstrap.env`. The scripts source it, so that they are constant texts themselves.
pub(super) fn environment(cluster: &Cluster, release_image: &str) -> String {
    let config = &cluster.config;
    let domain = config.cluster_domain();
    let vips = vips(config);
    [
        ("API_HOST", format!("api.{domain}")),
        ("API_INT_HOST", format!("api-int.{domain}")),
        ("API_VIPS", texts(&vips.api).join(" ")),
        ("CLUSTER_DOMAIN", domain.clone()),
        ("CLUSTER_NAME", config.name.to_string()),
        ("CLUSTER_PROFILE", "self-managed-high-availability".to_owned()),
        ("COMPUTE_REPLICAS", config.pools.compute.replicas.to_string()),
        ("CONTROL_PLANE_REPLICAS", config.pools.control_plane.replicas.to_string()),
        ("INFRA_ID", cluster.identity.infra_id.to_string()),
        ("INGRESS_VIPS", texts(&vips.ingress).join(" ")),
        ("NETWORK_STACK", stack(config.networking.stack).to_owned()),
        ("NODE_IMAGE", node_image(config).to_owned()),
        ("PLATFORM", config.platform.name().to_owned()),
        ("RELEASE_IMAGE", release_image.to_owned()),
    ]
    .iter()
    .map(|(name, value)| format!("{name}={}\n", quoted(value)))
    .collect()
}

/// The families, the first one first.
fn stack(stack: Stack) -> &'static str {
    match stack {
        Stack::V4 => "v4",
        Stack::V6 => "v6",
        Stack::DualV4First => "v4v6",
        Stack::DualV6First => "v6v4",
    }
}

/// The tag of the operating system among the images of the release, as openshift-install names them.
fn node_image(config: &InstallConfig) -> &'static str {
    match config.os_image_stream {
        None | Some(OsImageStream::Rhel9) => "rhel-coreos",
        Some(OsImageStream::Rhel10) => "rhel-coreos-10",
    }
}

/// A word of the shell that stands for exactly this text.
pub(super) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use rstest::rstest;

    use super::quoted;

    #[rstest]
    #[case("")]
    #[case("quay.io/a/b@sha256:0123")]
    #[case("it's \"$HOME\" `id` \\ $(id) !! # ; & | > * ~ %s {a,b}")]
    #[case("two\nlines\tand\u{7f}é🦀")]
    #[case("'''")]
    #[case("trailing \\")]
    fn the_shell_reads_what_was_written(#[case] value: &str) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("env");
        std::fs::write(&file, format!("VALUE={}\nNEXT=1\n", quoted(value))).unwrap();
        let script = r#"set -euo pipefail; set -a; . "$1"; printf %s "$VALUE"; [[ $NEXT == 1 ]]"#;
        let output = Command::new("bash").args(["-c", script, "bash"]).arg(&file).output().unwrap();
        assert!(output.status.success());
        assert_eq!(String::from_utf8(output.stdout).unwrap(), value);
    }
}
