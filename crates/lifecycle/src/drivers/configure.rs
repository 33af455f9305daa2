//! Connections, their Secrets, and the VDOConfig.

use std::collections::{BTreeMap, BTreeSet};

use kube::api::ListParams;
use kube::{Api, Client};
use serde_json::{Value, json};
use slipway_api::slipway::vdo_config::UpdatePolicy;
use slipway_api::slipway::{VDO_CONFIG_NAME, VDOConfig, VDOConfigSpec, VSphereConnection};
use slipway_assets::drivers::connection::SERVER_KEY;
use slipway_assets::drivers::manifests::documents;
use slipway_assets::drivers::{Connection, DriverError};
use slipway_providers::cluster::{AccessError, Applier, call, merge, or_absent};
use thiserror::Error;

use super::{FIELD_MANAGER, NAMESPACE};

/// Why nothing was configured.
#[derive(Debug, Error)]
pub enum ConfigureError {
    #[error(transparent)]
    Access(#[from] AccessError),
    #[error("`{0}` is not written as name@domain")]
    User(String),
    #[error("no driver is wanted")]
    NoDriver,
    #[error("the VSphereConnection and its Secret cannot be created")]
    Objects(#[from] DriverError),
    #[error("the file cannot be applied: {}", .0.join("; "))]
    File(Vec<String>),
}

/// Kinds that a file may have, in the order they are applied.
const KINDS: [(&str, &str); 4] = [
    ("v1", "ConfigMap"),
    ("v1", "Secret"),
    ("slipway.dev/v1alpha1", "VSphereConnection"),
    ("slipway.dev/v1alpha1", "VDOConfig"),
];

/// What the VDOConfig is to say, where it does not say anything yet.
#[derive(Debug, Clone, Default)]
pub struct DriverSelection {
    pub cloud_provider: bool,
    pub storage_provider: bool,
    pub topology_categories: Vec<String>,
    pub registry: Option<String>,
    pub pull_secrets: Vec<String>,
    /// Connections that only one of the drivers uses.
    pub cloud_connections: Vec<String>,
    pub storage_connections: Vec<String>,
    /// When drivers are upgraded.
    pub update_policy: Option<UpdatePolicy>,
}

impl DriverSelection {
    /// Whether it says more than that there is to be a VDOConfig.
    fn is_special(&self) -> bool {
        let lists = [
            &self.topology_categories,
            &self.pull_secrets,
            &self.cloud_connections,
            &self.storage_connections,
        ];
        self.registry.is_some() || self.update_policy.is_some() || lists.iter().any(|list| !list.is_empty())
    }

    /// Connections that are named already stay. A driver is added to what is there only with connections of its own:
    /// a driver that the administrator left out is not added as a side effect.
    fn spec(&self, there: Option<&VDOConfigSpec>) -> Result<Value, ConfigureError> {
        let named = |there: Option<&Vec<String>>, new: &[String]| {
            let mut names: Vec<String> = there.cloned().unwrap_or_default();
            names.extend(new.iter().filter(|name| !names.contains(name)).cloned().collect::<Vec<_>>());
            names
        };
        let mut spec = json!({});
        let cloud = there.is_none_or(|there| there.cloud_provider.is_some());
        let storage = there.is_none_or(|there| there.storage_provider.is_some());
        if self.cloud_provider && (cloud || !self.cloud_connections.is_empty()) {
            let there = there.and_then(|there| there.cloud_provider.as_ref()?.connections.as_ref());
            spec["cloudProvider"] = json!({});
            // It has two levels, the storage driver as many as one likes.
            if let [region, zone, ..] = &self.topology_categories[..] {
                spec["cloudProvider"]["topology"] = json!({"regionCategory": region, "zoneCategory": zone});
            }
            if !self.cloud_connections.is_empty() {
                spec["cloudProvider"]["connections"] = json!(named(there, &self.cloud_connections));
            }
        }
        if self.storage_provider && (storage || !self.storage_connections.is_empty()) {
            let there = there.and_then(|there| there.storage_provider.as_ref()?.connections.as_ref());
            spec["storageProvider"] = json!({});
            if !self.topology_categories.is_empty() {
                spec["storageProvider"]["topologyCategories"] = json!(self.topology_categories);
            }
            if !self.storage_connections.is_empty() {
                spec["storageProvider"]["connections"] = json!(named(there, &self.storage_connections));
            }
        }
        if there.is_none() && spec == json!({}) {
            return Err(ConfigureError::NoDriver);
        }
        let mut images = json!({});
        if let Some(registry) = &self.registry {
            images["registry"] = json!(registry);
        }
        if !self.pull_secrets.is_empty() {
            images["pullSecrets"] = json!(self.pull_secrets);
        }
        if images != json!({}) {
            spec["images"] = images;
        }
        if let Some(policy) = self.update_policy {
            spec["updatePolicy"] = json!(policy);
        }
        Ok(spec)
    }
}

/// What is to be applied.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Plan {
    /// Connections with their Secrets and authorities, and the VDOConfig if there is none.
    pub objects: Vec<Value>,
    /// What changes in a VDOConfig that is there.
    pub change: Option<Value>,
}

impl Plan {
    /// In a VDOConfig that is there only what is given changes.
    pub fn new(
        connections: &[Connection],
        wanted: &DriverSelection,
        there: Option<&VDOConfigSpec>,
    ) -> Result<Self, ConfigureError> {
        let mut plan = Plan::default();
        for connection in connections {
            if !connection.user.contains('@') && !connection.user.contains('\\') {
                return Err(ConfigureError::User(connection.user.clone()));
            }
            plan.objects.extend(connection.objects()?);
        }
        match there {
            None => plan.objects.push(json!({
                "apiVersion": "slipway.dev/v1alpha1", "kind": "VDOConfig", "metadata": {"name": VDO_CONFIG_NAME},
                "spec": wanted.spec(None)?,
            })),
            Some(there) if wanted.is_special() => {
                let spec = wanted.spec(Some(there))?;
                if spec == json!({}) {
                    return Err(ConfigureError::NoDriver);
                }
                plan.change = Some(json!({"spec": spec}));
            }
            Some(_) => {}
        }
        Ok(plan)
    }

    /// From a file with connections, what they name, and the VDOConfig. Objects without a namespace belong to the operator's.
    pub fn read(text: &str) -> Result<Self, ConfigureError> {
        let mut problems = Vec::new();
        let mut objects: Vec<(usize, Value)> = Vec::new();
        for mut object in documents(text, &mut problems) {
            let text =
                |path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
            let (version, kind, name) = (text("/apiVersion"), text("/kind"), text("/metadata/name"));
            let namespace = text("/metadata/namespace");
            let Some(place) = KINDS.iter().position(|known| *known == (version.as_str(), kind.as_str()))
            else {
                problems
                    .push(format!("`{kind}` of `{version}` is none of the kinds that are configured here"));
                continue;
            };
            if name.is_empty() {
                problems.push(format!("a {kind} has no name"));
            } else if kind == "VDOConfig" && name != VDO_CONFIG_NAME {
                problems.push(format!("a VDOConfig is named `{VDO_CONFIG_NAME}`, and not `{name}`"));
            } else if kind != "VDOConfig" && namespace.is_empty() {
                object["metadata"]["namespace"] = json!(NAMESPACE);
            } else if kind != "VDOConfig" && namespace != NAMESPACE {
                problems.push(format!(
                    "{kind} {namespace}/{name} is not in the operator's namespace {NAMESPACE}"
                ));
            }
            objects.push((place, object));
        }
        if objects.is_empty() && problems.is_empty() {
            problems.push("there is no object in it".to_owned());
        }
        if !problems.is_empty() {
            return Err(ConfigureError::File(problems));
        }
        objects.sort_by_key(|(place, _)| *place);
        let mut objects: Vec<Value> = objects.into_iter().map(|(_, object)| object).collect();
        bind(&mut objects);
        Ok(Plan { objects, change: None })
    }

    /// Does it; each object that is there is told.
    pub async fn apply(&self, client: &Client, told: impl Fn(&str)) -> Result<(), ConfigureError> {
        let applier = Applier::new(client, FIELD_MANAGER);
        for object in &self.objects {
            told(&applier.apply(object).await?);
        }
        if let Some(change) = &self.change {
            let configs: Api<VDOConfig> = Api::all(client.clone());
            merge(&configs, VDO_CONFIG_NAME, "changing the VDOConfig", change).await?;
            told("VDOConfig cluster");
        }
        Ok(())
    }
}

/// Has Secrets say which vCenters their logins are for, where connections of the same file use them and they do not say so
/// themselves.
fn bind(objects: &mut [Value]) {
    let text = |object: &Value, path: &str| {
        object.pointer(path).and_then(Value::as_str).unwrap_or_default().to_lowercase()
    };
    let mut servers: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for object in objects.iter().filter(|object| object["kind"] == "VSphereConnection") {
        let secret = text(object, "/spec/credentialsSecret/name");
        servers.entry(secret).or_default().push(text(object, "/spec/server"));
    }
    for object in objects.iter_mut().filter(|object| object["kind"] == "Secret") {
        let said = ["data", "stringData"].iter().any(|part| object[*part].get(SERVER_KEY).is_some());
        if let Some(servers) = servers.get(&text(object, "/metadata/name")).filter(|_| !said) {
            object["stringData"][SERVER_KEY] = json!(servers.join(" "));
        }
    }
}

/// What a cluster has already.
#[derive(Debug, Clone, Default)]
pub struct ExistingConfig {
    pub config: Option<VDOConfigSpec>,
    /// Names of connections.
    pub connections: Vec<String>,
    /// The vCenters they lead to.
    pub servers: BTreeSet<String>,
}

impl ExistingConfig {
    /// Whether drivers that use one more vCenter could not tell where a node is: with several, tags say so.
    pub fn lacks_topology(&self, server: &str, wanted: &DriverSelection) -> bool {
        let is_another = self.servers.iter().any(|one| !one.eq_ignore_ascii_case(server));
        let config = self.config.as_ref();
        let is_said = config.is_some_and(|config| {
            let cloud = config.cloud_provider.as_ref().is_some_and(|cloud| cloud.topology.is_some());
            let storage = config.storage_provider.as_ref();
            cloud || storage.is_some_and(|storage| !storage.topology_categories.is_empty())
        });
        is_another && !is_said && wanted.topology_categories.is_empty()
    }
}

/// The VDOConfig. Without the operator there is none.
pub async fn config(client: &Client) -> Result<Option<VDOConfig>, AccessError> {
    let configs: Api<VDOConfig> = Api::all(client.clone());
    or_absent(call("reading the VDOConfig", configs.get_opt(VDO_CONFIG_NAME)).await)
}

/// The VDOConfig and the connections. Without the operator there are none.
pub(super) async fn wishes(
    client: &Client,
) -> Result<(Option<VDOConfig>, Vec<VSphereConnection>), AccessError> {
    let config = config(client).await?;
    let connections: Api<VSphereConnection> = Api::namespaced(client.clone(), NAMESPACE);
    let connections = call("listing connections", async {
        connections.list(&ListParams::default()).await.map(|list| list.items)
    });
    let connections = or_absent(connections.await)?;
    Ok((config, connections))
}

/// Reads what is there.
pub async fn there(client: &Client) -> Result<ExistingConfig, AccessError> {
    let (config, connections) = wishes(client).await?;
    Ok(ExistingConfig {
        config: config.map(|config| config.spec),
        servers: connections.iter().map(|object| object.spec.server.clone()).collect(),
        connections: connections.into_iter().filter_map(|object| object.metadata.name).collect(),
    })
}

/// Applies connections, and the VDOConfig if there is none yet.
pub async fn configure(
    client: &Client,
    connections: &[Connection],
    wanted: &DriverSelection,
    told: impl Fn(&str),
) -> Result<(), ConfigureError> {
    let there = config(client).await?.map(|config| config.spec);
    Plan::new(connections, wanted, there.as_ref())?.apply(client, told).await
}

/// Applies a connection that the operator uses for machines, and no driver. Drivers that name no connections use all of them: they are
/// told to use those that there are now.
pub async fn configure_machines(
    client: &Client,
    connection: &Connection,
    told: impl Fn(&str),
) -> Result<(), ConfigureError> {
    let ExistingConfig { config, connections, .. } = there(client).await?;
    let plan = match &config {
        Some(there) => {
            Plan::new(std::slice::from_ref(connection), &keeping(there, &connections), Some(there))?
        }
        None => Plan { objects: connection.objects()?, change: None },
    };
    plan.apply(client, told).await
}

/// The drivers as they are, each with the connections that it uses now.
fn keeping(there: &VDOConfigSpec, names: &[String]) -> DriverSelection {
    let all =
        |connections: Option<&Vec<String>>| if connections.is_none() { names.to_vec() } else { Vec::new() };
    let cloud = there.cloud_provider.as_ref().map(|driver| all(driver.connections.as_ref()));
    let storage = there.storage_provider.as_ref().map(|driver| all(driver.connections.as_ref()));
    DriverSelection {
        cloud_provider: cloud.is_some(),
        storage_provider: storage.is_some(),
        cloud_connections: cloud.unwrap_or_default(),
        storage_connections: storage.unwrap_or_default(),
        ..DriverSelection::default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use slipway_api::slipway::vdo_config::UpdatePolicy;

    use super::{DriverSelection, ExistingConfig, Plan, keeping};

    /// A connection for machines must not become one of the drivers.
    #[test]
    fn drivers_keep_the_connections_they_use() {
        let names = ["vc1".to_owned(), "vc2".to_owned()];
        let change = |spec: Value| {
            let there = serde_json::from_value(spec).unwrap();
            Plan::new(&[], &keeping(&there, &names), Some(&there)).unwrap().change
        };
        assert_eq!(
            change(json!({"cloudProvider": {}, "storageProvider": {"connections": ["vc1"]}})),
            Some(json!({"spec": {
                "cloudProvider": {"connections": ["vc1", "vc2"]}, "storageProvider": {},
            }}))
        );
        let named =
            json!({"cloudProvider": {"connections": ["vc1"]}, "storageProvider": {"connections": ["vc2"]}});
        assert_eq!(change(named), None, "nothing is to be said");
    }

    #[test]
    fn a_file_is_applied_in_order_or_not_at_all() {
        let good = "kind: VDOConfig\napiVersion: slipway.dev/v1alpha1\nmetadata: {name: cluster}\nspec: {cloudProvider: {}}\n\
                    ---\nkind: Secret\napiVersion: v1\nmetadata: {name: north}\nstringData: {username: a, password: b}\n";
        let plan = Plan::read(good).unwrap();
        assert_eq!(plan.objects[0]["metadata"]["namespace"], "slipway-system");
        assert_eq!(plan.objects[1]["kind"], "VDOConfig");
        assert_eq!(plan.objects[0]["stringData"]["server"], Value::Null, "no connection says so");
        let connection = |name: &str, server: &str| {
            format!(
                "---\nkind: VSphereConnection\napiVersion: slipway.dev/v1alpha1\nmetadata: {{name: {name}}}\n\
                 spec: {{server: {server}, credentialsSecret: {{name: north}}}}\n"
            )
        };
        let both = format!("{good}{}{}", connection("a", "vc1"), connection("b", "vc2"));
        assert_eq!(Plan::read(&both).unwrap().objects[0]["stringData"]["server"], "vc1 vc2");
        let said = both.replace("username: a", "username: a, server: vc1");
        assert_eq!(Plan::read(&said).unwrap().objects[0]["stringData"]["server"], "vc1");
        let bad = "kind: Pod\napiVersion: v1\nmetadata: {name: x}\n---\nkind: VDOConfig\napiVersion: slipway.dev/v1alpha1\n\
                   metadata: {name: other}\n---\nkind: Secret\napiVersion: v1\nmetadata: {name: x, namespace: default}\n";
        let error = Plan::read(bad).unwrap_err().to_string();
        for part in ["`Pod`", "not `other`", "default/x"] {
            assert!(error.contains(part), "{part}: {error}");
        }
        assert!(Plan::read("# nothing\n").is_err() && Plan::read("a: [").is_err());
    }

    #[test]
    fn several_vcenters_need_tags() {
        let spec = |spec: Value| Some(serde_json::from_value(spec).unwrap());
        let plain = spec(json!({"cloudProvider": {}, "storageProvider": {}}));
        let tagged = spec(json!({"storageProvider": {"topologyCategories": ["zone"]}}));
        let said =
            DriverSelection { topology_categories: vec!["zone".to_owned()], ..DriverSelection::default() };
        for (config, server, wanted, expected) in [
            (&plain, "vc2", &DriverSelection::default(), true),
            (&None, "vc2", &DriverSelection::default(), true),
            (&plain, "VC1", &DriverSelection::default(), false),
            (&tagged, "vc2", &DriverSelection::default(), false),
            (&plain, "vc2", &said, false),
        ] {
            let servers = ["vc1".to_owned()].into();
            let there = ExistingConfig { config: config.clone(), servers, ..ExistingConfig::default() };
            assert_eq!(there.lacks_topology(server, wanted), expected, "{server} {config:?}");
        }
    }

    #[test]
    fn a_configuration_that_is_there_changes_only_where_it_is_said() {
        let wanted =
            DriverSelection { cloud_provider: true, storage_provider: true, ..DriverSelection::default() };
        let plan = Plan::new(&[], &wanted, None).unwrap();
        assert_eq!(plan.objects[0]["spec"], json!({"cloudProvider": {}, "storageProvider": {}}));
        let there = serde_json::from_value(json!({"storageProvider": {"connections": ["north"]}})).unwrap();
        assert_eq!(Plan::new(&[], &wanted, Some(&there)).unwrap(), Plan::default());
        // What flags leave open: both drivers, of which one was left out before.
        let lts = DriverSelection { update_policy: Some(UpdatePolicy::Lts), ..wanted.clone() };
        let change = Plan::new(&[], &lts, Some(&there)).unwrap().change;
        assert_eq!(change, Some(json!({"spec": {"storageProvider": {}, "updatePolicy": "lts"}})));
        let wanted = DriverSelection {
            storage_provider: true,
            storage_connections: vec!["south".to_owned()],
            update_policy: Some(UpdatePolicy::Lts),
            ..DriverSelection::default()
        };
        let change = Plan::new(&[], &wanted, Some(&there)).unwrap().change;
        let expected = json!({
            "storageProvider": {"connections": ["north", "south"]}, "updatePolicy": "lts",
        });
        assert_eq!(change, Some(json!({"spec": expected})));
    }
}
