//! A document of any size, nesting or aliasing never panics, hangs or eats the memory.

use std::time::Duration;

use crate::estate::Estate;
use proptest::prelude::*;
use proptest::string::{RegexGeneratorStrategy, string_regex};
use rstest::rstest;
use slipway_config::findings::Rule;
use slipway_config::install_config::{Loaded, load};
use slipway_testkit::clock::processor_time;

/// Far more than any of these needs, far less than a hang.
const TIMEOUT: Duration = Duration::from_secs(10);

fn load_in_time(text: &str) -> Loaded {
    let start = processor_time().unwrap();
    let loaded = load(text);
    let took = processor_time().unwrap().saturating_sub(start);
    assert!(took < TIMEOUT, "took {took:?}");
    loaded
}

fn bomb() -> String {
    let mut text = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..20 {
        let below = vec![format!("*a{}", level - 1); 10].join(", ");
        text.push_str(&format!("a{level}: &a{level} [{below}]\n"));
    }
    text
}

fn chain() -> String {
    let mut text = String::from("a0: &a0 [x]\n");
    for level in 1..1000 {
        text.push_str(&format!("a{level}: &a{level} [*a{}]\n", level - 1));
    }
    text
}

#[rstest]
#[case::flow("[".repeat(100_000), Rule::YamlSyntax)]
#[case::flow_maps("{a: ".repeat(100_000), Rule::YamlSyntax)]
#[case::block((0..2_000).map(|depth| " ".repeat(depth) + "a:\n").collect(), Rule::YamlSyntax)]
#[case::dashes("- ".repeat(100_000), Rule::YamlSyntax)]
#[case::alias_bomb(bomb(), Rule::DocumentTooLarge)]
#[case::alias_chain(chain(), Rule::DocumentTooLarge)]
#[case::large("x".repeat(9 << 20), Rule::DocumentTooLarge)]
#[case::many_values(format!("[{}]", "a,".repeat(500_000)), Rule::DocumentTooLarge)]
fn limits_are_kept(#[case] text: String, #[case] rule: Rule) {
    let loaded = load_in_time(&text);
    assert!(loaded.config.is_none());
    assert!(
        loaded.report.findings.iter().any(|finding| finding.rule == rule),
        "{:?}",
        loaded.report.findings
    );
}

#[rstest]
#[case::unknown_keys((0..100_000).map(|index| format!("platfrom{index}: 1\n")).collect())]
#[case::one_long_line(format!("{{{}}}", (0..60_000).map(|index| format!("\"metadat{index}\": \"é\", ")).collect::<String>()))]
#[case::same_key("metadata: 1\n".repeat(100_000))]
#[case::colons(":".repeat(1 << 20))]
#[case::networks(format!("networking: {{machineNetwork: [{}]}}", "{cidr: 10.0.0.0/16},".repeat(50_000)))]
#[case::groups(format!("platform: {{ovirt: {{affinityGroups: [{}]}}}}", (0..50_000).map(|index| format!("{{name: g{index}}},")).collect::<String>()))]
#[case::zones(format!(
    "compute: [{{platform: {{vsphere: {{zones: [{}]}}}}}}]\nplatform: {{vsphere: {{failureDomains: [{}]}}}}",
    (0..30_000).map(|index| format!("z{index},")).collect::<String>(),
    (0..30_000).map(|index| format!("{{name: f{index}}},")).collect::<String>(),
))]
#[case::addresses(format!(
    "networking: {{machineNetwork: [{}]}}\nplatform: {{vsphere: {{apiVIPs: [{}], ingressVIPs: [{}]}}}}",
    (0..20_000).map(|index| format!("{{cidr: 10.{}.{}.0/24}},", index / 256, index % 256)).collect::<String>(),
    "11.0.0.1,".repeat(50_000),
    "11.0.0.1,".repeat(50_000),
))]
#[case::old_form(format!(
    "platform: {{vsphere: {{vCenter: vc, failureDomains: [{}]}}}}",
    (0..20_000).map(|index| format!("{{topology: {{datacenter: d{index}}}}},")).collect::<String>(),
))]
fn many_mistakes_are_cut_short(#[case] text: String) {
    let loaded = load_in_time(&text);
    assert!(loaded.config.is_none());
    assert!(loaded.report.findings.len() <= 3000);
}

/// Ten configurations of 100 failure domains, and one of 1,000: linear work costs the same. Twice as much is
/// the limit, which is 20 times what one configuration of 100 costs.
#[test]
fn cost_grows_with_the_number_of_failure_domains() {
    let text =
        |domains: usize| serde_json::to_string_pretty(&Estate::large(domains).install_config()).unwrap();
    let cost = |text: &str, times: usize| {
        let start = processor_time().unwrap();
        for _ in 0..times {
            assert!(load(text).config.is_some());
        }
        processor_time().unwrap().saturating_sub(start)
    };
    let (small, large) = (text(100), text(1000));
    let rounds: Vec<_> = (0..7).map(|_| (cost(&small, 10), cost(&large, 1))).collect();
    let ten = rounds.iter().map(|round| round.0).min().unwrap();
    let one = rounds.iter().map(|round| round.1).min().unwrap();
    let ratio = 10.0 * one.as_secs_f64() / ten.as_secs_f64();
    assert!(ratio < 20.0, "1000 failure domains cost {ratio:.1} times what 100 do");
}

/// Given as a text, a pattern is read anew for every case.
fn matching(pattern: &str) -> RegexGeneratorStrategy<String> {
    string_regex(pattern).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_text_is_judged(text in matching(".{0,300}")) {
        load(&text);
    }

    /// Text that looks like YAML reaches further than random characters.
    #[test]
    fn any_yaml_is_judged(text in matching(r"((platform|vsphere|vcenters|- |  |: |\{|\}|\[|\]|&a|\*a|<<|!!str |'|\n|x|1){1,12}\n){1,12}")) {
        load(&text);
    }

    /// Whatever is broken in a real file, secrets are not shown.
    #[test]
    fn secrets_stay_secret(cut in 0usize..2000, insert in matching(r"[\[\]{}:\-'\x22 \n&*!a]{1,3}")) {
        let base = include_str!("../../../../examples/seed-multi-vcenter.yaml")
            .replacen("password: \"password\"", "password: hunter2-Geheimnis", 1)
            .replacen("password: \"password\"", "password:\n        hunter2-Geheimnis", 1)
            .replace("baseDomain:", "proxy:\n  httpProxy: http://me:Ge/heimnis@proxy:3128\nbaseDomain:");
        let mut at = cut % base.len();
        while !base.is_char_boundary(at) {
            at -= 1;
        }
        let text = format!("{}{insert}{}", &base[..at], &base[at..]);
        // Cutting the secret itself, or its key, in two makes another text of it.
        prop_assume!(text.matches("password: hunter2-Geheimnis").count() == 1);
        prop_assume!(text.contains("password:\n        hunter2-Geheimnis"));
        prop_assume!(text.contains("http://me:Ge/heimnis@proxy"));
        let report = load(&text).report;
        let shown = |text: &str| text.contains("Geheimnis") || text.contains("heimnis@");
        prop_assert!(!shown(&report.source), "{}", report.source);
        for finding in &report.findings {
            prop_assert!(!shown(&finding.message), "{}", finding.message);
            prop_assert!(!shown(finding.hint.as_deref().unwrap_or_default()));
        }
    }
}
