//! Zones that are groups of hosts.

use slipway_assess::preflight::report::{Outcome, Report};
use slipway_assess::vsphere::preflight::expected::ExpectedObjects;
use slipway_assess::vsphere::preflight::snapshot::VCenterSnapshot;
use slipway_config::install_config::load;
use slipway_config::install_config::vsphere::{RegionKind, ZoneKind};

use super::{Break, CONFIG, Change, brief, derived, estate, id, judge, problems, wanted};
use crate::platform::vsphere::preflight::needs;

fn zone_of_hosts() -> (ExpectedObjects, VCenterSnapshot) {
    let (mut wanted, mut estate) = (wanted(), estate());
    wanted.sites[0].zone_kind = ZoneKind::HostGroup("rack".to_owned());
    wanted.sites[0].region_kind = RegionKind::ComputeCluster;
    wanted.sites[0].vm_group = Some("harbour-bbbbb-one".to_owned());
    // The group has one host.
    let second = wanted.sites[0].machines.iter().rposition(|machine| machine.control_plane).unwrap();
    wanted.sites[0].machines.remove(second);
    estate.tags_on("ClusterComputeResource", "domain-c1")[0] = ("openshift-region".into(), "europe".into());
    estate.tags_on("HostSystem", "host-1").push(("openshift-zone".into(), "north".into()));
    (wanted, estate)
}

pub(super) const HOST_GROUPS: &[(&str, Break, &[&str])] = &[
    ("missing", |_, e| e.cluster().host_groups.clear(), &["Failure host-group rack"]),
    ("empty", |_, e| e.cluster().host_groups.get_mut("rack").unwrap().clear(), &["Failure host-group rack"]),
    ("no_drs", |_, e| e.cluster().drs = false, &["Failure host-group /dc1/host/compute"]),
    ("no_tag", |_, e| e.tags_on("HostSystem", "host-1").clear(), &["Failure zone-tag rack"]),
    (
        "some_tags",
        |_, e| e.cluster().host_groups.get_mut("rack").unwrap().push(id("HostSystem", "host-2")),
        &["Warning zone-tag rack"],
    ),
    ("region", |_, e| e.tags_on("ClusterComputeResource", "domain-c1").clear(), &[]),
    (
        "group",
        |_, e| {
            e.cluster().vm_groups.insert("harbour-bbbbb-one".into());
        },
        &["Warning collisions harbour-bbbbb-one"],
    ),
    (
        "contradiction",
        |w, _| {
            let machines = &mut w.sites[0].machines;
            machines.extend(machines.iter().find(|machine| machine.control_plane).cloned());
        },
        &["Warning anti-affinity rack"],
    ),
    ("small", |_, e| e.host("esx-1").memory_mib = 40_000, &["Failure memory /dc1/host/compute"]),
    ("others_are_small", |_, e| e.host("esx-2").memory_mib = 1, &[]),
];

#[test]
fn a_zone_can_be_a_group_of_hosts() {
    for (name, break_it, expected) in HOST_GROUPS {
        let (mut wanted, mut estate) = zone_of_hosts();
        assert_eq!(problems(&wanted, &estate), []);
        break_it(&mut wanted, &mut estate);
        let lines: Vec<String> = problems(&wanted, &estate).iter().map(brief).collect();
        assert_eq!(lines, *expected, "{name}");
    }
}

/// The rule that binds machines to hosts is no luxury.
#[test]
fn the_binding_rule_needs_its_privilege() {
    let (wanted, mut estate) = zone_of_hosts();
    let held = estate.privileges.held.as_mut().unwrap();
    held.get_mut(&id("ClusterComputeResource", "domain-c1")).unwrap().remove("Host.Inventory.EditCluster");
    let zoned = CONFIG.replacen(
        "      server: a.example.com\n      topology:\n",
        "      server: a.example.com\n      regionType: ComputeCluster\n      zoneType: HostGroup\n      topology:\n        hostGroup: rack\n",
        1,
    );
    let (named, blueprint, _) = derived(load(&zoned).config.unwrap());
    let needs = needs::of(&named, &blueprint, &wanted, &|_| false).unwrap();
    let report = Report::new("harbour", judge(&wanted, &needs, &estate));
    let found = report.findings.iter().filter(|finding| finding.outcome != Outcome::Pass);
    let lines: Vec<String> = found.map(brief).collect();
    assert_eq!(lines, ["Failure privileges /dc1/host/compute"]);
}
