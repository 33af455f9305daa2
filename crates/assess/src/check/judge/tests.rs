//! Rules that no simulator can break, one by one.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use rstest::rstest;
use slipway_providers::vsphere::inventory::{self, Inventory};
use slipway_providers::vsphere::machines::swapped;
use slipway_providers::vsphere::{Login, Reference, Trust};
use uuid::Uuid;

use super::{nodes, server};
use crate::check::catalog::{Check, Reason};
use crate::check::cluster::{Cluster, Node};
use crate::check::conditions::{Effect, verdict};
use crate::check::counts::Counts;
use crate::check::observe::Question;
use crate::check::report::{Action, Finding, Outcome, Round};
use crate::check::snapshot::{Clocks, Machine, Privileges, VCenterSnapshot};
use crate::check::target::{CheckTarget, VCenter};

fn now() -> Timestamp {
    "2026-11-16T00:00:00Z".parse().unwrap()
}

fn snapshot() -> VCenterSnapshot {
    VCenterSnapshot {
        server: "vc1".to_owned(),
        version: "8.0.3".to_owned(),
        api_version: "8.0.3.0".to_owned(),
        build: "24022515".to_owned(),
        uuid: String::new(),
        clocks: Some(Clocks { theirs: now(), ours: now() }),
        sessions: Some(1),
        tasks: Ok(()),
        inventory: Inventory::default(),
        machines: Vec::new(),
        privileges: Privileges::of("slipway@vsphere.local".to_owned(), BTreeSet::new()),
        tags: Ok(BTreeMap::new()),
        policies: Ok(None),
        volumes: Ok(None),
        latencies: Ok(BTreeMap::new()),
        expires: Ok("2030-01-01T00:00:00Z".parse().unwrap()),
    }
}

type Change = fn(&mut VCenterSnapshot);

#[rstest]
#[case::well(|_: &mut VCenterSnapshot| {}, None)]
#[case::no_clock(|e: &mut VCenterSnapshot| e.clocks = None, Some((Outcome::Unknown, Check::Clock, Action::Nothing)))]
#[case::no_certificate(
    |e: &mut VCenterSnapshot| e.expires = Err("refused".to_owned()), Some((Outcome::Unknown, Check::Certificate, Action::Nothing))
)]
#[case::hidden_sessions(|e: &mut VCenterSnapshot| e.sessions = None, None)]
#[case::many_sessions(|e: &mut VCenterSnapshot| e.sessions = Some(100), Some((Outcome::Warning, Check::Sessions, Action::Nothing)))]
#[case::hidden_tasks(
    |e: &mut VCenterSnapshot| e.tasks = Err("NoPermission".to_owned()), Some((Outcome::Failure, Check::Tasks, Action::Nothing))
)]
#[case::interface_of_an_old_one(
    |e: &mut VCenterSnapshot| (e.version, e.api_version) = ("6.7.0".to_owned(), "6.7.3".to_owned()),
    Some((Outcome::Warning, Check::VCenterVersion, Action::BlockUpgrade))
)]
#[case::too_old(
    |e: &mut VCenterSnapshot| (e.version, e.api_version) = ("6.7.0".to_owned(), "6.7.2".to_owned()),
    Some((Outcome::Failure, Check::VCenterVersion, Action::BlockUpgradeOrDegrade))
)]
#[case::no_version(
    |e: &mut VCenterSnapshot| (e.version, e.api_version) = ("new".to_owned(), String::new()),
    Some((Outcome::Unknown, Check::VCenterVersion, Action::Nothing))
)]
fn vcenters(#[case] change: Change, #[case] expected: Option<(Outcome, Check, Action)>) {
    let mut snapshot = snapshot();
    change(&mut snapshot);
    let verdicts = server::judge(&snapshot, now());
    let found: Vec<_> = verdicts.findings.iter().map(|f| (f.outcome, f.check, f.meaning.action)).collect();
    assert_eq!(found, expected.into_iter().collect::<Vec<_>>());
    assert!(verdicts.findings.iter().all(|finding| finding.remedy.is_some()));
}

#[rstest]
#[case("name@domain", "secret", &[])]
#[case("DOMAIN\\name", "secret", &[])]
#[case("name", "secret", &[Reason::UsernameWithoutDomain])]
#[case("name@domain\n", "secret", &[Reason::UsernameWithNewLine])]
#[case("name@domain", "secret\n", &[Reason::PasswordWithNewLine])]
#[case("name\n", "secret\n", &[Reason::UsernameWithNewLine, Reason::PasswordWithNewLine])]
fn logins(#[case] user: &str, #[case] password: &str, #[case] expected: &[Reason]) {
    let vcenter = VCenter {
        server: "vc1".to_owned(),
        port: 443,
        trust: Trust::System,
        login: Ok(Login { user: user.to_owned(), password: password.into() }),
        resources: Vec::new(),
    };
    let findings = server::credentials(&vcenter);
    let reasons: Vec<Reason> = findings.iter().map(|finding| finding.meaning.reason).collect();
    assert_eq!(reasons, expected);
    assert!(!format!("{findings:?}").contains("secret"));
}

fn round(findings: Vec<Finding>) -> Round {
    Round {
        cluster: "harbour".to_owned(),
        started: now(),
        vcenters: Vec::new(),
        nodes: Vec::new(),
        findings,
        looked: BTreeMap::new(),
        facts: Counts::default(),
    }
}

/// Degraded, upgradeable, installable: with our driver there, and without it.
#[rstest]
#[case::nothing(Action::Nothing, Reason::Other, "false true true", "false true true")]
#[case::upgrade(Action::BlockUpgrade, Reason::CheckDeprecatedVcenter, "false false true", "false false true")]
#[case::install(Action::BlockInstall, Reason::ExistingDriverFound, "false false false", "false false false")]
#[case::either(
    Action::BlockUpgradeOrDegrade,
    Reason::CheckDeprecatedHwVersion,
    "true false false",
    "false false true"
)]
#[case::connection(
    Action::BlockUpgradeOrDegrade,
    Reason::VsphereConnectionFailed,
    "true false false",
    "false unknown false"
)]
#[case::degrade(Action::Degrade, Reason::BlockVolumeLimitError, "true false false", "true false false")]
fn actions(#[case] action: Action, #[case] reason: Reason, #[case] with: &str, #[case] without: &str) {
    let finding = Finding::failure(Check::Connection, "x", "broken").means(action, reason);
    let round = round(vec![finding]);
    for (installed, expected) in [(true, with), (false, without)] {
        let verdict = verdict(&round, installed);
        let word =
            |status: Option<bool>| status.map_or_else(|| "unknown".to_owned(), |status| status.to_string());
        let states = [&verdict.degraded, &verdict.upgradeable, &verdict.installable];
        assert_eq!(states.map(|state| word(state.status)).join(" "), expected, "installed: {installed}");
        for state in states {
            // Being wrong is what has a reason other than the expected one.
            let bad = matches!(state.reason.as_str(), "AsExpected");
            assert_eq!(!bad, state.reason == reason.as_str());
        }
    }
}

/// The condition has the worst reason, and nothing is lost.
#[test]
fn all_reasons_are_kept() {
    let mild = Finding::warning(Check::VCenterVersion, "vc1", "old")
        .means(Action::BlockUpgrade, Reason::CheckDeprecatedVcenter)
        .at("vc1");
    let bad = Finding::failure(Check::NodeHardware, "vm", "older")
        .means(Action::BlockUpgradeOrDegrade, Reason::CheckDeprecatedHwVersion)
        .of_node("node-1");
    let verdict = verdict(&round(vec![mild, bad]), true);
    assert_eq!(verdict.upgradeable.reason, "check_deprecated_hw_version");
    assert_eq!(verdict.upgradeable.message, "node node-1: older; vCenter vc1: old");
    assert_eq!(verdict.degraded.message, "node node-1: older");
    let blocked = verdict.reasons.iter().filter(|because| because.effect == Effect::UpgradeBlocked);
    assert_eq!(blocked.count(), 2);
}

const ONE: Uuid = Uuid::from_u128(0x67a9_e3e3_1111_4222_8333_4444_5555_6666);
const OTHER: Uuid = Uuid::from_u128(0x24fc_e0b3_1111_4222_8333_4444_5555_6666);
const NOBODYS: Uuid = Uuid::from_u128(0x1111_1111_1111_4222_8333_4444_5555_6666);

/// What a node says about itself, the ids of a machine on each of two vCenters, and what is found about it.
#[rstest]
#[case::well(ONE, Some(ONE), [ONE, OTHER], &[])]
#[case::the_other_way_round(swapped(ONE), Some(ONE), [ONE, OTHER], &[])]
#[case::both_ways_are_two_machines(ONE, Some(ONE), [ONE, swapped(ONE)], &[])]
#[case::two_machines_named(
    ONE, Some(OTHER), [OTHER, ONE],
    &["node-provider-id names `/dc/vm/0` on vc0, and its machine is `/dc/vm/1` on vc1"]
)]
#[case::nobodys_named(ONE, Some(NOBODYS), [OTHER, ONE], &["node-provider-id is not that of its machine, `/dc/vm/1` on vc1"])]
#[case::own_is_not_there(NOBODYS, Some(OTHER), [OTHER, ONE], &["node-provider-id names `/dc/vm/0` on vc0"])]
#[case::copied(ONE, Some(ONE), [ONE, ONE], &["node-machine `/dc/vm/0` on vc0, `/dc/vm/1` on vc1"])]
#[case::no_cloud_provider(ONE, None, [OTHER, ONE], &["node-machine the node is `/dc/vm/1` on vc1", "node-machine 1 node: none"])]
#[case::bare_metal(NOBODYS, None, [OTHER, ONE], &["node-machine 1 node: none"])]
#[case::neither(NOBODYS, Some(NOBODYS), [ONE, OTHER], &["node-machine no vCenter has"])]
fn nodes_and_machines(
    #[case] system: Uuid,
    #[case] provider: Option<Uuid>,
    #[case] machines: [Uuid; 2],
    #[case] expected: &[&str],
) {
    let node = Node {
        name: "node".to_owned(),
        system_uuid: system.to_string(),
        provider_id: provider.map(|id| format!("vsphere://{id}")),
        ..Node::default()
    };
    let cluster = Cluster { nodes: vec![node].into(), ..Cluster::default() };
    let question = Question::of(CheckTarget::default(), Some(&cluster));
    let machine = |position: usize, uuid: Uuid| Machine {
        id: Reference::new("VirtualMachine", "vm-1"),
        path: format!("/dc/vm/{position}"),
        uuid,
        facts: inventory::Machine { hardware: Some(21), disk_uuid: true, ..inventory::Machine::default() },
    };
    let snapshots: Vec<VCenterSnapshot> = (0..2)
        .map(|position| VCenterSnapshot {
            server: format!("vc{position}"),
            machines: vec![machine(position, machines[position])],
            ..snapshot()
        })
        .collect();
    let judged = nodes::judge(&question, &snapshots, &BTreeSet::new(), now(), &mut Counts::default());
    let about_ids = [Check::NodeMachine, Check::NodeProviderId];
    let found: Vec<_> = judged.verdicts.findings.iter().filter(|f| about_ids.contains(&f.check)).collect();
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for (finding, expected) in found.iter().zip(expected) {
        let said = format!("{} {}", finding.check.code(), finding.message);
        let (code, words) = expected.split_once(' ').unwrap();
        assert!(said.starts_with(code) && said.contains(words), "{said}");
        let remedy = finding.remedy.as_deref().unwrap_or_default();
        assert!(!remedy.contains("power") && !remedy.contains("remove it"), "{finding:?}");
    }
}
