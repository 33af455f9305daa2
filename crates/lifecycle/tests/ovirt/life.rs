//! A cluster from its plan to its end.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use slipway_engine::Id;
use slipway_lifecycle::install::Purpose;
use slipway_providers::ovirt::Ovirt;
use slipway_providers::provider::Provider;
use slipway_testkit::engine::{Engine, Inventory, KEYCLOAK_ADMIN, Login};

use crate::bench::{Bench, inventory};
use crate::directory::{Subject, process};

const ROLES: [&str; 4] = ["bootstrap", "master-0", "master-1", "master-2"];

#[test]
fn a_cluster_is_made_once_and_removed_with_nothing_left() {
    let bench = Bench::new("barge");
    let before = bench.contents();
    let planned = bench.plan(Purpose::Create).unwrap();
    // The tag, two affinity groups, and each machine made, configured and started.
    assert_eq!(planned.plan.steps.len(), 3 + 3 * ROLES.len(), "{:#?}", planned.plan);
    assert_eq!(bench.contents(), before, "a plan changes nothing");
    assert_eq!(bench.run(Purpose::Create), planned.plan.steps.len());
    for role in ROLES {
        let machine = bench.machine(role);
        assert_eq!(machine["status"], "up", "{role}");
        let comment = machine["comment"].as_str().unwrap();
        assert!(comment.contains(&format!("slipway.dev/cluster={}", bench.infra_id)), "{comment}");
        assert_eq!(machine["tags"]["tag"][0]["name"], json!(bench.infra_id));
        assert_eq!(machine["nics"]["nic"].as_array().unwrap().len(), 1, "{role}");
        let gib = if role == "bootstrap" { 30_u64 } else { 120 };
        let size = &machine["disk_attachments"]["disk_attachment"][0]["disk"]["provisioned_size"];
        assert_eq!(*size, json!((gib << 30).to_string()), "{role}");
    }
    assert_eq!(bench.run(Purpose::Create), 0, "everything is there");
    let seen = bench.plan(Purpose::Create).unwrap();
    let running = seen.world.iter().filter_map(|(_, observation)| Ovirt::view(observation.state()?).machine);
    assert_eq!(running.filter(|machine| machine.on).count(), ROLES.len());
    bench.run(Purpose::Destroy);
    assert_eq!(bench.contents(), before);
    assert_eq!(bench.engine.objections(), [""; 0], "all that was sent is of the engine's published model");
}

/// What the engine puts on the drive machines boot from is what we gave it, with their names in it.
#[test]
fn machines_boot_with_their_own_configuration() {
    let bench = Bench::new("barge");
    bench.run(Purpose::Create);
    for role in ROLES {
        let name = bench.name(role);
        let data: Value = serde_json::from_str(&bench.engine.user_data(&name).unwrap()).unwrap();
        let version = data["ignition"]["version"].as_str().unwrap();
        assert!(version.starts_with("3."), "{version}");
        let files = data["storage"]["files"].as_array().unwrap();
        assert_eq!(files.len(), 1, "the engine adds nothing: {files:#?}");
        assert_eq!(files[0]["path"], "/etc/hostname");
        assert!(files[0]["filesystem"].is_null());
        assert!(!data["ignition"]["config"]["merge"][0]["source"].as_str().unwrap().is_empty());
    }
}

#[test]
fn machines_of_the_control_plane_are_kept_apart() {
    let bench = Bench::new("barge");
    bench.run(Purpose::Create);
    let groups = bench.groups();
    let (group, members) = groups.iter().find(|(_, members)| !members.is_empty()).unwrap();
    assert_eq!(group["name"], json!(bench.name("controlplane")));
    assert_eq!(group["vms_rule"]["enforcing"], "true", "there are hosts for all of them");
    let expected: BTreeSet<String> = ROLES[1..].iter().map(|role| bench.name(role)).collect();
    assert_eq!(*members, expected);
}

/// On a cluster with two hosts, a group that enforces would keep the third machine from ever starting.
#[test]
fn few_hosts_make_a_preference_of_a_rule() {
    let bench = Bench::new("barge");
    bench.engine.set_host_status("h3", "maintenance");
    bench.run(Purpose::Create);
    let groups = bench.groups();
    let group =
        |name: &str| groups.iter().find(|(group, _)| group["name"] == json!(bench.name(name))).unwrap();
    assert_eq!(group("controlplane").0["vms_rule"]["enforcing"], "false");
    assert_eq!(group("compute").0["vms_rule"]["enforcing"], "true", "two hosts are enough for two machines");
}

/// Both forms of a login, by the same configuration but for the user.
#[test]
fn an_engine_with_keycloak_is_logged_in_to() {
    let engine = Engine::start(&Inventory { login: Login::Keycloak, ..inventory() }).unwrap();
    let bench = Bench::on(engine, "barge", KEYCLOAK_ADMIN, |text| text);
    bench.run(Purpose::Create);
    bench.run(Purpose::Destroy);
}

#[test]
fn the_other_form_of_a_login_is_named() {
    let engine = Engine::start(&Inventory { login: Login::Keycloak, ..inventory() }).unwrap();
    let bench = Bench::on(engine, "barge", slipway_testkit::engine::ADMIN, |text| text);
    let told = bench.plan(Purpose::Create).map_or_else(
        |error| error.to_string(),
        |planned| format!("{:?} {:?}", planned.plan.unknown, planned.plan.stops),
    );
    assert!(told.contains("admin@ovirt@internalsso"), "{told}");
}

#[test]
fn what_belongs_to_others_stays() {
    let bench = Bench::new("barge");
    bench.run(Purpose::Create);
    let machine = bench.machine("master-1");
    let id = machine["id"].as_str().unwrap();
    // A disk of the storage driver's, attached to a machine while it runs.
    let domain = bench.engine.id("storagedomains", "data1").unwrap();
    let disk = json!({
        "active": true, "interface": "virtio_scsi", "bootable": false,
        "disk": {"name": "pvc-1", "format": "cow", "sparse": true, "provisioned_size": 1 << 30,
            "storage_domains": {"storage_domain": [{"id": domain}]}},
    });
    bench.post(&format!("vms/{id}/diskattachments"), &disk);
    let planned = bench.plan(Purpose::Destroy).unwrap();
    let detach = planned.plan.steps.iter().find(|planned| &*planned.step.verb == "detach").unwrap();
    assert!(detach.step.sentence.contains("`pvc-1`"), "{}", detach.step.sentence);
    bench.run(Purpose::Destroy);
    let disks = bench.engine.list("/disks?search=name%3Dpvc-1");
    assert_eq!(disks.len(), 1, "the disk stays");
    assert!(!bench.contents().iter().any(|name| name.contains(&bench.infra_id)));
}

#[test]
fn edits_of_files_count() {
    let bench = Bench::new("barge");
    let file = bench.directory.path("openshift/99_openshift-cluster-api_master-machines-1.yaml");
    let text = fs_err::read_to_string(&file).unwrap();
    assert!(text.contains("cores: 4"), "{text}");
    fs_err::write(&file, text.replace("cores: 4", "cores: 6")).unwrap();
    bench.run(Purpose::Create);
    let cores = |role: &str| bench.machine(role)["cpu"]["topology"]["cores"].clone();
    assert_eq!((cores("master-0"), cores("master-1")), (json!("4"), json!("6")));
}

/// One machine fewer in the files: what is there is told and stays until the cluster goes.
#[test]
fn a_machine_that_is_in_no_file_any_more_is_told() {
    let bench = Bench::new("barge");
    let before = bench.contents();
    bench.run(Purpose::Create);
    let file = "openshift/99_openshift-cluster-api_master-machines-2.yaml";
    fs_err::remove_file(bench.directory.path(file)).unwrap();
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
    assert_eq!(bench.contents(), before);
}

#[test]
fn the_bootstrap_machine_goes_alone() {
    let bench = Bench::new("barge");
    bench.run(Purpose::Create);
    bench.run(Purpose::DestroyBootstrap);
    let left = bench.contents();
    assert!(!left.iter().any(|name| name.contains("bootstrap")), "{left:?}");
    assert!(left.iter().any(|name| name.contains("master-0")), "{left:?}");
    assert_eq!(bench.run(Purpose::Create), 0, "it is not made again");
    bench.run(Purpose::Destroy);
}

#[test]
fn a_lost_directory_is_no_obstacle() {
    let bench = Bench::new("barge");
    let before = bench.contents();
    bench.run(Purpose::Create);
    fs_err::remove_dir_all(bench.directory.path(".slipway")).unwrap();
    let mistyped = bench.infra_id.replace("barge", "barges");
    let error = bench.destroy_by_id(&mistyped).unwrap_err();
    assert!(error.to_string().contains("nothing of a cluster"), "{error}");
    let outcome = bench.destroy_by_id(&bench.infra_id).unwrap();
    assert!(outcome.is_done(), "{:#?}", outcome.ends);
    assert_eq!(bench.contents(), before);
}

/// Machines that the cluster made itself carry its tag and its name, and no marks.
#[test]
fn machines_that_the_cluster_made_go_with_it() {
    let bench = Bench::new("barge");
    let before = bench.contents();
    bench.run(Purpose::Create);
    let worker = json!({
        "name": bench.name("worker-7xk2p"), "cluster": {"name": "Default"}, "template": {"name": "Blank"},
    });
    let made = bench.post("vms", &worker);
    let tags = format!("vms/{}/tags", made["id"].as_str().unwrap());
    bench.post(&tags, &json!({"name": bench.infra_id}));
    // Named alike and nothing else: it may be anyone's.
    let alike = json!({
        "name": bench.name("mine"), "cluster": {"name": "Default"}, "template": {"name": "Blank"},
    });
    bench.post("vms", &alike);
    let planned = bench.plan(Purpose::Destroy).unwrap();
    assert!(planned.notes.iter().any(|note| note.contains(&bench.name("mine"))), "{:?}", planned.notes);
    let foreign = |id: &Id| *id.name == *bench.name("mine");
    assert!(!planned.world.iter().any(|(id, _)| foreign(id)));
    bench.run(Purpose::Destroy);
    let left: Vec<String> = bench.contents().difference(&before).cloned().collect();
    assert_eq!(left, [format!("vms/{} 1", bench.name("mine"))]);
}
