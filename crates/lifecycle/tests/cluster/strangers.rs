//! `destroy` removes what is of the cluster, and nothing else.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use slipway_engine::progress::Nobody;
use slipway_lifecycle::install::Purpose;

use slipway_testkit::process::eventually;

use crate::bench::{
    Bench, Moment, VSpherePlannedRun, administrator, assert_done, assert_same, inventory, process, reasons,
    start,
};

/// One id begins with the other.
#[test]
fn a_similar_id_is_another_cluster() {
    let first = Bench::new(2);
    let second = Bench::on(Arc::clone(&first.vcenters), &first.infra_id);
    assert!(second.infra_id.starts_with(&first.infra_id) && second.infra_id != first.infra_id);
    let empty = first.snapshot();
    second.create();
    let only_second = first.snapshot();
    first.create();
    first.destroy();
    assert_same(&only_second, &first.snapshot(), "the longer id is left");
    assert!(second.plan(Purpose::Create).unwrap().plan.is_empty());
    first.create();
    second.destroy();
    assert!(first.plan(Purpose::Create).unwrap().plan.is_empty());
    assert_eq!(first.machines(0).len() + first.machines(1).len(), 4);
    first.destroy();
    assert_same(&empty, &first.snapshot(), "nothing is left");
}

#[test]
fn a_foreign_machine_in_our_folder_stays_and_is_named() {
    let bench = Bench::new(1);
    let before = bench.snapshot();
    bench.create();
    let guest = json!({"datacenters": [{"name": "north", "vms": [
        {"name": "guest", "folder": bench.infra_id, "cluster": "compute", "datastore": "vsan", "power": "on"},
    ]}]});
    bench.vcenters[0].control("POST", "/inventory/apply", &guest).unwrap();
    let path = format!("/north/vm/{}/guest", bench.infra_id);
    let plan = bench.plan(Purpose::Destroy).unwrap().plan;
    assert!(plan.stops.iter().any(|stop| stop.cause.message.contains(&path)), "{:?}", plan.stops);
    let outcome = bench.run(Purpose::Destroy).unwrap();
    let told = reasons(&outcome);
    assert!(told.iter().any(|line| line.contains(&path)), "{told:?}");
    assert_eq!(bench.machines(0), ["guest"], "ours are gone");
    let machine = bench.vcenters[0].object(&path).unwrap().unwrap();
    assert_eq!(machine["props"]["powerState"], "poweredOn");
    administrator(&bench.vcenters[0], &["destroy", &path]);
    bench.destroy();
    assert_same(&before, &bench.snapshot(), "after destroy");
}

/// Volumes of the storage driver go with the cluster, but for those that another cluster has too: these are named, and
/// the policy they were made by stays with them.
#[test]
fn volumes_that_stay_are_named() {
    let bench = Bench::new(1);
    let (vcenter, id) = (&bench.vcenters[0], bench.infra_id.as_str());
    let policy = format!("openshift-storage-policy-{id}");
    let policies = json!({"storage_policies": [{"name": policy, "description": "of the driver"}]});
    vcenter.control("POST", "/inventory/apply", &policies).unwrap();
    let volume = |name: &str, clusters: &[&str]| {
        administrator(vcenter, &[&["volume", "/north/datastore/vsan", name], clusters].concat());
    };
    let kept = |planned: &VSpherePlannedRun| -> Vec<String> {
        planned.kept.iter().map(|kept| format!("{} {}", kept.kind, kept.name)).collect()
    };
    let all =
        [format!("storage policy {policy}"), "volume pvc-1".to_owned(), "volume pvc-2 (theirs)".to_owned()];
    bench.create();
    volume("pvc-1", &[id]);
    volume("pvc-2", &[id, "theirs"]);
    eventually("both volumes are there", Duration::from_secs(20), || {
        let names = kept(&bench.plan(Purpose::Destroy)?).len();
        let deleted = bench.plan(Purpose::Destroy)?.plan.steps.into_iter();
        let deleted = deleted.filter(|planned| planned.step.sentence.contains("pvc-1")).count();
        Ok((names == 2 && deleted == 1).then_some(()))
    })
    .unwrap();
    let (shown, outcome) = bench.destroy_as(|project| project.with_volumes_kept(true)).unwrap();
    assert_done(&outcome);
    assert_eq!(kept(&shown), all);
    assert_eq!(bench.machines(0), [] as [&str; 0]);
    // They are still there, and go when they are not to be kept, even though the rest is gone.
    let plan = bench.plan(Purpose::Destroy).unwrap();
    assert_eq!(kept(&plan), [&*all[0], &*all[2]]);
    let steps: Vec<&str> = plan.plan.steps.iter().map(|planned| &*planned.step.verb).collect();
    assert_eq!(steps, ["delete volumes"]);
    bench.destroy();
    let left = bench.plan(Purpose::Destroy).unwrap();
    assert!(left.plan.is_empty(), "{:?}", left.plan);
    assert_eq!(kept(&left), [&*all[0], &*all[2]]);
}

/// A copy of a machine carries the marks of the original, but is foreign.
#[test]
fn a_copy_of_a_machine_is_not_ours() {
    let bench = Bench::new(1);
    bench.create();
    administrator(&bench.vcenters[0], &["copy", &bench.machine_path("master-0"), "backup"]);
    let path = format!("/north/vm/{}/backup", bench.infra_id);
    let copy = bench.vcenters[0].object(&path).unwrap().unwrap();
    assert_eq!(copy["props"]["extraConfig"]["slipway.dev/cluster"], bench.infra_id);
    let told = reasons(&bench.run(Purpose::Destroy).unwrap());
    assert!(told.iter().any(|line| line.contains(&path)), "{told:?}");
    assert_eq!(bench.machines(0), ["backup"]);
}

/// There is a foreign machine of the same name in the same place.
#[test]
fn a_foreign_machine_of_the_same_name_is_left_alone() {
    let bench = Bench::new(1);
    let name = bench.name("master-1");
    let foreign = json!({"datacenters": [{
        "name": "north", "folders": {"vm": [bench.infra_id]},
        "vms": [{"name": name, "folder": bench.infra_id, "cluster": "compute", "datastore": "vsan"}],
    }]});
    bench.vcenters[0].control("POST", "/inventory/apply", &foreign).unwrap();
    let theirs = bench.vcenters[0].object(&bench.machine_path("master-1")).unwrap();
    let told = reasons(&bench.run(Purpose::Create).unwrap());
    assert!(told.iter().any(|line| line.contains("not of this cluster")), "{told:?}");
    assert_eq!(bench.machines(0).len(), 4, "the others were created");
    let told = reasons(&bench.run(Purpose::Destroy).unwrap());
    assert!(told.iter().any(|line| line.contains(&bench.machine_path("master-1"))), "{told:?}");
    assert_eq!(bench.vcenters[0].object(&bench.machine_path("master-1")).unwrap(), theirs);
    assert_eq!(bench.machines(0), [name]);
    administrator(&bench.vcenters[0], &["destroy", &bench.machine_path("master-1")]);
    assert_done(&bench.run(Purpose::Destroy).unwrap());
}

/// A folder cannot carry a mark from its first moment on. One that the user named, and that has no tag since the process
/// ended between making and tagging it, looks like the user's: it is used, and stays.
#[test]
fn a_folder_of_the_users_that_has_no_tag_stays() {
    let named = |text: String| {
        text.replace(
            "        networks: [cluster-net]\n",
            "        networks: [cluster-net]\n        folder: /north/vm/team\n",
        )
    };
    let vcenters = Arc::new(vec![start(0, &inventory(0), &[])]);
    let bench = Bench::edited(vcenters, "harbour", named);
    let steps = bench.plan(Purpose::Create).unwrap().plan.steps;
    let made = steps.iter().position(|planned| &*planned.step.resource.kind == "folder").unwrap();
    assert!(bench.die_at(Purpose::Create, (made, Moment::Intended)));
    let half = json!({"datacenters": [{"name": "north", "folders": {"vm": ["team"]}}]});
    bench.vcenters[0].control("POST", "/inventory/apply", &half).unwrap();
    bench.create();
    assert_eq!(bench.machines(0).len(), 4);
    bench.destroy();
    assert_eq!(bench.machines(0), Vec::<String>::new());
    let folder = bench.vcenters[0].object("/north/vm/team").unwrap().unwrap();
    assert!(folder["tags"].is_null(), "{folder}");
}

/// Disks that an administrator attached to machines: on a controller that comes first, beside the machine's own, and from
/// elsewhere. vCenter would delete all of them. The journal knows which are the machine's own; the machine does, too.
#[test]
fn disks_of_others_are_named_and_stay() {
    const STORE: &str = "/north/datastore/vsan";
    let bench = Bench::new(1);
    let vcenter = &bench.vcenters[0];
    for lost in [false, true] {
        let before = vcenter.files(STORE).unwrap();
        bench.create();
        let files = |role: &str| -> BTreeSet<String> {
            let machine = vcenter.object(&bench.machine_path(role)).unwrap().unwrap();
            serde_json::from_value(machine["props"]["diskFiles"].clone()).unwrap()
        };
        let mut foreign = BTreeSet::new();
        for (role, file, controller, unit) in [
            ("master-0", format!("[vsan] precious-{lost}/ide.vmdk"), "200", "0"),
            ("master-1", String::new(), "1000", "5"),
            ("master-2", format!("[vsan] precious-{lost}/data.vmdk"), "1000", "6"),
        ] {
            let own = files(role);
            administrator(vcenter, &["attach", &bench.machine_path(role), &file, controller, unit]);
            foreign.extend(files(role).difference(&own).cloned());
        }
        assert_eq!(foreign.len(), 3, "{foreign:?}");
        let directory = Bench::on(Arc::clone(&bench.vcenters), "harbour");
        if lost {
            fs_err::remove_dir_all(directory.path(".slipway")).unwrap();
        }
        let outcome = process(async {
            let opened =
                if lost { directory.open_by_id(&bench.infra_id) } else { bench.open(Purpose::Destroy) };
            let mut project = opened.unwrap();
            let planned = project.plan(Purpose::Destroy, &[]).await.unwrap();
            let sentences: Vec<&str> =
                planned.plan.steps.iter().map(|planned| &*planned.step.sentence).collect();
            for file in &foreign {
                let named = |sentence: &&str| sentence.starts_with("detach") && sentence.contains(&**file);
                assert!(sentences.iter().any(named), "{file} is not in {sentences:#?}");
            }
            let options = planned.options(&[], bench.patience);
            let outcome =
                project.apply_with(planned, &options, &Nobody, std::future::pending()).await.unwrap();
            project.close().await;
            outcome
        });
        assert_done(&outcome);
        let left: BTreeSet<String> = vcenter
            .files(STORE)
            .unwrap()
            .difference(&before)
            .filter(|file| !file.ends_with('/'))
            .cloned()
            .collect();
        let expected = foreign.iter().flat_map(|file| {
            let file = file.strip_prefix("[vsan] ").unwrap();
            [file.to_owned(), file.replace(".vmdk", "-flat.vmdk")]
        });
        assert_eq!(left, expected.collect::<BTreeSet<_>>(), "lost: {lost}");
    }
}

/// What cannot be read is not nothing.
#[test]
fn a_machine_whose_disks_cannot_be_read_is_not_destroyed() {
    let bench = Bench::new(1);
    bench.create();
    let hidden = json!({"on": {"kind": "soap", "method": "RetrievePropertiesEx"}, "fault": {"hide": "config.hardware.device"}});
    bench.vcenters[0].control("POST", "/faults", &hidden).unwrap();
    let error = bench.plan(Purpose::Destroy).unwrap_err();
    assert!(error.to_string().contains("cannot be read"), "{error}");
    assert_eq!(bench.machines(0).len(), 4);
    bench.vcenters[0].control("DELETE", "/faults", &json!({})).unwrap();
    bench.destroy();
}
