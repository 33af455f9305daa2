//! Alerts and metrics, judged by Prometheus' own tool.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use slipway_assess::check::conditions::verdict;
use slipway_assess::check::metrics::{FAMILIES, Series, exposition, series};
use slipway_assess::check::report::Round;

use crate::bench::{cluster, metal, round, start_all, subject};

const ALERTS: &str = "../../deploy/alerts";

fn promtool(arguments: &[&str], input: &str) -> Output {
    let mut child = Command::new("promtool")
        .args(arguments)
        .current_dir(ALERTS)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn prometheus_accepts_and_tests_the_alerts() {
    for arguments in [["check", "rules", "vsphere.yaml"], ["test", "rules", "vsphere.test.yaml"]] {
        let output = promtool(&arguments, "");
        assert!(output.status.success(), "{output:?}");
    }
}

/// An alert about a series that no program exports would never fire.
#[test]
fn alerts_are_about_series_that_exist() {
    let rules = fs_err::read_to_string(format!("{ALERTS}/vsphere.yaml")).unwrap();
    let words = rules.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let mut named: Vec<&str> = words.filter(|word| word.starts_with("vsphere_")).collect();
    named.sort_unstable();
    named.dedup();
    assert!(named.len() >= 7, "{named:?}");
    for name in named {
        assert!(FAMILIES.iter().any(|(known, _)| *known == name), "{name}");
    }
}

/// Family, label and value of every `family{label="value"}` in the alerts.
fn exact_matchers() -> Vec<(String, String, String)> {
    let rules = fs_err::read_to_string(format!("{ALERTS}/vsphere.yaml")).unwrap();
    let mut matchers = Vec::new();
    for (before, after) in rules.match_indices('{').map(|(at, _)| rules.split_at(at)) {
        let family = before.rsplit(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap();
        let selector = after[1..].split('}').next().unwrap();
        let Some((label, value)) = selector.split_once("=\"").filter(|_| family.starts_with("vsphere_"))
        else {
            continue;
        };
        matchers.push((family.to_owned(), label.to_owned(), value.trim_end_matches('"').to_owned()));
    }
    assert!(!matchers.is_empty());
    matchers
}

fn all(round: &Round) -> Vec<Series> {
    series(round, &verdict(round, true))
}

/// Series as Prometheus reads them, and those of a node that is gone are gone.
#[tokio::test]
async fn a_round_is_series() {
    let vcenters = start_all(1, 2);
    let mut cluster = cluster(1, 2);
    cluster.nodes_mut().push(metal("metal-0"));
    let subject = subject(&vcenters);
    let before = all(&round(&subject, &cluster).await);
    let text = exposition(&before);
    // Its lints do not like some of the names, which are not ours to choose; 1 is for what it cannot read.
    let judged = promtool(&["check", "metrics"], &text);
    assert!(matches!(judged.status.code(), Some(0 | 3)), "{judged:?}\n{text}");
    let filters = vec![(r#"uuid="[^"]*",build="[^"]*""#, r#"uuid="UUID",build="BUILD""#)];
    insta::with_settings!({filters => filters}, { insta::assert_snapshot!(text) });
    // Nor about values that no series of the kind ever has.
    for (family, label, value) in exact_matchers() {
        let of_family: Vec<&Series> = before.iter().filter(|series| series.name == family).collect();
        let has = |series: &&Series| series.labels.iter().any(|(key, is)| *key == label && *is == value);
        assert!(of_family.is_empty() || of_family.iter().any(has), "{family}{{{label}={value:?}}}");
    }

    let of = |series: &[Series], node: &str| {
        let about =
            |series: &&Series| series.labels.iter().any(|(key, value)| *key == "node" && value == node);
        series.iter().filter(about).count()
    };
    assert!(of(&before, "node-0-1") > 10);
    assert_eq!(of(&before, "metal-0"), 0, "what is skipped has no series");
    cluster.nodes_mut().remove(1);
    let after = all(&round(&subject, &cluster).await);
    assert_eq!(of(&after, "node-0-1"), 0);
    assert_eq!(of(&after, "node-0-0"), of(&before, "node-0-0"));
}
