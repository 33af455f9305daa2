//! DRS groups and rules.

use std::time::Duration;

use serde_json::{Value, json};
use slipway_providers::vsphere::Client;
use slipway_providers::vsphere::placement::{Edit, Group, Members, Placement, Rule, RuleKind};
use slipway_testkit::vcenter::VCenter;

use crate::{client, estate, machines};

const TIMEOUT: Duration = Duration::from_secs(20);

fn with_groups(machines: usize) -> Value {
    let mut estate = estate(machines);
    let cluster = &mut estate["datacenters"][0]["clusters"][0];
    cluster["groups"] = json!([{"name": "rack-1", "hosts": ["esx-0"]}, {"name": "zone", "vms": ["vm-0"]}]);
    estate
}

async fn change(client: &Client, edits: &[Edit]) -> Placement {
    let cluster = client.find("/dc1/host/compute").await.unwrap().unwrap();
    let task = client.change_placement(&cluster, edits).await.unwrap();
    client.finish(&task, TIMEOUT).await.unwrap();
    client.placement(&cluster).await.unwrap()
}

#[tokio::test]
async fn groups_and_rules_come_and_go() {
    let vcenter = VCenter::start(&with_groups(3)).unwrap();
    let client = client(&vcenter);
    let all = machines(&client).await;
    let group =
        |machines: &[_]| Group { name: "zöne".into(), members: Members::Machines(machines.to_vec()) };
    let rule = |name: &str, kind| Rule { key: 0, name: name.into(), enabled: true, mandatory: false, kind };
    let placement = change(
        &client,
        &[
            Edit::AddGroup(group(&all[..2])),
            Edit::AddRule(rule("apart", RuleKind::AntiAffinity(all[..2].to_vec()))),
        ],
    )
    .await;
    assert_eq!(placement.groups.len(), 3);
    assert!(matches!(&placement.groups[0].members, Members::Hosts(hosts) if hosts.len() == 1));
    assert_eq!(placement.groups[2], group(&all[..2]));
    let on = RuleKind::VmHost { machines: "zöne".into(), hosts: "rack-1".into() };
    let not_on = RuleKind::NotOn { machines: "zöne".into(), hosts: "rack-1".into() };
    let mut edited = placement.rules[0].clone();
    edited.kind = RuleKind::AntiAffinity(all.clone());
    edited.mandatory = true;
    let edits = [
        Edit::EditGroup(group(&all)),
        Edit::EditRule(edited.clone()),
        Edit::AddRule(rule("on", on.clone())),
        Edit::AddRule(rule("not on", not_on.clone())),
        Edit::AddRule(rule("together", RuleKind::Together(all.clone()))),
    ];
    let placement = change(&client, &edits).await;
    assert_eq!(placement.groups[2], group(&all));
    assert_eq!(placement.rules[0], edited);
    let kinds: Vec<&RuleKind> = placement.rules[1..].iter().map(|rule| &rule.kind).collect();
    assert_eq!(kinds, [&on, &not_on, &RuleKind::Together(all.clone())]);
    let mut edits: Vec<Edit> =
        placement.rules.iter().map(|rule| Edit::RemoveRule { key: rule.key }).collect();
    edits.push(Edit::RemoveGroup { name: "zöne".into() });
    let placement = change(&client, &edits).await;
    assert!(placement.rules.is_empty());
    assert_eq!(placement.groups.len(), 2);
}

/// The API can only replace the whole list; nobody's machine may be lost by that.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn members_are_changed_one_after_the_other() {
    let vcenter = VCenter::start(&with_groups(6)).unwrap();
    let client = client(&vcenter);
    let all = machines(&client).await;
    let cluster = client.find("/dc1/host/compute").await.unwrap().unwrap();
    let changes: Vec<_> = all[1..]
        .iter()
        .cloned()
        .map(|machine| {
            let (client, cluster) = (client.clone(), cluster.clone());
            tokio::spawn(
                async move { client.change_members(&cluster, "zone", &[machine], &[], TIMEOUT).await },
            )
        })
        .collect();
    for change in changes {
        change.await.unwrap().unwrap();
    }
    let members = |placement: &Placement| match &placement.groups[1].members {
        Members::Machines(machines) => machines.len(),
        Members::Hosts(_) => 0,
    };
    assert_eq!(members(&client.placement(&cluster).await.unwrap()), 6);
    client.change_members(&cluster, "zone", &[], &all[..2], TIMEOUT).await.unwrap();
    assert_eq!(members(&client.placement(&cluster).await.unwrap()), 4);
    let error = client.change_members(&cluster, "nowhere", &all, &[], TIMEOUT).await.unwrap_err();
    assert!(error.source.to_string().contains("there is no machine group `nowhere`"), "{error:?}");
}
