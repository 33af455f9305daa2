//! Rules that no simulator can break, one by one.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use rstest::rstest;
use slipway_assets::Login;
use slipway_providers::vsphere::Trust;

use super::server;
use crate::check::catalog::{Check, Reason};
use crate::check::conditions::{Effect, verdict};
use crate::check::estate::{Clocks, Estate, Inventory};
use crate::check::facts::Facts;
use crate::check::report::{Action, Finding, Outcome, Round};
use crate::check::subject::VCenter;

fn now() -> Timestamp {
    "2026-11-16T00:00:00Z".parse().unwrap()
}

fn estate() -> Estate {
    Estate {
        server: "vc1".to_owned(),
        user: "slipway@vsphere.local".to_owned(),
        version: "8.0.3".to_owned(),
        api_version: "8.0.3.0".to_owned(),
        build: "24022515".to_owned(),
        uuid: String::new(),
        clocks: Some(Clocks { theirs: now(), ours: now() }),
        sessions: Some(1),
        tasks: Ok(()),
        inventory: Inventory::default(),
        machines: Vec::new(),
        known_privileges: BTreeSet::new(),
        privileges: Ok(BTreeMap::new()),
        tags: Ok(BTreeMap::new()),
        policies: Ok(None),
        volumes: Ok(None),
        latencies: Ok(BTreeMap::new()),
        expires: Ok("2030-01-01T00:00:00Z".parse().unwrap()),
    }
}

type Change = fn(&mut Estate);

#[rstest]
#[case::well(|_: &mut Estate| {}, None)]
#[case::no_clock(|e: &mut Estate| e.clocks = None, Some((Outcome::Unknown, Check::Clock, Action::Nothing)))]
#[case::no_certificate(
    |e: &mut Estate| e.expires = Err("refused".to_owned()), Some((Outcome::Unknown, Check::Certificate, Action::Nothing))
)]
#[case::hidden_sessions(|e: &mut Estate| e.sessions = None, None)]
#[case::many_sessions(|e: &mut Estate| e.sessions = Some(100), Some((Outcome::Warning, Check::Sessions, Action::Nothing)))]
#[case::hidden_tasks(
    |e: &mut Estate| e.tasks = Err("NoPermission".to_owned()), Some((Outcome::Failure, Check::Tasks, Action::Nothing))
)]
#[case::interface_of_an_old_one(
    |e: &mut Estate| (e.version, e.api_version) = ("6.7.0".to_owned(), "6.7.3".to_owned()),
    Some((Outcome::Warning, Check::VCenterVersion, Action::BlockUpgrade))
)]
#[case::too_old(
    |e: &mut Estate| (e.version, e.api_version) = ("6.7.0".to_owned(), "6.7.2".to_owned()),
    Some((Outcome::Failure, Check::VCenterVersion, Action::BlockUpgradeOrDegrade))
)]
#[case::no_version(
    |e: &mut Estate| (e.version, e.api_version) = ("new".to_owned(), String::new()),
    Some((Outcome::Unknown, Check::VCenterVersion, Action::Nothing))
)]
fn vcenters(#[case] change: Change, #[case] expected: Option<(Outcome, Check, Action)>) {
    let mut estate = estate();
    change(&mut estate);
    let verdicts = server::judge(&estate, now());
    let found: Vec<_> = verdicts.findings.iter().map(|f| (f.outcome, f.check, f.action)).collect();
    assert_eq!(found, expected.into_iter().collect::<Vec<_>>());
    assert!(verdicts.findings.iter().all(|finding| !finding.remedy.is_empty()));
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
    let reasons: Vec<Reason> = findings.iter().map(|finding| finding.reason).collect();
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
        facts: Facts::default(),
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
