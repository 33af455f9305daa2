//! What is said before anything is made.

use slipway_lifecycle::install::Purpose;
use slipway_lifecycle::preflight::report::{Outcome, Report};
use slipway_testkit::engine::{ADMIN, Engine};

use crate::bench::{Bench, inventory};
use crate::directory::Subject;

/// What is wrong on the engine: the network is not of this test.
fn problems(report: &Report) -> Vec<String> {
    let on_engine = report.findings.iter().filter(|finding| finding.endpoint.is_some());
    let bad = on_engine.filter(|finding| finding.outcome != Outcome::Pass);
    bad.map(|finding| format!("{:?} {} {}", finding.outcome, finding.check.code(), finding.object)).collect()
}

#[test]
fn what_a_cluster_needs_is_there_before_and_after() {
    let bench = Bench::new("barge");
    assert_eq!(problems(&bench.directory.preflight()), [""; 0]);
    bench.run(Purpose::Create);
    assert_eq!(problems(&bench.directory.preflight()), [""; 0], "what is its own is in nothing's way");
}

#[test]
fn everything_that_is_missing_is_told_at_once() {
    let mut inventory = inventory();
    inventory.templates.clear();
    let bench = Bench::on(Engine::start(&inventory).unwrap(), "barge", ADMIN, |text| {
        text.replace("vnicProfileID: ovirtmgmt", "vnicProfileID: lan")
    });
    bench.engine.set_storage_status("data1", "maintenance");
    bench.engine.set_host_status("h3", "maintenance");
    let problems = problems(&bench.directory.preflight());
    let expected = [
        "Failure datastore data1",
        "Failure network lan",
        "Failure template rhcos",
        &format!("Warning anti-affinity {}", bench.name("controlplane")),
    ];
    assert!(expected.iter().all(|one| problems.iter().any(|problem| problem == one)), "{problems:#?}");
}

#[test]
fn a_password_that_is_wrong_is_told_with_the_other_form() {
    let engine = Engine::start(&inventory()).unwrap();
    let bench = Bench::on(engine, "barge", (ADMIN.0, "wrong"), |text| text);
    let report = bench.directory.preflight();
    let told: Vec<_> = report.findings.iter().filter(|one| one.endpoint.is_some()).collect();
    let [finding] = told[..] else { panic!("{:#?}", report.findings) };
    assert_eq!((finding.outcome, finding.check.code()), (Outcome::Failure, "connection"));
    assert!(finding.remedy.as_ref().is_some_and(|remedy| remedy.contains("@internalsso")), "{finding:#?}");
    assert!(!format!("{finding:?}").contains("wrong\""), "the password is not told");
}
