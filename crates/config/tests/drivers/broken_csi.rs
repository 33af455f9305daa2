//! Broken storage driver configurations, beside the driver's own reader.

use serde_json::Value;
use slipway_config::driver_config::csi::read;
use slipway_config::findings::Rule;
use slipway_testkit::reader::Reader;

use crate::broken::{Fitting, Stricter, Tally, break_ini, breaks};
use crate::csi::{expected, seen};
use crate::samples::{csi_config, many_samples};

/// Where our reader refuses what the driver's reader takes.
const STRICTER: &[Stricter] = &[
    Stricter {
        why: "a port that is no port: the driver keeps the text and fails when it connects",
        is: |finding| finding.rule == Rule::DriverValue && finding.path.as_str().ends_with("] port"),
    },
    Stricter {
        why: "lists of nothing or with an empty entry: the driver takes the empty entry for a name",
        is: |finding| {
            let list = ["datacenters", "topology-categories"];
            finding.rule == Rule::DriverValue && list.iter().any(|key| finding.path.as_str().ends_with(key))
        },
    },
    Stricter {
        why: "negative numbers, and those of more than 32 bits: no interval or limit is either",
        is: |finding| {
            let numbers = [
                "-intervalinmin",
                "query-limit",
                "list-volume-threshold",
                "-per-block-volume",
                "-vsan",
                "-vvol",
            ];
            finding.rule == Rule::DriverValue
                && numbers.iter().any(|key| finding.path.as_str().ends_with(key))
        },
    },
    Stricter {
        why: "a permission that is none, in front of another that replaces it",
        is: |finding| finding.rule == Rule::DriverValue && finding.path.as_str().ends_with("permissions"),
    },
];

const KEYS: &[&str] = &[
    "user",
    "password",
    "port",
    "insecure-flag",
    "INSECURE-FLAG",
    "insecure_flag",
    "datacenters",
    "cluster-id",
    "supervisor-id",
    "query-limit",
    "csi-auth-check-intervalinmin",
    "topology-categories",
    "zone",
    "region",
    "label",
    "permissions",
    "rootsquash",
    "ips",
    "global-max-snapshots-per-block-volume",
    "vcenterip",
    "unknown",
    "endpoint",
];

const VALUES: &[&str] = &[
    "",
    "\"\"",
    "\" \"",
    "maybe",
    "yes",
    "0",
    "1",
    "-1",
    "+5",
    "0x10",
    "0443",
    "70000",
    "4294967296",
    "9223372036854775808",
    "a",
    "a,b",
    "\",\"",
    "\"a,,b\"",
    "\"a,b,c,d,e,f\"",
    "me@corp",
    "CORP\\me",
    "\"CORP\\\\me\"",
    "me",
    "\"abc",
    "READ_ONLY",
    "read_only",
    "topology.kubernetes.io/zone",
    "example.com/zone",
];

const HEADERS: &[&str] = &[
    "[VirtualCenter]",
    "[VirtualCenter \"vc\"]",
    "[virtualcenter \"VC\"]",
    "[VirtualCenter \"\"]",
    "[Global]",
    "[global]",
    "[Global \"x\"]",
    "[Labels]",
    "[NetPermissions]",
    "[NetPermissions \"x\"]",
    "[TopologyCategory]",
    "[TopologyCategory \"x\"]",
    "[Snapshot]",
    "[GC]",
    "[Unknown]",
    "[Global",
];

const FITTING: Fitting = &[
    ("port", &["0x1bb", "0443", "70000", "-1", "\"\"", "\" 443\"", "+443"]),
    ("user", &["me", "me@corp", "\"CORP\\\\me\"", "me@corp@x", "\"\"", "m e@corp"]),
    ("flag", &["maybe", "yes", "On", "2", "\"\""]),
    ("squash", &["maybe", "yes", "2"]),
    ("interval", &["-1", "0x10", "010", "+5", "4294967296", "9223372036854775808", "many", "\"\""]),
    ("limit", &["-1", "0x10", "010", "+5", "many"]),
    ("snapshots", &["-1", "33", "many"]),
    ("permissions", &["READ_ONLY", "read_only", "\"\"", "\" NO_ACCESS\""]),
    ("label", &["topology.kubernetes.io", "failure-domain.beta.kubernetes.io/x", "example.com/zone", "\"\""]),
    (
        "categories",
        &[
            "a",
            "\"a, b\"",
            "\"a,b,c,d,e\"",
            "\"a,b,c,d,e,f\"",
            "\"a,,b\"",
            "\"a,,,,,b\"",
            "\",\"",
            "\" \"",
            "\"\"",
        ],
    ),
    ("datacenters", &["\"a, b\"", "\"a,,b\"", "\",\"", "\" \"", "\"\""]),
    ("zone", &["z", "\" \"", "\"\""]),
    ("region", &["r", "\" \"", "\"\""]),
    ("password", &["\"\"", "p"]),
    ("-id", &["x", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
];

/// Too rare to come by chance.
const REPLACED: &str = r#"
[VirtualCenter "vc"]
user = me@corp
password = p
[NetPermissions "a"]
permissions = read_only
permissions = READ_ONLY
"#;

/// What has the same meaning to the driver: zeros before a port, white space around entries of lists.
fn plainly(mut values: Value) -> Value {
    let list = |value: &Value| {
        value.as_str().unwrap_or_default().split(',').map(str::trim).collect::<Vec<_>>().join(",")
    };
    for vcenter in values["vcenters"].as_object_mut().into_iter().flat_map(|vcenters| vcenters.values_mut()) {
        vcenter["VCenterPort"] =
            vcenter["VCenterPort"].as_str().unwrap_or_default().trim_start_matches('0').into();
        vcenter["Datacenters"] = list(&vcenter["Datacenters"]).into();
    }
    values["categories"] = list(&values["categories"]).into();
    values
}

#[test]
fn broken_configs_are_judged_as_the_driver_judges_them() {
    let samples = many_samples(2, (csi_config(), breaks(KEYS, VALUES, HEADERS)));
    let broken = samples.iter().map(|(config, breaks)| break_ini(&config.to_ini().unwrap(), breaks, FITTING));
    let texts: Vec<String> = broken.chain([REPLACED.to_owned()]).collect();
    let answers = Reader::start("csi-reader").unwrap().read_all("csi", &texts).unwrap();
    let mut tally = Tally::new(STRICTER);
    for (text, answer) in texts.iter().zip(&answers) {
        let reading = read(text);
        let verdict = if answer.ok { Ok(()) } else { Err(answer.error.as_str()) };
        tally.judge(text, reading.config.is_some(), &reading.report.findings, verdict);
        if let Some(config) = reading.config {
            assert_eq!(plainly(seen(&config, &answer.value)), plainly(expected(&config)), "{text}");
        }
    }
    tally.finish("broken storage driver configs");
}
