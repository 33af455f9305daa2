//! Compatibility matrices: which version is chosen, for good reasons.

use proptest::prelude::*;
use proptest::string::string_regex;
use rstest::rstest;
use semver::Version;
use slipway_config::matrix::{
    Choice, Driver, Environment, LIMITS, Matrix, Objection, Policy, Source, choose, embedded, read,
};

const CLOUD: Driver = Driver::CloudProvider;
const STORAGE: Driver = Driver::StorageProvider;

/// A row in short: version, Kubernetes, vSphere, and whatever else.
fn row(version: &str, kubernetes: (&str, &str), vsphere: (&str, &str), more: &str) -> String {
    format!(
        "- version: {version}\n  manifests: text\n  kubernetes: {{min: \"{}\", max: \"{}\"}}\n  vsphere: {{min: \"{}\", max: \"{}\"}}\n{more}",
        kubernetes.0, kubernetes.1, vsphere.0, vsphere.1,
    )
}

fn storage(rows: &[String]) -> Matrix {
    let text =
        format!("format: slipway.dev/matrix/v1\npublished: 2026-11-16\nstorageProvider:\n{}", rows.concat());
    let reading = read(&text);
    reading.matrix.unwrap_or_else(|| panic!("{:#?}\n{text}", reading.report.findings))
}

/// Rows that differ in everything a choice looks at.
fn made_up() -> Matrix {
    storage(&[
        row("3.9.0", ("1.30", "1.34"), ("7.0.0", "8.0"), ""),
        row("3.10.1", ("1.33", "1.35"), ("7.0.3", "9.0"), "  upgradeFrom: 3.9.0\n  mostVCenters: 2\n"),
        row("3.10.0", ("1.33", "1.35"), ("7.0.3", "9.0"), "  upgradeFrom: 3.9.0\n"),
        row("3.11.0", ("1.33", "1.35"), ("7.0.3", "9.0"), "  blocked: CVE-2026-1 lets every user in\n"),
        row("3.12.0-rc.1", ("1.35", "1.36"), ("8.0.0", "9.0"), ""),
        row("3.1.0", ("1.26", "1.33"), ("6.7.3", "8.0"), "  mostVCenters: 5\n"),
        row("3.9.2", ("1.30", "1.33"), ("7.0.0", "8.0"), ""),
    ])
}

fn environment(text: &str) -> Environment {
    let mut environment = Environment {
        kubernetes: "1.33.0".parse().unwrap(),
        vcenters: Vec::new(),
        policy: Policy::Latest,
        pinned: None,
        deployed: None,
    };
    for word in text.split_whitespace() {
        match word.split_once('=').unwrap() {
            ("k8s", version) => environment.kubernetes = version.parse().unwrap(),
            ("vc", version) => environment.vcenters.push(version.parse().unwrap()),
            ("policy", name) => {
                let named = |policy: &Policy| policy.as_str() == name;
                environment.policy = Policy::ALL.into_iter().find(named).unwrap();
            }
            ("pinned", version) => environment.pinned = Some(version.parse().unwrap()),
            ("deployed", version) => environment.deployed = Some(version.parse().unwrap()),
            other => panic!("{other:?}"),
        }
    }
    environment
}

fn version(choice: &Choice<'_>) -> String {
    choice.row.map_or("-".to_owned(), |row| row.version.to_string())
}

#[rstest]
#[case::semantic_order("k8s=1.34.4 vc=8.0.3 vc=8.0.2", "3.10.1", "3.10.1 is the newest that fits")]
#[case::fewer_vcenters_than_needed(
    "k8s=1.34.4 vc=8.0.3 vc=8.0.2 vc=8.0.1",
    "3.10.0",
    "3.10.0 is the newest that fits"
)]
#[case::every_vcenter_counts("k8s=1.34.4 vc=8.0.3 vc=7.0.2", "3.9.0", "3.9.0 is the newest that fits")]
#[case::newest_vcenter_counts(
    "k8s=1.33.1 vc=9.0.1 vc=7.0.2",
    "-",
    "no version of the storage driver in the matrix fits"
)]
#[case::patches_of_the_maximum(
    "k8s=1.35.9 vc=9.0.5 vc=9.0.0",
    "3.12.0-rc.1",
    "3.12.0-rc.1 is the newest that fits"
)]
#[case::old_kubernetes("k8s=1.29.0 vc=7.0.3", "3.1.0", "3.1.0 is the newest that fits")]
#[case::several_vcenters_need_3_2(
    "k8s=1.29.0 vc=7.0.3 vc=7.0.3",
    "-",
    "no version of the storage driver in the matrix fits"
)]
#[case::no_vcenter_yet("k8s=1.36.0", "3.12.0-rc.1", "3.12.0-rc.1 is the newest that fits")]
#[case::pinned("k8s=1.33.0 vc=8.0.3 pinned=3.9.0 deployed=3.10.1", "3.9.0", "3.9.0 is asked for, and fits")]
#[case::pinned_but_unknown("vc=8.0.3 pinned=3.8.0", "-", "3.8.0 of the storage driver is not in the matrix")]
#[case::pinned_but_blocked(
    "vc=8.0.3 pinned=3.11.0 deployed=3.9.0",
    "-",
    "3.11.0 is blocked: CVE-2026-1 lets every user in; 3.9.0 stays"
)]
#[case::pinned_but_unfit(
    "k8s=1.35.0 vc=6.7.3 pinned=3.9.0",
    "-",
    "3.9.0 needs Kubernetes 1.30 to 1.34, and this is 1.35.0; needs vSphere 7.0.0 to 8.0, and a vCenter has 6.7.3"
)]
#[case::pin_wins_over_policy(
    "vc=8.0.3 pinned=3.9.0 deployed=3.9.2 policy=disabled",
    "3.9.0",
    "3.9.0 is asked for, and fits"
)]
#[case::disabled(
    "vc=8.0.3 deployed=3.9.0 policy=disabled",
    "3.9.0",
    "3.9.0 is installed, and updatePolicy disables upgrades"
)]
#[case::disabled_and_unfit(
    "k8s=1.35.0 vc=8.0.3 deployed=3.9.0 policy=disabled",
    "-",
    "3.9.0 needs Kubernetes 1.30 to 1.34, and this is 1.35.0; 3.9.0 stays"
)]
#[case::disabled_and_unknown(
    "vc=8.0.3 deployed=2.7.0 policy=disabled",
    "-",
    "2.7.0 of the storage driver is not in the matrix; 2.7.0 stays"
)]
#[case::disabled_but_nothing_there("vc=8.0.3 policy=disabled", "3.10.1", "3.10.1 is the newest that fits")]
#[case::lts_takes_patches(
    "k8s=1.33.0 vc=8.0.3 deployed=3.9.0 policy=lts",
    "3.9.2",
    "3.9.2 is the newest that fits"
)]
#[case::lts_keeps_its_line(
    "k8s=1.34.0 vc=8.0.3 deployed=3.9.0 policy=lts",
    "3.9.0",
    "3.9.0 is installed, and nothing newer fits"
)]
#[case::lts_moves_on(
    "k8s=1.35.0 vc=8.0.3 deployed=3.10.0 policy=lts",
    "3.10.1",
    "3.10.1 is the newest that fits"
)]
#[case::lts_must_move_on(
    "k8s=1.35.0 vc=8.0.3 vc=8.0.3 deployed=3.9.0 policy=lts",
    "3.12.0-rc.1",
    "3.12.0-rc.1 is the newest that fits"
)]
#[case::step_on_the_way(
    "k8s=1.33.0 vc=8.0.3 deployed=3.1.0",
    "3.9.2",
    "3.9.2 fits, and is a step on the way to 3.10.1"
)]
#[case::never_back(
    "k8s=1.33.0 vc=7.0.2 deployed=3.10.1",
    "-",
    "no version of the storage driver in the matrix fits; 3.10.1 stays"
)]
#[case::nothing_to_do(
    "k8s=1.34.0 vc=8.0.3 deployed=3.10.1",
    "3.10.1",
    "3.10.1 is installed, and nothing newer fits"
)]
fn the_right_version_is_chosen(#[case] there: &str, #[case] expected: &str, #[case] why: &str) {
    let matrix = made_up();
    let choice = choose(&matrix, STORAGE, &environment(there));
    assert_eq!((&*version(&choice), &*choice.why), (expected, why), "{:#?}", choice.considered);
}

/// Every version has a reason, and only the one that is taken has none against it.
#[test]
fn every_version_is_explained() {
    let matrix = made_up();
    let choice = choose(&matrix, STORAGE, &environment("k8s=1.33.0 vc=8.0.3 vc=7.0.2 deployed=3.9.0"));
    let explained: Vec<String> = choice
        .considered
        .iter()
        .map(|one| {
            let objections: Vec<String> = one.objections.iter().map(ToString::to_string).collect();
            format!("{}: {}", one.row.version, objections.join("; "))
        })
        .collect();
    insta::assert_snapshot!(explained.join("\n"), @r"
    3.12.0-rc.1: needs Kubernetes 1.35 to 1.36, and this is 1.33.0; needs vSphere 8.0.0 to 9.0, and a vCenter has 7.0.2
    3.11.0: needs vSphere 7.0.3 to 9.0, and a vCenter has 7.0.2; is blocked: CVE-2026-1 lets every user in
    3.10.1: needs vSphere 7.0.3 to 9.0, and a vCenter has 7.0.2
    3.10.0: needs vSphere 7.0.3 to 9.0, and a vCenter has 7.0.2
    3.9.2: 
    3.9.0: fits, but 3.9.2 is newer
    3.1.0: works with one vCenter, and there are 2; is older than 3.9.0, which is installed
    ");
}

#[test]
fn the_embedded_matrix_has_a_driver_for_every_kubernetes() {
    let reading = embedded();
    assert!(reading.report.findings.is_empty(), "{:#?}", reading.report.findings);
    let matrix = reading.matrix.unwrap();
    for (kubernetes, cloud, storage) in [
        ("1.31.0", "1.31.0", "3.5.0"),
        ("1.32.0", "1.32.1", "3.6.0"),
        ("1.33.0", "1.33.0", "3.7.0"),
        ("1.34.4", "1.34.0", "3.7.0"),
        ("1.35.0", "1.35.0", "3.7.0"),
        // No storage driver that we can make objects for claims it.
        ("1.36.0", "1.36.0", "-"),
        ("1.37.0", "-", "-"),
    ] {
        let there = environment(&format!("k8s={kubernetes} vc=8.0.3 vc=7.0.3 vc=8.0.2"));
        let chosen = |driver| version(&choose(&matrix, driver, &there));
        assert_eq!((&*chosen(CLOUD), &*chosen(STORAGE)), (cloud, storage), "{kubernetes}");
    }
    for driver in Driver::ALL {
        for line in driver.lines() {
            let of_line = |source: &Source| matches!(source, Source::Line { line: l, .. } if l == line);
            assert!(matrix.rows(driver).iter().any(|row| of_line(&row.source)), "{driver} {line}");
        }
    }
}

/// JSON is YAML, and a number that looks like a version keeps its zero.
#[test]
fn json_is_read_as_well() {
    let json = r#"{"format": "slipway.dev/matrix/v1", "published": "2026-11-16", "cloudProvider": [{"version": "1.30.0",
        "manifests": "text", "kubernetes": {"min": 1.30, "max": "1.30"}, "vsphere": {"min": "7.0"}}]}"#;
    let matrix = read(json).matrix.unwrap();
    assert_eq!(matrix.rows(CLOUD)[0].kubernetes.to_string(), "1.30");
}

#[rstest]
#[case::bytes("#".repeat(LIMITS.bytes + 1), "document-too-large")]
#[case::nodes(format!("a: [{}]", "1, ".repeat(LIMITS.nodes)), "document-too-large")]
#[case::rows(many_rows(201), "too-many")]
#[case::garbage("\u{0}\u{1}garbage".to_owned(), "yaml-syntax")]
#[case::list("- 1\n".to_owned(), "wrong-kind")]
#[case::manifests(large_manifests(), "too-long")]
fn what_is_too_large_or_no_matrix_is_refused(#[case] text: String, #[case] rule: &str) {
    let reading = read(&text);
    assert!(reading.matrix.is_none());
    let found: Vec<&str> = reading.report.findings.iter().map(|finding| finding.rule.code()).collect();
    assert!(found.contains(&rule), "{found:?}");
}

fn many_rows(count: usize) -> String {
    let rows = (0..count).map(|n| row(&format!("3.9.{n}"), ("1.30", "1.34"), ("7.0", "8.0"), ""));
    let rows: String = rows.collect();
    format!("format: slipway.dev/matrix/v1\npublished: 2026-11-16\nstorageProvider:\n{rows}")
}

fn large_manifests() -> String {
    many_rows(1).replace("manifests: text", &format!("manifests: {}", "x".repeat((512 << 10) + 1)))
}

#[rstest]
#[case("v1.34.4", "1.34.4")]
#[case("1.34", "1.34.0")]
#[case("1.34+", "1.34.0")]
#[case("v1.31.2+k3s1", "1.31.2")]
#[case("v1.36.0-rc.1", "1.36.0")]
#[case("8.0.3.0", "8.0.3")]
fn releases_are_read_generously(#[case] text: &str, #[case] expected: &str) {
    assert_eq!(text.parse::<slipway_config::matrix::Release>().unwrap().to_string(), expected);
}

#[rstest]
#[case("")]
#[case("v")]
#[case("1")]
#[case("1.x")]
#[case("1..2")]
#[case("1.2.3.4.5")]
#[case("99999999999.1")]
#[case("+1.2")]
fn other_texts_are_no_releases(#[case] text: &str) {
    assert!(text.parse::<slipway_config::matrix::Release>().is_err());
}

prop_compose! {
    fn any_release()(major in 6u32..10, minor in 0u32..8, patch in 0u32..4) -> String {
        format!("{major}.{minor}.{patch}")
    }
}

prop_compose! {
    fn any_row()(
        version in (0u64..4, 0u64..4, prop::bool::ANY),
        kubernetes in (28u32..37, 0u32..4),
        vsphere in (6u32..9, 0u32..8, 0u32..3),
        most in prop::option::of(1u32..6),
        blocked in prop::bool::weighted(0.1),
        from in prop::option::of((0u64..4, 0u64..4)),
    ) -> (Version, String) {
        let mut version3 = Version::new(3, version.0, version.1);
        if version.2 {
            version3.pre = "rc.1".parse().unwrap();
        }
        let mut more = String::new();
        if let Some(most) = most {
            more.push_str(&format!("  mostVCenters: {most}\n"));
        }
        if blocked {
            more.push_str("  blocked: broken\n");
        }
        let from = from.map(|(minor, patch)| Version::new(3, minor, patch)).filter(|from| *from <= version3);
        if let Some(from) = from {
            more.push_str(&format!("  upgradeFrom: {from}\n"));
        }
        let text = row(
            &version3.to_string(),
            (&format!("1.{}", kubernetes.0), &format!("1.{}", kubernetes.0 + kubernetes.1)),
            (&format!("{}.{}.0", vsphere.0, vsphere.1), &format!("{}.{}", vsphere.0 + vsphere.2, vsphere.1)),
            &more,
        );
        (version3, text)
    }
}

fn any_matrix() -> impl Strategy<Value = Matrix> {
    prop::collection::vec(any_row(), 1..12).prop_map(|rows| {
        let unique: std::collections::BTreeMap<Version, String> = rows.into_iter().collect();
        storage(&unique.into_values().collect::<Vec<_>>())
    })
}

prop_compose! {
    fn any_environment()(
        kubernetes in 28u32..38,
        vcenters in prop::collection::vec(any_release(), 0..4),
        policy in prop::sample::select(Policy::ALL.to_vec()),
        pinned in prop::option::weighted(0.2, (0u64..4, 0u64..4)),
        deployed in prop::option::of((0u64..4, 0u64..4)),
    ) -> Environment {
        Environment {
            kubernetes: format!("1.{kubernetes}.1").parse().unwrap(),
            vcenters: vcenters.iter().map(|text| text.parse().unwrap()).collect(),
            policy,
            pinned: pinned.map(|(minor, patch)| Version::new(3, minor, patch)),
            deployed: deployed.map(|(minor, patch)| Version::new(3, minor, patch)),
        }
    }
}

proptest! {
    #[test]
    fn a_choice_violates_nothing(matrix in any_matrix(), there in any_environment()) {
        let choice = choose(&matrix, STORAGE, &there);
        prop_assert_eq!(choice.considered.len(), matrix.rows(STORAGE).len());
        for one in &choice.considered {
            let taken = choice.row.is_some_and(|row| row.version == one.row.version);
            prop_assert_eq!(one.objections.is_empty(), taken, "{}: {:?}", one.row.version, one.objections);
        }
        let Some(row) = choice.row else { return Ok(()) };
        prop_assert!(row.kubernetes.contains(there.kubernetes));
        prop_assert!(there.vcenters.iter().all(|vcenter| row.vsphere.contains(*vcenter)));
        prop_assert!(row.blocked.is_none());
        prop_assert!(row.most_vcenters.is_none_or(|most| there.vcenters.len() <= most as usize));
        prop_assert!(there.vcenters.len() < 2 || row.version >= Version::new(3, 2, 0));
        match (&there.pinned, &there.deployed) {
            (Some(pinned), _) => prop_assert_eq!(&row.version, pinned),
            (None, Some(deployed)) => {
                prop_assert!(row.version >= *deployed);
                let reachable = row.upgrade_from.as_ref().is_none_or(|from| deployed >= from);
                prop_assert!(reachable || row.version == *deployed);
            }
            (None, None) => {}
        }
    }

    /// Among the versions without an objection that cannot be argued with, none is newer.
    #[test]
    fn the_newest_that_fits_is_taken(matrix in any_matrix(), mut there in any_environment()) {
        there.policy = Policy::Latest;
        (there.pinned, there.deployed) = (None, None);
        let choice = choose(&matrix, STORAGE, &there);
        let fits = choice.considered.iter().filter(|one| !one.objections.iter().any(Objection::is_hard));
        let newest = fits.map(|one| &one.row.version).max();
        prop_assert_eq!(choice.row.map(|row| &row.version), newest);
    }

    #[test]
    fn another_vcenter_never_yields_a_newer_driver(
        matrix in any_matrix(), mut there in any_environment(), another in any_release()
    ) {
        there.policy = Policy::Latest;
        let before = choose(&matrix, STORAGE, &there).row.map(|row| row.version.clone());
        there.vcenters.push(another.parse().unwrap());
        let after = choose(&matrix, STORAGE, &there).row.map(|row| row.version.clone());
        prop_assert!(after <= before, "{before:?} became {after:?}");
    }

    #[test]
    fn the_order_of_vcenters_does_not_matter(matrix in any_matrix(), mut there in any_environment()) {
        let before = choose(&matrix, STORAGE, &there).row.map(|row| row.version.clone());
        there.vcenters.reverse();
        prop_assert_eq!(choose(&matrix, STORAGE, &there).row.map(|row| row.version.clone()), before);
    }

    #[test]
    fn any_text_is_read_or_refused(text in string_regex("\\PC{0,200}").unwrap()) {
        let reading = read(&text);
        prop_assert!(reading.matrix.is_some() || reading.report.has_errors());
    }
}
