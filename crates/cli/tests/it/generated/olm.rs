//! The bundle for the Operator Lifecycle Manager, made from the same objects that `slipway drivers deploy` applies.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Value, json};
use slipway_assets::drivers::operator::{self, IMAGE, NAME, NAMESPACE, Placed};
use slipway_config::yaml::to_yaml;

/// The channel that updates come through.
const CHANNEL: &str = "stable";

/// All files of the bundle.
pub(super) fn files(generated: &str) -> BTreeMap<PathBuf, String> {
    let folder = PathBuf::from("deploy/olm");
    let mut files = BTreeMap::new();
    let mut add = |path: &str, value: &Value| {
        files.insert(folder.join(path), format!("{generated}{}", to_yaml(value)));
    };
    for definition in slipway_api::slipway::definitions() {
        let name = definition.metadata.name.clone().expect("a name");
        add(&format!("manifests/{name}.yaml"), &serde_json::to_value(&definition).expect("JSON"));
    }
    for object in operator::deployment(&Placed::default())
        .expect("objects")
        .iter()
        .filter(|object| object["kind"] != "Deployment")
    {
        let kind = object["kind"].as_str().expect("a kind").to_lowercase();
        add(&format!("manifests/{NAME}.{kind}.yaml"), object);
    }
    add(&format!("manifests/{NAME}.clusterserviceversion.yaml"), &version());
    add(
        "metadata/annotations.yaml",
        &json!({"annotations": {
            "operators.operatorframework.io.bundle.mediatype.v1": "registry+v1",
            "operators.operatorframework.io.bundle.manifests.v1": "manifests/",
            "operators.operatorframework.io.bundle.metadata.v1": "metadata/",
            "operators.operatorframework.io.bundle.package.v1": NAME,
            "operators.operatorframework.io.bundle.channels.v1": CHANNEL,
            "operators.operatorframework.io.bundle.channel.default.v1": CHANNEL,
        }}),
    );
    files
}

/// The ClusterServiceVersion.
fn version() -> Value {
    let version = env!("CARGO_PKG_VERSION");
    let rights = operator::objects().expect("objects");
    let rules = |kind: &str, namespace: Option<&str>| -> Value {
        let found = rights.iter().find(|object| {
            object["kind"] == kind
                && object["metadata"]["namespace"].as_str() == namespace
                && object["metadata"]["name"] == NAME
        });
        found.unwrap_or_else(|| panic!("no {kind} of the operator"))["rules"].clone()
    };
    let deployment = operator::deployment(&Placed::default()).expect("objects");
    let deployment = deployment.iter().find(|object| object["kind"] == "Deployment").expect("a Deployment");
    let owned: Vec<Value> = slipway_api::slipway::definitions()
        .iter()
        .map(|definition| {
            let names = &definition.spec.names;
            let described = definition.spec.versions.first().and_then(|version| {
                version.schema.as_ref()?.open_api_v3_schema.as_ref()?.description.clone()
            });
            json!({
                "name": definition.metadata.name, "kind": names.kind, "version": "v1alpha1",
                "displayName": names.kind, "description": described,
            })
        })
        .collect();
    let examples = json!([
        {
            "apiVersion": "slipway.dev/v1alpha1", "kind": "VSphereConnection",
            "metadata": {"name": "north", "namespace": NAMESPACE},
            "spec": {"server": "vcenter.example.com", "credentialsSecret": {"name": "north"}},
        },
        {
            "apiVersion": "slipway.dev/v1alpha1", "kind": "VDOConfig", "metadata": {"name": "cluster"},
            "spec": {"cloudProvider": {}, "storageProvider": {}},
        },
    ]);
    let modes = ["OwnNamespace", "SingleNamespace", "MultiNamespace", "AllNamespaces"];
    let modes = modes.map(|mode| json!({"type": mode, "supported": mode == "OwnNamespace"}));
    json!({
        "apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion",
        "metadata": {
            "name": format!("{NAME}.v{version}"), "namespace": NAMESPACE,
            "annotations": {
                "alm-examples": examples.to_string(), "capabilities": "Seamless Upgrades",
                "categories": "Storage,Cloud Provider", "containerImage": IMAGE,
                "operatorframework.io/suggested-namespace": NAMESPACE,
                "repository": env!("CARGO_PKG_REPOSITORY"),
            },
        },
        "spec": {
            "displayName": "Slipway vSphere drivers",
            "description": "Installs the vSphere cloud provider and storage driver, keeps them healthy and upgrades them. \
                            Its rights in the namespaces kube-system and vmware-system-csi are not part of a bundle, which can \
                            hold those of one namespace only: apply deploy/operator/rbac.yaml first.",
            "version": version, "maturity": "alpha", "minKubeVersion": "1.31.0",
            "keywords": ["vsphere", "csi", "cpi"],
            "provider": {"name": "Slipway"},
            "links": [{"name": "Slipway", "url": env!("CARGO_PKG_REPOSITORY")}],
            "installModes": modes,
            "install": {"strategy": "deployment", "spec": {
                "clusterPermissions": [{"serviceAccountName": NAME, "rules": rules("ClusterRole", None)}],
                "permissions": [{"serviceAccountName": NAME, "rules": rules("Role", Some(NAMESPACE))}],
                "deployments": [{"name": NAME, "label": deployment["metadata"]["labels"], "spec": deployment["spec"]}],
            }},
            "customresourcedefinitions": {"owned": owned},
        },
    })
}
