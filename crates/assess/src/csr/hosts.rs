//! Hosts without a machine that their administrator confirmed. They are kept in a ConfigMap, so that the node can renew its
//! certificates later: for the names and addresses that were confirmed, and no others. One that none were confirmed for
//! renews its client certificate.

use std::collections::BTreeSet;
use std::net::IpAddr;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, Client};
use serde::{Deserialize, Serialize};
use serde_json::json;
use slipway_assets::kubernetes::BARE_METAL_HOSTS;
use slipway_providers::cluster::{AccessError, Manager, apply, call, manager_name};

use super::host::Host;

/// A host, as its name's value has it.
#[derive(Debug, Serialize, Deserialize)]
struct Confirmed {
    names: BTreeSet<String>,
    addresses: BTreeSet<IpAddr>,
}

/// Writes a host down.
pub async fn remember(client: &Client, namespace: &str, host: &Host) -> Result<(), AccessError> {
    let confirmed = Confirmed { names: host.names.clone(), addresses: host.addresses.clone() };
    let object = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": BARE_METAL_HOSTS},
        "data": {&host.name: json!(confirmed).to_string()},
    });
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
    let (name, doing) =
        (manager_name("slipway-node", &host.name), format!("writing down the host `{}`", host.name));
    apply(&maps, Manager::forcing(&name), BARE_METAL_HOSTS, &doing, &object).await.map(drop)
}

/// Writes down that a node without a machine was let in, unless more is known about it already.
pub async fn remember_name(client: &Client, namespace: &str, name: &str) -> Result<(), AccessError> {
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
    let map = call("reading the confirmed hosts", maps.get_opt(BARE_METAL_HOSTS)).await?;
    if map.is_some_and(|map| read(&map).iter().any(|host| host.name == name)) {
        return Ok(());
    }
    let host = Host { name: name.to_owned(), names: BTreeSet::new(), addresses: BTreeSet::new() };
    remember(client, namespace, &host).await
}

/// The hosts that are written down. An entry that cannot be read is left out: it stands for no host.
pub fn read(map: &ConfigMap) -> Vec<Host> {
    let host = |(name, text): (&String, &String)| {
        let Confirmed { names, addresses } = serde_json::from_str(text).ok()?;
        Some(Host { name: name.clone(), names, addresses })
    };
    map.data.iter().flatten().filter_map(host).collect()
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;

    use super::read;

    #[test]
    fn what_cannot_be_understood_is_nobody() {
        let data = [
            ("metal-0", r#"{"names": ["metal-0.example.com"], "addresses": ["10.0.0.50"]}"#),
            ("metal-1", r#"{"names": [], "addresses": ["10.0.0"]}"#),
            ("metal-2", "garbage"),
        ];
        let data = data.map(|(name, text)| (name.to_owned(), text.to_owned())).into();
        let hosts = read(&ConfigMap { data: Some(data), ..ConfigMap::default() });
        assert_eq!(hosts.len(), 1);
        assert_eq!(hosts[0].name, "metal-0");
        assert_eq!(hosts[0].addresses, ["10.0.0.50".parse().unwrap()].into());
    }
}
