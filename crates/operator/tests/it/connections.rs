//! A look at a vCenter, beside a simulated one.

use serde_json::{Value, json};
use slipway_assets::drivers::Connection;
use slipway_config::install_config::vsphere::Tls;
use slipway_operator::controllers::connections::demands::Demands;
use slipway_operator::controllers::connections::observe::observe;
use slipway_testkit::vcenter::{ADMINISTRATOR, VCenter};

/// A login that works, and a call after it that does not: the session ends nevertheless.
#[tokio::test(flavor = "multi_thread")]
async fn a_look_that_fails_leaves_no_session() {
    let vcenter = tokio::task::block_in_place(|| {
        let vcenter = VCenter::start(&json!({"datacenters": [{"name": "DC0"}]})).unwrap();
        let fault = json!({"type": "NoPermission", "privilegeId": "System.View"});
        let fault = json!({"on": {"kind": "soap", "method": "RetrievePropertiesEx"}, "fault": fault});
        vcenter.control("POST", "/faults", &fault).unwrap();
        vcenter
    });
    let connection = Connection {
        name: "north".to_owned(),
        server: vcenter.host().to_owned(),
        port: vcenter.port(),
        datacenters: Vec::new(),
        tls: Tls::CaBundle(fs_err::read_to_string(vcenter.ca_file()).unwrap()),
        user: ADMINISTRATOR.0.to_owned(),
        password: ADMINISTRATOR.1.into(),
    };
    let spec = serde_json::from_value(json!({
        "server": vcenter.host(), "credentialsSecret": {"name": "north"},
    }));
    let seen = observe(&connection, Ok(()), &spec.unwrap(), &Demands::default()).await;
    assert!(seen.user.is_none() && !seen.problems.is_empty(), "{seen:?}");
    tokio::task::block_in_place(|| {
        let calls = vcenter.calls().unwrap();
        assert_eq!((&calls["Login"], &calls["Logout"]), (&json!(1), &json!(1)), "{calls}");
        vcenter.control("DELETE", "/faults", &Value::Null).unwrap();
    });
}
