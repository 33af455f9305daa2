//! Each rule: an estate that fits, one thing broken in it, and exactly what is said then.

use std::collections::{BTreeMap, BTreeSet};

use rstest::rstest;
use slipway_assets::Identity;
use slipway_config::ids::InfraId;
use slipway_config::install_config::{InstallConfig, load};
use slipway_providers::vsphere::Reference;
use uuid::Uuid;

use super::{entities, judge};
use crate::preflight::estate::{Clocks, Cluster, Datastore, Estate, Facts, Host, Item, Machine, Tags};
use crate::preflight::needs::{Need, provisional};
use crate::preflight::report::{Finding, Outcome, Report};
use crate::preflight::wanted::{Template, Wanted};

const CONFIG: &str = r#"
apiVersion: v1
baseDomain: example.com
metadata: {name: harbour}
controlPlane: {name: master, replicas: 3}
compute: [{name: worker, replicas: 2}]
platform:
  vsphere:
    apiVIPs: [10.0.0.10]
    ingressVIPs: [10.0.0.11]
    vcenters:
    - {server: a.example.com, user: slipway@vsphere.local, password: x, datacenters: [dc1]}
    - {server: b.example.com, user: slipway@vsphere.local, password: x, datacenters: [dc1]}
    failureDomains:
    - name: one
      region: europe
      zone: north
      server: a.example.com
      topology:
        datacenter: dc1
        computeCluster: /dc1/host/compute
        datastore: /dc1/datastore/fast
        networks: [net]
        template: /dc1/vm/templates/rhcos
    - name: two
      region: europe
      zone: south
      server: b.example.com
      topology:
        datacenter: dc1
        computeCluster: /dc1/host/compute
        datastore: /dc1/datastore/fast
        networks: [net]
pullSecret: '{"auths":{"registry.example.com":{"auth":"dXNlcjpwYXNzd29yZA=="}}}'
payload: {releaseImage: "quay.io/release:4.18.3-x86_64"}
"#;

fn config() -> InstallConfig {
    let loaded = load(CONFIG);
    loaded.config.unwrap_or_else(|| panic!("{:?}", loaded.report))
}

fn identity() -> Identity {
    Identity {
        infra_id: InfraId::new(&config().name, |_| 0),
        cluster_id: Uuid::nil(),
        created: jiff::Timestamp::UNIX_EPOCH,
        kubeadmin_password: "".into(),
        kubeadmin_hash: "".into(),
    }
}

fn wanted() -> Wanted {
    Wanted::of(&config(), Some(&identity()), 0).unwrap()
}

fn id(kind: &str, id: &str) -> Reference {
    Reference::new(kind, id)
}

fn item(kind: &str, name: &str, path: &str, facts: Facts) -> Item {
    Item { id: id(kind, name), path: path.to_owned(), facts }
}

fn host() -> Host {
    Host {
        version: "8.0.3".to_owned(),
        build: "24022510".to_owned(),
        connected: true,
        maintenance: false,
        threads: 32,
        memory_mib: 262_144,
        used_mib: 65_536,
    }
}

/// What fits the first vCenter of the configuration.
fn estate() -> Estate {
    let cluster = Cluster {
        hosts: vec![id("HostSystem", "host-1"), id("HostSystem", "host-2")],
        datastores: vec![id("Datastore", "datastore-1")],
        networks: vec![id("Network", "network-1")],
        drs: true,
        host_groups: BTreeMap::from([("rack".to_owned(), vec![id("HostSystem", "host-1")])]),
        machine_names: BTreeSet::new(),
    };
    let template = Machine {
        template: true,
        hardware: Some(15),
        disks_gib: vec![16],
        product: Some("418.94.202501010000-0".to_owned()),
        instance_uuid: String::new(),
    };
    let datastore = Datastore { accessible: true, maintenance: false, free_gib: 2000 };
    let folder = |name: &str, path: &str| item("Folder", name, path, Facts::Nothing);
    let items = vec![
        folder("group-d1", "/"),
        item("Datacenter", "datacenter-1", "/dc1", Facts::Nothing),
        folder("group-h1", "/dc1/host"),
        folder("group-v1", "/dc1/vm"),
        folder("group-s1", "/dc1/datastore"),
        folder("group-n1", "/dc1/network"),
        item("ClusterComputeResource", "domain-c1", "/dc1/host/compute", Facts::Cluster(cluster)),
        item("ResourcePool", "resgroup-1", "/dc1/host/compute/Resources", Facts::Nothing),
        item("HostSystem", "host-1", "/dc1/host/compute/esx-1", Facts::Host(host())),
        item("HostSystem", "host-2", "/dc1/host/compute/esx-2", Facts::Host(host())),
        item("Datastore", "datastore-1", "/dc1/datastore/fast", Facts::Datastore(datastore)),
        item("Network", "network-1", "/dc1/network/net", Facts::Nothing),
        folder("group-v2", "/dc1/vm/templates"),
        item("VirtualMachine", "vm-1", "/dc1/vm/templates/rhcos", Facts::Machine(template)),
    ];
    let tag = |category: &str, name: &str| vec![(category.to_owned(), name.to_owned())];
    let attached = BTreeMap::from([
        (id("Datacenter", "datacenter-1"), tag("openshift-region", "europe")),
        (id("ClusterComputeResource", "domain-c1"), tag("openshift-zone", "north")),
    ]);
    let mut estate = Estate {
        user: "VSPHERE.LOCAL\\slipway".to_owned(),
        version: "8.0.3".to_owned(),
        build: "24022515".to_owned(),
        clock: Some(Clocks { theirs: jiff::Timestamp::UNIX_EPOCH, ours: jiff::Timestamp::UNIX_EPOCH }),
        items,
        tags: Ok(Tags { attached, ids: BTreeSet::new() }),
        known_privileges: provisional(&wanted()).into_iter().map(|need| need.privilege).collect(),
        privileges: Ok(BTreeMap::new()),
    };
    let all = estate.items.iter().map(|item| (item.id.clone(), estate.known_privileges.clone())).collect();
    estate.privileges = Ok(all);
    estate
}

impl Estate {
    fn change(&mut self, path: &str) -> &mut Item {
        self.items.iter_mut().find(|item| item.path == path).unwrap()
    }

    fn remove(&mut self, path: &str) {
        let below = format!("{path}/");
        let before = self.items.len();
        self.items.retain(|item| item.path != path && !item.path.starts_with(&below));
        assert!(self.items.len() < before);
    }

    fn cluster(&mut self) -> &mut Cluster {
        match &mut self.change("/dc1/host/compute").facts {
            Facts::Cluster(cluster) => cluster,
            _ => panic!("no cluster"),
        }
    }

    fn host(&mut self, name: &str) -> &mut Host {
        match &mut self.change(&format!("/dc1/host/compute/{name}")).facts {
            Facts::Host(host) => host,
            _ => panic!("no host"),
        }
    }

    fn store(&mut self) -> &mut Datastore {
        match &mut self.change("/dc1/datastore/fast").facts {
            Facts::Datastore(datastore) => datastore,
            _ => panic!("no datastore"),
        }
    }

    fn template(&mut self) -> &mut Machine {
        match &mut self.change("/dc1/vm/templates/rhcos").facts {
            Facts::Machine(machine) => machine,
            _ => panic!("no template"),
        }
    }

    fn tags_on(&mut self, kind: &str, name: &str) -> &mut Vec<(String, String)> {
        self.tags.as_mut().unwrap().attached.entry(id(kind, name)).or_default()
    }

    fn add(&mut self, kind: &str, name: &str, path: &str, facts: Facts) {
        self.items.push(item(kind, name, path, facts));
        let known = self.known_privileges.clone();
        self.privileges.as_mut().unwrap().insert(id(kind, name), known);
    }
}

fn report(wanted: &Wanted, estate: &Estate) -> Report {
    Report::new("harbour", judge(wanted, &provisional(wanted), estate))
}

/// What is not fine, each with a cure.
fn problems(wanted: &Wanted, estate: &Estate) -> Vec<Finding> {
    let findings = report(wanted, estate).findings;
    findings.into_iter().filter(|finding| finding.outcome != Outcome::Pass).collect()
}

fn brief(finding: &Finding) -> String {
    format!("{:?} {} {}", finding.outcome, finding.check.code(), finding.object)
}

type Break = fn(&mut Wanted, &mut Estate);

#[test]
fn nothing_is_said_of_what_fits() {
    assert_eq!(problems(&wanted(), &estate()), []);
    let passed: BTreeSet<&str> =
        report(&wanted(), &estate()).findings.iter().map(|finding| finding.check.code()).collect();
    let expected = [
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

const BROKEN: &[(&str, Break, &str)] = &[
    ("v6", |_, e| e.version = "6.7.0".into(), "Failure vcenter-version 6.7.0"),
    ("v7_0_1", |_, e| e.version = "7.0.1".into(), "Failure vcenter-version 7.0.1"),
    (
        "v7",
        |_, e| {
            e.version = "7.0.3".into();
            e.build = "17694817".into()
        },
        "Warning vcenter-version 7.0.3",
    ),
    (
        "v7_build",
        |_, e| {
            e.version = "7.0.3".into();
            e.build = "17694816".into()
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
    ("inaccessible", |_, e| e.store().accessible = false, "Failure datastore /dc1/datastore/fast"),
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
            e.host("esx-2").maintenance = true
        },
        "Failure hosts /dc1/host/compute",
    ),
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
            w.sites[0].template = Template::Given("rhcos".into())
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
            e.host("esx-2").threads = 4
        },
        "Warning cpu /dc1/host/compute",
    ),
    (
        "memory",
        |_, e| {
            e.host("esx-1").memory_mib = 16_000;
            e.host("esx-2").memory_mib = 16_000
        },
        "Failure memory /dc1/host/compute",
    ),
    (
        "all_memory",
        |_, e| {
            e.host("esx-1").memory_mib = 20_000;
            e.host("esx-2").memory_mib = 20_000
        },
        "Failure memory /dc1/host/compute",
    ),
    (
        "free_memory",
        |_, e| {
            e.host("esx-1").used_mib = 250_000;
            e.host("esx-2").used_mib = 250_000
        },
        "Warning memory /dc1/host/compute",
    ),
    ("thin", |_, e| e.store().free_gib = 400, "Warning storage /dc1/datastore/fast"),
    ("full", |_, e| e.store().free_gib = 30, "Failure storage /dc1/datastore/fast"),
    (
        "thick",
        |w, e| {
            w.thick = true;
            e.store().free_gib = 400
        },
        "Failure storage /dc1/datastore/fast",
    ),
    (
        "machine",
        |_, e| taken(e, "not ours"),
        "Failure collisions /dc1/vm/harbour-bbbbb/harbour-bbbbb-bootstrap",
    ),
    ("not_ours_to_read", |_, e| e.privileges = Err("broken".into()), "Unknown privileges /"),
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
        for finding in found.iter().filter(|finding| finding.outcome != Outcome::Unknown) {
            assert!(finding.remedy.is_some(), "{name}: {finding:?}");
        }
    }
}

fn theirs(estate: &mut Estate, seconds: i64) {
    let ours = jiff::Timestamp::UNIX_EPOCH;
    let theirs = ours + jiff::SignedDuration::from_secs(seconds);
    estate.clock = Some(Clocks { theirs, ours });
}

fn two_networks(estate: &mut Estate) {
    estate.add("Network", "network-2", "/dc1/network/old/net", Facts::Nothing);
    estate.cluster().networks.push(id("Network", "network-2"));
}

fn two_templates(estate: &mut Estate) {
    let facts = Facts::Machine(estate.template().clone());
    estate.add("VirtualMachine", "vm-2", "/dc1/vm/old/rhcos", facts);
}

/// The zone's tag is there, but a tag below it wins.
fn nearer(estate: &mut Estate) {
    estate.tags_on("Folder", "group-h1").push(("openshift-zone".into(), "north".into()));
    estate.tags_on("ClusterComputeResource", "domain-c1")[0].1 = "else".into();
}

/// A machine with the name of the bootstrap machine.
fn taken(estate: &mut Estate, uuid: &str) {
    let facts = Facts::Machine(Machine { instance_uuid: uuid.to_owned(), ..Machine::default() });
    estate.add("Folder", "group-v9", "/dc1/vm/harbour-bbbbb", Facts::Nothing);
    estate.add("VirtualMachine", "vm-9", "/dc1/vm/harbour-bbbbb/harbour-bbbbb-bootstrap", facts);
}

#[test]
fn what_we_made_ourselves_is_not_in_the_way() {
    let mut estate = estate();
    taken(&mut estate, &identity().object_id("harbour-bbbbb-bootstrap").to_string());
    let lines: Vec<String> = problems(&wanted(), &estate).iter().map(brief).collect();
    assert_eq!(lines, ["Warning collisions /dc1/vm/harbour-bbbbb"]);
    let mut undrawn = Wanted::of(&config(), None, 0).unwrap();
    undrawn.sites[0].folder = "/dc1/vm/harbour-bbbbb".to_owned();
    assert_eq!(problems(&undrawn, &estate), [], "names that are not drawn cannot be taken");
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

mod host_groups {
    use slipway_config::install_config::vsphere::{RegionKind, ZoneKind};

    use super::*;

    fn zone_of_hosts() -> (Wanted, Estate) {
        let (mut wanted, mut estate) = (wanted(), estate());
        wanted.sites[0].zone_kind = ZoneKind::HostGroup("rack".to_owned());
        wanted.sites[0].region_kind = RegionKind::ComputeCluster;
        wanted.sites[0].vm_group = Some("harbour-bbbbb-one".to_owned());
        estate.tags_on("ClusterComputeResource", "domain-c1")[0] =
            ("openshift-region".into(), "europe".into());
        estate.tags_on("HostSystem", "host-1").push(("openshift-zone".into(), "north".into()));
        (wanted, estate)
    }

    const HOST_GROUPS: &[(&str, Break, &[&str])] = &[
        ("missing", |_, e| e.cluster().host_groups.clear(), &["Failure host-group rack"]),
        (
            "empty",
            |_, e| e.cluster().host_groups.get_mut("rack").unwrap().clear(),
            &["Failure host-group rack"],
        ),
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
                e.cluster().machine_names.insert("harbour-bbbbb-one".into());
            },
            &["Warning collisions harbour-bbbbb-one"],
        ),
        ("small", |_, e| e.host("esx-1").memory_mib = 60_000, &["Failure memory /dc1/host/compute"]),
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
        let held = estate.privileges.as_mut().unwrap();
        held.get_mut(&id("ClusterComputeResource", "domain-c1"))
            .unwrap()
            .remove("Host.Inventory.EditCluster");
        let lines: Vec<String> = problems(&wanted, &estate).iter().map(brief).collect();
        assert_eq!(lines, ["Failure privileges /dc1/host/compute"]);
    }
}

mod privileges {
    use super::*;

    /// Every privilege on every object, one at a time.
    #[test]
    fn each_missing_privilege_is_named_alone() {
        let wanted = wanted();
        let needs = provisional(&wanted);
        let estate = estate();
        let objects = entities(&needs, &estate);
        assert!(objects.len() >= 6, "{objects:?}");
        let mut tried = 0;
        for object in objects {
            let path = estate.item(&object).unwrap().path.clone();
            for privilege in &estate.known_privileges {
                let mut estate = estate.clone();
                estate.privileges.as_mut().unwrap().get_mut(&object).unwrap().remove(privilege);
                let found = problems(&wanted, &estate);
                let needed = needs.iter().any(|need| {
                    need.privilege == *privilege
                        && entities(std::slice::from_ref(need), &estate) == [object.clone()]
                });
                if !needed {
                    assert_eq!(found, [], "{privilege} on {path}");
                    continue;
                }
                tried += 1;
                let [finding] = &found[..] else { panic!("{privilege} on {path}: {found:#?}") };
                assert_eq!(finding.object, path);
                assert!(finding.message.ends_with(&format!("lacks {privilege} on `{path}`")), "{finding:?}");
                assert!(finding.message.contains("`VSPHERE.LOCAL\\slipway`"));
            }
        }
        assert!(tried > 30, "{tried}");
    }

    #[test]
    fn what_is_missing_on_an_object_is_said_together() {
        let mut estate = estate();
        let held = estate.privileges.as_mut().unwrap().get_mut(&id("Folder", "group-v1")).unwrap();
        held.remove("Folder.Create");
        held.remove("VirtualMachine.Inventory.Delete");
        let found = problems(&wanted(), &estate);
        let [finding] = &found[..] else { panic!("{found:#?}") };
        assert_eq!(
            finding.message,
            "`VSPHERE.LOCAL\\slipway` lacks Folder.Create, VirtualMachine.Inventory.Delete on `/dc1/vm`"
        );
        assert_eq!(
            finding.details,
            [
                "Folder.Create: needed to create the folder of the machines",
                "VirtualMachine.Inventory.Delete: needed to remove machines",
            ]
        );
    }

    #[test]
    fn a_version_that_does_not_know_a_privilege_does_not_need_it() {
        let mut estate = estate();
        let held = estate.privileges.as_mut().unwrap();
        held.get_mut(&id("Folder", "group-d1")).unwrap().remove("Cns.Searchable");
        assert_eq!(problems(&wanted(), &estate).len(), 1);
        estate.known_privileges.remove("Cns.Searchable");
        assert_eq!(problems(&wanted(), &estate), []);
    }

    /// Folders may be missing at any depth; what should be there and is not is reported by others.
    #[rstest]
    #[case("/", Some("/"))]
    #[case("/dc1/vm/a/b/c", Some("/dc1/vm"))]
    #[case("/dc1/vm/templates/new", Some("/dc1/vm/templates"))]
    #[case("/dc1/vm/rhcos", Some("/dc1/vm/templates/rhcos"))]
    #[case("/dc1/host/compute/net", Some("/dc1/network/net"))]
    #[case("/dc1/host/other", None)]
    #[case("/dc1/host/compute/other", None)]
    #[case("/dc2/vm/a", None)]
    fn a_need_is_judged_where_it_will_be(#[case] object: &str, #[case] expected: Option<&str>) {
        let need = Need {
            endpoint: String::new(),
            object: object.to_owned(),
            privilege: String::new(),
            step: String::new(),
            left_out: None,
        };
        let estate = estate();
        let found = entities(&[need], &estate);
        let paths: Vec<&str> = found.iter().map(|id| estate.item(id).unwrap().path.as_str()).collect();
        assert_eq!(paths, Vec::from_iter(expected));
    }

    #[test]
    fn rules_that_keep_machines_apart_can_be_left_out() {
        let mut estate = estate();
        let held = estate.privileges.as_mut().unwrap();
        held.get_mut(&id("ClusterComputeResource", "domain-c1"))
            .unwrap()
            .remove("Host.Inventory.EditCluster");
        let found = problems(&wanted(), &estate);
        assert_eq!(found.iter().map(brief).collect::<Vec<_>>(), ["Warning anti-affinity /dc1/host/compute"]);
        assert!(found[0].message.contains("will not be kept on different hosts"));
        assert!(report(&wanted(), &estate).is_clear());
    }
}
