//! Every rule, by an example that breaks it and nothing else. The cases are in `rules.cases`.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use slipway_config::driver_config::{cloud, csi};
use slipway_config::findings::{Report, Rule, Severity};
use slipway_config::install_config::load;
use slipway_config::matrix;

use crate::judge::{KUBERNETES, KUBEVIRT, NONE, OLD_FORM, OVIRT, SEED, VSPHERE, edit, judge, lines};

/// An example with a mistake in it, and everything that must be found then.
struct Case {
    name: &'static str,
    judge: fn(&str) -> Report,
    text: String,
    expected: Vec<&'static str>,
}

fn cases() -> Vec<Case> {
    let blocks = include_str!("rules.cases").split("\n== ").skip(1);
    blocks.map(case).collect()
}

fn case(block: &'static str) -> Case {
    let mut lines = block.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let name = lines.next().expect("a name");
    let source = lines.next().expect("a source");
    let base = match source.split_once(' ').unwrap_or((source, "")) {
        ("text" | "cloud" | "csi" | "matrix", text) => unescape(text),
        ("of", "matrix") => matrix::EMBEDDED.to_owned(),
        ("in", example) => base(example).to_owned(),
        other => panic!("{name}: {other:?}"),
    };
    let (mut removed, mut edits, mut expected) = (None, Vec::new(), Vec::new());
    for line in lines {
        match line.split_at_checked(2) {
            Some(("- ", text)) => removed = Some(unescape(text)),
            Some(("+ ", text)) => edits.push((removed.take().expect("a `-` line first"), unescape(text))),
            Some(("> ", finding)) => expected.push(finding),
            _ => panic!("{name}: {line:?}"),
        }
    }
    let edits: Vec<(&str, &str)> = edits.iter().map(|(from, to)| (from.as_str(), to.as_str())).collect();
    let judge = match source.split(' ').next() {
        Some("cloud") => |text: &str| cloud::read(text).report,
        Some("csi") => |text: &str| csi::read(text).report,
        Some("matrix" | "of") => |text: &str| matrix::read(text).report,
        _ => |text: &str| load(text).report,
    };
    Case { name, judge, text: edit(&base, &edits), expected }
}

/// The example with something to make machines from, so that only mistakes are told.
static VSPHERE_WITH_IMAGE: LazyLock<String> = LazyLock::new(|| {
    let image = format!("    clusterOSImage: https://example.com/rhcos.ova?sha256={}\n", "0".repeat(64));
    edit(VSPHERE, &[("    apiVIPs:", &format!("{image}    apiVIPs:"))])
});

fn base(example: &str) -> &'static str {
    match example {
        "vsphere" => &VSPHERE_WITH_IMAGE,
        "kubernetes" => KUBERNETES,
        "ovirt" => OVIRT,
        "kubevirt" => KUBEVIRT,
        "none" => NONE,
        "seed" => SEED,
        "old" => OLD_FORM,
        other => panic!("no example {other}"),
    }
}

fn unescape(text: &str) -> String {
    let mut characters = text.chars();
    let mut plain = String::new();
    while let Some(c) = characters.next() {
        plain.push(match (c, c == '\\') {
            (_, true) => match characters.next() {
                Some('n') => '\n',
                Some('t') => '\t',
                Some('\\') => '\\',
                other => panic!("escape {other:?}"),
            },
            (c, false) => c,
        });
    }
    plain
}

#[test]
fn each_rule_finds_what_breaks_it_and_nothing_else() {
    let mut wrong = Vec::new();
    for Case { name, judge, text, expected } in cases() {
        let found = lines(&judge(&text));
        if found != expected {
            wrong.push(format!("{name}:\n  expected {expected:#?}\n  found    {found:#?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_rule_has_a_case() {
    let cases = cases();
    let shown: BTreeSet<&str> = cases
        .iter()
        .flat_map(|case| case.expected.iter().filter_map(|line| line.split(' ').nth(1)))
        .collect();
    let missing: Vec<&str> = Rule::ALL
        .iter()
        .map(|rule| rule.code())
        // Limits are tested with documents that are made, not written: limits.rs. The other must never show.
        .filter(|code| ![Rule::DocumentTooLarge.code(), Rule::Unexplained.code()].contains(code))
        .filter(|code| !shown.contains(code))
        .collect();
    assert!(missing.is_empty(), "rules without a case: {missing:?}");
}

#[test]
fn codes_are_unique() {
    let codes: BTreeSet<&str> = Rule::ALL.iter().map(|rule| rule.code()).collect();
    assert_eq!(codes.len(), Rule::ALL.len());
}

#[test]
fn every_error_says_what_to_do() {
    // These say all there is to say.
    const TERSE: [Rule; 9] = [
        Rule::WrongKind,
        Rule::YamlUnsupported,
        Rule::DocumentEmpty,
        Rule::DnsName,
        Rule::InvalidValue,
        Rule::Quantity,
        Rule::DataDisk,
        Rule::OutOfRange,
        Rule::TooLong,
    ];
    let silent: Vec<String> = cases()
        .iter()
        .flat_map(|case| (case.judge)(&case.text).findings)
        .filter(|finding| finding.severity == Severity::Error)
        .filter(|finding| finding.hint.is_none() && !finding.message.contains("allowed"))
        .filter(|finding| !TERSE.contains(&finding.rule))
        .map(|finding| format!("{}: {}", finding.rule.code(), finding.message))
        .collect();
    assert!(silent.is_empty(), "{silent:#?}");
}

#[test]
fn examples_have_no_errors() {
    // One names no release.
    for (text, expected) in [(VSPHERE, 0), (KUBERNETES, 0), (OVIRT, 0), (KUBEVIRT, 0), (NONE, 0), (SEED, 3)] {
        assert_eq!(judge(text).len(), expected, "{text}");
    }
}
