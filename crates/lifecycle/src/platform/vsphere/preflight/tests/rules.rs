//! Each rule: one thing broken, and exactly what is said then.

use std::collections::{BTreeMap, BTreeSet};

use rstest::rstest;
use slipway_assess::preflight::report::Check;
use slipway_assess::vsphere::preflight::expected::Template;
use slipway_assess::vsphere::preflight::snapshot::{Clocks, Depth, Tags, VCenterSnapshot};
use slipway_assets::Named;
use slipway_config::install_config::load;
use slipway_providers::vsphere::inventory::{Facts, Item, Machine};

use super::{
    Break, Change, brief, config, derived, estate, host_groups, id, identity, problems, report, wanted,
};
use crate::platform::vsphere::Blueprint;

#[test]
fn nothing_is_said_of_what_fits() {
    assert_eq!(problems(&wanted(), &estate()), []);
    let passed: BTreeSet<&str> =
        report(&wanted(), &estate()).findings.iter().map(|finding| finding.check.code()).collect();
    let expected = [
        "anti-affinity",
        "clock",
        "collisions",
        "compute-cluster",
        "cpu",
        "datacenter",
        "datastore",
        "folder",
        "hosts",
        "memory",
        "network",
        "privileges",
        "region-tag",
        "resource-pool",
        "storage",
        "template",
        "vcenter-version",
        "zone-tag",
    ];
    assert_eq!(passed, BTreeSet::from(expected));
}

/// A vCenter that fell silent: what was not read is neither praised nor blamed.
#[rstest]
#[case::server(Depth::Server, &["vcenter-version"])]
#[case::clock(Depth::Clock, &["clock"])]
#[case::inventory(
    Depth::Inventory,
    &["compute-cluster", "datacenter", "datastore", "folder", "network", "resource-pool", "storage"]
)]
#[case::hosts(Depth::Hosts, &["anti-affinity", "cpu", "hosts", "memory"])]
#[case::machines(Depth::Machines, &["collisions", "template"])]
#[case::tags(Depth::Tags, &["region-tag", "zone-tag"])]
#[case::privileges(Depth::Privileges, &["privileges"])]
fn what_was_not_read_is_not_judged(#[case] depth: Depth, #[case] added: &[&str]) {
    let judged = |depth: Depth| -> BTreeSet<&str> {
        let estate = read_to(depth);
        assert_eq!(problems(&wanted(), &estate), []);
        report(&wanted(), &estate).findings.iter().map(|finding| finding.check.code()).collect()
    };
    let stages = [
        Depth::Server,
        Depth::Clock,
        Depth::Inventory,
        Depth::Hosts,
        Depth::Machines,
        Depth::Tags,
        Depth::Privileges,
    ];
    let before = stages.into_iter().take_while(|stage| *stage < depth).last().map(judged);
    let new: Vec<&str> = judged(depth).difference(&before.unwrap_or_default()).copied().collect();
    assert_eq!(new, added);
    assert_eq!(depth.beyond().len(), stages.len() - 1 - depth as usize);
}

/// What fits, as far as it was read.
fn read_to(depth: Depth) -> VCenterSnapshot {
    let mut estate = VCenterSnapshot { depth, ..estate() };
    if depth < Depth::Clock {
        estate.clock = None;
    }
    estate.inventory.retain(|item| match &item.facts {
        Facts::Host(_) => depth >= Depth::Hosts,
        Facts::Machine(_) => depth >= Depth::Machines,
        _ => depth >= Depth::Inventory,
    });
    if depth < Depth::Tags {
        estate.tags = Ok(Tags::default());
    }
    if depth < Depth::Privileges {
        estate.privileges.held = Ok(BTreeMap::new());
    }
    estate
}

const BROKEN: &[(&str, Break, &str)] = &[
    ("v6", |_, e| e.version = "6.7.0".into(), "Failure vcenter-version 6.7.0"),
    ("v7_0_1", |_, e| e.version = "7.0.1".into(), "Failure vcenter-version 7.0.1"),
    (
        "v7",
        |_, e| {
            e.version = "7.0.3".into();
            e.build = "17694817".into();
        },
        "Warning vcenter-version 7.0.3",
    ),
    (
        "v7_build",
        |_, e| {
            e.version = "7.0.3".into();
            e.build = "17694816".into();
        },
        "Failure vcenter-version 7.0.3",
    ),
    ("v8_build", |_, e| e.build = "20519527".into(), "Failure vcenter-version 8.0.3"),
    ("odd", |_, e| e.version = "next".into(), "Unknown vcenter-version next"),
    ("ahead", |_, e| theirs(e, 61), "Warning clock clock"),
    ("behind", |_, e| theirs(e, -301), "Failure clock clock"),
    ("no_clock", |_, e| e.clock = None, "Unknown clock clock"),
    ("datacenter", |_, e| e.remove("/dc1"), "Failure datacenter /dc1"),
    ("cluster", |_, e| e.remove("/dc1/host/compute"), "Failure compute-cluster /dc1/host/compute"),
    (
        "pool",
        |_, e| e.remove("/dc1/host/compute/Resources"),
        "Failure resource-pool /dc1/host/compute/Resources",
    ),
    ("datastore", |_, e| e.remove("/dc1/datastore/fast"), "Failure datastore /dc1/datastore/fast"),
    ("inaccessible", |_, e| e.store().accessible = Some(false), "Failure datastore /dc1/datastore/fast"),
    ("maintained", |_, e| e.store().maintenance = true, "Failure datastore /dc1/datastore/fast"),
    ("not_mounted", |_, e| e.cluster().datastores.clear(), "Failure datastore /dc1/datastore/fast"),
    ("network", |_, e| e.cluster().networks.clear(), "Failure network net"),
    ("two_networks", |_, e| two_networks(e), "Failure network net"),
    ("folder", |w, _| w.sites[0].folder = "/dc1/host/machines".into(), "Failure folder /dc1/host/machines"),
    (
        "no_folder",
        |w, _| w.sites[0].folder = "/dc1/vm/templates/rhcos".into(),
        "Failure folder /dc1/vm/templates/rhcos",
    ),
    (
        "host_version",
        |_, e| e.host("esx-1").version = "7.0.1".into(),
        "Failure hosts /dc1/host/compute/esx-1",
    ),
    ("host_build", |_, e| e.host("esx-2").build = "20513096".into(), "Failure hosts /dc1/host/compute/esx-2"),
    ("host_unknown", |_, e| e.host("esx-2").build = String::new(), "Unknown hosts /dc1/host/compute/esx-2"),
    (
        "hosts",
        |_, e| {
            e.host("esx-1").connected = false;
            e.host("esx-2").maintenance = true;
        },
        "Failure hosts /dc1/host/compute",
    ),
    ("too_few", |_, e| e.host("esx-2").maintenance = true, "Warning anti-affinity /dc1/host/compute"),
    ("template", |_, e| e.remove("/dc1/vm/templates/rhcos"), "Failure template /dc1/vm/templates/rhcos"),
    ("no_template", |_, e| e.template().template = false, "Warning template /dc1/vm/templates/rhcos"),
    ("hardware", |_, e| e.template().hardware = Some(14), "Failure template /dc1/vm/templates/rhcos"),
    ("hardware_unknown", |_, e| e.template().hardware = None, "Unknown template /dc1/vm/templates/rhcos"),
    ("disks", |_, e| e.template().disks_gib = vec![16, 1], "Failure template /dc1/vm/templates/rhcos"),
    ("large", |_, e| e.template().disks_gib = vec![121], "Failure template /dc1/vm/templates/rhcos"),
    ("newer", |_, e| e.template().product = Some("419.1".into()), "Failure template /dc1/vm/templates/rhcos"),
    ("older", |_, e| e.template().product = Some("417.1".into()), "Warning template /dc1/vm/templates/rhcos"),
    (
        "much_older",
        |_, e| e.template().product = Some("416.1".into()),
        "Failure template /dc1/vm/templates/rhcos",
    ),
    ("no_release", |_, e| e.template().product = None, "Warning template /dc1/vm/templates/rhcos"),
    (
        "two_templates",
        |w, e| {
            two_templates(e);
            w.sites[0].template = Template::Given("rhcos".into());
        },
        "Failure template rhcos",
    ),
    ("no_region", |_, e| e.tags_on("Datacenter", "datacenter-1").clear(), "Failure region-tag /dc1"),
    (
        "region",
        |_, e| e.tags_on("Datacenter", "datacenter-1")[0].1 = "asia".into(),
        "Failure region-tag /dc1",
    ),
    (
        "zone",
        |_, e| e.tags_on("ClusterComputeResource", "domain-c1")[0].1 = "south".into(),
        "Failure zone-tag /dc1/host/compute",
    ),
    (
        "category",
        |_, e| e.tags_on("ClusterComputeResource", "domain-c1")[0].0 = "zone".into(),
        "Failure zone-tag /dc1/host/compute",
    ),
    ("nearer", |_, e| nearer(e), "Failure zone-tag /dc1/host/compute"),
    ("no_tags", |_, e| e.tags = Err("HTTP 503".into()), "Unknown region-tag tags"),
    ("tag_id", |w, _| w.sites[0].tag_ids = vec!["urn:1".into()], "Failure tag-ids urn:1"),
    ("cpus", |w, _| w.sites[0].machines[0].cpus = 33, "Failure cpu /dc1/host/compute"),
    (
        "all_cpus",
        |_, e| {
            e.host("esx-1").threads = 4;
            e.host("esx-2").threads = 4;
        },
        "Warning cpu /dc1/host/compute",
    ),
    (
        "memory",
        |_, e| {
            e.host("esx-1").memory_mib = 16_000;
            e.host("esx-2").memory_mib = 16_000;
        },
        "Failure memory /dc1/host/compute",
    ),
    (
        "all_memory",
        |_, e| {
            e.host("esx-1").memory_mib = 20_000;
            e.host("esx-2").memory_mib = 20_000;
        },
        "Failure memory /dc1/host/compute",
    ),
    (
        "free_memory",
        |_, e| {
            e.host("esx-1").used_mib = 250_000;
            e.host("esx-2").used_mib = 250_000;
        },
        "Warning memory /dc1/host/compute",
    ),
    ("thin", |_, e| e.store().free_bytes = Some(400 << 30), "Warning storage /dc1/datastore/fast"),
    ("full", |_, e| e.store().free_bytes = Some(30 << 30), "Failure storage /dc1/datastore/fast"),
    (
        "thick",
        |w, e| {
            w.thick = true;
            e.store().free_bytes = Some(400 << 30);
        },
        "Failure storage /dc1/datastore/fast",
    ),
    (
        "machine",
        |_, e| taken(e, "not ours"),
        "Failure collisions /dc1/vm/harbour-bbbbb/harbour-bbbbb-bootstrap",
    ),
    ("not_ours_to_read", |_, e| e.privileges.held = Err("broken".into()), "Unknown privileges /"),
];

#[test]
fn one_broken_thing_is_one_finding() {
    for (name, break_it, expected) in BROKEN {
        let (mut wanted, mut estate) = (wanted(), estate());
        break_it(&mut wanted, &mut estate);
        let found = problems(&wanted, &estate);
        let mut lines: Vec<String> = found.iter().map(brief).collect();
        // A folder cannot carry a mark, so the one our machines are in is told as well.
        lines.retain(|line| line != "Warning collisions /dc1/vm/harbour-bbbbb");
        assert_eq!(lines, [*expected], "{name}: {found:#?}");
        for finding in &found {
            assert!(finding.remedy.is_some(), "{name}: {finding:?}");
        }
    }
}

fn theirs(estate: &mut VCenterSnapshot, seconds: i64) {
    let ours = jiff::Timestamp::UNIX_EPOCH;
    let theirs = ours + jiff::SignedDuration::from_secs(seconds);
    estate.clock = Some(Clocks { theirs, ours });
}

fn two_networks(estate: &mut VCenterSnapshot) {
    estate.add("Network", "network-2", "/dc1/network/old/net", Facts::Nothing);
    estate.cluster().networks.push(id("Network", "network-2"));
}

fn two_templates(estate: &mut VCenterSnapshot) {
    let facts = Facts::Machine(estate.template().clone());
    estate.add("VirtualMachine", "vm-2", "/dc1/vm/old/rhcos", facts);
}

/// The zone's tag is there, but a tag below it wins.
fn nearer(estate: &mut VCenterSnapshot) {
    estate.tags_on("Folder", "group-h1").push(("openshift-zone".into(), "north".into()));
    estate.tags_on("ClusterComputeResource", "domain-c1")[0].1 = "else".into();
}

/// A machine with the name of the bootstrap machine.
fn taken(estate: &mut VCenterSnapshot, uuid: &str) {
    let facts = Facts::Machine(Machine { instance_uuid: uuid.parse().ok(), ..Machine::default() });
    estate.add("Folder", "group-v9", "/dc1/vm/harbour-bbbbb", Facts::Nothing);
    estate.add("VirtualMachine", "vm-9", "/dc1/vm/harbour-bbbbb/harbour-bbbbb-bootstrap", facts);
}

#[test]
fn what_we_made_ourselves_is_not_in_the_way() {
    let mut estate = estate();
    taken(&mut estate, &identity().object_id("harbour-bbbbb-bootstrap").to_string());
    let lines: Vec<String> = problems(&wanted(), &estate).iter().map(brief).collect();
    assert_eq!(lines, ["Warning collisions /dc1/vm/harbour-bbbbb"]);
    estate.tags_on("Folder", "group-v9").push(("openshift-harbour-bbbbb".into(), "harbour-bbbbb".into()));
    assert_eq!(problems(&wanted(), &estate), [], "a folder with the cluster's tag is of an earlier run");
    let named = Named::undrawn(config());
    let mut undrawn = super::derive::of(&named, &Blueprint::of(&named).unwrap(), 0).unwrap();
    undrawn.sites[0].folder = "/dc1/vm/harbour-bbbbb".to_owned();
    assert_eq!(problems(&undrawn, &estate), [], "names that are not drawn cannot be taken");
}

/// A template that was imported, or half imported, by an earlier run.
#[test]
fn what_we_imported_is_not_in_the_way() {
    let imported = super::CONFIG
        .replace("        template: /dc1/vm/templates/rhcos\n", "")
        .replace("    apiVIPs", "    clusterOSImage: https://example.com/rhcos.ova\n    apiVIPs");
    let (_, _, wanted) = derived(load(&imported).config.unwrap());
    let (path, mark) = match &wanted.sites[0].template {
        Template::Imported { path, mark } => (path.clone(), *mark),
        other => panic!("{other:?}"),
    };
    let name = path.rsplit('/').next().unwrap();
    assert_eq!(mark, identity().template_id(name));
    for (uuid, expected) in
        [(mark, None), (identity().object_id(name), Some(format!("Failure collisions {path}")))]
    {
        let mut estate = estate();
        let facts = Machine { instance_uuid: Some(uuid), ..Machine::default() };
        estate.add("VirtualMachine", "vm-9", &path, Facts::Machine(facts));
        let lines: Vec<String> = problems(&wanted, &estate).iter().map(brief).collect();
        assert_eq!(lines, expected.into_iter().collect::<Vec<_>>());
    }
}

#[test]
fn a_datacenter_in_a_folder_is_told_with_its_path() {
    let mut estate = estate();
    let moved = |item: &Item| match item.path.strip_prefix("/dc1") {
        Some(rest) => Item { path: format!("/eu/dc1{rest}"), ..item.clone() },
        None => item.clone(),
    };
    estate.inventory = estate.inventory.items().iter().map(moved).collect();
    let found = problems(&wanted(), &estate);
    assert_eq!(found.iter().map(brief).collect::<Vec<_>>(), ["Failure datacenter /dc1"]);
    assert!(found[0].remedy.as_deref().unwrap().contains("write `/eu/dc1`"), "{found:?}");
}

/// Tags are inherited, and needed only where there is more than one failure domain.
#[test]
fn tags_are_looked_for_further_up() {
    let (mut wanted, mut estate) = (wanted(), estate());
    let tags = estate.tags.as_mut().unwrap();
    tags.attached.clear();
    tags.attached.insert(id("Folder", "group-d1"), vec![("openshift-region".into(), "europe".into())]);
    tags.attached.insert(id("Folder", "group-h1"), vec![("openshift-zone".into(), "north".into())]);
    assert_eq!(problems(&wanted, &estate), []);
    estate.tags = Err("down".to_owned());
    wanted.zoned = false;
    assert_eq!(problems(&wanted, &estate), []);
}

/// Checks whose tests are elsewhere: with privileges, certificates, the network, simulated vCenters and KubeVirt.
const ELSEWHERE: [Check; 15] = [
    Check::ReleaseImage,
    Check::OsImage,
    Check::Files,
    Check::Connection,
    Check::Certificate,
    Check::Names,
    Check::Dns,
    Check::LoadBalancer,
    Check::VipFree,
    Check::VipNetwork,
    Check::Platform,
    Check::InfraVersion,
    Check::Namespace,
    Check::Quota,
    Check::Objects,
];

#[test]
fn every_check_is_broken_by_a_test() {
    let lines = BROKEN.iter().map(|(_, _, line)| *line);
    let lines = lines.chain(host_groups::HOST_GROUPS.iter().flat_map(|(_, _, lines)| lines.iter().copied()));
    let broken: BTreeSet<&str> = lines.filter_map(|line| line.split(' ').nth(1)).collect();
    for check in Check::ALL {
        assert_ne!(broken.contains(check.code()), ELSEWHERE.contains(&check), "{}", check.code());
    }
}
