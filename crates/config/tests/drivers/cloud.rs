//! Cloud configs, beside the cloud provider's own readers.

use serde_json::{Value, json};
use slipway_config::driver_config::cloud::{CloudConfig, Credentials, Format, Legacy, read};
use slipway_config::findings::Rule;
use slipway_testkit::reader::{Answer, Reader};

use crate::samples::cloud_configs;

/// The values the provider must see, as far as it uses them.
pub(crate) fn expected(config: &CloudConfig) -> Value {
    let vcenters = config.effective().into_iter().map(|vcenter| {
        let credentials = match &vcenter.credentials {
            Credentials::Inline { user, password } => json!([user, password.expose()]),
            Credentials::OwnSecret { .. } | Credentials::Global => Value::Null,
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
            "secret": vcenter.secret_ref,
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
pub(crate) fn seen(config: &CloudConfig, answer: &Answer) -> Value {
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
    let configs = cloud_configs();
    let texts: Vec<String> = configs.iter().map(CloudConfig::to_yaml).collect();
    compare("ccm-yaml", configs, &texts);
}

#[test]
fn the_provider_reads_our_ini() {
    let configs = cloud_configs();
    let texts: Vec<String> = configs.iter().map(|config| config.to_ini().unwrap()).collect();
    compare("ccm-ini", configs, &texts);
}

/// What the provider's readers of the sections for NSX-T see.
fn nsxt_expected(config: &CloudConfig) -> [Value; 3] {
    let nsxt = &config.nsxt;
    let balancer = &config.load_balancer;
    let or = |own: &String, inherited: &String| if own.is_empty() { inherited.clone() } else { own.clone() };
    let classes = config.load_balancer_classes.iter().map(|(name, class)| {
        let value = json!({
            "IPPoolName": or(&class.ip_pool_name, &balancer.ip_pool_name),
            "IPPoolID": or(&class.ip_pool_id, &balancer.ip_pool_id),
            "TCPAppProfileName": class.tcp_app_profile_name,
            "TCPAppProfilePath": class.tcp_app_profile_path,
            "UDPAppProfileName": class.udp_app_profile_name,
            "UDPAppProfilePath": class.udp_app_profile_path,
        });
        (name.clone(), value)
    });
    let connection = json!({
        "User": nsxt.user,
        "Password": nsxt.password.expose(),
        "Host": nsxt.host,
        "InsecureFlag": nsxt.insecure_flag,
        "RemoteAuth": nsxt.remote_auth,
        "SecretName": nsxt.secret_name,
        "SecretNamespace": nsxt.secret_namespace,
        "VMCAccessToken": nsxt.vmc_access_token.expose(),
        "VMCAuthHost": nsxt.vmc_auth_host,
        "ClientAuthCertFile": nsxt.client_auth_cert_file,
        "ClientAuthKeyFile": nsxt.client_auth_key_file,
        "CAFile": nsxt.ca_file,
    });
    let balancers = json!({
        "LoadBalancer": {
            "IPPoolName": balancer.ip_pool_name,
            "IPPoolID": balancer.ip_pool_id,
            "TCPAppProfileName": balancer.tcp_app_profile_name,
            "TCPAppProfilePath": balancer.tcp_app_profile_path,
            "UDPAppProfileName": balancer.udp_app_profile_name,
            "UDPAppProfilePath": balancer.udp_app_profile_path,
            "Size": balancer.size,
            "LBServiceID": balancer.lb_service_id,
            "Tier1GatewayPath": balancer.tier1_gateway_path,
            "SnatDisabled": balancer.snat_disabled,
            "AdditionalTags": balancer.tags,
        },
        "LoadBalancerClass": classes.collect::<serde_json::Map<_, _>>(),
    });
    [connection, balancers, json!({"Route": {"RouterPath": config.route.router_path}})]
}

/// The sections for NSX-T have readers of their own. Where they refuse, we warn; where they accept, every key is the
/// same to them.
#[test]
fn the_provider_reads_our_settings_for_nsxt() {
    let configs = cloud_configs();
    let mut reader = Reader::start("cpi-reader").unwrap();
    let yaml: Vec<String> = configs.iter().map(CloudConfig::to_yaml).collect();
    let ini: Vec<String> = configs.iter().map(|config| config.to_ini().unwrap()).collect();
    let mut accepted = [0; 3];
    for texts in [yaml, ini] {
        let answers = ["nsxt", "lb", "route"].map(|name| reader.read_all(name, &texts).unwrap());
        for (index, (config, text)) in configs.iter().zip(&texts).enumerate() {
            let report = read(text).report;
            let warned = |section: &str| {
                let nsxt = report.findings.iter().filter(|finding| finding.rule == Rule::CloudConfigNsxt);
                nsxt.filter(|finding| finding.message.contains(section)).count() > 0
            };
            let [nsxt, lb, route] = answers.each_ref().map(|answers| &answers[index]);
            assert_eq!(nsxt.ok, !warned("not connect"), "{}: {text}", nsxt.error);
            assert_eq!(lb.ok, !warned("no load balancers"), "{}: {text}", lb.error);
            assert_eq!(route.ok, !config.route.router_path.is_empty(), "{}: {text}", route.error);
            let expected = nsxt_expected(config);
            for (kind, (answer, mut expected)) in [nsxt, lb, route].into_iter().zip(expected).enumerate() {
                // The reader of INI leaves tags out when nothing switches load balancers on.
                let tags = &answer.value["LoadBalancer"]["AdditionalTags"];
                if kind == 1 && tags.is_null() {
                    expected["LoadBalancer"]["AdditionalTags"] = Value::Null;
                }
                if answer.ok {
                    accepted[kind] += 1;
                    assert_eq!(answer.value, expected, "{text}");
                }
            }
        }
    }
    println!("nsxt: {accepted:?} connections, load balancers and routes accepted, with the same values");
    assert!(accepted.into_iter().all(|count| count > configs.len() / 4), "{accepted:?}");
}

/// Converting INI to YAML keeps every key but those of the old provider, and those are listed.
#[test]
fn what_we_write_we_read() {
    for config in cloud_configs() {
        let ini = read(&config.to_ini().unwrap());
        assert_eq!(ini.format, Some(Format::Ini));
        assert_eq!(ini.config.as_ref(), Some(config), "{:?}", ini.report.findings);
        let yaml = read(&ini.config.unwrap().to_yaml());
        assert_eq!(yaml.format, Some(Format::Yaml));
        let without_legacy = CloudConfig { legacy: Legacy::default(), ..config.clone() };
        assert_eq!(yaml.config.as_ref(), Some(&without_legacy), "{:?}", yaml.report.findings);
        assert_eq!(ini.leftovers.is_empty(), config.legacy == Legacy::default(), "{:?}", ini.leftovers);
    }
}
