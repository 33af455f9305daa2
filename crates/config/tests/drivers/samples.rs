//! Awkward texts, and configurations made of them.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use proptest::collection::{btree_map, vec};
use proptest::option::weighted;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::string::{RegexGeneratorStrategy, string_regex};
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
use slipway_config::driver_config::{ServerPort, cloud, csi};
use slipway_config::secret::Secret;

pub(crate) fn count() -> usize {
    std::env::var("SLIPWAY_CASES").map_or(1000, |cases| cases.parse().unwrap())
}

/// The same samples in every run.
pub(crate) fn samples<T: std::fmt::Debug>(strategy: impl Strategy<Value = T>) -> Vec<T> {
    many_samples(1, strategy)
}

/// A multiple of the usual number.
pub(crate) fn many_samples<T: std::fmt::Debug>(times: usize, strategy: impl Strategy<Value = T>) -> Vec<T> {
    // Filters refuse a few values each time, which adds up.
    let config = ProptestConfig { max_local_rejects: u32::MAX, ..ProptestConfig::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    (0..times * count()).map(|_| strategy.new_tree(&mut runner).unwrap().current()).collect()
}

/// Texts that match a pattern. A pattern that is given as a text is read anew for every sample, which takes longer than
/// everything else.
pub(crate) fn matching(pattern: &str) -> RegexGeneratorStrategy<String> {
    string_regex(pattern).unwrap()
}

/// What trips readers up: quotes, escapes, comments, traps of YAML, other scripts, addresses.
pub(crate) fn awkward() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "\"",
        "\\",
        "#",
        ";",
        "%",
        " ",
        "'",
        "=",
        "[",
        "]",
        ":",
        ": ",
        " #",
        "-",
        "- ",
        "&a",
        "*a",
        "!",
        "|",
        ">",
        "@",
        "`",
        "{",
        "}",
        ",",
        "\t",
        "\n",
        "ä",
        "日本",
        "😀",
        "\u{feff}",
        "\u{85}",
        "\u{2028}",
        "a",
        "Z",
        "0",
        "true",
        "yes",
        "no",
        "null",
        "~",
        "1e3",
        "0x1f",
        "0123",
        "12:30:45",
        "2020-01-01",
        "<<",
        ".inf",
        "fd00::1",
        "10.0.0.1",
        "\\n",
        "\\\"",
        "$HOME",
        "\u{7f}",
    ]);
    prop_oneof![
        Just(String::new()),
        matching("[a-zA-Z0-9]{1,12}"),
        vec(pieces, 1..8).prop_map(|pieces| pieces.concat())
    ]
}

/// Text with at least one character that is not white space.
fn name() -> impl Strategy<Value = String> {
    awkward().prop_map(|text| text.replace('\n', "x")).prop_filter("empty", |text| !text.trim().is_empty())
}

/// An entry of a list: no comma, no white space around it.
fn entry() -> impl Strategy<Value = String> {
    name()
        .prop_map(|text| text.replace(',', "-").trim().to_owned())
        .prop_filter("empty", |text| !text.is_empty())
}

fn secret() -> impl Strategy<Value = Secret> {
    awkward().prop_map(|text| text.as_str().into())
}

fn port() -> impl Strategy<Value = ServerPort> {
    prop_oneof![Just(0), 1..=u16::MAX].prop_map(ServerPort::from)
}

/// Networks as the provider reads them: separated by commas alone.
fn networks() -> impl Strategy<Value = String> {
    let network = prop_oneof![
        (any::<std::net::Ipv4Addr>(), 0..=32).prop_map(|(address, prefix)| format!("{address}/{prefix}")),
        (any::<std::net::Ipv6Addr>(), 0..=128).prop_map(|(address, prefix)| format!("{address}/{prefix}")),
    ];
    vec(network, 0..3).prop_map(|networks| networks.join(","))
}

fn families() -> impl Strategy<Value = Vec<String>> {
    let families = ["ipv4", "ipv6"].map(str::to_owned).to_vec();
    prop_oneof![Just(Vec::new()), proptest::sample::subsequence(families, 1..=2)]
}

/// Texts and flags that every vCenter has, global or its own.
#[derive(Debug, Clone)]
struct Common {
    user: String,
    password: Secret,
    port: ServerPort,
    insecure_flag: bool,
    datacenters: Vec<String>,
    soap_roundtrip_count: u32,
    ca_file: String,
    thumbprint: String,
    secret: Option<(String, String)>,
    ip_family: Vec<String>,
}

prop_compose! {
    fn common()(
        (user, ca_file, thumbprint) in (awkward(), awkward(), awkward()),
        password in secret(),
        port in port(),
        insecure_flag in any::<bool>(),
        datacenters in vec(entry(), 0..3),
        soap_roundtrip_count in 0u32..9,
        secret in weighted(0.5, (name(), name())),
        ip_family in families(),
    ) -> Common {
        Common { user, password, port, insecure_flag, datacenters, soap_roundtrip_count, ca_file, thumbprint, secret, ip_family }
    }
}

fn vcenter() -> impl Strategy<Value = cloud::VCenter> {
    (common(), name(), prop_oneof![3 => Just(String::new()), 1 => awkward()]).prop_map(
        |(common, server, secret_ref)| {
            let (secret_name, secret_namespace) = common.secret.unwrap_or_default();
            cloud::VCenter {
                user: common.user,
                password: common.password,
                server,
                port: common.port,
                insecure_flag: common.insecure_flag,
                datacenters: common.datacenters,
                soap_roundtrip_count: common.soap_roundtrip_count,
                ca_file: common.ca_file,
                thumbprint: common.thumbprint,
                secret_name,
                secret_namespace,
                secret_ref,
                ip_family: common.ip_family,
            }
        },
    )
}

prop_compose! {
    fn global()(
        common in common(),
        server in prop_oneof![Just(String::new()), name()],
        secrets_directory in weighted(0.2, name()),
        (api_disable, api_binding) in (any::<Option<bool>>(), awkward()),
    ) -> cloud::Global {
        let (secret_name, secret_namespace) = common.secret.clone().unwrap_or_default();
        // Both at once count as neither; that is a case of its own in the rules.
        let secrets_directory = secrets_directory.filter(|_| common.secret.is_none()).unwrap_or_default();
        cloud::Global {
            user: common.user,
            password: common.password,
            server,
            port: common.port,
            insecure_flag: common.insecure_flag,
            datacenters: common.datacenters,
            soap_roundtrip_count: common.soap_roundtrip_count,
            ca_file: common.ca_file,
            thumbprint: common.thumbprint,
            secret_name,
            secret_namespace,
            secrets_directory,
            api_disable,
            api_binding,
            ip_family: common.ip_family,
        }
    }
}

fn six() -> impl Strategy<Value = [String; 6]> {
    [awkward(), awkward(), awkward(), awkward(), awkward(), awkward()]
}

fn class() -> impl Strategy<Value = cloud::LoadBalancerClass> {
    six().prop_map(
        |[
            ip_pool_name,
            ip_pool_id,
            tcp_app_profile_name,
            tcp_app_profile_path,
            udp_app_profile_name,
            udp_app_profile_path,
        ]| {
            cloud::LoadBalancerClass {
                ip_pool_name,
                ip_pool_id,
                tcp_app_profile_name,
                tcp_app_profile_path,
                udp_app_profile_name,
                udp_app_profile_path,
            }
        },
    )
}

prop_compose! {
    /// Half of them complete, the others with whatever comes.
    fn load_balancer()(
        [ip_pool_name, ip_pool_id, size, lb_service_id, tier1_gateway_path, tcp_app_profile_name] in six(),
        (tcp_app_profile_path, udp_app_profile_name, udp_app_profile_path) in (awkward(), awkward(), awkward()),
        snat_disabled in any::<bool>(),
        tags in btree_map(name(), awkward(), 0..3),
        complete in weighted(0.5, (prop::sample::select(vec!["SMALL", "MEDIUM", "LARGE", "XLARGE", "DLB"]), name(), name(), name(), name(), any::<bool>())),
    ) -> cloud::LoadBalancer {
        if let Some((size, pool, gateway, tcp, udp, by_name)) = complete {
            let (ip_pool_name, ip_pool_id) = if by_name { (pool, String::new()) } else { (String::new(), pool) };
            return cloud::LoadBalancer {
                ip_pool_name, ip_pool_id, size: size.to_owned(), lb_service_id, tier1_gateway_path: gateway, tcp_app_profile_name: tcp,
                tcp_app_profile_path, udp_app_profile_name, udp_app_profile_path: udp, snat_disabled, tags,
            };
        }
        cloud::LoadBalancer {
            ip_pool_name, ip_pool_id, size, lb_service_id, tier1_gateway_path, tcp_app_profile_name, tcp_app_profile_path,
            udp_app_profile_name, udp_app_profile_path, snat_disabled, tags,
        }
    }
}

prop_compose! {
    fn nsxt()(
        [user, host, secret_name, secret_namespace, vmc_auth_host, ca_file] in six(),
        (client_auth_cert_file, client_auth_key_file) in (awkward(), awkward()),
        (password, vmc_access_token) in (secret(), secret()),
        (insecure_flag, remote_auth) in (any::<bool>(), any::<bool>()),
    ) -> cloud::Nsxt {
        cloud::Nsxt {
            user, password, host, insecure_flag, remote_auth, secret_name, secret_namespace, vmc_access_token, vmc_auth_host,
            client_auth_cert_file, client_auth_key_file, ca_file,
        }
    }
}

fn legacy() -> impl Strategy<Value = cloud::Legacy> {
    (six(), six(), any::<bool>()).prop_map(|(first, second, secret_not_managed)| {
        let [datacenter, datastore, working_dir, vm_uuid, vm_name, public_network] = first;
        let [server, folder, default_datastore, resourcepool_path, scsi_controller_type, other] = second;
        cloud::Legacy {
            global: cloud::LegacyGlobal {
                datacenter,
                datastore,
                working_dir,
                vm_uuid,
                vm_name,
                secret_not_managed,
            },
            workspace: cloud::Workspace {
                server,
                datacenter: other,
                folder,
                default_datastore,
                resourcepool_path,
            },
            network: cloud::Network { public_network },
            disk: cloud::Disk { scsi_controller_type },
        }
    })
}

prop_compose! {
    /// A cloud config with every key, with credentials for every vCenter.
    fn cloud_config()(
        global in global(),
        vcenters in btree_map(name(), vcenter(), 1..4),
        (zone, region) in (awkward(), awkward()),
        (internal, external, exclude_internal, exclude_external) in (networks(), networks(), networks(), networks()),
        (internal_name, external_name) in (awkward(), awkward()),
        load_balancer in load_balancer(),
        load_balancer_classes in btree_map(name(), class(), 0..2),
        router_path in awkward(),
        nsxt in nsxt(),
        legacy in legacy(),
    ) -> cloud::CloudConfig {
        let mut config = cloud::CloudConfig {
            global,
            vcenters,
            labels: cloud::Labels { zone, region },
            nodes: cloud::Nodes {
                internal_network_subnet_cidr: internal,
                external_network_subnet_cidr: external,
                internal_vm_network_name: internal_name,
                external_vm_network_name: external_name,
                exclude_internal_network_subnet_cidr: exclude_internal,
                exclude_external_network_subnet_cidr: exclude_external,
            },
            load_balancer,
            load_balancer_classes,
            route: cloud::Route { router_path },
            nsxt,
            legacy,
        };
        // The reader demands credentials; without any, the global ones serve.
        let missing = config.effective().iter().any(|vcenter| vcenter.credentials == cloud::Credentials::Missing);
        if missing {
            config.global.user.push('u');
            config.global.password = format!("{}p", config.global.password.expose()).as_str().into();
        }
        config
    }
}

/// Drawn once for all tests.
pub(crate) fn cloud_configs() -> &'static [cloud::CloudConfig] {
    static CONFIGS: LazyLock<Vec<cloud::CloudConfig>> = LazyLock::new(|| samples(cloud_config()));
    &CONFIGS
}

fn storage_user() -> impl Strategy<Value = String> {
    prop_oneof![
        matching("[a-zA-Z0-9._-]{1,8}@[a-zA-Z0-9.-]{1,8}"),
        matching(r"[a-zA-Z0-9.-]{1,8}\\[a-zA-Z0-9._-]{1,8}")
    ]
}

prop_compose! {
    fn storage_vcenter()(
        user in weighted(0.7, storage_user()),
        password in weighted(0.7, secret()),
        port in port(),
        insecure_flag in any::<bool>(),
        datacenters in vec(entry(), 0..3),
        (ca_file, thumbprint, file_share_clusters, migration_datastore_url) in (awkward(), awkward(), awkward(), awkward()),
    ) -> csi::VCenter {
        let (user, password) = (user.unwrap_or_default(), password.unwrap_or_default());
        csi::VCenter { user, password, port, insecure_flag, ca_file, thumbprint, datacenters, file_share_clusters, migration_datastore_url }
    }
}

prop_compose! {
    fn storage_global()(
        (cluster_id, supervisor_id) in (matching("[ -~]{0,64}"), matching("[ -~]{0,64}")),
        (cluster_distribution, ca_file, thumbprint) in (awkward(), awkward(), awkward()),
        // What the vCenters lack is inherited.
        user in storage_user(),
        password in secret().prop_filter("empty", |password| !password.is_empty()),
        vcenter_ip in weighted(0.1, matching("[a-z]{1,5}")),
        port in port(),
        insecure_flag in any::<bool>(),
        datacenters in vec(entry(), 0..3),
        numbers in [0u32..9999, 0u32..9999, 0u32..9999, 0u32..9999, 0u32..9999, 0u32..9999, 0u32..9999, 0u32..9999],
    ) -> csi::Global {
        let [register, protection, migration, operation, auth, preferred, query_limit, list_volume_threshold] = numbers;
        csi::Global {
            vcenter_ip: vcenter_ip.unwrap_or_default(),
            cluster_id, cluster_distribution, supervisor_id, user, password, port, insecure_flag, ca_file, thumbprint, datacenters,
            register_volumes_cleanup: register,
            pvc_protection_cleanup: protection,
            migration_cleanup: migration,
            operation_cleanup: operation,
            auth_check: auth,
            preferred_datastores: preferred,
            query_limit,
            list_volume_threshold,
        }
    }
}

prop_compose! {
    /// A storage driver's configuration that the driver accepts.
    pub(crate) fn csi_config()(
        global in storage_global(),
        vcenters in btree_map(name(), storage_vcenter(), 1..4),
        categories in vec(entry(), 1..4),
        old_labels in weighted(0.5, (awkward(), awkward())),
        labels in btree_map(name(), matching(r"(topology\.kubernetes\.io|topology\.csi\.vmware\.com)/[a-z]{1,8}"), 0..3),
        permissions in btree_map(name(), (awkward(), weighted(0.7, prop::sample::select(csi::Permission::ALL.to_vec())), any::<bool>()), 0..3),
        snapshots in [0u32..33, 0u32..33, 0u32..33],
    ) -> csi::CsiConfig {
        let [global_max, vsan_max, vvol_max] = snapshots;
        let one = vcenters.len() == 1 && (global.vcenter_ip.is_empty() || vcenters.contains_key(&global.vcenter_ip));
        // Only a single vCenter may do without categories.
        let labels_of_one = old_labels.filter(|_| one).map(|(zone, region)| csi::Labels { zone, region, ..csi::Labels::default() });
        let many = csi::Labels { topology_categories: categories, ..csi::Labels::default() };
        csi::CsiConfig {
            global,
            vcenters,
            labels: labels_of_one.unwrap_or(many),
            topology_categories: labels.into_iter().map(|(name, label)| (name, csi::TopologyCategory { label })).collect(),
            net_permissions: permissions
                .into_iter()
                .map(|(name, (ips, permissions, root_squash))| {
                    (name, csi::NetPermissions { ips, permissions, root_squash })
                })
                .collect::<BTreeMap<_, _>>(),
            snapshot: csi::Snapshot { global_max, vsan_max, vvol_max },
            guest: csi::Guest::default(),
        }
    }
}

/// Drawn once for all tests.
pub(crate) fn csi_configs() -> &'static [csi::CsiConfig] {
    static CONFIGS: LazyLock<Vec<csi::CsiConfig>> = LazyLock::new(|| samples(csi_config()));
    &CONFIGS
}

prop_compose! {
    /// The configuration of a guest cluster.
    pub(crate) fn guest_config()(
        (endpoint, cluster_uid) in (name(), name()),
        [port, cluster_name, cluster_distribution, cluster_api_version, cluster_kind, _] in six(),
        mut global in storage_global(),
    ) -> csi::CsiConfig {
        global.vcenter_ip.clear();
        let guest = csi::Guest { endpoint, port, cluster_uid, cluster_name, cluster_distribution, cluster_api_version, cluster_kind };
        csi::CsiConfig { global, guest, ..csi::CsiConfig::default() }
    }
}
