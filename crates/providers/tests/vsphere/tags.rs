//! Tags and categories.

use serde_json::Value;
use slipway_providers::vsphere::{FaultKind, MoRef};
use slipway_testkit::vcenter::VCenter;

use crate::{client, estate, machines};

const KINDS: [&str; 5] = ["VirtualMachine", "ResourcePool", "Folder", "Datastore", "StoragePod"];

#[tokio::test]
async fn categories_and_tags_come_and_go() {
    let vcenter = VCenter::start(&estate(3)).unwrap();
    let client = client(&vcenter);
    let all = machines(&client).await;
    let category = client.create_category("openshift-x", "of a cluster", &KINDS).await.unwrap();
    let tag = client.create_tag(&category, "x & y", "the cluster").await.unwrap();
    let error = client.create_category("openshift-x", "again", &KINDS).await.unwrap_err();
    assert!(matches!(error.fault().unwrap().kind, FaultKind::DuplicateName { .. }), "{error:?}");
    let found = client.category_named("openshift-x").await.unwrap().unwrap();
    assert_eq!((&found.id, &*found.cardinality), (&category, "SINGLE"));
    assert_eq!(found.associable_types.len(), 5);
    assert_eq!(client.category_named("openshift-y").await.unwrap(), None);
    assert_eq!(client.tag_named(&category, "x & y").await.unwrap().unwrap().id, tag);
    assert_eq!(client.tag_named(&category, "y").await.unwrap(), None);

    vcenter.control("DELETE", "/requests", &Value::Null).unwrap();
    client.attach(&tag, &all).await.unwrap();
    let stats = vcenter.control("GET", "/stats", &Value::Null).unwrap();
    assert_eq!(stats["requests"], 1, "one call for all of them");
    let carriers = client.objects_of(std::slice::from_ref(&tag)).await.unwrap();
    let mut carriers: Vec<MoRef> = carriers[&tag].clone();
    carriers.sort();
    assert_eq!(carriers, { all.clone() });

    client.detach(std::slice::from_ref(&tag), &all[0]).await.unwrap();
    assert_eq!(client.tags_of(&all[..1]).await.unwrap()[&all[0]], Vec::<String>::new());
    client.delete_tag(&tag).await.unwrap();
    assert!(client.tag(&tag).await.unwrap_err().is_not_found());
    client.delete_category(&category).await.unwrap();
    assert_eq!(client.category_named("openshift-x").await.unwrap(), None);
}

#[tokio::test]
async fn an_object_gets_several_tags_at_once() {
    let vcenter = VCenter::start(&estate(1)).unwrap();
    let client = client(&vcenter);
    let all = machines(&client).await;
    let mut tags = Vec::new();
    for name in ["a", "b"] {
        let category = client.create_category(name, "", &KINDS).await.unwrap();
        tags.push(client.create_tag(&category, "1", "").await.unwrap());
    }
    client.attach_all(&tags, &all[0]).await.unwrap();
    let mut found = client.tags_of(&all).await.unwrap().remove(&all[0]).unwrap();
    found.sort();
    tags.sort();
    assert_eq!(found, tags);
    // A category is for one tag per object, and not for every kind of object.
    let second = client.create_tag(&client.tag(&tags[0]).await.unwrap().category_id, "2", "").await.unwrap();
    let error = client.attach(&second, &all).await.unwrap_err();
    assert!(error.source.to_string().contains("cannot be attached"), "{error:?}");
    let cluster = client.find("/dc1/host/compute").await.unwrap().unwrap();
    client.attach_all(&tags, &cluster).await.unwrap_err();
}

/// Only those of categories somebody asks for are read by name.
#[tokio::test]
async fn tags_are_named_by_category() {
    let vcenter = VCenter::start(&estate(3)).unwrap();
    let client = client(&vcenter);
    let all = machines(&client).await;
    let zones = client.create_category("zone", "", &KINDS).await.unwrap();
    let north = client.create_tag(&zones, "north", "").await.unwrap();
    let south = client.create_tag(&zones, "south", "").await.unwrap();
    client.attach(&north, &all[..1]).await.unwrap();
    client.attach(&south, &all[1..2]).await.unwrap();
    for name in ["a", "b"] {
        let category = client.create_category(name, "", &KINDS).await.unwrap();
        for (object, name) in all.iter().zip(["x", "y", "z"]) {
            let tag = client.create_tag(&category, name, "").await.unwrap();
            client.attach(&tag, std::slice::from_ref(object)).await.unwrap();
        }
    }
    vcenter.control("DELETE", "/requests", &Value::Null).unwrap();
    let named = client.named_tags_of(&all, &["zone", "region"]).await.unwrap();
    let zone = |name: &str| vec![("zone".to_owned(), name.to_owned())];
    let found: Vec<_> = all.iter().map(|object| named[object].clone()).collect();
    assert_eq!(found, [zone("north"), zone("south"), Vec::new()]);
    let stats = vcenter.control("GET", "/stats", &Value::Null).unwrap();
    // The dearest order: zones and one other by list, the last three tags one by one.
    assert!(stats["requests"].as_u64().unwrap() <= 1 + 4 + 3 + 6, "{stats}");
}
