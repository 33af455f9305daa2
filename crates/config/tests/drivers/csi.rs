//! Storage driver configurations, beside the driver's own reader.

use serde_json::{Map, Value, json};
use slipway_config::driver_config::csi::{self, CsiConfig, read};
use slipway_testkit::reader::Reader;

use crate::samples::{csi_configs, guest_config, samples};

fn or(own: &str, inherited: &str) -> String {
    if own.is_empty() { inherited.to_owned() } else { own.to_owned() }
}

fn number(value: u32, default: u32) -> u32 {
    if value == 0 { default } else { value }
}

/// The values the driver must see, with its own defaults.
pub(crate) fn expected(config: &CsiConfig) -> Value {
    let global = &config.global;
    let mut vcenters = config.vcenters.clone();
    if !global.vcenter_ip.is_empty() {
        vcenters.entry(global.vcenter_ip.clone()).or_default();
    }
    let vcenters = vcenters.iter().map(|(server, vcenter)| {
        let value = json!({
            "User": or(&vcenter.user, &global.user),
            "Password": or(vcenter.password.expose(), global.password.expose()),
            "VCenterPort": vcenter.port.get().or(global.port.get()).unwrap_or(443).to_string(),
            "InsecureFlag": vcenter.insecure_flag || global.insecure_flag,
            "CAFile": vcenter.ca_file,
            "Thumbprint": vcenter.thumbprint,
            "Datacenters": or(&vcenter.datacenters.join(","), &global.datacenters.join(",")),
            "TargetvSANFileShareClusters": vcenter.file_share_clusters,
            "MigrationDataStoreURL": vcenter.migration_datastore_url,
        });
        (server.clone(), value)
    });
    let permissions = config.net_permissions.iter().map(|(name, permissions)| {
        let value = json!({
            "Ips": or(&permissions.ips, "*"),
            "Permissions": permissions.permissions.map_or("READ_WRITE", csi::Permission::as_str),
            "RootSquash": permissions.root_squash,
        });
        (name.clone(), value)
    });
    json!({
        "vcenters": vcenters.collect::<Map<_, _>>(),
        "cluster": [global.cluster_id, global.supervisor_id, global.cluster_distribution],
        "categories": config.labels.topology_categories.join(","),
        "zones": [config.labels.zone, config.labels.region],
        "labels": config.topology_categories.iter().map(|(name, category)| (name.clone(), json!({"Label": category.label}))).collect::<Map<_, _>>(),
        "permissions": permissions.collect::<Map<_, _>>(),
        "snapshots": [number(config.snapshot.global_max, 3), config.snapshot.vsan_max, config.snapshot.vvol_max],
        "tuning": [
            number(global.register_volumes_cleanup, 720), number(global.migration_cleanup, 120),
            number(global.operation_cleanup, 1440),
            number(global.auth_check, 5), number(global.preferred_datastores, 5),
            number(global.query_limit, 10_000), number(global.list_volume_threshold, 50),
        ],
    })
}

pub(crate) fn seen(config: &CsiConfig, value: &Value) -> Value {
    let global = &value["Global"];
    let labels =
        if value["TopologyCategory"].is_null() { json!({}) } else { value["TopologyCategory"].clone() };
    // Without any permission the driver makes one up.
    let permissions =
        if config.net_permissions.is_empty() { json!({}) } else { value["NetPermissions"].clone() };
    json!({
        "vcenters": value["VirtualCenter"],
        "cluster": [global["ClusterID"], global["SupervisorID"], global["ClusterDistribution"]],
        "categories": value["Labels"]["TopologyCategories"],
        "zones": [value["Labels"]["Zone"], value["Labels"]["Region"]],
        "labels": labels,
        "permissions": permissions,
        "snapshots": [
            value["Snapshot"]["GlobalMaxSnapshotsPerBlockVolume"],
            value["Snapshot"]["GranularMaxSnapshotsPerBlockVolumeInVSAN"],
            value["Snapshot"]["GranularMaxSnapshotsPerBlockVolumeInVVOL"],
        ],
        "tuning": [
            global["CnsRegisterVolumesCleanupIntervalInMin"], global["VolumeMigrationCRCleanupIntervalInMin"],
            global["CnsVolumeOperationRequestCleanupIntervalInMin"],
            global["CSIAuthCheckIntervalInMin"], global["CSIFetchPreferredDatastoresIntervalInMin"],
            global["QueryLimit"], global["ListVolumeThreshold"],
        ],
    })
}

#[test]
fn the_driver_reads_our_ini() {
    let configs = csi_configs();
    let texts: Vec<String> = configs.iter().map(|config| config.to_ini().unwrap()).collect();
    let answers = Reader::start("csi-reader").unwrap().read_all("csi", &texts).unwrap();
    for ((config, text), answer) in configs.iter().zip(&texts).zip(&answers) {
        assert!(answer.ok, "the driver refuses {text:?}: {}", answer.error);
        assert_eq!(seen(config, &answer.value), expected(config), "{text}");
    }
    println!("csi: {} configurations accepted, with the same values", texts.len());
}

#[test]
fn what_we_write_we_read() {
    for config in csi_configs() {
        let reading = read(&config.to_ini().unwrap());
        assert_eq!(reading.config.as_ref(), Some(config), "{:?}", reading.report.findings);
        assert!(reading.leftovers.is_empty());
    }
}

/// The driver has a reader of its own for guest clusters.
#[test]
fn the_driver_reads_our_ini_of_guest_clusters() {
    let configs = samples(guest_config());
    let texts: Vec<String> = configs.iter().map(|config| config.to_ini().unwrap()).collect();
    let answers = Reader::start("csi-reader").unwrap().read_all("csi-gc", &texts).unwrap();
    for ((config, text), answer) in configs.iter().zip(&texts).zip(&answers) {
        assert!(answer.ok, "the driver refuses {text:?}: {}", answer.error);
        let guest = &config.guest;
        let expected = json!({
            "Endpoint": guest.endpoint,
            "Port": guest.port,
            "TanzuKubernetesClusterUID": guest.cluster_uid,
            "TanzuKubernetesClusterName": guest.cluster_name,
            "ClusterDistribution": guest.cluster_distribution,
            "ClusterAPIVersion": or(&guest.cluster_api_version, "run.tanzu.vmware.com/v1alpha1"),
            "ClusterKind": or(&guest.cluster_kind, "TanzuKubernetesCluster"),
        });
        assert_eq!(answer.value["GC"], expected, "{text}");
        let reading = read(text);
        assert_eq!(reading.config.as_ref(), Some(config), "{:?}", reading.report.findings);
    }
}

/// Where a finding about the whole points at.
#[test]
fn problems_point_at_what_matters() {
    let at = |text: &str| -> Vec<(usize, String)> {
        let findings = read(text).report.findings;
        findings.iter().map(|finding| (finding.position.line, finding.path.to_string())).collect()
    };
    let path = |line: usize, path: &str| vec![(line, path.to_owned())];
    let two = "[Global]\nuser = me@corp\npassword = p\n[VirtualCenter \"a\"]\n[VirtualCenter \"b\"]\n";
    assert_eq!(at(two), path(5, "[Labels] topology-categories"), "the last vCenter, as there are no labels");
    assert_eq!(at(&format!("{two}[Labels]\n")), path(6, "[Labels] topology-categories"));
    let global = "# mine\n[Global]\nuser = me\npassword = p\n[VirtualCenter \"a\"]\n";
    assert_eq!(at(global), path(3, "[Global] user"), "where the inherited user is written");
    assert_eq!(at("\n[Global]\nuser = me@corp\n"), path(2, "[VirtualCenter]"));
    assert_eq!(at("\n\n[GC]\nendpoint = e\n"), path(3, "[GC] tanzukubernetescluster-uid"));
    let both = "[Global]\nuser = me@corp\npassword = p\n[VirtualCenter \"a\"]\n[Labels]\ntopology-categories = a\nregion = b\n";
    assert_eq!(at(both), path(7, "[Labels] region"));
}
