//! Nodes of all kinds: which are checked, which are skipped, and which wait.

use slipway_assess::check::cluster::{Cluster, Driver, Node, Pod, Taint, Volume};
use slipway_assess::check::conditions::verdict;
use slipway_assess::check::report::NodeState;

use crate::bench::{cluster, id, metal, node, problems, round, start_all, subject};

type Break = fn(&mut Cluster);

fn taint(key: &str) -> Taint {
    Taint { key: key.to_owned(), value: "true".to_owned(), effect: "NoSchedule".to_owned() }
}

/// What is wrong with nodes and objects of Kubernetes while the vCenters are well.
#[tokio::test]
async fn one_broken_thing_is_one_finding() {
    let cases: &[(Break, &[&str])] = &[
        (|_| {}, &[]),
        (|c| c.nodes_mut().push(metal("metal-0")), &[]),
        (
            |c| {
                // The id of a machine does not make it a vSphere node.
                let strange = Node { provider_id: Some("metal3://x".to_owned()), ..node(0, 1) };
                c.nodes_mut()[1] = strange;
            },
            &[],
        ),
        (
            |c| {
                c.nodes_mut()[1].provider_id = None;
                c.nodes_mut()[1].taints = vec![taint("node.cloudprovider.kubernetes.io/uninitialized")];
            },
            &["node-0-1: Pending node-machine node-0-1"],
        ),
        (
            |c| {
                c.nodes_mut()[1].provider_id = None;
                c.nodes_mut()[1]
                    .labels
                    .insert("node.openshift.io/platform-type".to_owned(), "vsphere".to_owned());
            },
            &["node-0-1: Failure node-provider-id node-0-1"],
        ),
        (
            |c| {
                c.nodes_mut()[1].provider_id =
                    Some("vsphere://11111111-2222-4333-8444-555555555555".to_owned());
            },
            &["node-0-1: Failure node-provider-id node-0-1"],
        ),
        (
            |c| c.driver = Driver::Foreign("a CSIDriver".to_owned()),
            &["cluster: Failure existing-driver csi.vsphere.vmware.com"],
        ),
        (
            |c| {
                let url = ("datastoreurl".to_owned(), "ds:///vmfs/volumes/gone/".to_owned());
                c.storage_classes[0].parameters = [url].into();
            },
            &["cluster: Failure storage-classes ds:///vmfs/volumes/gone/"],
        ),
        (
            |c| {
                let url = ("DatastoreURL".to_owned(), "ds:///vmfs/volumes/fast/".to_owned());
                c.storage_classes[0].parameters = [url].into();
            },
            &[],
        ),
    ];
    let vcenters = start_all(1, 2);
    for (position, (break_it, expected)) in cases.iter().enumerate() {
        let mut cluster = cluster(1, 2);
        break_it(&mut cluster);
        let round = round(&subject(&vcenters), &cluster).await;
        assert_eq!(problems(&round), *expected, "case {position}");
        let verdict = verdict(&round, true);
        assert_eq!(verdict.degraded.status, Some(false), "case {position}: {verdict:?}");
    }
}

/// A node is where its machine is, whatever its labels and the order of failure domains say.
#[tokio::test]
async fn nodes_are_found_on_every_vcenter() {
    let vcenters = start_all(2, 1);
    let mut cluster = cluster(2, 1);
    // Labels that lead to the other vCenter, and an id with its bytes the other way round.
    cluster.nodes_mut()[1].labels.insert("topology.kubernetes.io/zone".to_owned(), "zone-0".to_owned());
    cluster.nodes_mut()[1].provider_id =
        Some(format!("vsphere://{}", uuid::Uuid::from_bytes_le(id(1, 0).into_bytes())));
    cluster.nodes_mut().extend([metal("metal-0"), metal("metal-1")]);
    let round = round(&subject(&vcenters), &cluster).await;
    assert_eq!(problems(&round), Vec::<String>::new());
    let places: Vec<String> = round
        .nodes
        .iter()
        .map(|node| match &node.state {
            NodeState::Checked { vcenter, path, .. } => format!("{vcenter} {path}"),
            other => format!("{other:?}"),
        })
        .collect();
    let skipped = "Skipped { why: \"no providerID and no vSphere label, so taken for bare metal\" }";
    assert_eq!(places, ["127.0.0.1 /dc1/vm/node-0-0", "127.0.0.2 /dc1/vm/node-1-0", skipped, skipped]);
    // Machines of different vCenters may have the same id there.
    let ids: Vec<&str> = round
        .nodes
        .iter()
        .filter_map(|node| match &node.state {
            NodeState::Checked { machine, .. } => Some(machine.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(ids[0], ids[1], "the simulator gives the same ids: otherwise this shows nothing");
}

/// More volumes per node than an old host allows.
#[tokio::test]
async fn a_volume_limit_needs_new_hosts() {
    let mut estate = crate::bench::inventory(0, 1);
    estate["datacenters"][0]["clusters"][0]["hosts"][0]["version"] = serde_json::json!("7.0.3");
    let vcenters = [crate::bench::start("127.0.0.1", &estate, &[])];
    let mut subject = subject(&vcenters);
    for (limit, expected) in
        [(59, &[][..]), (128, &["node-0-0: Failure node-volume-limit /dc1/host/compute/esx-0"])]
    {
        subject.volumes_per_node = Some(limit);
        let round = round(&subject, &cluster(1, 1)).await;
        assert_eq!(problems(&round), expected);
        assert_eq!(verdict(&round, true).degraded.status, Some(!expected.is_empty()));
    }
}

/// Workloads with vSphere volumes that may come to a node which cannot have them.
#[tokio::test]
async fn workloads_that_would_hang_are_told() {
    let vcenters = start_all(1, 1);
    let pod = || Pod {
        namespace: "shop".to_owned(),
        name: "db-0".to_owned(),
        owner: Some("StatefulSet/db".to_owned()),
        node: Some("node-0-0".to_owned()),
        running: true,
        claims: vec![("data-db-0".to_owned(), Some("pv-1".to_owned()))],
        ..Pod::default()
    };
    let with = |change: &dyn Fn(&mut Cluster)| {
        let mut cluster = cluster(1, 1);
        cluster.nodes_mut().push(metal("metal-0"));
        cluster.volumes.push(Volume { name: "pv-1".to_owned(), handle: "1".to_owned(), ..Volume::default() });
        cluster.pods.push(pod());
        change(&mut cluster);
        cluster
    };
    let selector = |operator: &str| slipway_assess::check::cluster::Selector {
        terms: vec![slipway_assess::check::cluster::Term {
            labels: vec![slipway_assess::check::cluster::Requirement {
                key: "node.kubernetes.io/instance-type".to_owned(),
                operator: operator.to_owned(),
                values: Vec::new(),
            }],
            fields: Vec::new(),
        }],
    };
    let free = &["cluster: Warning workloads shop/StatefulSet/db"][..];
    let cases: Vec<(Cluster, &[&str])> = vec![
        (with(&|_| {}), free),
        (with(&|c| c.pods[0].affinity = Some(selector("Exists"))), &[]),
        (with(&|c| c.volumes[0].places = Some(selector("Exists"))), &[]),
        (with(&|c| c.nodes_mut()[1].taints = vec![taint("metal")]), &[]),
        (with(&|c| drop(c.pods[0].node_selector.insert("disk".to_owned(), "fast".to_owned()))), &[]),
        (with(&|c| c.nodes_mut().truncate(1)), &[]),
        // A claim without a volume yet can become one anywhere.
        (with(&|c| c.pods[0].claims[0].1 = None), free),
        (
            with(&|c| {
                c.pods[0].node = Some("metal-0".to_owned());
                c.pods[0].running = false;
            }),
            &["cluster: Failure workloads shop/StatefulSet/db"],
        ),
    ];
    for (position, (cluster, expected)) in cases.into_iter().enumerate() {
        let found = round(&subject(&vcenters), &cluster).await;
        assert_eq!(problems(&found), expected, "case {position}");
    }
}
