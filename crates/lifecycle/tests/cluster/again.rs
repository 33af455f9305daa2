//! Commands that are run again, by one or by two.

use std::sync::Arc;

use slipway_engine::End;
use slipway_lifecycle::cluster::Purpose;

use crate::bench::{Bench, assert_done, assert_same, reasons};

#[test]
fn a_bootstrap_machine_that_has_done_its_work_is_not_made_again() {
    let bench = Bench::new(1);
    let before = bench.snapshot();
    bench.create();
    assert_done(&bench.run(Purpose::DestroyBootstrap).unwrap());
    assert!(!bench.machines(0).contains(&bench.name("bootstrap")));
    assert!(bench.plan(Purpose::Create).unwrap().plan.is_empty(), "there is nothing to do");
    bench.destroy();
    assert_same(&before, &bench.snapshot(), "after destroy");
    bench.create();
    assert!(bench.machines(0).contains(&bench.name("bootstrap")), "a new cluster needs one");
}

#[test]
fn a_cluster_whose_directory_is_lost_leaves_no_file_behind() {
    let bench = Bench::new(1);
    bench.create();
    let other = Bench::on(bench.vcenters.clone(), "harbour");
    fs_err::remove_dir_all(other.path(".slipway")).unwrap();
    let outcome = crate::bench::process(async {
        let mut project = other.open_by_id(&bench.infra_id).unwrap();
        let prospect = project.survey(Purpose::Destroy, &[]).await.unwrap();
        let listener = slipway_engine::progress::Nobody;
        project.apply(prospect, &[], other.patience, &listener, std::future::pending()).await.unwrap()
    });
    assert_done(&outcome);
    assert_eq!(bench.machines(0), [] as [&str; 0]);
    let left = fs_err::read_dir(other.directory.path()).unwrap().map(|entry| entry.unwrap().file_name());
    let journals: Vec<_> = left.filter(|name| name.to_string_lossy().contains("journal")).collect();
    assert!(journals.is_empty(), "{journals:?}");
}

/// Two copies of a directory, two administrators: the vCenter lets one name and one id be taken once, so nothing is made
/// twice. Who comes second stops, or finds it done.
#[test]
fn two_at_the_same_time_make_one_cluster() {
    let bench = Bench::new(2);
    let copy = Bench::on(bench.vcenters.clone(), "harbour");
    assert_eq!(bench.infra_id, copy.infra_id, "the same cluster");
    let copy = Arc::new(copy);
    let other = std::thread::spawn({
        let copy = copy.clone();
        move || copy.run(Purpose::Create).unwrap()
    });
    let outcomes = [bench.run(Purpose::Create).unwrap(), other.join().unwrap()];
    let wanted = ["bootstrap", "master-0", "master-1", "master-2"].map(|role| bench.name(role));
    let mut made = [bench.machines(0), bench.machines(1)].concat();
    made.sort();
    assert_eq!(made, wanted, "each once: {:?}", outcomes.each_ref().map(reasons));
    for outcome in &outcomes {
        let lost = outcome.ends.values().filter(|end| matches!(end, End::Unfinished | End::Unknown { .. }));
        assert_eq!(lost.count(), 0, "{:?}", reasons(outcome));
    }
    assert_done(&bench.run(Purpose::Create).unwrap());
}
