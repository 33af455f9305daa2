//! From any valid install-config, one mistake of a known kind yields exactly the finding it should.

use crate::estate::{Estate, vcenter};
use crate::judge::{KUBERNETES, KUBEVIRT, NONE, OLD_FORM, OVIRT, SEED, VSPHERE};
use proptest::prelude::*;
use serde_json::{Value, json};
use slipway_config::findings::{Rule, Severity};
use slipway_config::install_config::load;

/// A mistake, and what must be found then. Indices are taken modulo what there is.
type Mutation = fn(&mut Value, usize) -> Vec<String>;

const MUTATIONS: &[(&str, Mutation)] = &[
    ("a vCenter without server", |config, at| {
        let index = at % count(config, VCENTERS);
        remove(config, &format!("{VCENTERS}/{index}"), "server");
        vec![format!("error required platform.vsphere.vcenters[{index}].server")]
    }),
    ("an unknown field", |config, at| {
        let index = at % count(config, DOMAINS);
        config.pointer_mut(&format!("{DOMAINS}/{index}/topology")).unwrap()["computCluster"] = json!("x");
        vec![format!("error unknown-field platform.vsphere.failureDomains[{index}].topology.computCluster")]
    }),
    ("a key in another spelling", |config, _| {
        let vsphere = config["platform"].as_object_mut().unwrap().remove("vsphere").unwrap();
        config["platform"]["vSphere"] = vsphere;
        vec!["note key-spelling platform.vSphere".to_owned()]
    }),
    ("the same vCenter again", |config, at| {
        let vcenters = count(config, VCENTERS);
        let copy = config.pointer(VCENTERS).unwrap()[at % vcenters].clone();
        push(config, VCENTERS, copy);
        let mut found = vec![format!("error vcenter-duplicate platform.vsphere.vcenters[{vcenters}].server")];
        if vcenters == 3 {
            found.push("error too-many platform.vsphere.vcenters[3]".to_owned());
        }
        found
    }),
    ("a vCenter nothing is on", |config, _| {
        let vcenters = count(config, VCENTERS);
        push(config, VCENTERS, vcenter(9));
        vec![match vcenters {
            3 => "error too-many platform.vsphere.vcenters[3]".to_owned(),
            _ => format!("warning vcenter-unused platform.vsphere.vcenters[{vcenters}].server"),
        }]
    }),
    ("a port out of range", |config, at| {
        let index = at % count(config, VCENTERS);
        config.pointer_mut(&format!("{VCENTERS}/{index}")).unwrap()["port"] = json!(32768 + at);
        vec![format!("error port-range platform.vsphere.vcenters[{index}].port")]
    }),
    ("a user without domain", |config, at| {
        let index = at % count(config, VCENTERS);
        config.pointer_mut(&format!("{VCENTERS}/{index}")).unwrap()["user"] = json!("slipway");
        vec![format!("warning user-domain platform.vsphere.vcenters[{index}].user")]
    }),
    ("a failure domain on an unknown vCenter", |config, at| {
        let index = at % count(config, DOMAINS);
        config.pointer_mut(&format!("{DOMAINS}/{index}")).unwrap()["server"] = json!("elsewhere.example.org");
        vec![format!("error failure-domain-server platform.vsphere.failureDomains[{index}].server")]
    }),
    ("a path in a datacenter of a similar name", |config, at| {
        let index = at % count(config, DOMAINS);
        let topology = config.pointer_mut(&format!("{DOMAINS}/{index}/topology")).unwrap();
        topology["datastore"] = json!(format!("/{}0/datastore/x", topology["datacenter"].as_str().unwrap()));
        vec![format!("error path-datacenter platform.vsphere.failureDomains[{index}].topology.datastore")]
    }),
    ("a region and zone twice", |config, at| {
        let index = 1 + at % (count(config, DOMAINS) - 1);
        let first = config.pointer(DOMAINS).unwrap()[0].clone();
        let domain = config.pointer_mut(&format!("{DOMAINS}/{index}")).unwrap();
        domain["region"] = first["region"].clone();
        domain["zone"] = first["zone"].clone();
        vec![format!("error zone-duplicate platform.vsphere.failureDomains[{index}].zone")]
    }),
    ("a failure domain without networks", |config, at| {
        let index = at % count(config, DOMAINS);
        remove(config, &format!("{DOMAINS}/{index}/topology"), "networks");
        vec![format!("error required platform.vsphere.failureDomains[{index}].topology.networks")]
    }),
    ("a zone that does not exist", |config, _| {
        config["compute"][0]["platform"]["vsphere"]["zones"] = json!(["fd-0", "nowhere"]);
        vec!["error unknown-failure-domain compute[0].platform.vsphere.zones[1]".to_owned()]
    }),
    ("sockets that do not fit", |config, _| {
        config["controlPlane"]["platform"]["vsphere"]["cpus"] = json!(6);
        vec!["error cores-per-socket controlPlane.platform.vsphere.coresPerSocket".to_owned()]
    }),
    ("virtual IPs that are the same", |config, _| {
        let vsphere = config.pointer_mut("/platform/vsphere").unwrap();
        vsphere["apiVIPs"] = json!(["10.20.0.10"]);
        vsphere["ingressVIPs"] = json!(["10.20.0.10"]);
        vec!["error vips-equal platform.vsphere.ingressVIPs[0]".to_owned()]
    }),
    ("a virtual IP outside the network", |config, _| {
        let vsphere = config.pointer_mut("/platform/vsphere").unwrap();
        vsphere["apiVIPs"] = json!(["10.21.0.10"]);
        vsphere["ingressVIPs"] = json!(["10.20.0.10"]);
        vec!["warning vip-outside platform.vsphere.apiVIPs[0]".to_owned()]
    }),
    ("networks that overlap", |config, _| {
        config["networking"]["serviceNetwork"] = json!(["10.20.128.0/20"]);
        vec!["error networks-overlap networking.serviceNetwork[0]".to_owned()]
    }),
    ("a number in words", |config, _| {
        config["controlPlane"]["replicas"] = json!("three");
        vec!["error invalid-value controlPlane.replicas".to_owned()]
    }),
    ("a pull secret that is none", |config, _| {
        config["pullSecret"] = json!("hunter2");
        vec!["error pull-secret pullSecret".to_owned()]
    }),
    ("the multi-vCenter gate off", |config, _| {
        config["featureSet"] = json!("CustomNoUpgrade");
        config["featureGates"] = json!(["VSphereMultiVCenters=false"]);
        let mut found = vec!["warning no-upgrade featureSet".to_owned()];
        if count(config, VCENTERS) > 1 {
            found.push("error feature-gate-off platform.vsphere.vcenters[1]".to_owned());
        }
        found
    }),
];

const VCENTERS: &str = "/platform/vsphere/vcenters";
const DOMAINS: &str = "/platform/vsphere/failureDomains";

fn count(config: &Value, pointer: &str) -> usize {
    config.pointer(pointer).unwrap().as_array().unwrap().len()
}

fn push(config: &mut Value, pointer: &str, value: Value) {
    config.pointer_mut(pointer).unwrap().as_array_mut().unwrap().push(value);
}

fn remove(config: &mut Value, pointer: &str, key: &str) {
    config.pointer_mut(pointer).unwrap().as_object_mut().unwrap().remove(key);
}

fn findings(config: &Value) -> Vec<String> {
    let text = serde_json::to_string_pretty(config).unwrap();
    let report = load(&text).report;
    let mut found: Vec<String> = report
        .findings
        .iter()
        .map(|finding| format!("{} {} {}", finding.severity, finding.rule.code(), finding.path))
        .collect();
    found.sort();
    found
}

prop_compose! {
    /// Every vCenter has at least two failure domains, so that moving one leaves none without.
    fn estates()(
        vcenters in 1usize..=3,
        more in 0usize..4,
        control_plane in prop::sample::select(vec![1u32, 3, 5]),
        compute in 0u32..20,
        vips in any::<bool>(),
        zones in any::<bool>(),
        resource_pools in any::<bool>(),
    ) -> Estate {
        Estate { vcenters, failure_domains: 2 * vcenters + more, control_plane, compute, vips, zones, resource_pools }
    }
}

proptest! {
    #[test]
    fn a_generated_config_is_valid(estate in estates()) {
        prop_assert_eq!(findings(&estate.install_config()), Vec::<String>::new());
    }

    #[test]
    fn one_mistake_yields_its_finding(
        estate in estates(),
        mutation in 0..MUTATIONS.len(),
        at in 0usize..1000,
    ) {
        let mut config = estate.install_config();
        let (name, mutate) = MUTATIONS[mutation];
        let mut expected = mutate(&mut config, at);
        expected.sort();
        prop_assert_eq!(findings(&config), expected, "{}", name);
    }

    /// Whatever line is left out of whatever example, the file is usable or a finding says why not.
    #[test]
    fn a_missing_line_is_explained(example in 0..EXAMPLES.len(), line in 0usize..200) {
        let lines: Vec<&str> = EXAMPLES[example].lines().collect();
        let left_out = line % lines.len();
        let rest: Vec<&str> = lines.iter().enumerate().filter(|(at, _)| *at != left_out).map(|(_, line)| *line).collect();
        let loaded = load(&rest.join("\n"));
        prop_assert_eq!(loaded.config.is_none(), loaded.report.has_errors());
        prop_assert!(loaded.report.findings.iter().all(|finding| finding.rule != Rule::Unexplained));
    }

    /// A slip in a key is one error, at that key, with the right key in the hint.
    #[test]
    fn a_misspelt_key_is_one_error(example in 0..EXAMPLES.len(), key in 0usize..200, letter in 0usize..20) {
        let text = EXAMPLES[example];
        let keys: Vec<(usize, &str)> = keys(text).collect();
        let (offset, key) = keys[key % keys.len()];
        let doubled = offset + letter % key.len();
        let slip = format!("{}{}{}", &text[..=doubled], &text[doubled..=doubled], &text[doubled + 1..]);
        let report = load(&slip).report;
        let errors: Vec<_> = report.findings.iter().filter(|finding| finding.severity == Severity::Error).collect();
        prop_assert_eq!(errors.len(), 1, "{:?} of {}: {:#?}", key, offset, errors);
        prop_assert_eq!(errors[0].rule, Rule::UnknownField);
        prop_assert_eq!(errors[0].hint.clone(), Some(format!("did you mean `{key}`?")));
    }
}

const EXAMPLES: [&str; 7] = [VSPHERE, KUBERNETES, OVIRT, KUBEVIRT, NONE, SEED, OLD_FORM];

/// The keys of an example that are long enough for a slip to be one, and where they are.
fn keys(text: &'static str) -> impl Iterator<Item = (usize, &'static str)> {
    let lines = text.split_inclusive('\n').scan(0, |offset, line| {
        let start = *offset;
        *offset += line.len();
        Some((start, line))
    });
    lines.filter(|(_, line)| !line.contains('#') && !line.contains('{')).filter_map(|(start, line)| {
        let key_start = line.len() - line.trim_start_matches([' ', '-']).len();
        let key = line[key_start..].split_once(':')?.0;
        (key.len() >= 4).then_some((start + key_start, key))
    })
}
