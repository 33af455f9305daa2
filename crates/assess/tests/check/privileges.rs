//! Every place where the user must be able to do something, taken away in turn.

use serde_json::json;
use slipway_providers::vsphere::Login;

use crate::bench::{cluster, inventory, problems, round, start, subject};

/// Where a role without one privilege is given, which it is, and what is found then.
const LACKING: &[(&str, &str, &str)] = &[
    ("/", "Sessions.ValidateSession", "127.0.0.1: Failure permissions /"),
    ("/", "InventoryService.Tagging.CreateTag", "127.0.0.1: Failure permissions /"),
    ("/dc1", "System.Read", "127.0.0.1: Failure permissions /dc1"),
    ("/dc1/datastore/fast", "Datastore.FileManagement", "127.0.0.1: Failure permissions /dc1/datastore/fast"),
    ("/dc1/datastore/fast", "Datastore.Browse", "127.0.0.1: Failure datastore-browse /dc1/datastore/fast"),
    ("/dc1/network/net", "Network.Assign", "127.0.0.1: Failure permissions /dc1/network/net"),
    ("/dc1/vm/ours", "VirtualMachine.Config.CPUCount", "127.0.0.1: Failure permissions /dc1/vm/ours"),
    ("/dc1/host/compute", "Resource.AssignVMToPool", "node-0-0: Failure node-cluster /dc1/host/compute"),
    (
        "/dc1/host/compute/Resources/own",
        "VApp.Import",
        "node-0-1: Failure node-pool /dc1/host/compute/Resources/own",
    ),
];

#[tokio::test]
async fn each_missing_privilege_is_found_where_it_is_missing() {
    let mut estate = inventory(0, 2);
    estate["datacenters"][0]["folders"] = json!({"vm": ["ours"]});
    // One node's machine is in a resource pool below the root pool; then the cluster need only be seen.
    estate["datacenters"][0]["vms"][1]["pool"] = json!("own");
    let known: Vec<&str> = include_str!("privileges.txt").lines().collect();
    let mut roles = vec![json!({"name": "everything", "privileges": known})];
    let (mut users, mut permissions) = (Vec::new(), Vec::new());
    for (number, (object, lacking, _)) in LACKING.iter().enumerate() {
        let user = format!("user-{number}");
        let but: Vec<&&str> = known.iter().filter(|privilege| *privilege != lacking).collect();
        roles.push(json!({"name": user, "privileges": but}));
        let mut permit = |entity: &str, role: &str, propagate: bool| {
            permissions.push(json!({
                "principal": format!("{user}@vsphere.local"), "role": role, "entity": entity, "propagate": propagate,
            }));
        };
        if *object == "/" {
            permit("/", &user, false);
            permit("/dc1", "everything", true);
        } else {
            permit("/", "everything", true);
            // Every role but this one may read.
            permit(object, if *lacking == "System.Read" { "NoAccess" } else { &user }, false);
        }
        users.push(json!({"name": user, "password": "pw"}));
    }
    estate["users"] = json!(users);
    estate["roles"] = json!(roles);
    estate["permissions"] = json!(permissions);
    let vcenters = [start("127.0.0.1", &estate, &[])];
    for (number, (object, lacking, expected)) in LACKING.iter().enumerate() {
        let mut subject = subject(&vcenters);
        subject.domains[0].folder = Some("/dc1/vm/ours".to_owned());
        subject.vcenters[0].login =
            Ok(Login { user: format!("user-{number}@vsphere.local"), password: "pw".into() });
        let found = round(&subject, &cluster(1, 2)).await;
        assert_eq!(problems(&found), [*expected], "without {lacking} on {object}");
        assert!(found.findings[0].message.contains(lacking), "{:?}", found.findings[0]);
    }
}
