//! Sessions: one per vCenter, made again when it has expired, ended when asked to.

use std::time::Duration;

use serde_json::{Value, json};
use slipway_providers::vsphere::error::Cause;
use slipway_providers::vsphere::properties::Wanted;
use slipway_providers::vsphere::{Client, FaultKind};
use slipway_testkit::vcenter::{ADMINISTRATOR, VCenter};

use crate::{authorities, calls, client, endpoint, estate, login};

const HOSTS: [Wanted<'static>; 1] = [Wanted { kind: "HostSystem", properties: &["name"] }];

async fn hosts(client: &Client) -> usize {
    let root = client.manager("rootFolder").await.unwrap();
    client.retrieve_below(&root, &HOSTS).await.unwrap().len()
}

#[tokio::test]
async fn many_callers_share_one_session() {
    let vcenter = VCenter::start(&estate(0)).unwrap();
    let client = client(&vcenter);
    let callers: Vec<_> = (0..8)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move { hosts(&client).await })
        })
        .collect();
    for caller in callers {
        assert_eq!(caller.await.unwrap(), 2);
    }
    assert_eq!(calls(&vcenter, "Login"), 1);
    client.logout().await.unwrap();
    assert_eq!(calls(&vcenter, "Logout"), 1);
    client.logout().await.unwrap();
    assert_eq!(calls(&vcenter, "Logout"), 1, "there is nothing to end");
}

#[tokio::test]
async fn an_expired_session_is_made_again() {
    let vcenter = VCenter::start(&estate(0)).unwrap();
    let client = client(&vcenter);
    assert_eq!(hosts(&client).await, 2);
    client.categories().await.unwrap();
    vcenter.control("POST", "/sessions/expire", &json!({})).unwrap();
    assert_eq!(hosts(&client).await, 2);
    assert_eq!(client.categories().await.unwrap()[0].name, "openshift-zone");
    assert_eq!(calls(&vcenter, "Login"), 2);
}

#[tokio::test]
async fn a_wrong_password_is_said_once_and_never_shown() {
    let vcenter = VCenter::start(&estate(0)).unwrap();
    let endpoint = endpoint(&vcenter, authorities(&vcenter));
    let client = Client::new(endpoint, login(ADMINISTRATOR.0, "swordfish")).unwrap();
    let error =
        client.retrieve_below(&client.manager("rootFolder").await.unwrap(), &HOSTS).await.unwrap_err();
    assert_eq!(error.fault().map(|fault| &fault.kind), Some(&FaultKind::InvalidLogin));
    assert!(error.hint().unwrap().contains("password"));
    assert!(!format!("{error:?} {error} {client:?}").contains("swordfish"));
    assert_eq!(calls(&vcenter, "Login"), 1, "repeating it would lock the account");
}

/// The service's own pause is honoured, and reads survive what passes.
#[tokio::test]
async fn reads_are_repeated_after_failures_that_pass() {
    let vcenter = VCenter::start(&estate(0)).unwrap();
    let client = client(&vcenter);
    let faults = [
        json!({"http_status": 503, "retry_after": 0}),
        json!({"drop": "before"}),
        json!({"type": "ConcurrentAccess", "message": "somebody else"}),
    ];
    for fault in faults {
        let rule =
            json!({"on": {"kind": "soap", "method": "RetrievePropertiesEx"}, "count": 1, "fault": fault});
        vcenter.control("POST", "/faults", &rule).unwrap();
        assert_eq!(hosts(&client).await, 2, "{fault}");
    }
}

#[tokio::test]
async fn a_frozen_server_is_given_up_in_time() {
    let vcenter = VCenter::start(&estate(0)).unwrap();
    let mut endpoint = endpoint(&vcenter, authorities(&vcenter));
    endpoint.timeout = Duration::from_millis(200);
    let client = Client::new(endpoint, login(ADMINISTRATOR.0, ADMINISTRATOR.1)).unwrap();
    vcenter.control("POST", "/freeze", &Value::Null).unwrap();
    let error = client.content().await.unwrap_err();
    assert!(matches!(error.source, Cause::Timeout(_)), "{error:?}");
    assert!(error.may_have_acted());
    vcenter.control("POST", "/thaw", &Value::Null).unwrap();
    assert_eq!(crate::client(&vcenter).content().await.unwrap().about.version, "8.0.3");
}

/// Somebody wants to log in and is gone before the first word; the client leaves. Nobody comes in after that.
#[tokio::test]
async fn who_has_left_does_not_log_in() {
    let vcenter = VCenter::start(&estate(0)).unwrap();
    let client = client(&vcenter);
    client.content().await.unwrap();
    tokio::select! {
        biased;
        hosts = hosts(&client) => panic!("{hosts} hosts at once"),
        () = std::future::ready(()) => {}
    }
    client.logout().await.unwrap();
    // Time for a whole exchange.
    crate::client(&vcenter).content().await.unwrap();
    assert_eq!(calls(&vcenter, "Login"), 0);
    assert_eq!(hosts(&client).await, 2, "it may come back");
    assert_eq!(calls(&vcenter, "Login"), 1);
}
