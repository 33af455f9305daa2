//! Commands that are run again, by one or by two.

use std::sync::Arc;

use slipway_engine::End;
use slipway_engine::progress::Nobody;
use slipway_lifecycle::install::{Directly, Error, Purpose};

use crate::bench::{Bench, administrator, assert_done, assert_same, process, reasons};

#[test]
fn a_bootstrap_machine_that_has_done_its_work_is_not_made_again() {
    let bench = Bench::new(1);
    let before = bench.snapshot();
    bench.create();
    assert_done(&bench.run(Purpose::DestroyBootstrap).unwrap());
    assert!(!bench.machines(0).contains(&bench.name("bootstrap")));
    assert!(bench.plan(Purpose::Create).unwrap().plan.is_empty(), "there is nothing to do");
    let again = [bench.name("bootstrap")];
    assert_done(&bench.run_with(Purpose::Create, &again, &Directly).unwrap());
    assert!(bench.machines(0).contains(&again[0]), "it was asked for by name");
    let plan = bench.plan(Purpose::Create).unwrap();
    assert!(
        plan.plan.is_empty() && plan.world.iter().any(|(id, _)| *id.name == *again[0]),
        "and is wanted now"
    );
    bench.destroy();
    assert_same(&before, &bench.snapshot(), "after destroy");
    bench.create();
    assert!(bench.machines(0).contains(&bench.name("bootstrap")), "a new cluster needs one");
}

/// Without a cluster there is no bootstrap machine whose work is done.
#[test]
fn a_cluster_that_is_still_to_be_made_gets_its_bootstrap_machine() {
    let bench = Bench::new(1);
    assert_done(&bench.run(Purpose::DestroyBootstrap).unwrap());
    bench.create();
    assert!(bench.machines(0).contains(&bench.name("bootstrap")));
    bench.destroy();
    assert_done(&bench.run(Purpose::DestroyBootstrap).unwrap());
    bench.create();
    assert!(bench.machines(0).contains(&bench.name("bootstrap")));
}

/// The bootstrap machine was removed by another hand, or is out of observation: it is not called gone.
#[test]
fn a_bootstrap_machine_that_is_not_seen_is_not_called_gone() {
    let bench = Bench::new(1);
    bench.create();
    administrator(&bench.vcenters[0], &["destroy", &bench.machine_path("bootstrap")]);
    let planned = bench.plan(Purpose::DestroyBootstrap).unwrap();
    let unseen: Vec<&str> = planned.unseen.iter().map(|one| &*one.resource.name).collect();
    assert_eq!(unseen, [bench.name("bootstrap")]);
    assert_done(&bench.run(Purpose::DestroyBootstrap).unwrap());
    assert_eq!(bench.plan(Purpose::DestroyBootstrap).unwrap().unseen, planned.unseen, "until that is said");
    process(async {
        let forgotten = vec![bench.name("bootstrap")];
        let mut project = bench.open(Purpose::DestroyBootstrap).unwrap().with_forgotten(forgotten);
        let planned = project.plan(Purpose::DestroyBootstrap, &[]).await.unwrap();
        assert_eq!(planned.unseen, []);
        let end = std::future::pending();
        assert_done(&project.apply(planned, &[], bench.patience, &Nobody, end).await.unwrap());
        project.close().await;
    });
    assert_eq!(bench.plan(Purpose::DestroyBootstrap).unwrap().unseen, []);
    assert!(bench.plan(Purpose::Create).unwrap().plan.is_empty(), "it has done its work");
}

/// What cannot be read is no reason to say that the machine is gone.
#[test]
fn a_bootstrap_machine_whose_files_are_lost_is_not_called_gone() {
    let bench = Bench::new(1);
    bench.create();
    let file = format!("cluster-api/machines/10_inframachine_{}.yaml", bench.name("bootstrap"));
    let text = fs_err::read_to_string(bench.path(&file)).unwrap();
    fs_err::write(bench.path(&file), "[").unwrap();
    let Err(error) = bench.run(Purpose::DestroyBootstrap) else { panic!("it was called gone") };
    assert!(matches!(error, Error::Files(_)), "{error}");
    assert!(bench.machines(0).contains(&bench.name("bootstrap")));
    // What it booted from does not matter any more.
    fs_err::write(bench.path(&file), text).unwrap();
    fs_err::remove_file(bench.path("bootstrap.ign")).unwrap();
    assert_done(&bench.run(Purpose::DestroyBootstrap).unwrap());
    assert!(!bench.machines(0).contains(&bench.name("bootstrap")));
    bench.destroy();
}

/// The state is damaged, and the journal is whole: what it knows is missed where it is not seen.
#[test]
fn a_cluster_that_is_destroyed_by_its_id_has_its_journal() {
    let bench = Bench::new(1);
    bench.create();
    fs_err::write(bench.path(".slipway/state.json"), "{").unwrap();
    administrator(&bench.vcenters[0], &["destroy", &bench.machine_path("master-1")]);
    let planned = process(async {
        let mut project = bench.open_by_id(&bench.infra_id).unwrap();
        let planned = project.plan(Purpose::Destroy, &[]).await.unwrap();
        project.close().await;
        planned
    });
    let unseen: Vec<&str> = planned.unseen.iter().map(|one| &*one.resource.name).collect();
    assert_eq!(unseen, [bench.name("master-1")]);
}

#[test]
fn a_cluster_whose_directory_is_lost_leaves_no_file_behind() {
    let bench = Bench::new(1);
    bench.create();
    let other = Bench::on(bench.vcenters.clone(), "harbour");
    fs_err::remove_dir_all(other.path(".slipway")).unwrap();
    let outcome = process(async {
        let mut project = other.open_by_id(&bench.infra_id).unwrap();
        let planned = project.plan(Purpose::Destroy, &[]).await.unwrap();
        let listener = Nobody;
        project.apply(planned, &[], other.patience, &listener, std::future::pending()).await.unwrap()
    });
    assert_done(&outcome);
    assert_eq!(bench.machines(0), [] as [&str; 0]);
    let left = fs_err::read_dir(other.directory.path()).unwrap().map(|entry| entry.unwrap().file_name());
    let journals: Vec<_> = left.filter(|name| name.to_string_lossy().contains("journal")).collect();
    assert!(journals.is_empty(), "{journals:?}");
}

/// That nothing is found of an id that was mistyped does not mean that the cluster is gone.
#[test]
fn a_mistyped_id_is_not_called_gone() {
    let bench = Bench::new(1);
    bench.create();
    let other = Bench::on(bench.vcenters.clone(), "harbour");
    fs_err::remove_dir_all(other.path(".slipway")).unwrap();
    let (name, end) = bench.infra_id.rsplit_once('-').unwrap();
    for (typed, similar) in
        [(format!("{name}-zzzzz"), true), (format!("harbor-{end}"), true), ("quay-zzzzz".into(), false)]
    {
        let error = process(async {
            let mut project = other.open_by_id(&typed).unwrap();
            let error = project.plan(Purpose::Destroy, &[]).await.unwrap_err();
            project.close().await;
            error
        });
        assert!(matches!(error, Error::NothingFound { .. }), "{typed}: {error}");
        let hint = error.hint().unwrap();
        assert_eq!(hint.contains(&bench.infra_id), similar, "{typed}: {hint}");
    }
    let left = fs_err::read_dir(other.directory.path()).unwrap().map(|entry| entry.unwrap().file_name());
    let journals: Vec<_> = left.filter(|name| name.to_string_lossy().contains("journal")).collect();
    assert!(journals.is_empty(), "{journals:?}");
    bench.destroy();
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
    let desired = ["bootstrap", "master-0", "master-1", "master-2"].map(|role| bench.name(role));
    let mut made = [bench.machines(0), bench.machines(1)].concat();
    made.sort();
    assert_eq!(made, desired, "each once: {:?}", outcomes.each_ref().map(reasons));
    for outcome in &outcomes {
        let lost = outcome.ends.values().filter(|end| matches!(end, End::Unfinished | End::Unknown(_)));
        assert_eq!(lost.count(), 0, "{:?}", reasons(outcome));
    }
    assert_done(&bench.run(Purpose::Create).unwrap());
}
