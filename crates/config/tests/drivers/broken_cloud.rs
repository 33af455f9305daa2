//! Broken cloud configs, beside the cloud provider's own reader.

use proptest::collection::btree_map;
use proptest::option::weighted;
use proptest::prelude::*;
use serde_json::Value;
use slipway_config::driver_config::ServerPort;
use slipway_config::driver_config::cloud::{self, CloudConfig, read};
use slipway_config::findings::Rule;
use slipway_testkit::reader::Reader;

use crate::broken::{Fitting, Stricter, Tally, break_ini, break_yaml, breaks};
use crate::cloud::{expected, seen};
use crate::samples::{many_samples, matching};

/// Where our reader refuses what the provider's reader takes.
const STRICTER: &[Stricter] = &[
    Stricter {
        why: "a port that is no port: the provider keeps it and fails when it connects",
        is: |finding| {
            matches!(finding.rule, Rule::DriverValue | Rule::OutOfRange)
                && finding.path.as_str().ends_with("port")
        },
    },
    Stricter {
        why: "an address family the provider compares letter by letter, and then finds no address for any node",
        is: |finding| finding.rule == Rule::CloudConfigIpFamily,
    },
    Stricter {
        why: "networks that are none: the provider fails for every node",
        is: |finding| finding.rule == Rule::CloudConfigNodes,
    },
    Stricter {
        why: "a Secret that is named by half, or beside a directory: the provider silently uses neither",
        is: |finding| {
            let half = finding.message.contains("needed together") || finding.message.contains("both given");
            finding.rule == Rule::CloudConfigCredentials && half
        },
    },
    Stricter {
        why: "a key given twice in YAML: the provider takes the last, or mixes them",
        is: |finding| finding.rule == Rule::DuplicateKey,
    },
    Stricter {
        why: "YAML tags, which no driver configuration needs",
        is: |finding| finding.rule == Rule::YamlUnsupported,
    },
    Stricter {
        why: "yes, no, on and off: they are booleans to YAML 1.1 and texts to YAML 1.2",
        is: |finding| {
            finding.rule == Rule::YamlBoolean
                || finding.rule == Rule::InvalidValue && finding.message.ends_with("is not true or false")
        },
    },
    Stricter {
        why: "numbers that are not decimal digits, or begin with 0: YAML 1.1 and 1.2 disagree about them",
        is: |finding| {
            finding.rule == Rule::InvalidValue && finding.message.ends_with("is not a whole number")
        },
    },
    Stricter {
        why: "counts of more than 32 bits",
        is: |finding| {
            let count = finding.path.as_str().to_lowercase().replace('-', "").ends_with("soaproundtripcount");
            count && matches!(finding.rule, Rule::OutOfRange | Rule::DriverValue)
        },
    },
    Stricter {
        why: "a comma inside an entry of a list: the provider splits it later",
        is: |finding| finding.rule == Rule::ListComma,
    },
    Stricter {
        why: "lists of nothing, or with an empty entry: the provider then looks nowhere instead of inheriting",
        is: |finding| {
            let list = ["datacenters", "ipFamily", "ip-family"];
            list.iter().any(|key| finding.path.as_str().contains(key))
                && (finding.rule == Rule::DriverValue || finding.message == "this entry of the list is empty")
        },
    },
    Stricter {
        why: "values of the wrong kind for NSX-T: the provider silently goes without it",
        is: |finding| {
            let sections = ["loadBalancer", "nsxt", "route", "[LoadBalancer", "[NSXT]", "[Route]"];
            sections.iter().any(|section| finding.path.as_str().starts_with(section))
        },
    },
    Stricter {
        why: "values of the wrong kind for the old provider: no driver reads them any more",
        is: |finding| {
            let keys = ["[Workspace]", "[Disk]", "[Global] working-dir", "[Global] secret-not-managed"];
            keys.iter().any(|key| finding.path.as_str().starts_with(key))
        },
    },
];

const INI_KEYS: &[&str] = &[
    "server",
    "port",
    "user",
    "password",
    "insecure-flag",
    "Insecure-Flag",
    "insecure_flag",
    "datacenters",
    "ip-family",
    "soap-roundtrip-count",
    "secret-name",
    "secret-namespace",
    "secrets-directory",
    "secretref",
    "tenantref",
    "api-disable",
    "zone",
    "internal-network-subnet-cidr",
    "snat-disabled",
    "secret-not-managed",
    "unknown",
    "1key",
];

const INI_VALUES: &[&str] = &[
    "",
    "\"\"",
    "\" \"",
    "maybe",
    "yes",
    "NO",
    "on",
    "true",
    "0",
    "1",
    "-1",
    "+5",
    "0x1bb",
    "0X1bb",
    "0443",
    "443",
    "70000",
    "\" 443\"",
    "4 43",
    "1e3",
    "4294967296",
    "18446744073709551616",
    "ipv4",
    "ipv6",
    "IPv4",
    "\"ipv4, ipv6\"",
    "ipv4,ipv6",
    "\"ipv4,\"",
    "\"ipv4,,ipv6\"",
    "\",\"",
    "ipv5",
    "\"abc",
    "a\\b",
    "\"a\\nb\"",
    "10.0.0.0/8",
    "\"10.0.0.0/8, fd00::/8\"",
    "10.0.0.0/33",
    "a b ; c",
];

const INI_HEADERS: &[&str] = &[
    "[VirtualCenter]",
    "[VirtualCenter \"vc\"]",
    "[virtualcenter \"VC\"]",
    "[VirtualCenter \"\"]",
    "[Global]",
    "[global]",
    "[Global \"x\"]",
    "[Unknown]",
    "[Unknown \"x\"]",
    "[Nodes]",
    "[Labels]",
    "[Global",
    "[LoadBalancerClass]",
    "[NSXT]",
    "[Workspace]",
    "[Disk]",
];

const YAML_KEYS: &[&str] = &[
    "server",
    "port",
    "user",
    "password",
    "insecureFlag",
    "insecure-flag",
    "INSECUREFLAG",
    "datacenters",
    "ipFamily",
    "soapRoundtripCount",
    "secretName",
    "secretNamespace",
    "secretsDirectory",
    "secretref",
    "tenantref",
    "apiDisable",
    "zone",
    "internalNetworkSubnetCidr",
    "snatDisabled",
    "global",
    "vcenter",
    "labels",
    "nodes",
    "loadBalancer",
    "unknown",
];

const YAML_VALUES: &[&str] = &[
    "",
    "''",
    "~",
    "null",
    "true",
    "False",
    "yes",
    "no",
    "off",
    "'true'",
    "0",
    "-1",
    "443",
    "'443'",
    "0443",
    "0x1bb",
    "0o17",
    "70000",
    "4294967296",
    "1_000",
    "443.0",
    "1e3",
    "[]",
    "[a]",
    "[a, b]",
    "[a, '']",
    "['a,b']",
    "[[a]]",
    "[~]",
    "[{a: b}]",
    "{}",
    "{a: b}",
    "ipv4",
    "[ipv4]",
    "[IPv4]",
    "[ipv4, ipv6]",
    "[' ipv6']",
    "[ipv5]",
    "10.0.0.0/8",
    "'10.0.0.0/8, fd00::/8'",
    "2020-01-01",
    ".inf",
    "\"abc",
    "[",
    "!secret 5",
    "a: b",
];

const INI_FITTING: Fitting = &[
    ("port", &["0x1bb", "0443", "70000", "-1", "\"\"", "\" 443\"", "0", "https"]),
    (
        "family",
        &[
            "ipv4",
            "IPv4",
            "\"ipv4, ipv6\"",
            "ipv4,ipv6",
            "\"ipv4,\"",
            "\"ipv4,,ipv6\"",
            "\",ipv4\"",
            "\" \"",
            "ipv5",
        ],
    ),
    ("flag", &["maybe", "yes", "NO", "On", "2", "\" true\"", "\"\""]),
    ("disable", &["maybe", "off", "\"\""]),
    ("count", &["0x10", "010", "+5", "-1", "4294967296", "18446744073709551616", "\"\"", "many"]),
    ("cidr", &["10.0.0.0", "10.0.0.0/33", "\"10.0.0.0/8, fd00::/8\"", "fd00::1/64", "010.0.0.0/8"]),
    ("datacenters", &["\"dc1, dc2\"", "\",dc1,,\"", "\" \"", "\",\"", "\"\""]),
    ("secret", &["\"\"", "creds"]),
];

const YAML_FITTING: Fitting = &[
    ("port", &["0x1bb", "0443", "70000", "-1", "'443'", "0", "443.0", "~", "[443]", "true"]),
    (
        "family",
        &["ipv4", "[ipv4]", "[IPv4]", "[ipv4, ipv6]", "[' ipv6']", "[ipv5]", "[]", "[~]", "['ipv4,ipv6']"],
    ),
    ("flag", &["maybe", "yes", "'true'", "1", "~", "False", "[true]"]),
    ("disable", &["off", "'false'", "{}"]),
    ("count", &["0x10", "010", "-1", "4294967296", "18446744073709551616", "1e3", "3.7", "many"]),
    ("cidr", &["10.0.0.0", "'10.0.0.0/8, fd00::/8'", "[10.0.0.0/8]", "fd00::1/64"]),
    ("datacenters", &["dc1", "[dc1, dc2]", "[' dc1 ']", "[dc1, '']", "['a,b']", "[~]", "[[a]]", "{a: b}"]),
    ("secret", &["''", "~", "creds", "[creds]", "!secret 5"]),
    ("vcenter", &["~", "{}", "[]", "vc", "{vc: }", "{vc: vc}", "{vc: {server: vc}}"]),
];

fn word() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), matching("[a-z]{1,5}")]
}

fn port() -> impl Strategy<Value = ServerPort> {
    prop_oneof![Just(0), 1..=u16::MAX].prop_map(ServerPort::from)
}

fn families() -> impl Strategy<Value = Vec<String>> {
    prop_oneof![Just(Vec::new()), Just(vec!["ipv6".to_owned()])]
}

fn vcenter() -> impl Strategy<Value = cloud::VCenter> {
    let credentials = prop_oneof![
        2 => Just(["", "", "", ""]),
        2 => Just(["me", "pw", "", ""]),
        1 => Just(["", "", "creds", "ns"]),
        1 => Just(["me", "", "creds", ""]),
    ];
    (credentials, matching("[a-z]{1,5}"), port(), any::<bool>(), 0u32..3, families(), word()).prop_map(
        |(
            [user, password, secret_name, secret_namespace],
            server,
            port,
            insecure_flag,
            count,
            ip_family,
            datacenter,
        )| {
            cloud::VCenter {
                user: user.to_owned(),
                password: password.into(),
                secret_name: secret_name.to_owned(),
                secret_namespace: secret_namespace.to_owned(),
                server,
                port,
                insecure_flag,
                soap_roundtrip_count: count,
                ip_family,
                datacenters: vec![datacenter].into_iter().filter(|name| !name.is_empty()).collect(),
                ..cloud::VCenter::default()
            }
        },
    )
}

prop_compose! {
    /// Plain words, one value per line, so that lines can be broken.
    fn plain()(
        [user, password, secret_name, secret_namespace, secrets_directory] in prop_oneof![
            3 => Just(["me", "pw", "", "", ""]),
            3 => Just(["", "", "creds", "ns", ""]),
            1 => Just(["", "", "", "", "/secrets"]),
        ],
        server in weighted(0.3, matching("[a-z]{1,5}")),
        (port, ip_family, api_disable, count) in (port(), families(), any::<Option<bool>>(), 0u32..3),
        vcenters in btree_map(matching("[a-z]{1,5}"), vcenter(), 1..3),
        (zone, region, network) in (word(), word(), word()),
        nodes in weighted(0.5, Just("10.0.0.0/8,fd00::/8".to_owned())),
        (nsxt, working_dir, folder) in (weighted(0.3, any::<bool>()), word(), word()),
    ) -> CloudConfig {
        let mut config = CloudConfig {
            global: cloud::Global {
                user: user.to_owned(),
                password: password.into(),
                secret_name: secret_name.to_owned(),
                secret_namespace: secret_namespace.to_owned(),
                secrets_directory: secrets_directory.to_owned(),
                server: server.unwrap_or_default(),
                port, ip_family, api_disable,
                soap_roundtrip_count: count,
                ..cloud::Global::default()
            },
            vcenters,
            labels: cloud::Labels { zone, region },
            ..CloudConfig::default()
        };
        config.nodes.internal_vm_network_name = network;
        config.nodes.internal_network_subnet_cidr = nodes.unwrap_or_default();
        config.legacy.global.working_dir = working_dir;
        config.legacy.workspace.folder = folder;
        if let Some(flag) = nsxt {
            config.nsxt = cloud::Nsxt { host: "nsx".to_owned(), insecure_flag: flag, ..cloud::Nsxt::default() };
            config.load_balancer = cloud::LoadBalancer { size: "SMALL".to_owned(), snat_disabled: flag, ..cloud::LoadBalancer::default() };
            config.route = cloud::Route { router_path: "/r".to_owned() };
        }
        config
    }
}

/// What has the same meaning to the provider: zeros before a port, and white space and empty entries between
/// datacenters, which it drops when it looks into them.
fn plainly(mut values: Value) -> Value {
    for vcenter in values["vcenters"].as_object_mut().into_iter().flat_map(|vcenters| vcenters.values_mut()) {
        let port = vcenter["port"].as_str().unwrap_or_default().trim_start_matches('0').to_owned();
        let datacenters = vcenter["datacenters"].as_str().unwrap_or_default().split(',').map(str::trim);
        let datacenters: Vec<&str> = datacenters.filter(|name| !name.is_empty()).collect();
        let datacenters = datacenters.join(",");
        vcenter["port"] = port.into();
        vcenter["datacenters"] = datacenters.into();
    }
    values
}

#[test]
fn broken_configs_are_judged_as_the_provider_judges_them() {
    let ini = many_samples(2, (plain(), breaks(INI_KEYS, INI_VALUES, INI_HEADERS)));
    let ini = ini.iter().map(|(config, breaks)| break_ini(&config.to_ini().unwrap(), breaks, INI_FITTING));
    let yaml = many_samples(2, (plain(), breaks(YAML_KEYS, YAML_VALUES, INI_HEADERS)));
    let yaml = yaml.iter().map(|(config, breaks)| break_yaml(&config.to_yaml(), breaks, YAML_FITTING));
    let texts: Vec<String> = ini.chain(yaml).collect();
    let answers = Reader::start("cpi-reader").unwrap().read_all("ccm", &texts).unwrap();
    let mut tally = Tally::new(STRICTER);
    for (text, answer) in texts.iter().zip(&answers) {
        let reading = read(text);
        let verdict = if answer.ok { Ok(()) } else { Err(answer.error.as_str()) };
        tally.judge(text, reading.config.is_some(), &reading.report.findings, verdict);
        if let Some(config) = reading.config {
            assert_eq!(plainly(seen(&config, answer)), plainly(expected(&config)), "{text}");
        }
    }
    tally.finish("broken cloud configs");
}
