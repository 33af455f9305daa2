//! MachineConfigs: what the operating systems of a role have in common.

use serde_json::{Value, json};
use slipway_api::openshift::{MachineConfig, MachineConfigSpec};
use slipway_config::install_config::{Hyperthreading, Platform};

use crate::names::Role;
use crate::objects::{map, named};
use crate::{Access, Cluster, Error, Tree};

pub(super) fn add(cluster: &Cluster, tree: &mut Tree) -> Result<(), Error> {
    for role in Role::ALL {
        let mut put = |name: &str, spec: MachineConfigSpec| {
            let name = format!("99-{}-{name}", role.as_str());
            let mut metadata = named(&name);
            metadata.labels = Some(map([("machineconfiguration.openshift.io/role", role.as_str())]));
            let path = format!("openshift/99_openshift-machineconfig_{name}.yaml");
            tree.yaml(path, &MachineConfig { metadata, spec }, Access::Group)
        };
        let config = &cluster.config;
        if !config.ssh_keys.is_empty() {
            put("ssh", MachineConfigSpec { config: ssh(&config.ssh_keys), ..empty() })?;
        }
        if config.fips {
            put("fips", MachineConfigSpec { fips: Some(true), ..empty() })?;
        }
        if role.of(&config.pools).hyperthreading == Hyperthreading::Disabled {
            let arguments = ["nosmt", "smt-enabled=off"].map(str::to_owned).into();
            put("disable-hyperthreading", MachineConfigSpec { kernel_arguments: arguments, ..empty() })?;
        }
        if dhcp_of_both_families(cluster) {
            let arguments = vec!["ip=dhcp,dhcp6".to_owned()];
            put("dual-stack", MachineConfigSpec { kernel_arguments: arguments, ..empty() })?;
        }
    }
    Ok(())
}

/// Machines with static addresses have arguments of their own.
fn dhcp_of_both_families(cluster: &Cluster) -> bool {
    let dynamic =
        matches!(&cluster.config.platform, Platform::VSphere(platform) if platform.hosts.is_empty());
    dynamic && cluster.config.networking.stack.is_dual()
}

fn empty() -> MachineConfigSpec {
    MachineConfigSpec { config: json!({"ignition": {"version": "3.2.0"}}), ..MachineConfigSpec::default() }
}

fn ssh(keys: &[String]) -> Value {
    json!({
        "ignition": {"version": "3.2.0"},
        "passwd": {"users": [{"name": "core", "sshAuthorizedKeys": keys}]},
    })
}
