//! What one vCenter does not answer is unknown; everything about the others is complete.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use slipway_assess::check::Context;
use slipway_assess::check::catalog::Check;
use slipway_assess::check::conditions::{Effect, verdict};
use slipway_assess::check::report::{NodeState, Outcome, Round};
use slipway_testkit::vcenter::VCenter;

use crate::bench::{
    SERVERS, cluster, inventory, metal, options, problems, round, sessions, start, start_all, subject,
};

/// The states of nodes, by the vCenter they are known to be on.
fn states(round: &Round) -> [usize; 5] {
    let on = |server: &str| {
        let is = |state: &NodeState| matches!(state, NodeState::Checked { vcenter, .. } if vcenter == server);
        round.nodes_that(is).len()
    };
    let unknown = round
        .nodes_that(|state| matches!(state, NodeState::Unknown { vcenters } if *vcenters == [SERVERS[1]]))
        .len();
    let skipped = round.nodes_that(|state| matches!(state, NodeState::Skipped { .. })).len();
    [on(SERVERS[0]), on(SERVERS[1]), on(SERVERS[2]), unknown, skipped]
}

/// Three vCenters, one of them cut off while it sends its machines.
async fn cut_off_in_the_middle(nodes: usize) -> Duration {
    let vcenters: Vec<VCenter> =
        (0..3).map(|position| start(SERVERS[position], &inventory(position, nodes), &[])).collect();
    let (subject, mut cluster) = (subject(&vcenters), cluster(3, nodes));
    cluster.nodes_mut().extend([metal("metal-0"), metal("metal-1")]);
    let before = round(&subject, &cluster).await;
    assert_eq!(problems(&before), Vec::<String>::new());
    assert_eq!(states(&before), [nodes, nodes, nodes, 0, 2]);
    // The first page comes, the second never does.
    let method = if nodes > 400 { "ContinueRetrievePropertiesEx" } else { "CreateContainerView" };
    let rule = json!({"on": {"kind": "soap", "method": method}, "fault": {"drop": "before"}});
    vcenters[1].control("POST", "/faults", &rule).unwrap();
    let started = Instant::now();
    let after = round(&subject, &cluster).await;
    let took = started.elapsed();
    assert_eq!(states(&after), [nodes, 0, nodes, nodes, 2]);
    let found: Vec<_> = after.findings.iter().map(|f| (f.outcome, f.check, f.endpoint.as_deref())).collect();
    assert_eq!(
        found,
        [
            (Outcome::Failure, Check::Connection, Some(SERVERS[1])),
            (Outcome::Unknown, Check::NodeMachine, Some(SERVERS[1])),
        ],
        "{:#?}",
        after.findings
    );
    let about = |round: &Round, server: &str| {
        let on = |state: &NodeState| matches!(state, NodeState::Checked { vcenter, .. } if vcenter == server);
        round.nodes.iter().filter(|node| on(&node.state)).cloned().collect::<Vec<_>>()
    };
    for server in [SERVERS[0], SERVERS[2]] {
        assert_eq!(about(&before, server), about(&after, server));
    }
    let verdict = verdict(&after, true);
    let reasons: Vec<&str> = verdict.reasons.iter().map(|because| because.reason.as_str()).collect();
    assert!(reasons.iter().all(|reason| *reason == "vsphere_connection_failed"), "{reasons:?}");
    for vcenter in &vcenters {
        assert_eq!(sessions(vcenter), (0, 0));
    }
    took
}

#[tokio::test]
async fn a_vcenter_that_is_cut_off_takes_nothing_else_with_it() {
    cut_off_in_the_middle(40).await;
}

/// `cargo xtask bench checks` runs it: making the estate takes minutes.
#[tokio::test]
#[ignore = "takes minutes"]
async fn three_thousand_nodes_and_one_vcenter_cut_off() {
    let took = cut_off_in_the_middle(1000).await;
    println!("3,000 nodes on three vCenters, one cut off in the middle: {:.1} s", took.as_secs_f64());
}

/// Where the driver is not installed yet, it is unknown whether it may be.
#[tokio::test]
async fn a_wrong_password_is_about_one_vcenter() {
    let vcenters = start_all(2, 1);
    let rule = json!({"on": {"kind": "soap", "method": "Login"}, "fault": {"type": "InvalidLogin", "message": "no"}});
    vcenters[0].control("POST", "/faults", &rule).unwrap();
    let round = round(&subject(&vcenters), &cluster(2, 1)).await;
    assert_eq!(
        problems(&round),
        ["127.0.0.1: Failure connection 127.0.0.1", "127.0.0.1: Unknown node-machine 127.0.0.1"]
    );
    assert_eq!(vcenters[0].calls().unwrap()["Login"], 1, "repeating it would lock the account");
    let verdict = verdict(&round, false);
    assert_eq!(verdict.degraded.status, Some(false));
    assert_eq!(verdict.upgradeable.status, None);
    assert_eq!(verdict.installable.status, Some(false));
    let effects: Vec<Effect> = verdict.reasons.iter().map(|because| because.effect).collect();
    assert_eq!(effects, [Effect::UpgradeUnknown, Effect::InstallBlocked]);
}

/// Tags, privileges, policies, volumes and measurements are services of their own.
#[tokio::test]
async fn a_part_that_is_silent_is_unknown_alone() {
    let vcenters = start_all(2, 1);
    let (subject, cluster) = (subject(&vcenters), cluster(2, 1));
    for (on, expected) in [
        (
            json!({"kind": "rest"}),
            &["127.0.0.1: Unknown storage-policy /dc1/datastore/fast", "127.0.0.1: Unknown zone-tags tags"][..],
        ),
        (
            json!({"kind": "soap", "method": "FetchUserPrivilegeOnEntities"}),
            &["127.0.0.1: Unknown permissions /"],
        ),
        (
            json!({"kind": "soap", "method": "PbmQueryProfile"}),
            &["127.0.0.1: Unknown storage-classes openshift-storage-policy-harbour-x7k2p"],
        ),
        (
            json!({"kind": "soap", "method": "CnsQueryVolume"}),
            &["127.0.0.1: Unknown cluster-id harbour-x7k2p"],
        ),
        (
            json!({"kind": "soap", "method": "QueryPerf"}),
            &["node-0-0: Unknown node-latency /dc1/vm/node-0-0"],
        ),
    ] {
        let rule = json!({"on": on, "fault": {"http_status": 403}});
        vcenters[0].control("POST", "/faults", &rule).unwrap();
        let mut found = problems(&round(&subject, &cluster).await);
        found.sort();
        assert_eq!(found, expected, "{on}");
        vcenters[0].control("DELETE", "/faults", &Value::Null).unwrap();
    }
}

/// Sessions are kept, replaced when the password changes, and ended.
#[tokio::test]
async fn sessions_are_kept_from_round_to_round() {
    let mut estate = inventory(0, 1);
    estate["users"] = json!([{"name": "one", "password": "1"}, {"name": "two", "password": "2"}]);
    estate["permissions"] = json!([
        {"principal": "one@vsphere.local", "role": "Admin", "entity": "/"},
        {"principal": "two@vsphere.local", "role": "Admin", "entity": "/"},
    ]);
    let vcenters = [start("127.0.0.1", &estate, &[])];
    let (mut subject, cluster) = (subject(&vcenters), cluster(1, 1));
    let mut context = Context::new(options());
    let login = |name: &str, password: &str| {
        Ok(slipway_providers::vsphere::Login {
            user: format!("{name}@vsphere.local"),
            password: password.into(),
        })
    };
    subject.vcenters[0].login = login("one", "1");
    for _ in 0..2 {
        assert_eq!(problems(&context.round(&subject, Some(&cluster)).await), Vec::<String>::new());
        assert_eq!(sessions(&vcenters[0]), (1, 1));
    }
    assert_eq!(vcenters[0].calls().unwrap()["Login"], 1);
    subject.vcenters[0].login = login("two", "2");
    assert_eq!(problems(&context.round(&subject, Some(&cluster)).await), Vec::<String>::new());
    assert_eq!(sessions(&vcenters[0]), (1, 1));
    context.close().await;
    assert_eq!(sessions(&vcenters[0]), (0, 0));
}

/// What looks at the clock: `cargo xtask test` runs nothing beside it.
mod clocked {
    use std::time::{Duration, Instant};

    use serde_json::Value;
    use slipway_assess::check::Options;
    use slipway_assess::check::report::Outcome;

    use super::states;
    use crate::bench::{cluster, options, round_with, start_all, subject};

    #[tokio::test]
    async fn a_frozen_vcenter_delays_nobody_beyond_the_deadline() {
        let vcenters = start_all(3, 2);
        let (subject, cluster) = (subject(&vcenters), cluster(3, 2));
        vcenters[1].control("POST", "/freeze", &Value::Null).unwrap();
        let whole = Duration::from_secs(3);
        let started = Instant::now();
        let round = round_with(&subject, &cluster, Options { whole, ..options() }).await;
        assert!(started.elapsed() < whole + Duration::from_secs(1), "{:?}", started.elapsed());
        assert_eq!(states(&round), [2, 0, 2, 2, 0]);
        assert_eq!(round.count(Outcome::Failure), 1);
    }
}
