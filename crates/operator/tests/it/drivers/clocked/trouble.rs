//! What can be wrong with connections and matrices: each has its own reason, and is over when its cause is.

use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde_json::{Value, json};
use slipway_operator::controllers::connections;
use slipway_testkit::process::eventually;
use slipway_testkit::vcenter::{ADMINISTRATOR, VCenter};

use super::super::estate::{CONFIG, Estate, FAILURE_TIMEOUT, NORTH, SOUTH, TIMEOUT, condition_of, inventory};

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

/// The reason is in the connection, in the VDOConfig and in what the command prints, soon after its cause.
fn shows(estate: &Estate, connection: &str, reason: &str) -> Value {
    let cause = Instant::now();
    let ready = estate.wait_for_connection(connection, reason);
    let failed = |failure: &Value| failure["reason"] == reason;
    estate.wait_until(reason, |config| {
        config["status"]["failures"].as_array().is_some_and(|failures| failures.iter().any(failed))
    });
    let status = estate.status();
    let took = cause.elapsed();
    assert!(took < FAILURE_TIMEOUT, "{reason} is shown after {took:?}");
    assert!(status.failures.iter().any(|failure| failure.reason == reason), "{:#?}", status.failures);
    let said = status.connections.iter().find(|one| one.name == connection).unwrap();
    assert_eq!(said.reason.as_deref(), Some(reason));
    ready
}

/// With everything well a vCenter hears of us at most once a minute: the validations and the round of an hour together.
/// The checks keep their session, and the validation ends its own.
fn idle_calls_are_few(estate: &Estate) {
    let rounds = || estate.config()["status"]["checks"]["lastRound"].clone();
    estate.wait_until("no check fails", |config| config["status"]["checks"]["failures"] == 0);
    let before = rounds();
    let told: Timestamp = before.as_str().unwrap().parse().unwrap();
    // Rounds are told by the second: the next one must not be in the same.
    eventually("the second is over", TIMEOUT, || {
        Ok((Timestamp::now().as_second() > told.as_second()).then_some(()))
    })
    .unwrap();
    estate.north.control("DELETE", "/requests", &Value::Null).unwrap();
    // Something that the drivers do not care about.
    let resources = json!([{"kind": "Datacenter", "path": "/north"}]);
    estate.patch("vsphereconnection", "north", &json!({"spec": {"resources": resources}}));
    let connection = || estate.get("vsphereconnection", "slipway-system", "north");
    let generation = connection()["metadata"]["generation"].clone();
    eventually("a validation and a round", TIMEOUT, || {
        let validated = connection()["status"]["observedGeneration"] == generation;
        Ok((validated && rounds() != before).then_some(()))
    })
    .unwrap();
    let requests = estate.north.control("GET", "/requests", &Value::Null).unwrap();
    let requests = requests["requests"].as_array().unwrap();
    let of = |method: &str| requests.iter().filter(|one| one["method"] == method).collect::<Vec<_>>();
    assert_eq!(of("Login").len(), 1, "only the validation logs in: {requests:#?}");
    let left = of("Logout")[0]["session"].clone();
    let of_round = |one: &&Value| one["kind"] == "soap" && one["session"] != left && one["session"] != "";
    let round = requests.iter().filter(of_round).count();
    let validation = requests.len() - round;
    let well = usize::try_from(connections::ConnectionIntervals::default().well.as_secs()).unwrap();
    let hour = validation * 3600 / well + round;
    println!("calls per vcenter and hour when idle: {hour} ({validation} per validation, {round} per round)");
    assert!(round > 0 && hour <= 60, "{hour} calls in an hour");
}

/// An hour in which nothing happens, in six seconds: three validations and a round of checks, and whatever else the vCenter
/// hears. The goal is one call in a minute.
fn an_idle_hour(estate: &mut Estate) {
    assert!(estate.stop().is_some());
    estate.haste = 600;
    estate.operate(Duration::from_mins(5));
    let rounds = |estate: &Estate| estate.config()["status"]["checks"]["lastRound"].clone();
    let before = rounds(estate);
    eventually("it has looked at everything", TIMEOUT, || Ok((rounds(estate) != before).then_some(())))
        .unwrap();
    estate.wait_for("Progressing", "False");
    estate.north.control("DELETE", "/requests", &Value::Null).unwrap();
    let (before, start) = (rounds(estate), Instant::now());
    let well = connections::ConnectionIntervals::default().well / estate.haste;
    let heard = |estate: &Estate| {
        let mut heard = estate.north.control("GET", "/requests", &Value::Null).unwrap();
        serde_json::from_value::<Vec<Value>>(heard["requests"].take()).unwrap()
    };
    let ends = |requests: &[Value]| requests.iter().filter(|one| one["method"] == "Logout").count();
    let requests = eventually("three validations and a round", TIMEOUT, || {
        let requests = heard(estate);
        Ok((ends(&requests) >= 3 && rounds(estate) != before).then_some(requests))
    })
    .unwrap();
    // A round that is late may have let a fourth one in.
    let validations = u32::try_from(ends(&requests)).unwrap();
    assert!(start.elapsed() >= well * (validations - 1), "validations come too often");
    println!("calls in an idle hour: {}, with {validations} validations", requests.len());
    let goal = 60 * validations.div_ceil(3);
    assert!(requests.len() <= usize::try_from(goal).unwrap(), "{requests:#?}");
    assert!(estate.stop().is_some());
    estate.haste = 1;
    estate.operate(Duration::from_mins(5));
}

/// A login is sent to no vCenter that its Secret does not name, and to none whose certificate is not verified.
fn a_login_goes_to_its_own_vcenter(estate: &Estate) {
    let secret = |server: &Value| {
        estate.patch("secret", "south", &json!({"stringData": {"server": server}}));
    };
    let heard = || {
        let heard = estate.south.control("GET", "/requests", &Value::Null).unwrap();
        heard["requests"].as_array().unwrap().iter().filter(|one| one["method"] == "Login").count()
    };
    secret(&json!("vc.example.com"));
    let ready = shows(estate, "south", "CredentialsOfAnother");
    assert!(ready["message"].as_str().unwrap().contains("another vCenter than `localhost`"), "{ready}");
    estate.south.control("DELETE", "/requests", &Value::Null).unwrap();
    secret(&json!(""));
    let ready = shows(estate, "south", "CredentialsUnbound");
    assert!(
        ready["message"].as_str().unwrap().contains("kubectl --namespace slipway-system patch secret south"),
        "{ready}"
    );
    assert_eq!(heard(), 0);
    secret(&json!("localhost"));
    estate.wait_for_connection("south", "Valid");
    let tls = json!({"spec": {"tls": {"caBundle": null, "insecure": true}}});
    estate.patch("vsphereconnection", "south", &tls);
    shows(estate, "south", "InsecureRefused");
    estate.south.control("DELETE", "/requests", &Value::Null).unwrap();
    let again = json!({"spec": {"resources": [{"kind": "Datacenter", "path": "/south"}]}});
    estate.patch("vsphereconnection", "south", &again);
    shows(estate, "south", "InsecureRefused");
    assert_eq!(heard(), 0);
    let tls = json!({"spec": {"resources": null, "tls": {"caBundle": {"name": "south"}, "insecure": null}}});
    estate.patch("vsphereconnection", "south", &tls);
    estate.wait_for_connection("south", "Valid");
    estate.wait_for("Degraded", "False");
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
    idle_calls_are_few(&estate);
    an_idle_hour(&mut estate);
    let settled = generations(&estate);

    // A password that does not work is not given to drivers that run.
    estate.credentials("south", (ADMINISTRATOR.0, "wrong"));
    let ready = shows(&estate, "south", "InvalidLogin");
    assert!(ready["message"].as_str().unwrap().contains("correct user and password"), "{ready}");
    let config = estate.wait_for("Degraded", "True");
    assert_eq!(condition_of(&config["status"], "Degraded")["reason"], "InvalidLogin");
    assert_eq!(condition_of(&config["status"], "Available")["status"], "True", "the old one still works");
    assert_eq!(generations(&estate), settled);
    estate.credentials("south", ADMINISTRATOR);
    estate.wait_for_connection("south", "Valid");
    estate.wait_for("Degraded", "False");

    a_login_goes_to_its_own_vcenter(&estate);

    // A user that may look, and nothing else.
    estate.credentials("north", ("driver@vsphere.local", "Str0ng!"));
    let ready = shows(&estate, "north", "PrivilegeMissing");
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
    let ready = shows(&estate, "south", "TagCategoryMissing");
    assert!(ready["message"].as_str().unwrap().contains("`k8s-rack`"), "{ready}");
    for vcenter in [&estate.north, &estate.south] {
        vcenter.control("POST", "/inventory/apply", &json!({"categories": [{"name": "k8s-rack"}]})).unwrap();
    }
    estate.wait_for_connection("south", "Valid");
    estate.wait_for_connection("north", "Valid");

    // Nobody listens, an expired certificate, a certificate of somebody else, and a version that is too old.
    let closed = slipway_testkit::network::free_port().unwrap();
    estate.connection_at("south", "localhost", closed, &estate.south);
    shows(&estate, "south", "Unreachable");
    let loopback = Ipv4Addr::LOCALHOST.into();
    let expired =
        VCenter::start_at(loopback, &inventory("south", SOUTH, "10.0.1.5"), &["--tls-not-after", "-1h"])
            .unwrap();
    estate.connection("south", "localhost", &expired);
    shows(&estate, "south", "CertificateExpired");
    estate.connection_at("south", "localhost", estate.south.port(), &estate.north);
    shows(&estate, "south", "CertificateUntrusted");
    let mut old = inventory("south", SOUTH, "10.0.1.5");
    old["vcenter"] = json!({"version": "6.5.0", "api_version": "6.5"});
    let old = VCenter::start_at(loopback, &old, &[]).unwrap();
    old.control("POST", "/inventory/apply", &json!({"categories": [{"name": "k8s-rack"}]})).unwrap();
    estate.connection("south", "localhost", &old);
    let cause = Instant::now();
    let config = estate.wait_until("no version fits", |config| {
        config["status"]["failures"].to_string().contains("NoFittingVersion")
    });
    assert!(cause.elapsed() < FAILURE_TIMEOUT, "{:?}", cause.elapsed());
    assert!(estate.status().failures.iter().any(|failure| failure.reason == "NoFittingVersion"));
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
