//! Cloud configs, beside the cloud provider's own readers.

use serde_json::{Value, json};
use slipway_config::driver_config::cloud::{CloudConfig, Credentials, Format, Legacy, read};
use slipway_testkit::reader::{Answer, Reader};

use crate::samples::{cloud_config, samples};

/// The values the provider must see, as far as it uses them.
fn expected(config: &CloudConfig) -> Value {
    let vcenters = config.effective().into_iter().map(|vcenter| {
        let (credentials, reference) = match &vcenter.credentials {
            Credentials::Inline { user, password } => {
                // The provider marks the vCenter of the oldest form `Global`, whatever its credentials.
                let oldest = !config.vcenters.contains_key(&vcenter.name);
                (json!([user, password.expose()]), if oldest { "Global".to_owned() } else { String::new() })
            }
            Credentials::OwnSecret { namespace, name } => (Value::Null, format!("{namespace}/{name}")),
            Credentials::Global => (Value::Null, "Global".to_owned()),
            Credentials::Missing => panic!("the samples have credentials"),
        };
        let value = json!({
            "server": vcenter.server,
            "port": vcenter.port.to_string(),
            "insecure": vcenter.insecure,
            "datacenters": vcenter.datacenters.join(","),
            "roundtrips": vcenter.soap_roundtrip_count,
            "ca": vcenter.ca_file,
            "thumbprint": vcenter.thumbprint,
            "families": vcenter.ip_family,
            "credentials": credentials,
            "secret": reference,
        });
        (vcenter.name, value)
    });
    json!({
        "vcenters": vcenters.collect::<serde_json::Map<_, _>>(),
        "zone": config.labels.zone,
        "region": config.labels.region,
        "nodes": [
            config.nodes.internal_network_subnet_cidr, config.nodes.external_network_subnet_cidr,
            config.nodes.internal_vm_network_name, config.nodes.external_vm_network_name,
            config.nodes.exclude_internal_network_subnet_cidr, config.nodes.exclude_external_network_subnet_cidr,
        ],
    })
}

/// The same, from what the provider's reader answers.
fn seen(config: &CloudConfig, answer: &Answer) -> Value {
    let value = &answer.value;
    let inline = |name: &str| {
        let effective = config.effective();
        let vcenter = effective.iter().find(|vcenter| vcenter.name == name);
        vcenter.is_some_and(|vcenter| matches!(vcenter.credentials, Credentials::Inline { .. }))
    };
    let vcenters = value["VirtualCenter"].as_object().into_iter().flatten().map(|(name, vcenter)| {
        let credentials =
            if inline(name) { json!([vcenter["User"], vcenter["Password"]]) } else { Value::Null };
        let value = json!({
            "server": vcenter["VCenterIP"],
            "port": vcenter["VCenterPort"],
            "insecure": vcenter["InsecureFlag"],
            "datacenters": vcenter["Datacenters"],
            "roundtrips": vcenter["RoundTripperCount"],
            "ca": vcenter["CAFile"],
            "thumbprint": vcenter["Thumbprint"],
            "families": vcenter["IPFamilyPriority"],
            "credentials": credentials,
            "secret": vcenter["SecretRef"],
        });
        (name.clone(), value)
    });
    let nodes = [
        "InternalNetworkSubnetCIDR",
        "ExternalNetworkSubnetCIDR",
        "InternalVMNetworkName",
        "ExternalVMNetworkName",
        "ExcludeInternalNetworkSubnetCIDR",
        "ExcludeExternalNetworkSubnetCIDR",
    ];
    json!({
        "vcenters": vcenters.collect::<serde_json::Map<_, _>>(),
        "zone": value["Labels"]["Zone"],
        "region": value["Labels"]["Region"],
        "nodes": nodes.map(|key| value["Nodes"][key].clone()),
    })
}

fn compare(reader: &str, configs: &[CloudConfig], texts: &[String]) {
    let answers = Reader::start("cpi-reader").unwrap().read_all(reader, texts).unwrap();
    for ((config, text), answer) in configs.iter().zip(texts).zip(&answers) {
        assert!(answer.ok, "{reader} says {} of {text}", answer.error);
        assert_eq!(seen(config, answer), expected(config), "{reader}: {text}");
    }
    println!("{reader}: {} configurations accepted, with the same values", texts.len());
}

#[test]
fn the_provider_reads_our_yaml() {
    let configs = samples(cloud_config());
    let texts: Vec<String> = configs.iter().map(CloudConfig::to_yaml).collect();
    compare("ccm-yaml", &configs, &texts);
}

#[test]
fn the_provider_reads_our_ini() {
    let configs = samples(cloud_config());
    let texts: Vec<String> = configs.iter().map(|config| config.to_ini().unwrap()).collect();
    compare("ccm-ini", &configs, &texts);
}

/// The sections for NSX-T have readers of their own, which ask for more than syntax; what they see is compared
/// where they accept it.
#[test]
fn the_provider_reads_our_connection_to_nsxt() {
    let configs = samples(cloud_config());
    let mut reader = Reader::start("cpi-reader").unwrap();
    let yaml: Vec<String> = configs.iter().map(CloudConfig::to_yaml).collect();
    let ini: Vec<String> = configs.iter().map(|config| config.to_ini().unwrap()).collect();
    let mut accepted = 0;
    for texts in [yaml, ini] {
        for (config, answer) in configs.iter().zip(reader.read_all("nsxt", &texts).unwrap()) {
            if answer.ok {
                accepted += 1;
                assert_eq!(answer.value["Host"], json!(config.nsxt.host));
                assert_eq!(answer.value["User"], json!(config.nsxt.user));
                assert_eq!(answer.value["Password"], json!(config.nsxt.password.expose()));
                assert_eq!(answer.value["VMCAccessToken"], json!(config.nsxt.vmc_access_token.expose()));
            }
        }
    }
    assert!(accepted > 0);
}

/// Converting INI to YAML keeps every key but those of the old provider, and those are listed.
#[test]
fn what_we_write_we_read() {
    for config in samples(cloud_config()) {
        let ini = read(&config.to_ini().unwrap());
        assert_eq!(ini.format, Some(Format::Ini));
        assert_eq!(ini.config.as_ref(), Some(&config), "{:?}", ini.report.findings);
        let yaml = read(&ini.config.unwrap().to_yaml());
        assert_eq!(yaml.format, Some(Format::Yaml));
        let without_legacy = CloudConfig { legacy: Legacy::default(), ..config.clone() };
        assert_eq!(yaml.config.as_ref(), Some(&without_legacy), "{:?}", yaml.report.findings);
        assert_eq!(ini.leftovers.is_empty(), config.legacy == Legacy::default(), "{:?}", ini.leftovers);
    }
}
