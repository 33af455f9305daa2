//! What a new machine of the control plane joins with: a token in its pointer, and the signers' keys. Both end after some hours.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::{Api, Client};
use serde_json::{Value, json};
use slipway_assets::kubernetes::rights::SYSTEM;
use slipway_assets::kubernetes::{
    JOIN_FILE, MACHINE_CONFIG_KEY, MACHINE_CONFIG_NAMESPACE, MACHINE_CONFIG_SECRET,
};
use slipway_assets::names::Role;
use slipway_config::yaml::{from_yaml, to_yaml};
use slipway_providers::cluster::{AccessError, call};

use crate::controllers::certificates::renewer::PATH;
use crate::runtime::host::{Files, ProgramError, Programs};
use crate::server::machine_config::rotate::{MASTER_TOKEN_LIFETIME, RotateError, rotate};
use crate::server::machine_config::spec::Config;

/// What kubeadm is told, on the machine's disk. It is removed again.
const CONFIG: &str = "/var/lib/slipway/upload-certificates.yaml";
const KUBEADM_CONFIG: &str = "kubeadm-config";
const KUBEADM_TIMEOUT: Duration = Duration::from_mins(2);
/// A machine that is on its way in with the token before.
const OLD_TOKEN: SignedDuration = SignedDuration::from_hours(2);

/// Why it is not there. It is tried again.
#[derive(Debug, thiserror::Error)]
pub(super) enum PrepareError {
    #[error(transparent)]
    Access(#[from] AccessError),
    #[error(transparent)]
    Rotate(#[from] RotateError),
    #[error(transparent)]
    Files(#[from] std::io::Error),
    #[error(transparent)]
    Program(#[from] ProgramError),
    #[error(
        "`{JOIN_FILE}` in the Secret `{MACHINE_CONFIG_NAMESPACE}/{MACHINE_CONFIG_SECRET}-master` has no `certificateKey`"
    )]
    NoKey,
    #[error("the ConfigMap `{SYSTEM}/{KUBEADM_CONFIG}` has no `ClusterConfiguration`")]
    NoClusterConfiguration,
}

/// Makes it anew.
pub(super) async fn prepare(
    client: &Client,
    files: &Files,
    programs: &impl Programs,
    now: Timestamp,
) -> Result<(), PrepareError> {
    upload_keys(client, files, programs).await?;
    let Ok(role) = Role::Master.as_str().parse() else { return Ok(()) };
    rotate(client, &role, now, OLD_TOKEN, Some(MASTER_TOKEN_LIFETIME)).await?;
    Ok(())
}

/// kubeadm encrypts them with the key that every machine of the control plane has in its configuration.
async fn upload_keys(client: &Client, files: &Files, programs: &impl Programs) -> Result<(), PrepareError> {
    let name = format!("{MACHINE_CONFIG_SECRET}-{}", Role::Master.as_str());
    let secrets: Api<Secret> = Api::namespaced(client.clone(), MACHINE_CONFIG_NAMESPACE);
    let secret = call(&format!("reading the Secret `{name}`"), secrets.get(&name)).await?;
    let config = secret.data.unwrap_or_default().remove(MACHINE_CONFIG_KEY).unwrap_or_default();
    let key = certificate_key(&config.0).ok_or(PrepareError::NoKey)?;
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), SYSTEM);
    let map = call(&format!("reading the ConfigMap `{KUBEADM_CONFIG}`"), maps.get(KUBEADM_CONFIG)).await?;
    let cluster = map.data.unwrap_or_default().remove("ClusterConfiguration");
    let cluster = cluster.ok_or(PrepareError::NoClusterConfiguration)?;
    files.write(CONFIG, 0o600, &kubeadm_config(&key, &cluster))?;
    let root = files.at("/").to_string_lossy().into_owned();
    // The key is in a file: every user can read the arguments of a process.
    let arguments = [
        root.as_str(),
        "/usr/bin/env",
        PATH,
        "kubeadm",
        "init",
        "phase",
        "upload-certs",
        "--upload-certs",
        "--skip-certificate-key-print",
        "--config",
        CONFIG,
    ];
    let uploaded = programs.run("chroot", &arguments, KUBEADM_TIMEOUT).await;
    files.remove(CONFIG)?;
    Ok(uploaded?)
}

/// The key in a configuration of the control plane's machines.
fn certificate_key(config: &[u8]) -> Option<String> {
    let text = Config::parse(config).ok()?.text(JOIN_FILE)?;
    let join: Value = from_yaml(&text).ok()?;
    Some(join.pointer("/controlPlane/certificateKey")?.as_str()?.to_owned())
}

fn kubeadm_config(key: &str, cluster: &str) -> String {
    let init = json!({
        "apiVersion": "kubeadm.k8s.io/v1beta4",
        "kind": "InitConfiguration",
        "certificateKey": key,
        "nodeRegistration": {"criSocket": "unix:///run/containerd/containerd.sock"},
    });
    format!("{}---\n{cluster}", to_yaml(&init))
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use serde_json::json;

    use super::{certificate_key, kubeadm_config};

    #[test]
    fn the_key_is_that_of_the_machines_configuration() {
        let join = "apiVersion: kubeadm.k8s.io/v1beta4\nkind: JoinConfiguration\ncontrolPlane:\n  certificateKey: abc\n";
        let config = |path: &str| {
            let source = format!("data:;base64,{}", STANDARD.encode(join));
            json!({"ignition": {"version": "3.2.0"}, "storage": {"files": [{"path": path, "contents": {"source": source}}]}})
        };
        let of = |path: &str| certificate_key(config(path).to_string().as_bytes());
        assert_eq!(of("/etc/slipway/kubeadm-join.yaml").as_deref(), Some("abc"));
        assert_eq!(of("/etc/other"), None);
        insta::assert_snapshot!(kubeadm_config("abc", "kind: ClusterConfiguration\n"), @r"
        apiVersion: kubeadm.k8s.io/v1beta4
        kind: InitConfiguration
        certificateKey: abc
        nodeRegistration:
          criSocket: unix:///run/containerd/containerd.sock
        ---
        kind: ClusterConfiguration
        ");
    }
}
