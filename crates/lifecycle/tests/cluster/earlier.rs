//! What the first release left in a directory is understood: its journal through status, resume and destroy. Its
//! `state.json` has the format of today.
//!
//! `earlier/journal.jsonl` is in the format of that release (commit 086e3d1), with `<…>` where runs differ. It has no disks, no
//! removals and no tasks; waiting for an address was a step, and machines had `volumes`.

use std::collections::BTreeMap;

use serde_json::Value;
use slipway_lifecycle::install::Purpose;

use crate::bench::{Bench, administrator, assert_done, assert_same, process};

const JOURNAL: &str = include_str!("earlier/journal.jsonl");
const ROLES: [&str; 4] = ["bootstrap", "master-0", "master-1", "master-2"];

/// The journal as the first release would have written it of a cluster that is there.
fn earlier(bench: &Bench) -> String {
    let mut states: BTreeMap<(String, String), Value> = BTreeMap::new();
    let written = fs_err::read_to_string(bench.path(".slipway/journal.jsonl")).unwrap();
    for line in written.lines() {
        let mut entry: Value = serde_json::from_str(line).unwrap();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let id = (text(&entry["resource"]["kind"]), text(&entry["resource"]["name"]));
        let state = entry["event"]["done"]["state"].take();
        if state.is_object() {
            states.insert(id, state);
        }
    }
    let of = |kind: &str, name: &str, field: &str| {
        states[&(kind.to_owned(), name.to_owned())][field].as_str().unwrap().to_owned()
    };
    let infra_id = &bench.infra_id;
    let mut values = vec![
        ("endpoint".to_owned(), bench.vcenters[0].address()),
        ("infra".to_owned(), infra_id.clone()),
        ("folder".to_owned(), of("folder", &format!("/north/vm/{infra_id}"), "moref")),
    ];
    values.extend(["vcenter", "category", "tag"].map(|field| (field.to_owned(), of("tag", infra_id, field))));
    for role in ROLES {
        let name = bench.name(role);
        values.push((format!("vm {role}"), of("machine", &name, "moref")));
        values.push((format!("uuid {role}"), of("machine", &name, "uuid")));
    }
    let filled = values
        .iter()
        .fold(JOURNAL.to_owned(), |text, (name, value)| text.replace(&format!("<{name}>"), value));
    assert!(!filled.contains('<'), "{filled}");
    filled
}

fn write(bench: &Bench, journal: &str) {
    fs_err::write(bench.path(".slipway/journal.jsonl"), journal).unwrap();
}

#[test]
fn a_cluster_of_the_first_release_is_as_desired_and_can_be_destroyed() {
    let bench = Bench::new(1);
    let before = bench.snapshot();
    bench.create();
    write(&bench, &earlier(&bench));
    let surplus = process(async {
        let mut project = bench.open(Purpose::Create).unwrap();
        let planned = project.plan(Purpose::Create, &[]).await.unwrap();
        assert!(planned.plan.is_empty(), "{:?}", planned.plan);
        let surplus = project.surplus(&planned).await;
        project.close().await;
        surplus
    });
    assert_eq!(surplus, []);
    let planned = bench.plan(Purpose::Destroy).unwrap();
    assert!(planned.unseen.is_empty() && planned.kept.is_empty(), "{:?} {:?}", planned.unseen, planned.kept);
    bench.destroy();
    assert_same(&before, &bench.snapshot(), "after destroy");
}

/// It is missed if it is not there, as by the release that made it.
#[test]
fn what_the_first_release_made_is_missed() {
    let bench = Bench::new(1);
    bench.create();
    write(&bench, &earlier(&bench));
    administrator(&bench.vcenters[0], &["destroy", &bench.machine_path("master-1")]);
    let planned = bench.plan(Purpose::Create).unwrap();
    let told: Vec<&str> = planned.plan.stops.iter().map(|stop| stop.cause.message.as_str()).collect();
    assert!(told.iter().any(|message| message.contains("--recreate")), "{told:?}");
    let unseen = bench.plan(Purpose::Destroy).unwrap().unseen;
    let unseen: Vec<&str> = unseen.iter().map(|one| &*one.resource.name).collect();
    assert_eq!(unseen, [bench.name("master-1")]);
}

/// The first release was cut off right before it cloned a machine, or right after; this one goes on.
#[test]
fn what_the_first_release_began_is_finished() {
    let bench = Bench::new(1);
    let before = bench.snapshot();
    bench.create();
    let journal = earlier(&bench);
    let name = bench.name("master-2");
    let begun = journal.find(&format!("\"name\":\"{name}\"}},\"verb\":\"clone\"")).unwrap();
    let end = begun + journal[begun..].find('\n').unwrap() + 1;
    for cloned in [true, false] {
        write(&bench, &journal[..end]);
        if !cloned {
            administrator(&bench.vcenters[0], &["destroy", &bench.machine_path("master-2")]);
        }
        bench.forget_requests();
        assert_done(&bench.run(Purpose::Create).unwrap());
        assert_eq!(bench.machines(0), ROLES.map(|role| bench.name(role)));
        let clones = bench.changes().get("CloneVM_Task").copied().unwrap_or_default();
        assert_eq!(clones, usize::from(!cloned));
    }
    bench.destroy();
    assert_same(&before, &bench.snapshot(), "after destroy");
}
