//! A cluster of two vCenters with two bare metal hosts: the real cloud controller manager, scheduler and controllers, with the
//! drivers as we deploy them.

use std::time::Duration;

use kube::Client;
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::{Value, json};
use slipway_api::slipway::vdo_config::{CloudProvider, StorageProvider};
use slipway_assess::check::cluster::{Driver as Found, read};
use slipway_assess::check::conditions::verdict;
use slipway_assess::check::report::NodeState;
use slipway_assets::drivers::{
    Connection, DriverSettings, NodeMark, Object, StorageSettings, WebhookCertificate, cloud, storage,
};
use slipway_config::install_config::vsphere::Tls;
use slipway_config::matrix::{Driver, embedded};
use slipway_testkit::control_plane::{Beside, ControlPlane, Network, Options};
use slipway_testkit::process::eventually;
use slipway_testkit::vcenter::{ADMINISTRATOR, VCenter};
use slipway_testkit::{ccm, nodes};

use crate::bench::{id, inventory, problems, round, subject};

const SERVERS: [&str; 2] = ["127.0.0.1", "localhost"];
const TIMEOUT: Duration = Duration::from_secs(90);

/// Everything that is deployed for both drivers.
fn objects(vcenters: &[VCenter]) -> Vec<Object> {
    let matrix = embedded().matrix.unwrap();
    let connections: Vec<Connection> = vcenters
        .iter()
        .zip(SERVERS)
        .map(|(vcenter, server)| {
            let print =
                vcenter.thumbprint_sha1().split(':').map(|byte| u8::from_str_radix(byte, 16).unwrap());
            Connection {
                name: server.replace('.', "-"),
                server: server.to_owned(),
                port: vcenter.port(),
                datacenters: vec!["dc1".to_owned()],
                tls: Tls::Thumbprint(print.collect()),
                user: ADMINISTRATOR.0.to_owned(),
                password: ADMINISTRATOR.1.into(),
            }
        })
        .collect();
    let (key, webhook) = (
        "random".into(),
        WebhookCertificate {
            authority: "authority".to_owned(),
            certificate: "certificate".to_owned(),
            key: "key".into(),
        },
    );
    let settings = |driver, version: &str| DriverSettings {
        row: matrix.row(driver, &version.parse().unwrap()).unwrap(),
        connections: &connections,
        registry: None,
        pull_secrets: &[],
        control_plane_nodes: 3,
        hash_key: &key,
    };
    let mut objects =
        cloud::objects(&settings(Driver::CloudProvider, "1.34.0"), &CloudProvider::default()).unwrap();
    let spec = StorageProvider { topology_categories: vec!["zone".to_owned()], ..StorageProvider::default() };
    let driver = settings(Driver::StorageProvider, "3.7.0");
    objects.extend(
        storage::objects(&StorageSettings {
            driver: &driver,
            spec: &spec,
            cluster_id: "harbour-x7k2p",
            node_mark: NodeMark::InstanceType,
            webhook: Some(&webhook),
        })
        .unwrap(),
    );
    objects
}

/// A node as its kubelet registers it: with the external cloud provider it is tainted, without it is not.
fn register(plane: &ControlPlane, name: &str, uuid: &str, external: bool) {
    let mut node = nodes::node(name, uuid);
    if external {
        node["spec"]["taints"] = json!([nodes::uninitialized()]);
    }
    node["status"]["conditions"] =
        json!([{"type": "Ready", "status": "Unknown", "reason": "Silent", "message": ""}]);
    plane.register(&node).unwrap();
}

fn estate(position: usize) -> Value {
    let mut estate = inventory(position, 1);
    let vm = &mut estate["datacenters"][0]["vms"][0];
    vm["power"] = json!("on");
    vm["hostname"] = json!(format!("node-{position}-0"));
    vm["ips"] = json!([format!("10.0.{position}.5")]);
    estate
}

#[tokio::test]
async fn bare_metal_hosts_are_left_alone_by_everybody() {
    let beside = &[Beside::Controllers, Beside::Scheduler];
    let mut plane = ControlPlane::start(Options { beside, network: Network::Shared }).unwrap();
    let vcenters: Vec<VCenter> = (0..2).map(|position| VCenter::start(&estate(position)).unwrap()).collect();
    for position in 0..2 {
        register(&plane, &format!("node-{position}-0"), &id(position, 0).to_string(), true);
        register(
            &plane,
            &format!("metal-{position}"),
            &format!("5d0c1f00-0000-4000-8000-3cecef11223{position}"),
            false,
        );
    }
    let objects = objects(&vcenters);
    for object in &objects {
        plane.kubectl().apply_value(&object.value).unwrap();
    }
    let config = objects.iter().find(|object| object.name == "vsphere-cloud-config").unwrap();
    let account = "system:serviceaccount:kube-system:cloud-controller-manager";
    let kubeconfig = plane.kubeconfig_for(account, Some("system:serviceaccounts")).unwrap();
    let text = config.value["data"]["vsphere.conf"].as_str().unwrap();
    ccm::start_as(&mut plane, text, &kubeconfig, &[("SKIP_NODE_DELETION", "true")]).unwrap();

    // The storage driver's pods come to the nodes whose machines were found, and to no other.
    let kubectl = plane.kubectl();
    let pods = ["get", "pods", "--namespace=vmware-system-csi", "--selector=app=vsphere-csi-node"];
    let daemon_set = ["get", "daemonset", "vsphere-csi-node", "--namespace=vmware-system-csi"];
    let (places, counted) = eventually("both nodes have the storage driver", TIMEOUT, || {
        let found = kubectl.json(&pods)?;
        let items = found["items"].as_array().cloned().unwrap_or_default();
        let mut nodes: Vec<String> =
            items.iter().filter_map(|pod| Some(pod["spec"]["nodeName"].as_str()?.to_owned())).collect();
        nodes.sort();
        let counted = kubectl.json(&daemon_set)?["status"]["desiredNumberScheduled"].as_u64();
        Ok((nodes.len() >= 2 && counted >= Some(2)).then_some((nodes, counted)))
    })
    .unwrap();
    assert_eq!((places, counted), (vec!["node-0-0".to_owned(), "node-1-0".to_owned()], Some(2)));

    // Nothing is wrong with any of them.
    let file = Kubeconfig::read_from(plane.kubeconfig()).unwrap();
    let access = kube::Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await.unwrap();
    let cluster = read::cluster(&Client::try_from(access).unwrap()).await.unwrap();
    assert_eq!(cluster.driver, Found::Ours);
    let mut subject = subject(&vcenters);
    for (vcenter, server) in subject.vcenters.iter_mut().zip(SERVERS) {
        vcenter.server = server.to_owned();
    }
    subject.domains.clear();
    let round = round(&subject, &cluster).await;
    assert_eq!(problems(&round), Vec::<String>::new());
    assert_eq!(round.nodes_that(|state| matches!(state, NodeState::Skipped { .. })), ["metal-0", "metal-1"]);
    let verdict = verdict(&round, true);
    let states = [verdict.degraded.status, verdict.upgradeable.status];
    assert_eq!(states, [Some(false), Some(true)], "{verdict:?}");

    // They do not answer; the controller looks for them ten times, and they are still there.
    let log = plane.scratch().join("cloud-controller-manager.log");
    for name in ["metal-0", "metal-1"] {
        eventually(&format!("{name} was looked for ten times"), TIMEOUT, || {
            let text = fs_err::read_to_string(&log)?;
            let looks =
                text.lines().filter(|line| line.contains(name) && line.contains("error checking if node"));
            Ok((looks.count() >= 10).then_some(()))
        })
        .unwrap();
        let node = kubectl.json(&["get", "node", name]).unwrap();
        assert!(node["spec"]["providerID"].is_null(), "{node}");
        assert!(node["metadata"]["deletionTimestamp"].is_null(), "{node}");
    }
}
