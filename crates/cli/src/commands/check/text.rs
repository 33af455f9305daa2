//! A round as a table, for people: the worst first, vCenter by vCenter, and what to do about it.

use std::collections::BTreeMap;

use slipway_assess::check::report::{Group, NodeState, Outcome, Round};

use crate::output::{ERROR, FAINT, GOOD, HEADING, NAME, WARNING};

/// The most nodes that are named in one line.
const NAMED: usize = 5;

pub(super) fn text(round: &Round, verbose: bool) -> String {
    let verdict = if round.is_clear() {
        format!("{GOOD}healthy{GOOD:#}")
    } else {
        format!("{ERROR}not healthy{ERROR:#}")
    };
    let mut text = format!("{verdict}: {NAME}{}{NAME:#} ({})\n", round.cluster, tally(round));
    let groups = round.groups();
    let width = groups.iter().map(|group| group.finding.check.code().len()).max().unwrap_or_default();
    let mut place = None;
    for group in &groups {
        if place != Some(&group.finding.endpoint) {
            let name = group.finding.endpoint.as_deref().unwrap_or("the cluster");
            text.push_str(&format!("\n{HEADING}{name}{HEADING:#}\n"));
            place = Some(&group.finding.endpoint);
        }
        text.push_str(&rows(group, width));
    }
    text.push_str(&places(round));
    if verbose {
        let counts: Vec<String> =
            round.looked.iter().map(|(check, times)| format!("{} {times}", check.code())).collect();
        text.push_str(&format!("\n{FAINT}checked: {}{FAINT:#}\n", counts.join(", ")));
    }
    text
}

fn rows(group: &Group<'_>, width: usize) -> String {
    let finding = group.finding;
    let (style, word) = match finding.outcome {
        Outcome::Failure => (ERROR, "failure"),
        Outcome::Unknown => (ERROR, "unknown"),
        Outcome::Warning => (WARNING, "warning"),
        Outcome::Pending => (FAINT, "pending"),
        Outcome::Pass => (GOOD, "pass"),
    };
    let about = match &group.nodes[..] {
        [] => String::new(),
        [node] => format!("{node}: "),
        nodes => format!("{} nodes ({}): ", nodes.len(), named(nodes)),
    };
    let code = finding.check.code();
    let mut text = format!("  {style}{word}{style:#}  {code:<width$}  {about}{}\n", finding.message);
    let indent = " ".repeat(width + 13);
    for detail in &finding.details {
        text.push_str(&format!("{indent}{detail}\n"));
    }
    if let Some(remedy) = &finding.remedy {
        text.push_str(&format!("{indent}{GOOD}help{GOOD:#}: {remedy}\n"));
    }
    text
}

/// Which nodes live where, and which are skipped.
fn places(round: &Round) -> String {
    let mut text = String::new();
    if !round.vcenters.is_empty() {
        text.push('\n');
    }
    for vcenter in &round.vcenters {
        let state =
            if vcenter.reached { format!("vCenter {}", vcenter.version) } else { "not reached".to_owned() };
        let nodes = plural(vcenter.nodes, "node");
        text.push_str(&format!("{FAINT}{}{FAINT:#}: {state}, {nodes}\n", vcenter.server));
    }
    let mut skipped: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for node in &round.nodes {
        if let NodeState::Skipped { why } = &node.state {
            skipped.entry(why).or_default().push(&node.name);
        }
    }
    for (why, nodes) in skipped {
        text.push_str(&format!("{FAINT}skipped{FAINT:#}: {} ({why})\n", named(&nodes)));
    }
    text
}

fn named(nodes: &[&str]) -> String {
    let shown = nodes.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
    match nodes.len().saturating_sub(NAMED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

fn plural(count: usize, word: &str) -> String {
    if count == 1 { format!("1 {word}") } else { format!("{count} {word}s") }
}

/// `2 failures, 1 warning, 30 passed`.
pub(super) fn tally(round: &Round) -> String {
    let count = |outcome: Outcome| round.count(outcome);
    let mut parts = Vec::new();
    for (outcome, word, counted) in [
        (Outcome::Failure, "failure", true),
        (Outcome::Unknown, "unknown", false),
        (Outcome::Warning, "warning", true),
        (Outcome::Pending, "pending", false),
    ] {
        match count(outcome) {
            0 => {}
            many if counted => parts.push(plural(many, word)),
            many => parts.push(format!("{many} {word}")),
        }
    }
    parts.push(format!("{} passed", round.passed()));
    parts.join(", ")
}
