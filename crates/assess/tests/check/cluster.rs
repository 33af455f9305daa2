//! What a real API server says, and that the checks understand it.

use kube::Client;
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::{Value, json};
use slipway_assess::check::cluster::{Driver, NodeKind, read};
use slipway_assess::check::target::{Source, Zone};
use slipway_providers::vsphere::Trust;
use slipway_testkit::control_plane::{ControlPlane, Options};

use crate::bench::{ID, id, inventory, options, problems, round_with, start};

async fn client(plane: &ControlPlane) -> Client {
    let file = Kubeconfig::read_from(plane.kubeconfig()).unwrap();
    let config = kube::Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await.unwrap();
    Client::try_from(config).unwrap()
}

/// Objects that are made as their owners make them, status included.
fn create(plane: &ControlPlane, object: &Value) {
    plane.kubectl().apply_value(object).unwrap();
    if object.get("status").is_some() {
        let file = plane.scratch().write("status.json", object.to_string()).unwrap();
        let arguments =
            ["apply", "--server-side", "--subresource=status", "--filename", file.to_str().unwrap()];
        plane.kubectl().run(&arguments).unwrap();
    }
}

fn node(name: &str, uuid: &str, provider: Option<&str>) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "spec": {"providerID": provider},
        "status": {
            "conditions": [{"type": "Ready", "status": "True", "reason": "Ready", "message": ""}],
            "addresses": [{"type": "InternalIP", "address": "10.0.0.7"}],
            "nodeInfo": {
                "systemUUID": uuid, "machineID": "", "bootID": "", "kernelVersion": "", "osImage": "",
                "containerRuntimeVersion": "", "kubeletVersion": "v1.34.4", "kubeProxyVersion": "",
                "operatingSystem": "linux", "architecture": "amd64",
            },
        },
    })
}

fn workload() -> Vec<Value> {
    vec![
        json!({
            "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "thin-csi"},
            "provisioner": "csi.vsphere.vmware.com", "volumeBindingMode": "WaitForFirstConsumer",
            "parameters": {"StoragePolicyName": format!("openshift-storage-policy-{ID}")},
        }),
        json!({
            "apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": "csi.vsphere.vmware.com"},
            "spec": {"attachRequired": true},
        }),
        json!({
            "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "pv-1"},
            "spec": {
                "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "thin-csi",
                "csi": {"driver": "csi.vsphere.vmware.com", "volumeHandle": "volume-1"},
                "nodeAffinity": {"required": {"nodeSelectorTerms": [
                    {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "Exists"}]},
                ]}},
            },
        }),
        json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data", "namespace": "default"},
            "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "thin-csi", "volumeName": "pv-1",
                     "resources": {"requests": {"storage": "1Gi"}}},
        }),
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": "default"}}),
        json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "db", "namespace": "default"},
            "spec": {
                "nodeName": "metal-0",
                "containers": [{"name": "db", "image": "example.com/db"}],
                "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}],
            },
        }),
    ]
}

fn infrastructure(server: &str, port: u16) -> Value {
    json!({
        "apiVersion": "config.openshift.io/v1", "kind": "Infrastructure", "metadata": {"name": "cluster"},
        "spec": {
            "cloudConfig": {"name": "cloud-provider-config", "key": "config"},
            "platformSpec": {"type": "VSphere", "vsphere": {
                "vcenters": [{"server": server, "port": port, "datacenters": ["dc1"]}],
                "apiServerInternalIPs": [], "ingressIPs": [], "machineNetworks": [],
                "failureDomains": [{
                    "name": "fd-0", "region": "europe", "zone": "zone-0", "server": server,
                    "topology": {"datacenter": "dc1", "computeCluster": "/dc1/host/compute", "networks": ["net"],
                                 "datastore": "/dc1/datastore/fast"},
                }],
            }},
        },
        "status": {
            "infrastructureName": ID, "platform": "VSphere", "platformStatus": {"type": "VSphere"},
            "etcdDiscoveryDomain": "", "apiServerURL": "https://api:6443", "apiServerInternalURI": "https://api:6443",
            "controlPlaneTopology": "HighlyAvailable", "infrastructureTopology": "HighlyAvailable",
            "cpuPartitioning": "None",
        },
    })
}

#[tokio::test]
async fn a_running_cluster_says_what_to_check() {
    let plane = ControlPlane::start(Options::default()).unwrap();
    let client = client(&plane).await;
    let error = read::subject(&client, None).await.unwrap_err();
    assert!(error.to_string().contains("does not say which vCenters"), "{error}");

    // Our own connections, where there is no OpenShift.
    let crd = fs_err::read_to_string("../../deploy/crds/vsphereconnections.slipway.dev.yaml").unwrap();
    plane.kubectl().apply(&crd).unwrap();
    plane.wait_for_definitions().unwrap();
    let vcenter = start("127.0.0.1", &inventory(0, 1), &[]);
    for object in [
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "login", "namespace": "default"},
               "stringData": {"username": "administrator@vsphere.local", "password": "VMware1!", "server": "127.0.0.1"}}),
        json!({"apiVersion": "slipway.dev/v1alpha1", "kind": "VSphereConnection",
               "metadata": {"name": "north", "namespace": "default"},
               "spec": {"server": "127.0.0.1", "port": vcenter.port(), "datacenters": ["dc1"],
                        "credentialsSecret": {"name": "login"}, "tls": {"thumbprint": vcenter.thumbprint_sha256()}}}),
    ] {
        create(&plane, &object);
    }
    let subject = read::subject(&client, Some("default")).await.unwrap();
    assert_eq!(subject.vcenters[0].resources, ["/dc1"]);
    assert!(matches!(&subject.vcenters[0].trust, Trust::Fingerprint(bytes) if bytes.len() == 32));
    let uuid = id(0, 0).to_string();
    for object in [
        node("node-0-0", &uuid, Some(&format!("vsphere://{uuid}"))),
        node("metal-0", "5d0c1f00-0000-4000-8000-3cecef112233", None),
    ] {
        create(&plane, &object);
    }
    for object in workload() {
        create(&plane, &object);
    }
    let cluster = read::cluster(&client).await.unwrap();
    assert_eq!(cluster.unread, []);
    let kinds: Vec<(&str, NodeKind)> = cluster.nodes.iter().map(|node| (&*node.name, node.kind())).collect();
    assert!(
        matches!(&kinds[..], [("metal-0", NodeKind::Other { .. }), ("node-0-0", NodeKind::VSphere)]),
        "{kinds:?}"
    );
    assert_eq!(cluster.driver, Driver::Foreign("a CSIDriver `csi.vsphere.vmware.com`".to_owned()));
    assert_eq!(cluster.volumes[0].handle, "volume-1");
    let found = problems(&round_with(&subject, &cluster, options()).await);
    assert_eq!(
        found,
        ["cluster: Failure existing-driver csi.vsphere.vmware.com", "cluster: Failure workloads default/db",]
    );

    // OpenShift's Infrastructure comes first, and its own places for logins and the cloud provider's configuration.
    plane.install_definitions(&["openshift/infrastructures.config.openshift.io"]).unwrap();
    plane.kubectl().run(&["create", "namespace", "openshift-config"]).unwrap();
    let print = vcenter.thumbprint_sha1();
    let cloud = format!(
        "vcenter:\n  \"127.0.0.1\":\n    server: 127.0.0.1\n    port: {}\n    thumbprint: \"{print}\"\n    datacenters: [dc1]\n    user: a@b\n    password: c\n",
        vcenter.port()
    );
    for object in [
        json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"config": cloud},
               "metadata": {"name": "cloud-provider-config", "namespace": "openshift-config"}}),
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "vsphere-creds", "namespace": "kube-system"},
               "stringData": {"127.0.0.1.username": "administrator@vsphere.local", "127.0.0.1.password": "VMware1!"}}),
        infrastructure("127.0.0.1", vcenter.port()),
    ] {
        create(&plane, &object);
    }
    let subject = read::subject(&client, Some("default")).await.unwrap();
    assert_eq!((subject.name.as_str(), subject.cluster_id.as_deref()), (ID, Some(ID)));
    assert_eq!(subject.vcenters.len(), 1, "a connection to the same vCenter is not a second one");
    assert!(matches!(&subject.vcenters[0].trust, Trust::Fingerprint(bytes) if bytes.len() == 20));
    assert_eq!(subject.domains[0].zone_kind, Zone::Cluster);
    let sources: Vec<Source> = subject.declared.iter().map(|declared| declared.by).collect();
    assert_eq!(sources, [Source::Infrastructure, Source::CloudConfig]);
    let found = problems(&round_with(&subject, &cluster, options()).await);
    assert_eq!(found.len(), 2, "{found:?}");

    // A cluster from before the list of vCenters: everything is in the cloud provider's configuration.
    let mut old = infrastructure("127.0.0.1", vcenter.port());
    old["spec"]["platformSpec"] = json!({"type": "VSphere"});
    let cloud = format!(
        "[Global]\nsecret-name = vsphere-creds\nsecret-namespace = kube-system\ninsecure-flag = 1\n\
         [Workspace]\nserver = 127.0.0.1\ndatacenter = dc1\ndefault-datastore = fast\n\
         resourcepool-path = /dc1/host/compute/Resources\n\
         [VirtualCenter \"127.0.0.1\"]\nport = {}\ndatacenters = dc1\n",
        vcenter.port()
    );
    plane.kubectl().run(&["delete", "infrastructure", "cluster"]).unwrap();
    plane.kubectl().run(&["delete", "vsphereconnection", "north", "--namespace=default"]).unwrap();
    for object in [
        json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"config": cloud},
               "metadata": {"name": "cloud-provider-config", "namespace": "openshift-config"}}),
        old,
    ] {
        create(&plane, &object);
    }
    let subject = read::subject(&client, Some("default")).await.unwrap();
    assert_eq!(subject.vcenters.len(), 1);
    assert_eq!(subject.domains.len(), 1, "the workspace of the old provider");
    assert_eq!(subject.domains[0].datastore, "/dc1/datastore/fast");
    assert_eq!(subject.domains[0].cluster.as_deref(), Some("/dc1/host/compute"));
    let found = problems(&round_with(&subject, &cluster, options()).await);
    assert_eq!(found.len(), 2, "{found:?}");
}
