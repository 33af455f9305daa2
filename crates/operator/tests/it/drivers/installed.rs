//! From five lines to drivers that strangers accept.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use slipway_operator::manager::End;
use slipway_testkit::ccm;
use slipway_testkit::process::eventually;
use slipway_testkit::reader::Reader;

use super::checked::checks_follow_the_cluster;
use super::estate::{CONFIG, Estate, NORTH, SOUTH, TIMEOUT, condition_of};
use super::published::a_server_changes_nothing_by_its_troubles;

fn pods_on(estate: &Estate, node: &str) -> Vec<String> {
    let arguments = ["get", "pods", "--namespace", "vmware-system-csi", "--field-selector"];
    let selector = format!("spec.nodeName={node}");
    let pods = estate.plane.kubectl().json(&[&arguments[..], &[&selector]].concat()).unwrap();
    let names = pods["items"].as_array().unwrap().iter();
    names.map(|pod| pod["metadata"]["labels"]["app"].as_str().unwrap_or_default().to_owned()).collect()
}

/// Two vCenters and five lines: both drivers become available; the real cloud controller manager, with the very files the
/// operator wrote, initialises nodes on both vCenters; the storage driver's reader takes its Secret; a machine of another
/// kind stays as it is. Then somebody meddles, and it is repaired; and a driver that is no longer wanted goes.
#[test]
fn five_lines_are_enough() {
    assert_eq!(CONFIG.lines().count(), 5);
    let mut estate = Estate::new();
    estate.node("north", NORTH, None, false);
    estate.node("south", SOUTH, None, false);
    estate.node("metal", "5d0c1f00-0000-4000-8000-3cecef112233", Some("metal://rack-7"), true);
    estate.matrix("3.7.0");
    estate.plane.kubectl().apply(CONFIG).unwrap();
    copies_of_old(&estate);
    estate.operate(Duration::from_mins(5));

    let config = eventually("the cloud provider's configuration", TIMEOUT, || {
        let map = estate.get("configmap", "kube-system", "vsphere-cloud-config");
        Ok(map["data"]["vsphere.conf"].as_str().map(str::to_owned))
    })
    .unwrap_or_else(|error| panic!("{error:#}: {:#}", estate.config()["status"]));
    // The pod would have the authorities in a mounted folder.
    let map = estate.get("configmap", "kube-system", "vsphere-cloud-config");
    let mut local = config.clone();
    for (key, pem) in map["data"].as_object().unwrap().iter().filter(|(key, _)| key.starts_with("ca-")) {
        let file = estate.plane.scratch().write(key, pem.as_str().unwrap()).unwrap();
        local = local.replace(&format!("/etc/cloud/{key}"), file.to_str().unwrap());
    }
    let account = "system:serviceaccount:kube-system:cloud-controller-manager";
    let kubeconfig = estate.plane.kubeconfig_for(account, Some("system:serviceaccounts")).unwrap();
    eventually("the cloud provider's Secret", TIMEOUT, || {
        let secret = estate.get("secret", "slipway-cloud-provider", "vsphere-cloud-secret");
        Ok(secret["data"].is_object().then_some(()))
    })
    .unwrap();
    ccm::start_as(&mut estate.plane, &local, &kubeconfig, &[("SKIP_NODE_DELETION", "true")]).unwrap();
    for (name, uuid) in [("north", NORTH), ("south", SOUTH)] {
        eventually(&format!("{name} is initialised"), TIMEOUT, || {
            let node = estate.get("node", "", name);
            Ok((node["spec"]["providerID"] == format!("vsphere://{uuid}")).then_some(()))
        })
        .unwrap();
    }

    // The status follows the nodes, and not at once.
    let config = estate.wait_until("both drivers run on both nodes", |config| {
        let status = &config["status"];
        let is = |about: &str, wanted: &str| condition_of(status, about)["status"] == wanted;
        let counts = ["ready", "pending", "skipped"].map(|name| status["nodes"][name].as_u64());
        is("Available", "True") && is("Progressing", "False") && counts == [Some(2), Some(0), Some(1)]
    });
    let status = &config["status"];
    assert_eq!(condition_of(status, "Degraded")["status"], "False", "{status:#}");
    assert_eq!(status["cloudProvider"]["deployedVersion"], "1.34.0", "{status:#}");
    assert_eq!(status["storageProvider"]["deployedVersion"], "3.7.0", "{status:#}");
    assert_eq!(status["nodes"]["skippedNames"], json!(["metal"]));
    assert_eq!(pods_on(&estate, "metal"), Vec::<String>::new());
    eventually("a pod of the storage driver on north", TIMEOUT, || {
        Ok(pods_on(&estate, "north").contains(&"vsphere-csi-node".to_owned()).then_some(()))
    })
    .unwrap();

    let secret = estate.get("secret", "vmware-system-csi", "vsphere-config-secret");
    let text = STANDARD.decode(secret["data"]["csi-vsphere.conf"].as_str().unwrap()).unwrap();
    let text = String::from_utf8(text).unwrap();
    // The reader looks at the files.
    let answers = Reader::start("csi-reader").unwrap().read_all("csi", std::slice::from_ref(&text)).unwrap();
    assert!(answers[0].ok, "{}: {text}", answers[0].error);

    checks_follow_the_cluster(&estate);
    drift_is_repaired(&estate);
    copies_of_old_go_with_the_administrators_rights(&estate);
    a_driver_that_is_not_wanted_goes(&estate);
    the_release_owns_its_drivers(&estate);
    assert_eq!(estate.stop(), Some(End::Stopped));
    let lease = estate.get("lease", "slipway-system", "slipway-operator");
    assert_eq!(lease["spec"]["holderIdentity"], Value::Null, "given up at the end");
    a_server_changes_nothing_by_its_troubles(&mut estate);
}

/// Copies of Secrets for pulling images, as an earlier release called them.
const OLD_COPIES: [(&str, &str); 2] =
    [("kube-system", "cloud-provider"), ("vmware-system-csi", "storage-provider")];

fn copies_of_old(estate: &Estate) {
    for (namespace, driver) in OLD_COPIES {
        let labels = json!({"slipway.dev/driver": driver});
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": {"name": "mirror", "namespace": namespace, "labels": labels},
        });
        let file = estate.plane.scratch().write("mirror.json", secret.to_string()).unwrap();
        let file = format!("--filename={}", file.display());
        let apply = ["apply", "--server-side", "--field-manager=slipway-drivers", &file];
        estate.plane.kubectl().run(&apply).unwrap();
    }
}

/// The operator cannot delete them, and does not complain.
fn copies_of_old_go_with_the_administrators_rights(estate: &Estate) {
    let there = || OLD_COPIES.map(|(namespace, _)| estate.get("secret", namespace, "mirror").is_object());
    assert_eq!(there(), [true, true]);
    let removed = estate.remove_old_copies();
    assert_eq!(removed, OLD_COPIES.map(|(namespace, _)| format!("Secret {namespace}/mirror")));
    assert_eq!(there(), [false, false]);
}

fn drift_is_repaired(estate: &Estate) {
    let set = || estate.get("daemonset", "vmware-system-csi", "vsphere-csi-node");
    let image = set()["spec"]["template"]["spec"]["containers"][0]["image"].clone();
    let kubectl = estate.plane.kubectl();
    let name = set()["spec"]["template"]["spec"]["containers"][0]["name"].as_str().unwrap().to_owned();
    let container = format!("{name}=example.com/other:v1");
    kubectl
        .run(&["set", "image", "daemonset/vsphere-csi-node", &container, "--namespace=vmware-system-csi"])
        .unwrap();
    kubectl.run(&["delete", "secret", "vsphere-config-secret", "--namespace=vmware-system-csi"]).unwrap();
    kubectl.run(&["delete", "clusterrole", "vsphere-csi-node-cluster-role"]).unwrap();
    eventually("what was changed is as before", TIMEOUT, || {
        let back = set()["spec"]["template"]["spec"]["containers"][0]["image"] == image;
        let secret = estate.get("secret", "vmware-system-csi", "vsphere-config-secret")["data"].is_object();
        let role = estate.get("clusterrole", "", "vsphere-csi-node-cluster-role")["rules"].is_array();
        Ok((back && secret && role).then_some(()))
    })
    .unwrap();
}

fn a_driver_that_is_not_wanted_goes(estate: &Estate) {
    estate.patch("vdo", "cluster", &json!({"spec": {"storageProvider": null}}));
    eventually("the storage driver is gone", TIMEOUT, || {
        let there = estate.plane.kubectl().json(&[
            "get",
            "deployments,daemonsets,secrets,configmaps,csidrivers,validatingwebhookconfigurations,clusterroles",
            "--all-namespaces",
            "--selector=slipway.dev/driver=storage-provider",
        ])?;
        Ok(there["items"].as_array().is_some_and(Vec::is_empty).then_some(()))
    })
    .unwrap();
    assert!(estate.get("namespace", "", "vmware-system-csi")["metadata"].is_object(), "namespaces stay");
    assert!(estate.get("daemonset", "kube-system", "vsphere-cloud-controller-manager")["spec"].is_object());
    let config = estate.wait_until("one driver left", |config| config["status"]["storageProvider"].is_null());
    assert_eq!(condition_of(&config["status"], "Available")["status"], "True");
}

/// On OpenShift the operator looks and says so, and changes nothing; it takes over what the release has given up.
fn the_release_owns_its_drivers(estate: &Estate) {
    let kinds = [
        "openshift/infrastructures.config.openshift.io",
        "openshift/clustercsidrivers.operator.openshift.io",
    ];
    estate.plane.install_definitions(&kinds).unwrap();
    let set = || {
        let set = estate.get("daemonset", "kube-system", "vsphere-cloud-controller-manager");
        (set["metadata"]["uid"].clone(), set["metadata"]["generation"].clone())
    };
    let before = set();
    let driver = |state: &str| {
        json!({
            "apiVersion": "operator.openshift.io/v1", "kind": "ClusterCSIDriver",
            "metadata": {"name": "csi.vsphere.vmware.com"}, "spec": {"managementState": state},
        })
    };
    estate.plane.kubectl().apply_value(&driver("Managed")).unwrap();
    let infrastructure = json!({
        "apiVersion": "config.openshift.io/v1", "kind": "Infrastructure", "metadata": {"name": "cluster"},
        "spec": {"cloudConfig": {"name": ""}, "platformSpec": {"type": "VSphere"}},
    });
    estate.plane.kubectl().apply_value(&infrastructure).unwrap();
    let status = json!({"status": {
        "infrastructureName": "harbour-x7k2p", "platform": "VSphere", "platformStatus": {"type": "VSphere"},
        "etcdDiscoveryDomain": "", "apiServerURL": "https://api:6443", "apiServerInternalURI": "https://api:6443",
        "controlPlaneTopology": "HighlyAvailable", "infrastructureTopology": "HighlyAvailable", "cpuPartitioning": "None",
    }});
    let status = status.to_string();
    let arguments =
        ["patch", "infrastructure", "cluster", "--subresource=status", "--type=merge", "--patch", &status];
    estate.plane.kubectl().run(&arguments).unwrap();
    estate.patch(
        "vdo",
        "cluster",
        &json!({"spec": {"storageProvider": {"topologyCategories": ["k8s-region", "k8s-zone"]}}}),
    );
    let config = estate.wait_until("both are the release's", |config| {
        ["cloudProvider", "storageProvider"]
            .iter()
            .all(|driver| condition_of(&config["status"][driver], "Available")["reason"] == "OwnedByRelease")
    });
    assert_eq!(condition_of(&config["status"], "Available")["status"], "Unknown", "{:#}", config["status"]);
    assert_eq!(config["status"]["connections"].as_array().unwrap().len(), 2, "connections are validated");
    assert_eq!(set(), before, "nothing is changed");
    assert!(estate.get("deployment", "vmware-system-csi", "vsphere-csi-controller").is_null());

    estate.plane.kubectl().apply_value(&driver("Removed")).unwrap();
    let config = estate.wait_until("the storage driver is ours", |config| {
        config["status"]["storageProvider"]["deployedVersion"] == "3.7.0"
    });
    assert_eq!(condition_of(&config["status"]["cloudProvider"], "Available")["reason"], "OwnedByRelease");
    assert_eq!(set(), before);
}
