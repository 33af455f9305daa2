//! The key of each machine's first certificate. It is written down before the certificate is approved: who comes with another
//! key for the same machine later is not that machine, or has lost its disk, which an administrator has to say.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, Client};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use slipway_assets::kubernetes::FIRST_KEYS;
use slipway_providers::cluster::{AccessError, Manager, apply, call, merge};

/// Several approvers write to the same object; each of their changes is a small one.
const MAX_TRIES: u32 = 10;
/// Who makes the object where it is missing. It owns no entry.
const MANAGER: &str = "slipway-first-keys";

/// What is known of a machine's first certificate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct First {
    /// The fingerprint of the key.
    key: String,
    /// The id of the Machine, if it had an object: another one of the same name may come with another key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    machine: Option<String>,
}

/// The keys that are written down, by node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Keys {
    known: BTreeMap<String, First>,
}

impl Keys {
    /// What a ConfigMap says. An entry that cannot be understood counts as another key: in doubt the request is refused.
    pub fn of_map(map: &ConfigMap) -> Self {
        let first = |text: &String| {
            serde_json::from_str(text)
                .unwrap_or_else(|_| First { key: "unreadable".to_owned(), machine: None })
        };
        let entries = map.data.iter().flatten();
        Keys { known: entries.map(|(node, text)| (node.clone(), first(text))).collect() }
    }

    /// The key that a node's machine came with before, if it is still the same machine.
    pub fn of(&self, node: &str, machine: Option<&str>) -> Option<&str> {
        let first = self.known.get(node)?;
        let replaced = first.machine.as_deref().zip(machine).is_some_and(|(before, now)| before != now);
        (!replaced).then_some(first.key.as_str())
    }

    /// The nodes whose Machines are gone, by what is said of node and id of each.
    fn outlived(&self, is_gone: impl Fn(&str, &str) -> bool) -> Vec<String> {
        let of_machine =
            self.known.iter().filter_map(|(node, first)| Some((node, first.machine.as_deref()?)));
        of_machine.filter(|(node, machine)| is_gone(node, machine)).map(|(node, _)| node.clone()).collect()
    }
}

/// Whether a machine may have its first certificate for a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    /// It is the first key, or the same again.
    Granted,
    /// It came with this key before.
    Taken(String),
}

/// Keys in the ConfigMap of a cluster.
#[derive(Debug, Clone)]
pub struct Store {
    maps: Api<ConfigMap>,
}

impl Store {
    pub fn new(client: Client, namespace: &str) -> Self {
        Store { maps: Api::namespaced(client, namespace) }
    }

    /// What is written down; nothing if there is no ConfigMap.
    pub async fn read(&self) -> Result<Keys, AccessError> {
        Ok(self.get().await?.as_ref().map(Keys::of_map).unwrap_or_default())
    }

    /// Writes a key down, unless there is another one: of several approvers one writes, and the others see it. Keys of machines
    /// that are gone go with the same change.
    pub async fn claim(
        &self,
        node: &str,
        machine: Option<&str>,
        key: &str,
        is_gone: impl Fn(&str, &str) -> bool,
    ) -> Result<Claim, AccessError> {
        let mut tries = 0;
        loop {
            let Some(map) = self.get().await? else {
                self.make().await?;
                continue;
            };
            let keys = Keys::of_map(&map);
            match keys.of(node, machine) {
                Some(first) if first == key => return Ok(Claim::Granted),
                Some(first) => return Ok(Claim::Taken(first.to_owned())),
                None => {}
            }
            tries += 1;
            let mut outlived = keys.outlived(&is_gone);
            outlived.retain(|other| other != node);
            let version = map.metadata.resource_version.as_deref();
            match self.write(node, machine, key, version, &outlived).await {
                Err(error) if error.is_conflict() && tries < MAX_TRIES => {}
                done => return done.map(|()| Claim::Granted),
            }
        }
    }

    /// Writes a key down, whatever was there: an administrator has said so.
    pub async fn confirm(&self, node: &str, machine: Option<&str>, key: &str) -> Result<(), AccessError> {
        if self.get().await?.is_none() {
            self.make().await?;
        }
        self.write(node, machine, key, None, &[]).await
    }

    async fn get(&self) -> Result<Option<ConfigMap>, AccessError> {
        call("reading the keys of machines", self.maps.get_opt(FIRST_KEYS)).await
    }

    async fn make(&self) -> Result<(), AccessError> {
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": FIRST_KEYS}});
        let doing = format!("making the ConfigMap `{FIRST_KEYS}`");
        apply(&self.maps, Manager::yielding(MANAGER), FIRST_KEYS, &doing, &object).await.map(drop)
    }

    async fn write(
        &self,
        node: &str,
        machine: Option<&str>,
        key: &str,
        version: Option<&str>,
        outlived: &[String],
    ) -> Result<(), AccessError> {
        let first = First { key: key.to_owned(), machine: machine.map(ToOwned::to_owned) };
        let mut patch = json!({"data": {node: json!(first).to_string()}});
        for other in outlived {
            patch["data"][other] = Value::Null;
        }
        if let Some(version) = version {
            patch["metadata"] = json!({"resourceVersion": version});
        }
        merge(&self.maps, FIRST_KEYS, &format!("writing down the key of `{node}`"), &patch).await
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;
    use rstest::rstest;

    use super::Keys;

    #[rstest]
    #[case::the_same("a", Some("1"), Some("sha256:aa"))]
    #[case::made_anew("a", Some("2"), None)]
    #[case::without_an_object("a", None, Some("sha256:aa"))]
    #[case::before_there_was_an_object("b", Some("1"), Some("sha256:bb"))]
    #[case::unknown("c", Some("1"), None)]
    #[case::unreadable("d", Some("1"), Some("unreadable"))]
    fn keys_belong_to_machines(
        #[case] node: &str,
        #[case] machine: Option<&str>,
        #[case] expected: Option<&str>,
    ) {
        let data = [
            ("a", r#"{"key": "sha256:aa", "machine": "1"}"#),
            ("b", r#"{"key": "sha256:bb"}"#),
            ("d", "garbage"),
        ];
        let data = data.map(|(name, text)| (name.to_owned(), text.to_owned())).into();
        let keys = Keys::of_map(&ConfigMap { data: Some(data), ..ConfigMap::default() });
        assert_eq!(keys.of(node, machine), expected);
        // Without a Machine object it is not known whether the machine is gone.
        assert_eq!(keys.outlived(|_, _| true), ["a"]);
        assert!(keys.outlived(|node, machine| (node, machine) != ("a", "1")).is_empty());
    }
}
