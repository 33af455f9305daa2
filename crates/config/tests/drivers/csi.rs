//! Storage driver configurations, beside the driver's own reader.

use serde_json::{Map, Value, json};
use slipway_config::driver_config::csi::{CsiConfig, read};
use slipway_testkit::reader::Reader;

use crate::samples::{csi_config, samples};

fn or(own: &str, inherited: &str) -> String {
    if own.is_empty() { inherited.to_owned() } else { own.to_owned() }
}

fn number(value: u32, default: u32) -> u32 {
    if value == 0 { default } else { value }
}

/// The values the driver must see, with its own defaults.
fn expected(config: &CsiConfig) -> Value {
    let global = &config.global;
    let vcenters = config.vcenters.iter().map(|(server, vcenter)| {
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
            "Permissions": or(&permissions.permissions, "READ_WRITE"),
            "RootSquash": permissions.root_squash,
        });
        (name.clone(), value)
    });
    json!({
        "vcenters": vcenters.collect::<Map<_, _>>(),
        "cluster": [global.cluster_id, global.supervisor_id, global.cluster_distribution],
        "categories": config.labels.topology_categories.join(","),
        "labels": config.topology_categories.iter().map(|(name, category)| (name.clone(), json!({"Label": category.label}))).collect::<Map<_, _>>(),
        "permissions": permissions.collect::<Map<_, _>>(),
        "snapshots": [number(config.snapshot.global_max, 3), config.snapshot.vsan_max, config.snapshot.vvol_max],
        "tuning": [
            number(global.register_volumes_cleanup, 720), number(global.migration_cleanup, 120),
            number(global.auth_check, 5), number(global.preferred_datastores, 5),
            number(global.query_limit, 10_000), number(global.list_volume_threshold, 50),
        ],
    })
}

fn seen(config: &CsiConfig, value: &Value) -> Value {
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
        "labels": labels,
        "permissions": permissions,
        "snapshots": [
            value["Snapshot"]["GlobalMaxSnapshotsPerBlockVolume"],
            value["Snapshot"]["GranularMaxSnapshotsPerBlockVolumeInVSAN"],
            value["Snapshot"]["GranularMaxSnapshotsPerBlockVolumeInVVOL"],
        ],
        "tuning": [
            global["CnsRegisterVolumesCleanupIntervalInMin"], global["VolumeMigrationCRCleanupIntervalInMin"],
            global["CSIAuthCheckIntervalInMin"], global["CSIFetchPreferredDatastoresIntervalInMin"],
            global["QueryLimit"], global["ListVolumeThreshold"],
        ],
    })
}

#[test]
fn the_driver_reads_our_ini() {
    let configs = samples(csi_config());
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
    for config in samples(csi_config()) {
        let reading = read(&config.to_ini().unwrap());
        assert_eq!(reading.config.as_ref(), Some(&config), "{:?}", reading.report.findings);
        assert!(reading.leftovers.is_empty());
    }
}

/// We refuse what the driver refuses, and nothing else.
#[test]
fn problems_are_the_drivers_own() {
    let broken: Vec<CsiConfig> = samples(csi_config())
        .into_iter()
        .enumerate()
        .map(|(index, mut config)| {
            let first = config.vcenters.keys().next().cloned().unwrap();
            match index % 7 {
                0 => config.vcenters.clear(),
                1 => config.vcenters.get_mut(&first).unwrap().user = "administrator".to_owned(),
                2 => config.global.cluster_id = "x".repeat(65),
                3 => config.labels.zone = "zone".to_owned(),
                4 => config.labels.topology_categories.clear(),
                5 => config.labels.topology_categories = "abcdef".chars().map(String::from).collect(),
                _ => {}
            }
            config
        })
        .collect();
    let texts: Vec<String> = broken.iter().map(|config| config.to_ini().unwrap()).collect();
    let answers = Reader::start("csi-reader").unwrap().read_all("csi", &texts).unwrap();
    for ((config, text), answer) in broken.iter().zip(&texts).zip(&answers) {
        assert_eq!(
            config.problems().is_empty(),
            answer.ok,
            "{text}\n{:?}\n{}",
            config.problems(),
            answer.error
        );
    }
}
