//! Sessions: one per vCenter, made again when it has expired, ended when asked to.

use std::time::Duration;

use serde_json::{Value, json};
use slipway_providers::vsphere::error::{Cause, Retry};
use slipway_providers::vsphere::pool::Pool;
use slipway_providers::vsphere::properties::PropertySpec;
use slipway_providers::vsphere::{Client, Error, FaultKind, Trust};
use slipway_testkit::process::eventually;
use slipway_testkit::vcenter::{ADMINISTRATOR, VCenter};

use crate::{authorities, calls, client, endpoint, estate, login, machines};

const HOSTS: [PropertySpec<'static>; 1] = [PropertySpec { kind: "HostSystem", properties: &["name"] }];

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

/// Parts of a program that know nothing of each other share a login, and the last one of them ends it.
#[tokio::test]
async fn a_client_is_shared_until_nothing_holds_it() {
    let vcenter = VCenter::start(&estate(0)).unwrap();
    let pool = Pool::default();
    let lease = |user: &str, password: &str| {
        pool.lease(endpoint(&vcenter, authorities(&vcenter)), login(user, password)).unwrap()
    };
    let (user, password) = ADMINISTRATOR;
    let logins = || (calls(&vcenter, "Login"), calls(&vcenter, "Logout"));
    let [one, other] = [lease(user, password), lease(user, password)];
    assert!(one.is_same(&other));
    assert_eq!((hosts(one.client()).await, hosts(other.client()).await), (2, 2));
    assert_eq!(logins(), (1, 0));
    one.end(Duration::from_mins(1)).await;
    assert_eq!((hosts(other.client()).await, logins()), (2, (1, 0)), "the other one needs it");

    // Another password is another client, of the same account.
    let wrong = lease(user, "swordfish");
    assert!(!wrong.is_same(&other) && wrong.key().is_same_account(other.key()));
    assert!(wrong.client().user().await.is_err());
    assert_eq!(hosts(other.client()).await, 2);
    drop(wrong);

    other.end(Duration::from_mins(1)).await;
    assert_eq!(calls(&vcenter, "Logout"), 1, "the last one leaves");
    let again = lease(user, password);
    assert_eq!(hosts(again.client()).await, 2);
    drop(again);
    pool.departed().await;
    assert_eq!(calls(&vcenter, "Logout"), 2, "what is dropped is ended, too");

    let held = lease(user, password);
    assert_eq!(hosts(held.client()).await, 2);
    pool.close().await;
    assert_eq!(calls(&vcenter, "Logout"), 3);
    let error = hosts_error(held.client()).await;
    assert!(matches!(error.source, Cause::LoggedOut), "{error}");
    assert!(!lease(user, password).is_same(&held), "a client that has left is not handed out");
}

async fn hosts_error(client: &Client) -> Error {
    let root = client.manager("rootFolder").await.unwrap();
    client.retrieve_below(&root, &HOSTS).await.unwrap_err()
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
    assert_eq!(calls(&vcenter, "RetrieveServiceContent"), 1, "one that does not answer is not asked again");
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
    let root = client.manager("rootFolder").await.unwrap();
    let error = client.retrieve_below(&root, &HOSTS).await.unwrap_err();
    assert!(matches!(error.source, Cause::LoggedOut), "{error:?}");
    let error = client.categories().await.unwrap_err();
    assert!(matches!(error.source, Cause::LoggedOut), "{error:?}");
    assert_eq!(calls(&vcenter, "Login"), 0);
}

/// The address leads to another vCenter since: there the same short ids are other machines.
#[tokio::test]
async fn a_call_is_not_repeated_on_another_vcenter() {
    let address = "127.0.0.1".parse().unwrap();
    let vcenter = VCenter::start_at(address, &estate(1), &[]).unwrap();
    let endpoint = endpoint(&vcenter, Trust::Anything);
    let client = Client::new(endpoint, login(ADMINISTRATOR.0, ADMINISTRATOR.1)).unwrap();
    let machine = machines(&client).await.remove(0);
    client.categories().await.unwrap();
    let listen = vcenter.address();
    drop(vcenter);
    let mut other = estate(1);
    other["vcenter"] = json!({"name": "another"});
    let other = VCenter::start_at(address, &other, &["--listen", &listen]).unwrap();
    // The read comes first: it notices that connections were closed, and may be repeated.
    for error in [client.categories().await.unwrap_err(), client.destroy(&machine).await.unwrap_err()] {
        assert!(matches!(error.source, Cause::AnotherVCenter { .. }), "{error:?}");
        assert_eq!(error.retry(), Retry::Never);
    }
    // It was sent without a session, and not again with one.
    assert_eq!(calls(&other, "Destroy_Task"), 1);
    let objects = other.objects().unwrap();
    assert_eq!(objects.iter().filter(|object| object["type"] == "VirtualMachine").count(), 1);
    let stats = other.control("GET", "/stats", &Value::Null).unwrap();
    assert_eq!((&stats["soap_sessions"], &stats["rest_sessions"]), (&json!(0), &json!(0)), "{stats}");
}

/// A login that ends after the client has left ends its own session; an answer that is lost is risked once.
#[tokio::test(flavor = "multi_thread")]
async fn logins_leave_nothing_behind() {
    let vcenter = VCenter::start(&estate(0)).unwrap();
    let client = client(&vcenter);
    let late = json!({"on": {"method": "Login"}, "count": 1, "fault": {"delay_ms": 300}});
    vcenter.control("POST", "/faults", &late).unwrap();
    let root = client.manager("rootFolder").await.unwrap();
    let caller = client.clone();
    let call = tokio::spawn(async move { caller.retrieve_below(&root, &HOSTS).await.map(drop) });
    let asked = || Ok((calls(&vcenter, "Login") == 1).then_some(()));
    eventually("the login", Duration::from_secs(20), asked).unwrap();
    client.logout().await.unwrap();
    let error = call.await.unwrap().unwrap_err();
    assert!(matches!(error.source, Cause::LoggedOut), "{error:?}");
    let stats = vcenter.control("GET", "/stats", &Value::Null).unwrap();
    assert_eq!(stats["soap_sessions"], 0, "{stats}");

    let lost = json!({"on": {"method": "Login"}, "fault": {"drop": "after"}});
    vcenter.control("DELETE", "/requests", &Value::Null).unwrap();
    vcenter.control("POST", "/faults", &lost).unwrap();
    let client = crate::client(&vcenter);
    let root = client.manager("rootFolder").await.unwrap();
    assert!(client.retrieve_below(&root, &HOSTS).await.is_err());
    assert_eq!(calls(&vcenter, "Login"), 2);
}
