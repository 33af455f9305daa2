//! Services beside the main one: authorization, single sign-on, volumes, storage policies.

use std::collections::BTreeSet;
use std::time::Duration;

use secrecy::SecretString;
use serde_json::json;
use slipway_providers::vsphere::authorization::Permission;
use slipway_providers::vsphere::{Client, FaultKind};
use slipway_testkit::vcenter::{ADMINISTRATOR, VCenter};

use crate::{authorities, calls, client, endpoint, estate, login};

#[tokio::test]
async fn roles_and_permissions_come_and_go() {
    let mut estate = estate(1);
    estate["users"] = json!([{"name": "slipway", "password": "pw"}]);
    let vcenter = VCenter::start(&estate).unwrap();
    let client = client(&vcenter);
    let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
    let id = client.create_role("browse", &set(&["Datastore.Browse"])).await.unwrap();
    client
        .update_role(id, "browse more", &set(&["Datastore.Browse", "Datastore.FileManagement"]))
        .await
        .unwrap();
    let roles = client.roles().await.unwrap();
    let role = roles.iter().find(|role| role.id == id).unwrap();
    assert!(role.name == "browse more" && !role.system, "{role:?}");
    assert!(role.privileges.contains("Datastore.FileManagement"), "{role:?}");
    let object = client.find("/dc1/datastore/fast").await.unwrap().unwrap();
    let permission = Permission {
        principal: "VSPHERE.LOCAL\\slipway".to_owned(),
        group: false,
        role: id,
        propagate: true,
    };
    client.set_permissions(&object, std::slice::from_ref(&permission)).await.unwrap();
    let set = client.permissions(&object).await.unwrap();
    assert!(set.iter().any(|found| found.role == id && found.propagate), "{set:?}");
    let user = "slipway@vsphere.local";
    let privileges = client.privileges(user, std::slice::from_ref(&object)).await.unwrap();
    assert!(privileges[&object].contains("Datastore.Browse"), "{privileges:?}");
    client.remove_role(id).await.unwrap_err();
    client.remove_permission(&object, &permission.principal, false).await.unwrap();
    assert!(client.permissions(&object).await.unwrap().iter().all(|found| found.role != id));
    client.remove_role(id).await.unwrap();
    assert!(client.roles().await.unwrap().iter().all(|role| role.id != id));
}

#[tokio::test]
async fn a_token_opens_a_session() {
    let mut estate = estate(0);
    estate["users"] = json!([{"name": "ops", "password": "p&<w>"}]);
    let vcenter = VCenter::start(&estate).unwrap();
    let ops = endpoint(&vcenter, authorities(&vcenter));
    let ops = Client::new(ops, login("ops@vsphere.local", "p&<w>")).unwrap();
    let token = ops.token().await.unwrap();
    assert!(!format!("{token:?}").contains("Assertion"));
    let client = client(&vcenter);
    client.log_in_by_token(&token).await.unwrap();
    assert!(client.user().await.unwrap().to_lowercase().contains("ops"));
    assert_eq!(calls(&vcenter, "LoginByToken"), 1);
    // When that session is over, the client's own user takes its place.
    vcenter.control("POST", "/sessions/expire", &json!({"kind": "soap"})).unwrap();
    assert!(client.user().await.unwrap().to_lowercase().contains("administrator"));
    let wrong = endpoint(&vcenter, authorities(&vcenter));
    let wrong = Client::new(wrong, login(ADMINISTRATOR.0, "swordfish")).unwrap();
    let error = wrong.token().await.unwrap_err();
    assert_eq!(error.fault().map(|fault| &fault.kind), Some(&FaultKind::InvalidLogin), "{error:?}");
}

#[tokio::test]
async fn users_of_the_directory_come_and_go() {
    let vcenter = VCenter::start(&estate(0)).unwrap();
    let client = client(&vcenter);
    let directory = client.directory().await.unwrap();
    assert_eq!(directory.find("node", "vsphere.local").await.unwrap(), None);
    directory.create("node", "of a cluster", &SecretString::from("Pass & 1")).await.unwrap();
    let person = directory.find("node", "vsphere.local").await.unwrap().unwrap();
    assert!(person.name == "node" && !person.disabled && !person.locked, "{person:?}");
    directory.reset_password("node", &SecretString::from("Pass & 2")).await.unwrap();
    directory.delete("node").await.unwrap();
    assert_eq!(directory.find("node", "vsphere.local").await.unwrap(), None);
    directory.log_out().await.unwrap();
}

#[tokio::test]
async fn policies_are_found_and_deleted() {
    let mut estate = estate(0);
    estate["storage_policies"] = json!([{"name": "gold & silver", "description": "of a cluster"}]);
    let vcenter = VCenter::start(&estate).unwrap();
    let client = client(&vcenter);
    let policy = client.policy_named("gold & silver").await.unwrap().unwrap();
    assert_eq!(policy.description, "of a cluster");
    client.delete_policy(&policy.id).await.unwrap();
    assert_eq!(client.policy_named("gold & silver").await.unwrap(), None);
}

/// The client makes no volumes: the storage driver does.
async fn make_volume(vcenter: &VCenter, datastore: &str, cluster: &str, name: &str) {
    let http = reqwest::Client::builder().tls_danger_accept_invalid_certs(true).no_proxy().build().unwrap();
    let post = async |path: &str, body: String, cookie: &str| {
        let message = format!(
            "<soapenv:Envelope xmlns:soapenv=\"http://schemas.xmlsoap.org/soap/envelope/\" \
             xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\"><soapenv:Body>{body}</soapenv:Body>\
             </soapenv:Envelope>"
        );
        let request = http.post(format!("https://{}{path}", vcenter.address())).body(message);
        let response = request.header("Cookie", cookie).send().await.unwrap();
        assert!(response.status().is_success(), "{response:?}");
        let cookie = response.headers().get("set-cookie").map(|value| value.to_str().unwrap().to_owned());
        cookie.unwrap_or_default().split(';').next().unwrap_or_default().to_owned()
    };
    let (user, password) = ADMINISTRATOR;
    let login = format!(
        "<Login xmlns=\"urn:vim25\"><_this type=\"SessionManager\">SessionManager</_this>\
         <userName>{user}</userName><password>{password}</password></Login>"
    );
    let cookie = post("/sdk", login, "").await;
    let create = format!(
        "<CnsCreateVolume xmlns=\"urn:vsan\"><_this type=\"CnsVolumeManager\">cns-volume-manager</_this>\
         <createSpecs><name>{name}</name><volumeType>BLOCK</volumeType>\
         <datastores type=\"Datastore\">{datastore}</datastores><metadata><containerCluster>\
         <clusterType>KUBERNETES</clusterType><clusterId>{cluster}</clusterId><vSphereUser>x</vSphereUser>\
         </containerCluster><entityMetadata xsi:type=\"CnsKubernetesEntityMetadata\"><entityName>{name}</entityName>\
         <clusterId>of-{name}</clusterId><entityType>PERSISTENT_VOLUME</entityType></entityMetadata>\
         <containerClusterArray><clusterType>KUBERNETES</clusterType><clusterId>other</clusterId>\
         <vSphereUser>x</vSphereUser></containerClusterArray></metadata><backingObjectDetails xsi:type=\"CnsBlockBackingDetails\">\
         <capacityInMb>10</capacityInMb></backingObjectDetails></createSpecs></CnsCreateVolume>"
    );
    post("/vsanHealth", create, &cookie).await;
}

#[tokio::test]
async fn volumes_of_a_cluster_are_found_and_deleted() {
    let vcenter = VCenter::start(&estate(0)).unwrap();
    let client = client(&vcenter);
    let datastore = client.find("/dc1/datastore/fast").await.unwrap().unwrap();
    for (cluster, name) in [("ours", "pvc-1"), ("ours", "pvc-2"), ("theirs", "pvc-3")] {
        make_volume(&vcenter, &datastore.reference.id, cluster, name).await;
    }
    let mut volumes = Vec::new();
    let deadline = tokio::time::Instant::now() + Duration::from_secs(20);
    while volumes.len() < 2 {
        assert!(tokio::time::Instant::now() < deadline, "{volumes:?}");
        volumes = client.volumes("ours").await.unwrap();
    }
    let mut names: Vec<&str> = volumes.iter().map(|volume| &*volume.name).collect();
    names.sort_unstable();
    assert_eq!(names, ["pvc-1", "pvc-2"]);
    for volume in &volumes {
        assert_eq!(volume.clusters_besides("ours"), [&*format!("of-{}", volume.name), "other"]);
    }
    let limit = Duration::from_secs(20);
    client.delete_volume(&volumes[0].id, limit).await.unwrap();
    assert_eq!(client.volumes("ours").await.unwrap(), volumes[1..]);
    let error = client.delete_volume(&volumes[0].id, limit).await.unwrap_err();
    assert!(error.is_not_found(), "{error:?}");
    assert_eq!(client.volumes("nobody").await.unwrap(), []);
}
