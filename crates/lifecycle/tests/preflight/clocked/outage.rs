//! What one vCenter does not answer leaves the others' findings as they are.

use std::time::{Duration, Instant};

use rstest::rstest;
use serde_json::{Value, json};
use slipway_lifecycle::preflight::Options;
use slipway_lifecycle::preflight::report::{Check, Finding, Outcome, Report};
use slipway_testkit::vcenter::ADMINISTRATOR;

use crate::bench::{config, inventory, options, problems, run, run_as, sessions, start, start_all};

/// Everything about all vCenters but one.
fn others(report: &Report, server: &str) -> Vec<(Option<String>, &'static str, String, Outcome)> {
    let about = |finding: &&Finding| finding.place().split(':').next() == Some(server);
    let others = report.findings.iter().filter(|finding| !about(finding));
    let mut others: Vec<_> = others
        .map(|finding| {
            (finding.endpoint.clone(), finding.check.code(), finding.object.clone(), finding.outcome)
        })
        .collect();
    others.sort();
    others
}

#[tokio::test]
async fn a_frozen_vcenter_delays_nobody_beyond_the_deadline() {
    let vcenters = start_all(3);
    let config = config(&vcenters);
    let before = run(&config).await;
    assert_eq!(problems(&before), Vec::<String>::new());
    vcenters[1].control("POST", "/freeze", &Value::Null).unwrap();
    let whole = Duration::from_secs(4);
    let started = Instant::now();
    let after = run_as(&config, ADMINISTRATOR, None, Options { whole, ..options() }).await;
    assert!(started.elapsed() < whole + Duration::from_secs(1), "{:?}", started.elapsed());
    assert_eq!(problems(&after), ["127.0.0.2: Failure connection 127.0.0.2"]);
    assert!(after.findings[0].message.contains("no answer within 3s"), "{:?}", after.findings[0]);
    assert_eq!(others(&before, "127.0.0.2"), others(&after, "127.0.0.2"));
}

/// What was found before stays, and there is time left to end the session.
#[rstest]
#[case::early(
    "CreateContainerView",
    &[],
    "not checked: the inventory, hosts, templates and taken names, tags, privileges"
)]
#[case::late("FetchUserPrivilegeOnEntities", &["127.0.0.1: Failure network net"], "not checked: privileges")]
#[tokio::test]
async fn a_vcenter_that_falls_silent(#[case] method: &str, #[case] found: &[&str], #[case] unseen: &str) {
    let mut estate = inventory(0);
    estate["datacenters"][0]["networks"][0]["name"] = json!("other");
    estate["datacenters"][0]["vms"][0]["networks"] = json!([]);
    let vcenters = [start("127.0.0.1", &estate, &[])];
    let rule = json!({"on": {"kind": "soap", "method": method}, "fault": {"delay_ms": 60_000}});
    vcenters[0].control("POST", "/faults", &rule).unwrap();
    let options = Options { whole: Duration::from_secs(2), ..options() };
    let report = run_as(&config(&vcenters), ADMINISTRATOR, None, options).await;
    let problems = problems(&report);
    assert_eq!(problems, [&["127.0.0.1: Failure connection 127.0.0.1"], found].concat());
    assert!(report.findings[0].message.ends_with(unseen), "{:?}", report.findings[0]);
    assert!(report.findings.iter().any(|finding| finding.check == Check::Clock));
    assert_eq!(sessions(&vcenters[0]), (0, 0));
}

#[tokio::test]
async fn a_wrong_password_is_about_one_vcenter() {
    let vcenters = start_all(2);
    let rule = json!({"on": {"kind": "soap", "method": "Login"}, "fault": {"type": "InvalidLogin", "message": "no"}});
    vcenters[0].control("POST", "/faults", &rule).unwrap();
    let report = run(&config(&vcenters)).await;
    assert_eq!(problems(&report), ["127.0.0.1: Failure connection 127.0.0.1"]);
    assert!(report.findings[0].remedy.as_deref().unwrap().contains("password"), "{:?}", report.findings[0]);
    assert!(others(&report, "127.0.0.1").len() > 10);
    assert_eq!(vcenters[0].calls().unwrap()["Login"], 1, "repeating it would lock the account");
}

#[tokio::test]
async fn a_stranger_is_not_told_the_password() {
    let vcenters = start_all(2);
    let print = vcenters[0].thumbprint_sha256();
    let mut config = config(&vcenters);
    let another = print.replace(|c: char| c.is_ascii_hexdigit(), "0");
    config["platform"]["vsphere"]["vcenters"][0]["tls"] = json!({"thumbprint": another});
    let report = run(&config).await;
    assert_eq!(problems(&report), ["127.0.0.1: Failure connection 127.0.0.1"]);
    assert!(report.findings[0].message.contains("not trusted"), "{:?}", report.findings[0]);
    assert!(vcenters[0].calls().unwrap()["Login"].is_null());
}

/// Tags are a service of their own.
#[tokio::test]
async fn without_tags_the_rest_is_known() {
    let vcenters = start_all(2);
    let rule = json!({"on": {"kind": "rest"}, "fault": {"http_status": 403}});
    vcenters[0].control("POST", "/faults", &rule).unwrap();
    let report = run(&config(&vcenters)).await;
    assert_eq!(problems(&report), ["127.0.0.1: Unknown region-tag tags"]);
    assert!(!report.is_clear(), "what is not known is not fine");

    // The same when they are not refused but never come.
    let sound = others(&report, "127.0.0.1");
    vcenters[0].control("DELETE", "/faults", &Value::Null).unwrap();
    vcenters[0].control("POST", "/freeze", &json!({"kind": "rest"})).unwrap();
    let options = Options { whole: Duration::from_secs(4), ..options() };
    let report = run_as(&config(&vcenters), ADMINISTRATOR, None, options).await;
    assert_eq!(problems(&report), ["127.0.0.1: Unknown region-tag tags"]);
    assert_eq!(others(&report, "127.0.0.1"), sound);
}
