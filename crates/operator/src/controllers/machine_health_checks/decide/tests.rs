use std::collections::BTreeSet;

use jiff::Timestamp;
use rstest::rstest;
use serde_json::json;
use slipway_api::openshift::Machine;
use slipway_assess::machines::domain::FailureDomain;

use super::{Decision, Judged, decide};
use crate::controllers::machine_health_checks::health::{Cause, Health};
use crate::controllers::machine_health_checks::rules::Max;

/// `ok`, `bad`, `failed`, `new`, `suspect`; `!` is leaving, `?` has no owner, `~` is paused; what follows `@` is zone and vCenter.
fn machine(at: usize, text: &str) -> (Machine, Health, bool, FailureDomain) {
    let (text, place) = text.split_once('@').unwrap_or((text, "a.vc1"));
    let (zone, server) = place.split_once('.').unwrap();
    let is = |mark: char| text.contains(mark);
    let owner = json!({"apiVersion": "v1", "kind": "MachineSet", "name": "set", "uid": "set-uid", "controller": true});
    let annotations = if is('~') { json!({"cluster.x-k8s.io/paused": ""}) } else { json!({}) };
    let machine = serde_json::from_value(json!({
        "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine", "spec": {},
        "metadata": {
            "name": format!("m{at}"), "annotations": annotations,
            "ownerReferences": if is('?') { json!([]) } else { json!([owner]) },
        },
    }))
    .unwrap();
    let cause = |is_of_node| Cause { reason: "NodeCondition", message: "why".to_owned(), is_of_node };
    let health = match text.trim_end_matches(['!', '?', '~']) {
        "ok" => Health::Healthy,
        "bad" => Health::Unhealthy(cause(true)),
        "failed" => Health::Unhealthy(cause(false)),
        "new" => Health::Starting(Some(Timestamp::UNIX_EPOCH)),
        "suspect" => Health::Suspect(Timestamp::UNIX_EPOCH),
        other => panic!("{other}"),
    };
    let domain = FailureDomain { server: Some(server.to_owned()), place: Some(zone.to_owned()) };
    (machine, health, is('!'), domain)
}

fn decision(machines: &str, max: Max, rollouts: &BTreeSet<String>) -> Decision {
    let machines: Vec<_> =
        machines.split_whitespace().enumerate().map(|(at, text)| machine(at, text)).collect();
    let judged: Vec<Judged<'_>> = machines
        .iter()
        .map(|(machine, health, is_leaving, domain)| Judged {
            machine,
            health: health.clone(),
            is_leaving: *is_leaving,
            domain: domain.clone(),
        })
        .collect();
    decide(&judged, max, rollouts)
}

fn told(decision: &Decision) -> String {
    let mut parts: Vec<String> = decision.replace.iter().map(|(at, _)| format!("replace {at}")).collect();
    parts.extend(decision.held.iter().map(|(at, _, hold)| format!("{at}: {}", hold.reason())));
    parts.join(", ")
}

#[rstest]
#[case::all_well("ok ok ok", "")]
#[case::one("ok bad ok", "replace 1")]
#[case::nobody_owns_it("ok bad? ok", "1: SkippedNoController")]
#[case::paused("ok bad~ ok", "1: Paused")]
#[case::leaves_already("ok bad! ok", "")]
#[case::one_at_a_time("ok bad bad", "replace 1, 2: FailureDomainBudget")]
#[case::one_is_going("ok bad! bad", "2: FailureDomainBudget")]
#[case::a_fifth_at_a_time("ok ok ok ok ok ok ok bad bad bad", "replace 7, replace 8, 9: FailureDomainBudget")]
#[case::others_are_scaled_down("ok ok! ok! bad", "replace 3")]
#[case::a_zone_is_down("ok@a.vc1 ok@a.vc1 bad@b.vc1 bad@b.vc1", "2: FailureDomainDown, 3: FailureDomainDown")]
#[case::the_rest_follows("ok@a.vc1 bad@b.vc1 suspect@b.vc1", "1: FailureDomainDown")]
#[case::a_vcenter_is_down("ok@a.vc1 bad@b.vc2 bad@c.vc2", "1: FailureDomainDown, 2: FailureDomainDown")]
#[case::another_zone_goes_on(
    "bad@a.vc1 ok@a.vc1 bad@b.vc2 bad@b.vc2",
    "replace 0, 2: FailureDomainDown, 3: FailureDomainDown"
)]
#[case::failed_ones_are_no_outage("failed failed new", "replace 0, 1: FailureDomainBudget")]
#[case::the_only_one_of_its_zone("ok@a.vc1 bad@b.vc1", "replace 1")]
fn within_the_budgets(#[case] machines: &str, #[case] expected: &str) {
    assert_eq!(told(&decision(machines, Max::Percent(100), &BTreeSet::new())), expected);
}

#[rstest]
#[case::enough("ok ok bad", Max::Count(1), "replace 2", 0, true)]
#[case::too_many("ok bad failed", Max::Count(1), "1: TooManyUnhealthy, 2: TooManyUnhealthy", 0, false)]
#[case::share("ok ok ok ok bad", Max::Percent(40), "replace 4", 1, true)]
#[case::none("ok ok bad", Max::Count(0), "2: TooManyUnhealthy", 0, false)]
#[case::new_ones_are_not_unhealthy("ok new new new bad", Max::Count(1), "replace 4", 0, true)]
#[case::going_ones_are("ok ok bad! bad", Max::Count(1), "3: TooManyUnhealthy", 0, false)]
fn beyond_the_maximum_nothing_is_replaced(
    #[case] machines: &str,
    #[case] max: Max,
    #[case] expected: &str,
    #[case] allowed: usize,
    #[case] holds: bool,
) {
    let decision = decision(machines, max, &BTreeSet::new());
    assert_eq!((told(&decision).as_str(), decision.allowed), (expected, allowed));
    assert_eq!(decision.verdicts[0].severity.is_none(), holds);
}

#[test]
fn a_rollout_pauses_the_machines_of_its_set() {
    let rollouts = BTreeSet::from(["set-uid".to_owned()]);
    assert_eq!(told(&decision("ok bad", Max::Percent(100), &rollouts)), "1: RolloutRunning");
}

#[test]
fn numbers_are_those_of_what_counts() {
    let decision = decision("ok ok! bad new suspect", Max::Percent(100), &BTreeSet::new());
    assert_eq!((decision.expected, decision.healthy), (4, 1));
    assert_eq!(decision.due, Some(Timestamp::UNIX_EPOCH));
}
