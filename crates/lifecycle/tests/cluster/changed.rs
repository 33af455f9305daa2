//! The user changes their mind between two runs: no machine is made twice, none moves, and none is forgotten.

use std::sync::Arc;

use rstest::rstest;
use serde_json::{Value, json};
use slipway_engine::progress::Nobody;
use slipway_engine::{Id, Observation};
use slipway_lifecycle::install::{Directly, Error, Origin, Purpose, Surplus};
use slipway_providers::vsphere::kinds::State;

use crate::bench::{
    Bench, Moment, VSpherePlannedRun, assert_done, assert_same, inventory, process, read_back, reasons, start,
};

const ROLES: [&str; 4] = ["bootstrap", "master-0", "master-1", "master-2"];

fn unchanged(text: String) -> String {
    text
}

/// Two vCenters, of which the install-config names some.
fn on(vcenters: &[usize]) -> Bench {
    let bench = Bench::new(2);
    bench.change(vcenters, unchanged);
    bench
}

/// Every machine is there once, and nothing is about to be cloned.
fn assert_once(bench: &Bench, planned: &VSpherePlannedRun, context: &str) {
    let mut machines = [bench.machines(0), bench.machines(1)].concat();
    machines.sort();
    assert_eq!(machines, ROLES.map(|role| bench.name(role)), "{context}");
    let verbs: Vec<&str> = planned.plan.steps.iter().map(|planned| &*planned.step.verb).collect();
    assert!(!verbs.contains(&"clone") && !verbs.contains(&"power on"), "{context}: {verbs:?}");
}

fn notes(planned: &VSpherePlannedRun) -> String {
    planned.notes.join("\n")
}

/// Failure domains are added, or only change places: what was made stays where it is.
#[rstest]
#[case::added(&[0], &[0, 1], &["master-1"])]
#[case::added_in_front(&[0], &[1, 0], &["bootstrap", "master-0", "master-2"])]
#[case::reordered(&[0, 1], &[1, 0], &ROLES)]
fn machines_do_not_move(#[case] before: &[usize], #[case] after: &[usize], #[case] stay: &[&str]) {
    let bench = on(before);
    let empty = bench.snapshot();
    bench.create();
    let made = [bench.machines(0), bench.machines(1)];
    bench.change(after, unchanged);
    let planned = bench.plan(Purpose::Create).unwrap();
    assert_once(&bench, &planned, "planned");
    assert!(planned.plan.stops.is_empty(), "{:?}", planned.plan.stops);
    for role in stay {
        let note = format!("`{}` is on ", bench.name(role));
        assert!(notes(&planned).contains(&note), "{role}: {}", notes(&planned));
    }
    assert_eq!(planned.notes.len(), stay.len(), "{}", notes(&planned));
    assert_done(&bench.run(Purpose::Create).unwrap());
    assert_eq!([bench.machines(0), bench.machines(1)], made);
    assert!(bench.plan(Purpose::Create).unwrap().plan.is_empty(), "and then there is nothing to do");
    bench.destroy();
    assert_same(&empty, &bench.snapshot(), "after destroy");
}

/// The journal is lost as well: machines are known by their ids, wherever they are.
#[test]
fn without_its_journal_a_machine_is_found_by_its_id() {
    let bench = on(&[0, 1]);
    bench.create();
    fs_err::remove_file(bench.path(".slipway/journal.jsonl")).unwrap();
    bench.change(&[1, 0], unchanged);
    assert_once(&bench, &bench.plan(Purpose::Create).unwrap(), "planned");
    assert_done(&bench.run(Purpose::Create).unwrap());
    assert_once(&bench, &bench.plan(Purpose::Create).unwrap(), "done");
    // One that is neither in its folder nor tagged nor in the journal is still found.
    bench.destroy();
    assert_eq!([bench.machines(0), bench.machines(1)].concat(), Vec::<String>::new());
}

/// The process dies in the middle, and the failure domains change before it is started again.
#[rstest]
#[case::before_the_call(Moment::Intended)]
#[case::after_the_call(Moment::Performed)]
fn a_crash_and_a_change_make_nothing_twice(#[case] moment: Moment) {
    let bench = on(&[0, 1]);
    let empty = bench.snapshot();
    let steps = bench.plan(Purpose::Create).unwrap().plan.steps.len();
    for at in (4..steps).step_by(3) {
        let context = format!("step {at}, {moment:?}");
        bench.die_at(Purpose::Create, (at, moment));
        bench.change(&[1, 0], unchanged);
        let outcome = bench.run(Purpose::Create).unwrap();
        assert!(outcome.is_done(), "{context}: {:?}", reasons(&outcome));
        assert_once(&bench, &bench.plan(Purpose::Create).unwrap(), &context);
        bench.destroy();
        assert_same(&empty, &bench.snapshot(), &context);
        bench.change(&[0, 1], unchanged);
    }
}

/// A vCenter is dropped from the install-config: its machine is neither made again nor forgotten.
#[test]
fn a_dropped_vcenter_keeps_its_machines() {
    let bench = on(&[0, 1]);
    let empty = bench.snapshot();
    bench.create();
    let before = bench.snapshot();
    bench.change(&[0], unchanged);
    let planned = bench.plan(Purpose::Create).unwrap();
    assert_once(&bench, &planned, "planned");
    let server = bench.vcenters[1].address();
    let reason = format!("it was created on {server}");
    assert!(
        planned.plan.stops.iter().any(|stop| stop.cause.message.contains(&reason)),
        "{:?}",
        planned.plan.stops
    );
    let outcome = bench.run(Purpose::Create).unwrap();
    assert!(!outcome.is_done() && outcome.performed.is_empty(), "{:?}", outcome.performed);

    let Err(error @ Error::Strays { .. }) = bench.run(Purpose::Destroy) else {
        panic!("it said that everything is removed")
    };
    let machine = format!("machine `{}` on {server}, created at ", bench.name("master-1"));
    assert!(error.details().iter().any(|line| line.starts_with(&machine)), "{:?}", error.details());
    assert!(error.hint().unwrap().contains(&format!("--forget {server}")), "{:?}", error.hint());
    assert_same(&before, &bench.snapshot(), "after the refusal");

    bench.change(&[0, 1], unchanged);
    bench.destroy();
    assert_same(&empty, &bench.snapshot(), "after destroy");
}

/// It is gone for good, and the user says so: the rest goes.
#[test]
fn a_dropped_vcenter_can_be_forgotten() {
    let bench = on(&[0, 1]);
    let empty = bench.snapshot();
    bench.create();
    bench.change(&[0], unchanged);
    let server = bench.vcenters[1].address();
    let forgetting = |names: &[&str]| {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        bench.destroy_as(|project| project.with_forgotten(names))
    };
    for wrong in ["mistyped", &bench.name("master-0")] {
        let Err(error) = forgetting(&[&server, wrong]) else { panic!("{wrong} was forgotten") };
        assert!(matches!(&error, Error::NotRemembered { name } if name == wrong), "{error}");
    }
    assert!(
        matches!(bench.plan(Purpose::Destroy), Err(Error::Strays { .. })),
        "nothing was forgotten for good"
    );
    assert_done(&forgetting(&[&server]).unwrap().1);
    let after = bench.snapshot();
    assert_same(&empty[..1], &after[..1], "the vCenter that is left");
    assert_eq!(bench.machines(1), [bench.name("master-1")]);
}

/// The same vCenter under another name is the same vCenter.
#[test]
fn a_renamed_vcenter_is_recognised() {
    let bench = on(&[0]);
    let empty = bench.snapshot();
    bench.create();
    bench.change(&[0], |text| text.replace("server: 127.0.0.1", "server: localhost"));
    let planned = bench.plan(Purpose::Create).unwrap();
    assert!(planned.plan.is_empty(), "{:?}", planned.plan);
    assert!(notes(&planned).contains(&format!("is called localhost:{} now", bench.vcenters[0].port())));
    bench.destroy();
    assert_same(&empty, &bench.snapshot(), "after destroy");
}

/// A vCenter was restored from a backup that is older than the cluster, or hides everything from this user.
#[test]
fn a_vcenter_that_shows_nothing_is_not_believed() {
    let mut bench = on(&[0, 1]);
    bench.create();
    let vcenters = Arc::get_mut(&mut bench.vcenters).unwrap();
    let listen = vcenters.remove(1).address();
    vcenters.insert(1, start(1, &inventory(1), &["--listen", &listen]));
    bench.change(&[0, 1], unchanged);
    let planned = bench.plan(Purpose::Destroy).unwrap();
    let unseen: Vec<String> = planned.unseen.iter().map(ToString::to_string).collect();
    let machine = format!("machine `{}` on {listen}, created at ", bench.name("master-1"));
    assert!(unseen.iter().any(|line| line.starts_with(&machine)), "{unseen:?}");
    assert_eq!(unseen.len(), 3, "tag, folder and machine: {unseen:?}");
    // The rest goes; what is not seen is remembered until the user takes it for gone.
    bench.destroy();
    assert_eq!(bench.machines(0), Vec::<String>::new());
    assert_eq!(bench.plan(Purpose::Destroy).unwrap().unseen, planned.unseen);
    let names: Vec<String> = planned.unseen.iter().map(|one| one.resource.name.to_string()).collect();
    bench.destroy_forgetting(&names);
    assert_eq!(bench.plan(Purpose::Destroy).unwrap().unseen, []);
}

/// A vCenter does not answer, and the journal does not know where machines are: only what could be there waits.
#[test]
fn what_may_be_on_a_silent_vcenter_is_not_made_elsewhere() {
    let bench = on(&[0, 1]);
    let silent = json!({"on": {}, "fault": {"drop": "before"}});
    bench.vcenters[1].control("POST", "/faults", &silent).unwrap();
    let held = |planned: &VSpherePlannedRun| -> Vec<String> {
        let stops =
            planned.plan.stops.iter().filter(|stop| stop.cause.message.contains("nothing is created twice"));
        stops.map(|stop| stop.resource.name.to_string()).collect()
    };
    let planned = bench.plan(Purpose::Create).unwrap();
    let planned_here = ["bootstrap", "master-0", "master-2"].map(|role| bench.name(role));
    assert_eq!(held(&planned), planned_here, "{:?}", planned.plan.stops);
    assert!(planned.is_futile());
    // Names that were drawn just now are nowhere.
    let planned = process(async {
        let mut project = bench.open(Purpose::Create).unwrap().with_new_names(true);
        project.plan(Purpose::Create, &[]).await.unwrap()
    });
    assert_eq!(held(&planned), Vec::<String>::new());
    assert!(!planned.is_futile());
    process(async {
        let mut project = bench.open(Purpose::Create).unwrap().with_new_names(true);
        let planned = project.plan(Purpose::Create, &[]).await.unwrap();
        project.apply(planned, &[], bench.patience, &Nobody, std::future::pending()).await.unwrap();
    });
    assert_eq!(bench.machines(0), planned_here);
    // Machines that the journal places go on, whichever vCenter is silent.
    assert_eq!(held(&bench.plan(Purpose::Create).unwrap()), Vec::<String>::new());
    bench.vcenters[1].control("DELETE", "/faults", &Value::Null).unwrap();
    assert_done(&bench.run(Purpose::Create).unwrap());
    assert_once(&bench, &bench.plan(Purpose::Create).unwrap(), "when it answers again");
}

/// Failure domains of one vCenter, in this order: name, compute cluster, and the group of hosts where that is the zone.
fn domains(text: &str, domains: &[(&str, &str, Option<&str>)]) -> String {
    let (head, _) = text.split_once("    failureDomains:\n").unwrap();
    let mut text = format!("{head}    failureDomains:\n");
    for (name, cluster, hosts) in domains {
        let kinds = if hosts.is_some() {
            "\n      regionType: ComputeCluster\n      zoneType: HostGroup"
        } else {
            ""
        };
        let hosts = hosts.map_or_else(String::new, |hosts| format!("\n        hostGroup: {hosts}"));
        text.push_str(&format!(
            "    - name: {name}
      region: europe
      zone: {name}{kinds}
      server: 127.0.0.1
      topology:
        datacenter: north
        computeCluster: /north/host/{cluster}
        datastore: /north/datastore/vsan
        networks: [cluster-net]
        template: /north/vm/rhcos{hosts}
"
        ));
    }
    text
}

/// One vCenter with two compute clusters, and two groups of hosts in the first.
fn two_clusters() -> Bench {
    let mut estate = inventory(0);
    let clusters = estate["datacenters"][0]["clusters"].as_array_mut().unwrap();
    let mut second = clusters[0].clone();
    second["name"] = json!("second");
    second["hosts"][0]["name"] = json!("second-esx");
    clusters[0]["hosts"] = json!([{"name": "esx-l"}, {"name": "esx-r"}]);
    clusters[0]["groups"] =
        json!([{"name": "left", "hosts": ["esx-l"]}, {"name": "right", "hosts": ["esx-r"]}]);
    clusters.push(second);
    Bench::on(Arc::new(vec![start(0, &estate, &[])]), "harbour")
}

/// Failure domains of one vCenter change places: machines stay in their compute clusters, and rules follow them. With groups
/// of hosts as zones they stay in their groups: a machine in two of them would be bound to the hosts of both.
#[rstest]
#[case::compute_clusters(("a", "compute", None), ("b", "second", None), true)]
#[case::host_groups(("a", "compute", Some("left")), ("b", "compute", Some("right")), false)]
fn machines_stay_in_their_failure_domain(
    #[case] one: (&str, &str, Option<&str>),
    #[case] two: (&str, &str, Option<&str>),
    #[case] is_told: bool,
) {
    let bench = two_clusters();
    bench.change(&[0], |text| domains(&text, &[one, two]));
    let empty = bench.snapshot();
    bench.create();
    let made = bench.snapshot();
    bench.change(&[0], |text| domains(&text, &[two, one]));
    let planned = bench.plan(Purpose::Create).unwrap();
    assert!(planned.plan.is_empty(), "{:#?}", planned.plan);
    let note = format!("`{}` is in /north/host/compute and stays there", bench.name("master-0"));
    assert_eq!(notes(&planned).contains(&note), is_told, "{}", notes(&planned));
    assert_done(&bench.run(Purpose::Create).unwrap());
    assert_same(&made, &bench.snapshot(), "nothing was changed");
    bench.destroy();
    assert_same(&empty, &bench.snapshot(), "after destroy");
}

/// Machines that live elsewhere than the files say are kept apart there too.
#[test]
fn machines_are_kept_apart_where_they_are() {
    let bench = on(&[0, 1]);
    bench.create();
    bench.change(&[1, 0], unchanged);
    let outcome = bench.run(Purpose::Create).unwrap();
    assert_done(&outcome);
    let apart = |position: usize| -> usize {
        let rules = read_back(&bench.vcenters[position])["clusters"][0]["rules"].clone();
        rules.as_array().unwrap().iter().map(|rule| rule["vms"].as_array().unwrap().len()).sum()
    };
    assert_eq!((apart(0), apart(1)), (2, 0));
    // One is made again, beside another one.
    crate::bench::administrator(&bench.vcenters[0], &["destroy", &bench.machine_path("master-0")]);
    assert_done(&bench.run_with(Purpose::Create, &[bench.name("master-0")], &Directly).unwrap());
    assert_eq!(bench.machines(1), ["master-0", "master-1"].map(|role| bench.name(role)));
    assert_eq!(apart(1), 2);
}

/// A replica of a machine is on another vCenter of the install-config: it is not the cluster's.
#[test]
fn a_machine_with_the_same_id_elsewhere_stays() {
    let bench = on(&[0, 1]);
    bench.create();
    let machine = bench.vcenters[0].object(&bench.machine_path("master-0")).unwrap().unwrap();
    let replica = json!({"datacenters": [{"name": "south", "vms": [
        {"name": "replica", "cluster": "compute", "datastore": "vsan", "instance_uuid": machine["props"]["instanceUuid"]},
    ]}]});
    bench.vcenters[1].control("POST", "/inventory/apply", &replica).unwrap();
    let (observed, surplus) = process(async {
        let mut project = bench.open(Purpose::Create).unwrap();
        let planned = project.plan(Purpose::Create, &[]).await.unwrap();
        let surplus = project.surplus(&planned).await;
        project.close().await;
        (planned.world, surplus)
    });
    let (north, south) = (bench.vcenters[0].address(), bench.vcenters[1].address());
    let is_seen = |(id, observation): (&Id, &Observation<State>)| {
        id.endpoint.as_str() == north && *id.name == *bench.name("master-0") && observation.state().is_some()
    };
    assert!(observed.iter().any(is_seen), "it is listed on the first");
    let listed: Vec<(&str, &str, Origin)> =
        surplus.iter().map(|one| (one.endpoint.as_str(), &*one.name, one.origin)).collect();
    assert_eq!(listed, [(&*south, "replica", Origin::SameId)], "and on the second");
    let outcome = bench.run(Purpose::Destroy).unwrap();
    let told = reasons(&outcome);
    assert!(told.iter().any(|line| line.contains("at the same time")), "{told:#?}");
    assert_eq!((bench.machines(0), bench.machines(1)), (Vec::new(), vec!["replica".to_owned()]));
}

/// A vCenter that is named twice would have every machine twice.
#[test]
fn a_vcenter_under_two_names_is_refused() {
    let bench = on(&[0]);
    bench.create();
    bench.change(&[0], |text| {
        let vcenter = text.lines().find(|line| line.contains("{server: 127.0.0.1,")).unwrap().to_owned();
        let twin = vcenter.replace("127.0.0.1", "localhost");
        text.replace(&vcenter, &format!("{vcenter}\n{twin}"))
    });
    let Err(error) = bench.plan(Purpose::Create) else { panic!("each machine was found twice") };
    assert!(matches!(error, Error::Twins { .. }), "{error}");
}

/// Fewer machines are wanted than there are: they stay, and are named.
#[test]
fn machines_that_are_no_longer_wanted_are_named() {
    let bench = on(&[0, 1]);
    bench.create();
    bench.change(&[0, 1], |text| text.replace("replicas: 3", "replicas: 1"));
    let surplus = process(async {
        let mut project = bench.open(Purpose::Create).unwrap();
        let planned = project.plan(Purpose::Create, &[]).await.unwrap();
        assert!(planned.plan.is_empty(), "{:?}", planned.plan);
        project.surplus(&planned).await
    });
    let named: Vec<(&str, Option<bool>, Origin)> =
        surplus.iter().map(|Surplus { name, on, origin, .. }| (&**name, *on, *origin)).collect();
    let (one, two) = (bench.name("master-1"), bench.name("master-2"));
    assert_eq!(named, [(&*two, Some(true), Origin::Made), (&*one, Some(true), Origin::Made)]);
    bench.destroy();
    assert_eq!([bench.machines(0), bench.machines(1)].concat(), Vec::<String>::new());
}

/// What carries the tag goes with the cluster, unless it says that it is another machine.
#[test]
fn a_tagged_copy_stays_and_is_named() {
    let bench = on(&[0]);
    bench.create();
    crate::bench::administrator(&bench.vcenters[0], &["copy", &bench.machine_path("master-0"), "backup"]);
    let guest = json!({"datacenters": [{"name": "north", "vms": [
        {"name": "guest", "cluster": "compute", "datastore": "vsan"},
    ]}]});
    bench.vcenters[0].control("POST", "/inventory/apply", &guest).unwrap();
    let copy = format!("/north/vm/{}/backup", bench.infra_id);
    let tag = json!({"categories": [{"name": format!("openshift-{}", bench.infra_id), "cardinality": "MULTIPLE",
        "tags": [{"name": bench.infra_id, "attach": [copy, "/north/vm/guest"]}]}]});
    bench.vcenters[0].control("POST", "/inventory/apply", &tag).unwrap();
    let planned = bench.plan(Purpose::Destroy).unwrap();
    assert!(notes(&planned).contains("/north/vm/guest on "), "{:?}", planned.notes);
    let reason = format!("{copy} is a copy of a machine of this cluster");
    assert!(
        planned.plan.stops.iter().any(|stop| stop.cause.message.contains(&reason)),
        "{:?}",
        planned.plan.stops
    );
    bench.run(Purpose::Destroy).unwrap();
    assert_eq!(bench.machines(0), ["backup"]);
}

/// A failure domain without machines of the installer's is made ready for those of the cluster.
#[test]
fn every_failure_domain_is_made_ready() {
    let bench = Bench::new(2);
    let empty = bench.snapshot();
    bench.change(&[0, 1], |text| {
        text.replace(
            "controlPlane: {name: master, replicas: 3}",
            "controlPlane: {name: master, replicas: 3, platform: {vsphere: {zones: [north]}}}",
        )
    });
    bench.create();
    assert_eq!(bench.machines(1), Vec::<String>::new());
    let folder = bench.vcenters[1].object(&format!("/south/vm/{}", bench.infra_id)).unwrap().unwrap();
    assert_eq!(folder["tags"], json!([format!("openshift-{id}/{id}", id = bench.infra_id)]));
    bench.destroy();
    assert_same(&empty, &bench.snapshot(), "after destroy");
}

/// What a step needs and is not there is found out before the first step.
#[test]
fn a_plan_says_what_cannot_be_done() {
    let bench = on(&[0]);
    bench.change(&[0], |text| text.replace("networks: [cluster-net]", "networks: [no-net]"));
    let planned = bench.plan(Purpose::Create).unwrap();
    assert!(
        planned.plan.stops.iter().any(|stop| stop.cause.message.contains("no-net")),
        "{:?}",
        planned.plan.stops
    );
    assert!(planned.is_futile());
    let names = ["mistyped".to_owned()];
    let Err(error) = bench.plan_with(Purpose::Create, &names) else { panic!("it was ignored") };
    assert!(matches!(error, Error::NoResource { .. }), "{error}");
}
