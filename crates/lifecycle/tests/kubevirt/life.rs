//! A cluster from its plan to its end.

use serde_json::json;
use slipway_engine::Id;
use slipway_lifecycle::install::Purpose;
use slipway_providers::kubevirt::KubeVirt;
use slipway_providers::provider::Provider;

use crate::bench::{Bench, plane};
use crate::directory::{Subject, process};

const ROLES: [&str; 4] = ["bootstrap", "master-0", "master-1", "master-2"];

#[test]
fn a_cluster_is_made_once_and_removed_with_nothing_left() {
    let bench = Bench::new("harbour");
    let before = bench.tenancy.contents();
    let planned = bench.plan(Purpose::Create).unwrap();
    // The image, and of each machine its Secret, itself, and its start.
    assert_eq!(planned.plan.steps.len(), 1 + 3 * ROLES.len(), "{:#?}", planned.plan);
    assert_eq!(bench.tenancy.contents(), before, "a plan changes nothing");
    assert_eq!(bench.run(Purpose::Create), planned.plan.steps.len());
    for role in ROLES {
        let instance = bench.tenancy.object("virtualmachineinstance", &bench.name(role));
        assert_eq!(instance["status"]["phase"], "Running", "{role}");
        assert_eq!(instance["metadata"]["labels"]["slipway.dev/cluster"], json!(bench.infra_id));
    }
    let claims = || bench.tenancy.kubectl(&["get", "persistentvolumeclaims", "--output=name"]);
    assert_eq!(claims().lines().count(), 1 + ROLES.len());
    assert_eq!(bench.run(Purpose::Create), 0, "everything is there");
    let seen = bench.plan(Purpose::Create).unwrap();
    let running =
        seen.world.iter().filter_map(|(_, observation)| KubeVirt::view(observation.state()?).machine);
    assert_eq!(running.filter(|machine| machine.on && !machine.addresses.is_empty()).count(), ROLES.len());
    bench.run(Purpose::Destroy);
    assert_eq!(bench.tenancy.contents(), before);
    assert_eq!(claims(), "", "what was under the disks is gone when the disks are");
}

#[test]
fn what_belongs_to_others_stays() {
    let bench = Bench::new("harbour");
    let within = &bench.tenancy;
    within.kubectl(&["create", "secret", "generic", "mine"]);
    bench.run(Purpose::Create);
    // A copy of one of the cluster's Secrets, labels and all, under a name of its own.
    let mut copy = within.object("secret", &bench.name("master-0-ignition"));
    copy["metadata"] = json!({
        "name": "a-copy", "namespace": within.namespace, "labels": copy["metadata"]["labels"],
    });
    plane().kubectl().apply_value(&copy).unwrap();
    let planned = bench.plan(Purpose::Destroy).unwrap();
    assert!(planned.notes.iter().any(|note| note.contains("a-copy")), "{:?}", planned.notes);
    bench.run(Purpose::Destroy);
    let left: Vec<String> = within.contents().into_iter().collect();
    assert_eq!(left, ["secret/a-copy", "secret/mine"]);
}

#[test]
fn edits_of_files_count() {
    let bench = Bench::new("harbour");
    let file = bench.path("openshift/99_openshift-cluster-api_master-machines-1.yaml");
    let text = fs_err::read_to_string(&file).unwrap();
    assert!(text.contains("requestedCPU: 4"), "{text}");
    fs_err::write(&file, text.replace("requestedCPU: 4", "requestedCPU: 6")).unwrap();
    bench.run(Purpose::Create);
    let cores = |role: &str| {
        let machine = bench.tenancy.object("virtualmachine", &bench.name(role));
        machine["spec"]["template"]["spec"]["domain"]["cpu"]["cores"].clone()
    };
    assert_eq!((cores("master-0"), cores("master-1")), (json!(4), json!(6)));
    // What machines boot from is changed; machines that are there are left alone.
    let ignition = bench.path("master.ign");
    let text = fs_err::read_to_string(&ignition).unwrap();
    let edited = text.replacen('{', "{\"storage\":{\"files\":[]},", 1);
    fs_err::write(&ignition, edited).unwrap();
    let planned = bench.plan(Purpose::Create).unwrap();
    let verbs: Vec<&str> = planned.plan.steps.iter().map(|planned| &*planned.step.verb).collect();
    assert_eq!(verbs, ["change"; 3]);
    assert_eq!(bench.run(Purpose::Create), 3);
    assert_eq!(bench.run(Purpose::Create), 0);
    bench.run(Purpose::Destroy);
}

/// One machine fewer in the files: what is there is told and stays until the cluster goes.
#[test]
fn a_machine_that_is_in_no_file_any_more_is_told() {
    let bench = Bench::new("harbour");
    bench.run(Purpose::Create);
    fs_err::remove_file(bench.path("openshift/99_openshift-cluster-api_master-machines-2.yaml")).unwrap();
    let surplus = process(async {
        let mut run = bench.open(Purpose::Create).unwrap();
        let planned = run.plan(Purpose::Create, &[]).await.unwrap();
        assert!(planned.plan.steps.is_empty());
        let surplus = run.surplus(&planned).await;
        run.close().await;
        surplus
    });
    let names: Vec<&str> = surplus.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, [bench.name("master-2")]);
    bench.run(Purpose::Destroy);
    assert!(bench.tenancy.contents().is_empty());
}

#[test]
fn the_bootstrap_machine_goes_alone() {
    let bench = Bench::new("harbour");
    bench.run(Purpose::Create);
    bench.run(Purpose::DestroyBootstrap);
    let left = bench.tenancy.contents();
    assert!(!left.iter().any(|name| name.contains("bootstrap")), "{left:?}");
    assert_eq!(bench.run(Purpose::Create), 0, "it is not made again");
    bench.run(Purpose::Destroy);
    assert!(bench.tenancy.contents().is_empty());
}

#[test]
fn a_lost_directory_is_no_obstacle() {
    let bench = Bench::new("harbour");
    bench.run(Purpose::Create);
    fs_err::remove_dir_all(bench.path(".slipway")).unwrap();
    let mistyped = bench.infra_id.replace("harbour", "harbor");
    let error = bench.destroy_by_id(&mistyped).unwrap_err();
    assert!(error.to_string().contains("nothing of a cluster"), "{error}");
    let outcome = bench.destroy_by_id(&bench.infra_id).unwrap();
    assert!(outcome.is_done(), "{:#?}", outcome.ends);
    assert!(bench.tenancy.contents().is_empty());
}

/// Two clusters in one namespace do not see each other.
#[test]
fn neighbours_are_left_alone() {
    let one = Bench::new("harbour");
    one.run(Purpose::Create);
    let alone = one.tenancy.contents();
    let foreign = |id: &Id| !id.name.starts_with(&one.infra_id);
    let planned = one.plan(Purpose::Destroy).unwrap();
    assert!(!planned.world.iter().any(|(id, _)| foreign(id)));
    let like = json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": {
            "name": "quay-abcde-master-0-ignition", "namespace": one.tenancy.namespace,
            "labels": {"slipway.dev/cluster": "quay-abcde", "slipway.dev/id": "5f1f5a3e-0d0c-4ef1-9d4b-0a5a0a9d6d01"},
        },
    });
    plane().kubectl().apply_value(&like).unwrap();
    one.run(Purpose::Destroy);
    let left: Vec<String> = one.tenancy.contents().into_iter().collect();
    assert_eq!(left, ["secret/quay-abcde-master-0-ignition"]);
    assert!(alone.len() > 1);
}
