//! The objects of VDO (`vdo.vmware.com`) as ours.

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{DynamicObject, ListParams};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};
use slipway_assets::drivers::connection::SERVER_KEY;
use slipway_assets::drivers::operator::NAMESPACE;
use slipway_providers::cluster::{AccessError, api_of, call, or_absent, resource};

/// Where VDO looks for credentials.
const VDO_SECRETS: &str = "kube-system";

/// What was found, as objects of ours, and what could not be carried over.
#[derive(Debug, Default, PartialEq)]
pub struct Imported {
    /// Connections and the VDOConfig.
    pub objects: Vec<Value>,
    /// Secrets of VDO's that the connections need.
    pub secrets: Vec<Copied>,
    pub notes: Vec<String>,
}

/// A Secret of VDO's, and what becomes of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copied {
    /// The connection that needs it, after which the copy is named.
    pub connection: String,
    pub secret: String,
    /// The vCenter its login is for.
    pub server: String,
}

/// Reads the objects of VDO from a cluster.
pub async fn read(client: &Client) -> Result<Imported, AccessError> {
    let list = async |kind: &str, plural: &str| {
        // In any namespace: VDO does not care.
        let api = api_of(client, &resource("vdo.vmware.com/v1alpha1", kind, plural), None);
        let doing = format!("listing {plural}");
        let found =
            call(&doing, async { api.list(&ListParams::default()).await.map(|list| list.items) }).await;
        or_absent(found)
    };
    let configs: Vec<DynamicObject> = list("VDOConfig", "vdoconfigs").await?;
    let connections: Vec<DynamicObject> = list("VsphereCloudConfig", "vspherecloudconfigs").await?;
    Ok(convert(&configs, &connections))
}

fn convert(configs: &[DynamicObject], connections: &[DynamicObject]) -> Imported {
    let mut imported = Imported::default();
    for connection in connections {
        let name = connection.name_any();
        let text = |path: &str| connection.data.pointer(path).and_then(Value::as_str).unwrap_or_default();
        let mut spec = json!({
            "server": text("/spec/vcIp").to_lowercase(), "credentialsSecret": {"name": name},
        });
        // VDO splits the list at commas and keeps them.
        let datacenters = connection.data.pointer("/spec/datacenters").and_then(Value::as_array);
        let datacenters: Vec<&str> = datacenters
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .map(|name| name.trim_end_matches(',').trim())
            .collect();
        if !datacenters.is_empty() {
            spec["datacenters"] = json!(datacenters);
        }
        let insecure = connection.data.pointer("/spec/insecure").and_then(Value::as_bool).unwrap_or(false);
        match text("/spec/thumbprint") {
            "" if insecure => spec["tls"] = json!({"insecure": true}),
            "" => imported.notes.push(format!(
                "`{name}` has no thumbprint: the vCenter's certificate is now verified by the authorities of the operator's image"
            )),
            thumbprint => spec["tls"] = json!({"thumbprint": thumbprint}),
        }
        imported.secrets.push(Copied {
            connection: name.clone(),
            secret: text("/spec/credentials").to_owned(),
            server: text("/spec/vcIp").to_lowercase(),
        });
        imported.objects.push(json!({
            "apiVersion": "slipway.dev/v1alpha1", "kind": "VSphereConnection",
            "metadata": {"name": name, "namespace": NAMESPACE}, "spec": spec,
        }));
    }
    match configs {
        [] => imported.notes.push("VDO has no VDOConfig here".to_owned()),
        [config] => {
            let (spec, notes) = drivers(&config.data);
            imported.notes.extend(notes);
            imported.objects.push(json!({
                "apiVersion": "slipway.dev/v1alpha1", "kind": "VDOConfig",
                // Its drivers are there already.
                "metadata": {"name": "cluster", "annotations": {"slipway.dev/adopt": "true"}}, "spec": spec,
            }));
        }
        several => imported.notes.push(format!("there are {} VDOConfigs of VDO's: keep one", several.len())),
    }
    imported
}

fn drivers(config: &Value) -> (Value, Vec<String>) {
    let (mut spec, mut notes) = (json!({}), Vec::new());
    let list = |path: &str| config.pointer(path).and_then(Value::as_array).cloned().unwrap_or_default();
    let text = |path: &str| config.pointer(path).and_then(Value::as_str).unwrap_or_default();
    let clouds = list("/spec/cloudProvider/vsphereCloudConfigs");
    if !clouds.is_empty() {
        let mut cloud = json!({"connections": clouds});
        if let (zone, region) =
            (text("/spec/cloudProvider/topology/zone"), text("/spec/cloudProvider/topology/region"))
            && !zone.is_empty()
        {
            cloud["topology"] = json!({"zoneCategory": zone, "regionCategory": region});
        }
        spec["cloudProvider"] = cloud;
    }
    let mut storage = json!({"connections": [text("/spec/storageProvider/vsphereCloudConfig")]});
    // VDO has used the vCenter's address as the id of the cluster; the volumes are known by it.
    notes.push(
        "VDO knows the volumes by the address of the vCenter: set storageProvider.clusterId to it to keep them together, \
         unless another cluster on that vCenter does so as well"
            .to_owned(),
    );
    let path = text("/spec/storageProvider/customKubeletPath");
    if !path.is_empty() {
        storage["kubeletPath"] = json!(path.trim_end_matches('/'));
    }
    let permissions: Vec<Value> = list("/spec/storageProvider/fileVolumes/netPermissions")
        .iter()
        .map(|one| {
            let access = match one["permissions"].as_str().unwrap_or_default() {
                "READ_ONLY" => "ReadOnly",
                "NO_ACCESS" => "NoAccess",
                _ => "ReadWrite",
            };
            let squash = one["rootSquash"].as_bool().unwrap_or(false);
            json!({"ips": one["ips"].as_str().unwrap_or("*"), "permissions": access, "rootSquash": squash})
        })
        .collect();
    if !permissions.is_empty() {
        storage["fileVolumes"] = json!({"netPermissions": permissions});
    }
    if !list("/spec/storageProvider/fileVolumes/vsanDataStoreUrl").is_empty() {
        notes.push(
            "fileVolumes.vsanDataStoreUrl has no counterpart: newer drivers name the vSAN clusters (fileVolumes.clusters)"
                .to_owned(),
        );
    }
    spec["storageProvider"] = storage;
    (spec, notes)
}

/// Copies the credentials that VDO uses to where ours are. They are never shown.
pub async fn copy_secret(client: &Client, copied: &Copied) -> Result<Value, AccessError> {
    let Copied { connection, secret, server } = copied;
    let secrets: Api<Secret> = Api::namespaced(client.clone(), VDO_SECRETS);
    let found = call(&format!("reading the Secret {VDO_SECRETS}/{secret}"), secrets.get(secret)).await?;
    let mut data = found.data.unwrap_or_default();
    data.insert(SERVER_KEY.to_owned(), ByteString(server.clone().into_bytes()));
    Ok(json!({
        "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/basic-auth",
        "metadata": {"name": connection, "namespace": NAMESPACE}, "data": data,
    }))
}

#[cfg(test)]
mod tests {
    use kube::api::DynamicObject;
    use serde_json::{Value, from_value, json};

    use super::{Copied, convert};

    fn object(kind: &str, name: &str, spec: &Value) -> DynamicObject {
        let object = json!({
            "apiVersion": "vdo.vmware.com/v1alpha1", "kind": kind,
            "metadata": {"name": name, "namespace": "vmware-system-vdo"}, "spec": spec,
        });
        from_value(object).unwrap()
    }

    #[test]
    fn what_vdo_has_is_carried_over() {
        let connection = json!({
            "vcIp": "VC.example.com", "insecure": false, "credentials": "vc-creds", "thumbprint": "AA:BB",
            "datacenters": ["dc0,", "dc1"],
        });
        let config = json!({
            "cloudProvider": {"vsphereCloudConfigs": ["north"], "topology": {"zone": "z", "region": "r"}},
            "storageProvider": {
                "vsphereCloudConfig": "north", "customKubeletPath": "/data/kubelet/",
                "fileVolumes": {
                    "vsanDataStoreUrl": ["ds:///x/"],
                    "netPermissions": [{"ips": "10.0.0.0/8", "permissions": "READ_ONLY", "rootSquash": true}],
                },
            },
        });
        let imported = convert(
            &[object("VDOConfig", "vdo-config", &config)],
            &[object("VsphereCloudConfig", "north", &connection)],
        );
        let [connection, secret, server] = ["north", "vc-creds", "vc.example.com"].map(str::to_owned);
        assert_eq!(imported.secrets, [Copied { connection, secret, server }]);
        assert_eq!(imported.notes.len(), 2, "{:?}", imported.notes);
        let connection = json!({
            "apiVersion": "slipway.dev/v1alpha1", "kind": "VSphereConnection",
            "metadata": {"name": "north", "namespace": "slipway-system"},
            "spec": {
                "server": "vc.example.com", "credentialsSecret": {"name": "north"}, "datacenters": ["dc0", "dc1"],
                "tls": {"thumbprint": "AA:BB"},
            },
        });
        let config = json!({
            "apiVersion": "slipway.dev/v1alpha1", "kind": "VDOConfig",
            "metadata": {"name": "cluster", "annotations": {"slipway.dev/adopt": "true"}},
            "spec": {
                "cloudProvider": {
                    "connections": ["north"], "topology": {"zoneCategory": "z", "regionCategory": "r"},
                },
                "storageProvider": {
                    "connections": ["north"], "kubeletPath": "/data/kubelet",
                    "fileVolumes": {
                        "netPermissions": [{"ips": "10.0.0.0/8", "permissions": "ReadOnly", "rootSquash": true}],
                    },
                },
            },
        });
        assert_eq!(imported.objects, [connection, config]);
    }
}
