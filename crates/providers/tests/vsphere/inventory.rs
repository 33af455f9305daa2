//! Reading the inventory: pages, faults in the middle, tags, tasks.

use std::time::Duration;

use serde_json::json;
use slipway_providers::vsphere::inventory::LookupError;
use slipway_providers::vsphere::properties::PropertySpec;
use slipway_providers::vsphere::soap::Body;
use slipway_providers::vsphere::{FaultKind, MoRef};
use slipway_testkit::vcenter::VCenter;

use crate::{calls, client, estate};

const MACHINES: [PropertySpec<'static>; 1] =
    [PropertySpec { kind: "VirtualMachine", properties: &["name", "runtime.powerState", "network"] }];

#[tokio::test]
async fn many_machines_come_in_pages() {
    let vcenter = VCenter::start(&estate(1203)).unwrap();
    let client = client(&vcenter);
    let root = client.manager("rootFolder").await.unwrap();
    let machines = client.retrieve_below(&root, &MACHINES).await.unwrap();
    assert_eq!(machines.len(), 1203);
    assert!(machines.iter().all(|machine| machine.text("name").starts_with("vm-")));
    assert!(machines.iter().all(|machine| machine.references("network").len() == 1));
    assert_eq!(calls(&vcenter, "RetrievePropertiesEx"), 1);
    assert_eq!(calls(&vcenter, "ContinueRetrievePropertiesEx"), 2, "500 a page");
    assert_eq!(calls(&vcenter, "DestroyView"), 1);
}

/// The largest inventories people have are read a page at a time.
#[tokio::test]
async fn ten_thousand_machines_come_in_twenty_pages() {
    let mut estate = estate(10_000);
    // What is off and has no network is made in half the time.
    estate["datacenters"][0]["vms"][0]["power"] = json!("off");
    estate["datacenters"][0]["vms"][0]["networks"] = json!([]);
    let vcenter = VCenter::start(&estate).unwrap();
    let client = client(&vcenter);
    let root = client.manager("rootFolder").await.unwrap();
    let machines = client.retrieve_below(&root, &MACHINES).await.unwrap();
    assert_eq!(machines.len(), 10_000);
    let names: std::collections::BTreeSet<&str> =
        machines.iter().map(|machine| machine.text("name")).collect();
    assert_eq!(names.len(), 10_000, "none came twice");
    assert_eq!(calls(&vcenter, "ContinueRetrievePropertiesEx"), 19);
}

/// Half an inventory is not an inventory: whoever acts on it would think the rest is gone.
#[tokio::test]
async fn a_fault_in_the_middle_is_a_fault() {
    let vcenter = VCenter::start(&estate(1203)).unwrap();
    let client = client(&vcenter);
    let root = client.manager("rootFolder").await.unwrap();
    let rule = json!({
        "on": {"method": "ContinueRetrievePropertiesEx"}, "skip": 1, "count": 1,
        "fault": {"type": "NoPermission", "privilegeId": "System.Read", "message": "no"},
    });
    vcenter.control("POST", "/faults", &rule).unwrap();
    let error = client.retrieve_below(&root, &MACHINES).await.unwrap_err();
    assert!(matches!(error.fault().unwrap().kind, FaultKind::NoPermission { .. }), "{error:?}");
}

/// Pages and views go with their session, so the read starts over.
#[tokio::test]
async fn a_session_lost_between_pages_costs_nothing_but_time() {
    let vcenter = VCenter::start(&estate(1203)).unwrap();
    let client = client(&vcenter);
    let root = client.manager("rootFolder").await.unwrap();
    for fault in [json!({"type": "NotAuthenticated", "message": "no"}), json!({"drop": "after"})] {
        let rule =
            json!({"on": {"method": "ContinueRetrievePropertiesEx"}, "skip": 1, "count": 1, "fault": fault});
        vcenter.control("POST", "/faults", &rule).unwrap();
        let machines = client.retrieve_below(&root, &MACHINES).await.unwrap();
        assert_eq!(machines.len(), 1203, "{fault}");
        vcenter.control("DELETE", "/faults", &serde_json::Value::Null).unwrap();
    }
}

#[tokio::test]
async fn tags_are_read_in_batches() {
    let vcenter = VCenter::start(&estate(3)).unwrap();
    let client = client(&vcenter);
    let root = client.manager("rootFolder").await.unwrap();
    let specs = [PropertySpec { kind: "ClusterComputeResource", properties: &["name"] }, MACHINES[0].clone()];
    let objects = client.retrieve_below(&root, &specs).await.unwrap();
    let morefs: Vec<MoRef> = objects.iter().map(|object| object.moref.clone()).collect();
    let tags = client.tags_of(&morefs).await.unwrap();
    assert_eq!(tags.len(), 4);
    let tagged: Vec<_> = tags.iter().filter(|(_, ids)| !ids.is_empty()).collect();
    let [(moref, ids)] = tagged[..] else { panic!("one object has a tag: {tagged:?}") };
    assert_eq!(&*moref.reference.kind, "ClusterComputeResource");
    assert_eq!(client.tag(&ids[0]).await.unwrap().name, "a & <b>");
}

#[tokio::test]
async fn tasks_end_well_or_with_their_fault() {
    let vcenter = VCenter::start(&estate(2)).unwrap();
    let client = client(&vcenter);
    let root = client.manager("rootFolder").await.unwrap();
    let machines = client.retrieve_below(&root, &MACHINES).await.unwrap();
    assert!(machines.iter().all(|machine| machine.text("runtime.powerState") == "poweredOn"));
    let mut tasks = Vec::new();
    for machine in &machines {
        tasks.push(client.start(&machine.moref, "PowerOffVM_Task", &Body::new()).await.unwrap());
    }
    let limit = Duration::from_secs(20);
    let outcomes = client.finish_all(&tasks, limit).await;
    assert!(outcomes.len() == 2 && outcomes.values().all(Result::is_ok), "{outcomes:?}");
    let again = client.start(&machines[0].moref, "PowerOffVM_Task", &Body::new()).await.unwrap();
    let error = client.finish(&again, limit).await.unwrap_err();
    assert_eq!(error.fault().unwrap().kind, FaultKind::InvalidPowerState);
    let rename = Body::new().text("newName", "ü/%<&>");
    let task = client.start(&machines[0].moref, "Rename_Task", &rename).await.unwrap();
    client.finish(&task, limit).await.unwrap();
    let renamed = client.retrieve(&[machines[0].moref.clone()], &MACHINES).await.unwrap();
    let stored = renamed[0].text("name");
    assert_eq!(slipway_providers::vsphere::paths::unescape(stored), "ü/%<&>", "{stored}");
}

/// Paths are found, names too where there is only one of them; two are listed and none is taken.
#[tokio::test]
async fn names_are_never_guessed() {
    let mut estate = estate(1);
    let first = estate["datacenters"][0].clone();
    let mut second = first;
    second["name"] = json!("dc/2");
    estate["datacenters"].as_array_mut().unwrap().push(second);
    let vcenter = VCenter::start(&estate).unwrap();
    let client = client(&vcenter);
    let root = client.manager("rootFolder").await.unwrap();
    let found = client.find("/dc1/host/compute").await.unwrap().unwrap();
    assert_eq!(client.paths(std::slice::from_ref(&found)).await.unwrap(), ["/dc1/host/compute"]);
    assert!(client.find("/dc1/host/nothing").await.unwrap().is_none());
    assert_eq!(
        client.find_named(&root, "Datacenter", "dc/2").await.unwrap().reference.kind,
        "Datacenter".into()
    );
    let datacenter = client.find("/dc1").await.unwrap().unwrap();
    assert_eq!(client.find_named(&datacenter, "ClusterComputeResource", "compute").await.unwrap(), found);
    match client.find_named(&root, "ClusterComputeResource", "compute").await {
        Err(LookupError::Ambiguous { paths, .. }) => {
            assert_eq!(paths, ["/dc%2f2/host/compute", "/dc1/host/compute"]);
        }
        other => panic!("{other:?}"),
    }
    let missing = client.find_named(&root, "Datacenter", "dc9").await.unwrap_err();
    assert_eq!(missing.to_string(), "there is no Datacenter `dc9` on 127.0.0.1");
}

#[tokio::test]
async fn privileges_are_asked_for_all_objects_at_once() {
    let mut estate = estate(1);
    estate["users"] = json!([{"name": "slipway", "password": "pw"}]);
    estate["roles"] =
        json!([{"name": "some", "privileges": ["Datastore.Browse", "System.Read", "System.View"]}]);
    estate["permissions"] =
        json!([{"principal": "slipway@vsphere.local", "role": "some", "entity": "/dc1/datastore"}]);
    let vcenter = VCenter::start(&estate).unwrap();
    let client = client(&vcenter);
    let mut objects = Vec::new();
    for path in ["/dc1/datastore/fast", "/dc1/host/compute"] {
        objects.push(client.find(path).await.unwrap().unwrap());
    }
    let privileges = client.privileges("slipway@vsphere.local", &objects).await.unwrap();
    assert!(privileges[&objects[0]].contains("Datastore.Browse"));
    assert!(privileges[&objects[1]].is_empty(), "{privileges:?}");
    assert_eq!(calls(&vcenter, "FetchUserPrivilegeOnEntities"), 1);
    assert!(client.known_privileges().await.unwrap().contains("VirtualMachine.Inventory.Create"));
    assert!(client.user().await.unwrap().to_lowercase().contains("administrator"));
}

/// An object of another vCenter is never asked for by its id here.
#[tokio::test]
async fn references_stay_with_their_vcenter() {
    let vcenter = VCenter::start(&estate(1)).unwrap();
    let client = client(&vcenter);
    let mut stranger = client.manager("rootFolder").await.unwrap();
    stranger.vcenter = "elsewhere.example.com".into();
    let error = client.call(&stranger, "Destroy_Task", &Body::new()).await.unwrap_err();
    assert!(format!("{:#}", anyhow(&error)).contains("another vCenter"), "{error:?}");
    assert_eq!(calls(&vcenter, "Destroy_Task"), 0);
}

fn anyhow(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
