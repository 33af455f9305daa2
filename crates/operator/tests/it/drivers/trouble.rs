//! What can be wrong with connections and matrices: each has its own reason, and is over when its cause is.

use std::net::Ipv4Addr;
use std::time::Duration;

use serde_json::{Value, json};
use slipway_testkit::vcenter::{ADMINISTRATOR, VCenter};

use super::estate::{CONFIG, Estate, NORTH, SOUTH, condition_of, inventory};

fn generations(estate: &Estate) -> Vec<Value> {
    let list = estate.plane.kubectl().json(&[
        "get",
        "deployments,daemonsets",
        "--all-namespaces",
        "--selector=slipway.dev/driver",
    ]);
    let list = list.unwrap();
    list["items"].as_array().unwrap().iter().map(|item| item["metadata"]["generation"].clone()).collect()
}

#[test]
fn every_trouble_has_its_reason_and_ends_with_its_cause() {
    let mut estate = Estate::new();
    estate.node("north", NORTH, Some(&format!("vsphere://{NORTH}")), true);
    estate.node("south", SOUTH, Some(&format!("vsphere://{SOUTH}")), true);
    estate.matrix("3.7.0");
    estate.plane.kubectl().apply(CONFIG).unwrap();
    estate.operate(Duration::from_mins(5));
    estate.wait_for("Available", "True");
    estate.wait_for("Progressing", "False");
    let settled = generations(&estate);

    // A password that does not work is not given to drivers that run.
    estate.credentials("south", (ADMINISTRATOR.0, "wrong"));
    let ready = estate.wait_for_connection("south", "InvalidLogin");
    assert!(ready["message"].as_str().unwrap().contains("correct user and password"), "{ready}");
    let config = estate.wait_for("Degraded", "True");
    assert_eq!(condition_of(&config["status"], "Degraded")["reason"], "InvalidLogin");
    assert_eq!(condition_of(&config["status"], "Available")["status"], "True", "the old one still works");
    assert_eq!(generations(&estate), settled);
    estate.credentials("south", ADMINISTRATOR);
    estate.wait_for_connection("south", "Valid");
    estate.wait_for("Degraded", "False");

    // A user that may look, and nothing else.
    estate.credentials("north", ("driver@vsphere.local", "Str0ng!"));
    let ready = estate.wait_for_connection("north", "PrivilegeMissing");
    assert!(ready["message"].as_str().unwrap().contains("Cns.Searchable"), "{ready}");
    let connection = estate.get("vsphereconnection", "slipway-system", "north");
    assert_eq!(connection["status"]["missingPrivileges"][0]["object"], "/", "{connection:#}");
    let grant =
        json!({"permissions": [{"principal": "VSPHERE.LOCAL\\driver", "role": "Admin", "entity": "/"}]});
    estate.north.control("POST", "/inventory/apply", &grant).unwrap();
    estate.wait_for_connection("north", "Valid");
    estate.wait_for("Degraded", "False");
    // The rotation reached the drivers without a restart of the operator.
    estate.wait_for("Progressing", "False");
    assert_ne!(generations(&estate), settled);

    // A category that only one of the vCenters has.
    let wanted = json!({"spec": {"storageProvider": {"topologyCategories": ["k8s-region", "k8s-rack"]}}});
    estate.patch("vdo", "cluster", &wanted);
    let ready = estate.wait_for_connection("south", "TagCategoryMissing");
    assert!(ready["message"].as_str().unwrap().contains("`k8s-rack`"), "{ready}");
    for vcenter in [&estate.north, &estate.south] {
        vcenter.control("POST", "/inventory/apply", &json!({"categories": [{"name": "k8s-rack"}]})).unwrap();
    }
    estate.wait_for_connection("south", "Valid");
    estate.wait_for_connection("north", "Valid");

    // Nobody listens, an expired certificate, a certificate of somebody else, and a version that is too old.
    let closed = slipway_testkit::network::free_port().unwrap();
    estate.connection_at("south", "localhost", closed, &estate.south);
    estate.wait_for_connection("south", "Unreachable");
    let loopback = Ipv4Addr::LOCALHOST.into();
    let expired =
        VCenter::start_at(loopback, &inventory("south", SOUTH, "10.0.1.5"), &["--tls-not-after", "-1h"])
            .unwrap();
    estate.connection("south", "localhost", &expired);
    estate.wait_for_connection("south", "CertificateExpired");
    estate.connection_at("south", "localhost", estate.south.port(), &estate.north);
    estate.wait_for_connection("south", "CertificateUntrusted");
    let mut old = inventory("south", SOUTH, "10.0.1.5");
    old["vcenter"] = json!({"version": "6.5.0", "api_version": "6.5"});
    let old = VCenter::start_at(loopback, &old, &[]).unwrap();
    old.control("POST", "/inventory/apply", &json!({"categories": [{"name": "k8s-rack"}]})).unwrap();
    estate.connection("south", "localhost", &old);
    estate.wait_for_connection("south", "Valid");
    let config = estate.wait_until("no version fits", |config| {
        config["status"]["failures"].to_string().contains("NoFittingVersion")
    });
    assert!(config["status"]["failures"].to_string().contains("6.5.0"), "{:#}", config["status"]["failures"]);
    assert_eq!(condition_of(&config["status"], "Available")["status"], "True");
    estate.connection("south", "localhost", &estate.south);
    estate.wait_for_connection("south", "Valid");
    estate.wait_for("Degraded", "False");
    estate.wait_for("Progressing", "False");

    // Whatever is published as a matrix, the drivers stay.
    let settled = generations(&estate);
    for (text, reason) in [
        ("garbage: [", "it is not a compatibility matrix"),
        (&"x".repeat(900_000), "it is not a compatibility matrix"),
    ] {
        estate.signed(text);
        refused(&estate, reason);
    }
    estate.publish(slipway_config::matrix::EMBEDDED, "AAAA");
    refused(&estate, "its signature is not the base64 of 64 bytes");
    assert_eq!(generations(&estate), settled);
    estate.matrix("3.7.0");
    estate.wait_for("Degraded", "False");
    assert_eq!(generations(&estate), settled);
}

fn refused(estate: &Estate, reason: &str) {
    let config = estate.wait_until(reason, |config| {
        config["status"]["matrix"]["refused"].as_str().is_some_and(|refused| refused.contains(reason))
    });
    assert_eq!(condition_of(&config["status"], "Available")["status"], "True");
    let config = estate.wait_for("Degraded", "True");
    assert_eq!(condition_of(&config["status"], "Degraded")["reason"], "MatrixRefused");
}
