//! Conversations about drivers.

use jiff::Timestamp;
use secrecy::SecretString;
use serde_json::{Value, from_value, json};
use slipway_lifecycle::drivers::configure::{DriverSelection, ExistingConfig, Plan};

use super::script::{Do, Fake, PASSWORD, Script, inventory};
use super::{estate, fake};
use crate::survey::{DriversSurvey, KnownAnswers, Stop};

const USER: &str = "csi@vsphere.local";

fn told() -> KnownAnswers {
    let wanted =
        DriverSelection { cloud_provider: true, storage_provider: true, ..DriverSelection::default() };
    KnownAnswers { wanted, now: Timestamp::UNIX_EPOCH, ..KnownAnswers::default() }
}

fn run(told: KnownAnswers, steps: &[(&'static str, Do)], estate: &mut Fake) -> (Result<Plan, Stop>, String) {
    let mut script = Script::new(steps.to_vec());
    let result = DriversSurvey::new(told, &mut script, estate).run();
    assert!(script.is_done(), "not everything was asked:\n{}", script.transcript);
    (result, script.transcript)
}

fn object<'p>(plan: &'p Plan, kind: &str) -> &'p Value {
    plan.objects.iter().find(|object| object["kind"] == kind).expect("such an object")
}

#[test]
fn two_vcenters_and_both_drivers() {
    let mut estate = estate();
    estate.untrusted.push("south.example.com");
    let steps = [
        ("vCenter", Do::Type("north.example.com")),
        ("User", Do::Type("csi")),
        ("User", Do::Type(USER)),
        ("Password", Do::Type("wrong")),
        ("Password", Do::Type(PASSWORD)),
        ("Another vCenter?", Do::Yes),
        ("vCenter 2", Do::Type("north.example.com:8443")),
        ("vCenter 2", Do::Type("south.example.com")),
        ("Trust this certificate", Do::Yes),
        ("User", Do::Enter),
        ("Password", Do::Type(PASSWORD)),
        ("Another vCenter?", Do::No),
        ("Drivers", Do::Enter),
        ("Tag categories", Do::Type("")),
        ("Tag categories", Do::Type("k8s-region, k8s-zone")),
        ("Updates", Do::Pick("lts")),
        ("Apply", Do::Yes),
    ];
    let (plan, transcript) = run(told(), &steps, &mut estate);
    assert!(!transcript.contains(PASSWORD), "{transcript}");
    for part in [
        "# write it as name@domain",
        "error: north.example.com refuses csi@vsphere.local",
        "info: Datacenter: defaulting to north, the only one",
        "warning: the certificate of south.example.com is not trusted: its issuer is not trusted",
        "# there is a connection `north.example.com` already",
        "# with several vCenters the storage driver needs them",
        "These objects will be applied (secrets are hidden):",
        "thumbprint:",
        "********",
    ] {
        assert!(transcript.contains(part), "{part}:\n{transcript}");
    }
    let plan = plan.expect("a plan");
    let config = json!({
        "cloudProvider": {"topology": {"regionCategory": "k8s-region", "zoneCategory": "k8s-zone"}},
        "storageProvider": {"topologyCategories": ["k8s-region", "k8s-zone"]},
        "updatePolicy": "lts",
    });
    assert_eq!(object(&plan, "VDOConfig")["spec"], config);
    // The password of the second one went only where the certificate is the pinned one.
    let pinned = |(server, _, thumbprint): &(String, String, Option<String>)| {
        (server == "south.example.com") == thumbprint.is_some()
    };
    assert!(estate.logins.iter().all(pinned), "{:?}", estate.logins);
}

#[test]
fn some_datacenters_and_the_way_back() {
    let mut all = inventory("north", &["blue"], &["fast"], &["net"]);
    for name in ["east", "west"] {
        all.datacenters.extend(inventory(name, &["blue"], &["fast"], &["net"]).datacenters);
    }
    let mut estate = fake([("north.example.com", vec![all])]);
    let steps = [
        ("vCenter", Do::Back),
        ("vCenter", Do::Type("nowhere.example.com")),
        ("vCenter", Do::Type("north.example.com")),
        ("User", Do::Type(USER)),
        ("Password", Do::Type(PASSWORD)),
        ("Datacenters", Do::Pick("east")),
        ("Another datacenter", Do::Back),
        ("Password", Do::Type(PASSWORD)),
        ("Datacenters", Do::Pick("west")),
        ("Another datacenter", Do::Pick("north")),
        ("Another datacenter", Do::Pick("no other")),
        ("Another vCenter?", Do::No),
        ("Drivers", Do::Pick("storage driver only")),
        ("Tag categories", Do::Type("")),
        ("Updates", Do::Enter),
        ("Apply", Do::Yes),
    ];
    let (plan, transcript) = run(told(), &steps, &mut estate);
    let plan = plan.expect("a plan");
    let connection = &object(&plan, "VSphereConnection")["spec"];
    assert_eq!(connection["datacenters"], json!(["west", "north"]), "{transcript}");
    assert_eq!(object(&plan, "VDOConfig")["spec"], json!({"storageProvider": {}}), "defaults are not said");
    assert!(transcript.contains("this is the first question"), "{transcript}");
}

/// Flags answer questions, and a VDOConfig that is there answers the rest.
#[test]
fn what_is_known_is_not_asked() {
    let config = json!({"storageProvider": {"topologyCategories": ["k8s-zone"]}, "updatePolicy": "disabled"});
    let there = ExistingConfig {
        config: Some(from_value(config).expect("a VDOConfig")),
        connections: vec!["south.example.com".to_owned()],
        ..ExistingConfig::default()
    };
    let told = KnownAnswers {
        server: Some("north.example.com".to_owned()),
        name: Some("north".to_owned()),
        user: Some(USER.to_owned()),
        password: Some(SecretString::from(PASSWORD)),
        datacenters: vec!["north".to_owned(), "elsewhere".to_owned()],
        there,
        ..told()
    };
    let (plan, transcript) = run(told, &[("Another vCenter?", Do::No), ("Apply", Do::Yes)], &mut estate());
    let plan = plan.expect("a plan");
    assert_eq!((plan.objects.len(), &plan.change), (2, &None), "{plan:#?}");
    assert_eq!(object(&plan, "VSphereConnection")["metadata"]["name"], "north");
    assert!(transcript.contains("`elsewhere` is not there, or not visible"), "{transcript}");
    assert!(transcript.contains("the cluster has a VDOConfig"), "{transcript}");
}

#[test]
fn whoever_does_not_want_it_gets_nothing() {
    let steps = [
        ("vCenter", Do::Type("south.example.com")),
        ("User", Do::Type(USER)),
        ("Password", Do::Type(PASSWORD)),
        ("Another vCenter?", Do::No),
        ("Drivers", Do::Pick("cloud provider only")),
        ("Updates", Do::Enter),
        ("Apply", Do::No),
    ];
    let (plan, transcript) = run(told(), &steps, &mut estate());
    assert!(matches!(plan, Err(Stop::Abort)), "{transcript}");
}
