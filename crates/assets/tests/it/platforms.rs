//! Rules of the platforms that no whole tree shows.

use rstest::rstest;
use serde_json::json;
use slipway_assets::Access;
use slipway_assets::kubevirt::infra_objects;
use slipway_assets::ovirt::affinity_groups;
use slipway_config::install_config::Platform;

use crate::fixtures::{self, EVERYTHING, KUBEVIRT, NONE, OVIRT, VSPHERE, cluster, manifests, value};

/// Three control-plane machines and two compute machines of the example want hosts of their own.
#[rstest]
#[case(None, true, true)]
#[case(Some(1), false, false)]
#[case(Some(2), false, true)]
#[case(Some(3), true, true)]
fn affinity_never_keeps_machines_from_starting(
    #[case] hosts: Option<usize>,
    #[case] control_plane: bool,
    #[case] compute: bool,
) {
    let cluster = cluster(OVIRT);
    let Platform::Ovirt(platform) = &cluster.config.platform else { panic!("not oVirt") };
    let groups = affinity_groups(&cluster, platform, hosts);
    let enforcing: Vec<(&str, bool)> =
        groups.iter().map(|group| (group.name.rsplit('-').next().unwrap(), group.enforcing)).collect();
    assert_eq!(enforcing, [("controlplane", control_plane), ("compute", compute)]);
    let infra_id = cluster.identity.infra_id.as_str();
    assert!(groups.iter().all(|group| group.name.starts_with(infra_id)));
}

/// The selector of the anti-affinity meets the labels that pods really get.
#[test]
fn kubevirt_selectors_match_pods() {
    let cluster = cluster(KUBEVIRT);
    let Platform::KubeVirt(platform) = &cluster.config.platform else { panic!("not KubeVirt") };
    let objects = infra_objects(&cluster, platform, "https://example.com/image.qcow2", b"{}", b"{}");
    assert_eq!(objects.machines.len(), 4, "bootstrap and three of the control plane");
    assert_eq!(objects.secrets.len(), 4);
    for machine in &objects.machines {
        let template = &machine.spec.template;
        let affinity = template.spec.affinity.as_ref().unwrap();
        let term = &affinity.pod_anti_affinity.preferred_during_scheduling_ignored_during_execution[0];
        let wanted = term.pod_affinity_term.label_selector.as_ref().unwrap().match_labels.as_ref().unwrap();
        assert!(!wanted.is_empty());
        for (label, value) in wanted {
            assert_eq!(template.metadata.labels.get(label), Some(value));
        }
    }
}

#[test]
fn machines_of_the_user_have_no_manifests() {
    let old_upi = r#"
apiVersion: v1
baseDomain: example.com
metadata: {name: upi}
compute: [{name: worker, replicas: 0}]
platform:
  vsphere:
    vCenter: vc.example.com
    username: me@vsphere.local
    password: pw
    datacenter: dc1
    defaultDatastore: fast
pullSecret: '{"auths":{"registry.example.com":{"auth":"dXNlcjpwYXNzd29yZA=="}}}'
"#;
    for config in [NONE, old_upi] {
        let tree = manifests(config);
        let machines: Vec<&str> = tree
            .iter()
            .map(|(path, _)| path)
            .filter(|path| {
                path.contains("machine-") || path.contains("machines") || path.starts_with("cluster-api/")
            })
            .filter(|path| !path.contains("machine-config") && !path.contains("machineconfig"))
            .collect();
        assert!(machines.is_empty(), "{machines:?}");
    }
}

/// Proxies seldom reach the servers a platform is driven by.
#[rstest]
#[case(EVERYTHING, &["vcenter-a.example.com", "vcenter-b.example.com", "intranet.example.com", "fd02::/112"])]
#[case(OVIRT, &["engine.example.com"])]
#[case(KUBEVIRT, &["infra.example.com"])]
fn no_proxy_covers_the_platform(#[case] config: &str, #[case] expected: &[&str]) {
    let proxy = "proxy: {httpProxy: 'http://proxy.example.com:3128'}\n";
    let config = if config.contains("\nproxy:") { config.to_owned() } else { format!("{config}{proxy}") };
    let proxy = value(&manifests(&config), "manifests/cluster-proxy-01-config.yaml");
    let entries: Vec<&str> = proxy["status"]["noProxy"].as_str().unwrap().split(',').collect();
    for wanted in expected.iter().chain(&["127.0.0.1", "localhost", ".svc", ".cluster.local"]) {
        assert!(entries.contains(wanted), "{wanted} is not in {entries:?}");
    }
    assert!(entries.is_sorted());
}

/// The cluster gets the proxy's login in the one object that needs it, which is private; its copy of the install-config
/// has none, nor the signature of the image's address.
#[test]
fn the_published_install_config_has_no_logins() {
    let proxy = "proxy: {httpProxy: 'http://pxuser:pr0xy@proxy:3128', httpsProxy: 'http://pxuser:pr0xy@proxy:3128'}\n";
    let image =
        "  vsphere:\n    clusterOSImage: 'https://osuser:0simg@h/x.ova?X-Amz-Signature=s1gned&sha256=SUM'\n";
    let image = image.replace("SUM", &"a".repeat(64));
    let config = format!("{}{proxy}", VSPHERE.replacen("\n  vsphere:\n", &format!("\n{image}"), 1));
    let tree = manifests(&config);
    let published = value(&tree, "manifests/cluster-config.yaml")["data"]["install-config"].to_string();
    for secret in ["pxuser", "pr0xy@", "osuser", "0simg", "s1gned"] {
        assert!(!published.contains(secret), "{secret}: {published}");
    }
    assert!(published.contains("httpProxy: http://proxy:3128"), "{published}");
    let checksum = format!("https://h/x.ova?sha256={}", "a".repeat(64));
    assert!(published.contains(&checksum), "{published}");
    let path = "manifests/cluster-proxy-01-config.yaml";
    let object = value(&tree, path);
    assert_eq!(object["spec"]["httpProxy"], "http://pxuser:pr0xy@proxy:3128");
    assert_eq!(tree.get(path).unwrap().access, Access::Owner);
}

/// A template's name that vSphere would refuse is made from the failure domain's instead.
#[test]
fn long_template_names_are_cut() {
    let long = "z".repeat(60);
    let config = VSPHERE.replace("zone: north", &format!("zone: {long}"));
    let machine = value(&manifests(&config), "openshift/99_openshift-cluster-api_master-machines-0.yaml");
    let template = machine["spec"]["providerSpec"]["value"]["template"].as_str().unwrap();
    assert!(template.ends_with("-rhcos-north"), "{template}");
}

/// The same mark in every run, another one for every machine.
#[test]
fn machines_are_marked() {
    let tree = manifests(VSPHERE);
    let mark = |index: usize| {
        let path = format!("openshift/99_openshift-cluster-api_master-machines-{index}.yaml");
        value(&tree, &path)["metadata"]["labels"]["slipway.dev/id"].clone()
    };
    assert_ne!(mark(0), mark(1));
    let cluster = cluster(VSPHERE);
    let name = format!("{}-master-0", cluster.identity.infra_id);
    assert_eq!(mark(0), json!(cluster.identity.object_id(&name).to_string()));
}

#[rstest]
#[case::disk_setup(
    "      memoryMB: 32768\n",
    "      dataDisks: [{name: etcd, sizeGiB: 10}]\n  diskSetup: [{type: etcd, etcd: {platformDiskID: etcd}}]\nfeatureSet: TechPreviewNoUpgrade\n",
    "diskSetup"
)]
#[case::ipv6_server("vcenter-north.example.com", "fd00::1", "DNS name")]
fn what_cannot_be_done_is_refused(#[case] from: &str, #[case] to: &str, #[case] says: &str) {
    let config = VSPHERE.replace(from, to);
    let error = slipway_assets::manifests(&cluster(&config)).unwrap_err().to_string();
    assert!(error.contains(says), "{error}");
}

/// The operator of the control plane puts a failure domain into the set's template and compares the result with
/// the machine; one that differs is replaced. This does the same by its rules.
#[rstest]
#[case(VSPHERE)]
#[case(fixtures::SEED)]
fn the_control_plane_set_describes_its_machines(#[case] config: &str) {
    let tree = manifests(config);
    let domains = &value(&tree, "manifests/cluster-infrastructure-02-config.yml")["spec"]["platformSpec"];
    let domains = domains["vsphere"]["failureDomains"].as_array().unwrap();
    let set = value(&tree, "openshift/99_openshift-machine-api_master-control-plane-machine-set.yaml");
    let template = &set["spec"]["template"]["machines_v1beta1_machine_openshift_io"];
    let names: Vec<&str> = template["failureDomains"]["vsphere"]
        .as_array()
        .unwrap()
        .iter()
        .map(|domain| domain["name"].as_str().unwrap())
        .collect();
    let infra_id = cluster(config).identity.infra_id.to_string();
    for index in 0..3 {
        let path = format!("openshift/99_openshift-cluster-api_master-machines-{index}.yaml");
        let machine = &value(&tree, &path)["spec"]["providerSpec"]["value"];
        let described = names.iter().any(|name| {
            let domain = domains.iter().find(|domain| domain["name"] == **name).unwrap();
            let mut spec = template["spec"]["providerSpec"]["value"].clone();
            inject(&mut spec, domain, &infra_id);
            spec == *machine
        });
        assert!(described, "no failure domain of {names:?} makes {machine:#}");
    }
}

fn inject(spec: &mut serde_json::Value, domain: &serde_json::Value, infra_id: &str) {
    let topology = &domain["topology"];
    for (index, network) in topology["networks"].as_array().unwrap().iter().enumerate() {
        let devices = spec["network"]["devices"].as_array_mut().unwrap();
        if devices.len() <= index {
            devices.push(json!({}));
        }
        devices[index]["networkName"] = network.clone();
    }
    let template = topology["template"].as_str().unwrap();
    spec["template"] = json!(template.rsplit('/').next().unwrap());
    let folder = format!("/{}/vm/{infra_id}", topology["datacenter"].as_str().unwrap());
    spec["workspace"] = json!({
        "server": domain["server"],
        "datacenter": topology["datacenter"],
        "datastore": topology["datastore"],
        "folder": topology.get("folder").cloned().unwrap_or_else(|| json!(folder)),
        "resourcePool": topology["resourcePool"],
    });
    if let Some(group) = domain.pointer("/zoneAffinity/hostGroup/vmGroup") {
        spec["workspace"]["vmGroup"] = group.clone();
    }
}

/// Static addresses are claimed for new machines as well; tags that differ cannot be described, and then there is
/// no set.
#[test]
fn static_control_planes_have_a_set_when_their_tags_agree() {
    let path = "openshift/99_openshift-machine-api_master-control-plane-machine-set.yaml";
    assert!(manifests(EVERYTHING).get(path).is_none(), "only one of its failure domains has a tag");
    let start = EVERYTHING.find("        tagIDs:").unwrap();
    let line = EVERYTHING[start..].lines().next().unwrap();
    let set = value(&manifests(&EVERYTHING.replace(&format!("{line}\n"), "")), path);
    let machines = &set["spec"]["template"]["machines_v1beta1_machine_openshift_io"];
    let devices = &machines["spec"]["providerSpec"]["value"]["network"]["devices"];
    assert_eq!(devices.as_array().unwrap().len(), 1);
    assert_eq!(devices[0]["addressesFromPools"].as_array().unwrap().len(), 2, "one per family");
    assert_eq!(devices[0]["nameservers"], json!(["10.30.0.2"]));
}

/// Two failure domains never share a template's name.
#[test]
fn template_names_do_not_meet() {
    let config =
        EVERYTHING.replace("region: cluster-a\n      zone: rack-2", "region: cluster\n      zone: a-rack-1");
    let tree = manifests(&config);
    for (index, expected) in ["-rhcos-rack-1", "-rhcos-rack-2"].into_iter().enumerate() {
        let path = format!("openshift/99_openshift-cluster-api_master-machines-{index}.yaml");
        let template = value(&tree, &path)["spec"]["providerSpec"]["value"]["template"].clone();
        assert!(template.as_str().unwrap().ends_with(expected), "{template}");
    }
}

/// Characters that vSphere stores differently never get into a name.
#[rstest]
#[case("zone: north\n", "zone: nor/th\n", "-rhcos-north")]
#[case("zone: north\n", "zone: 'n%'\n", "-rhcos-north")]
fn template_names_are_safe(#[case] from: &str, #[case] to: &str, #[case] expected: &str) {
    let machine = value(
        &manifests(&VSPHERE.replace(from, to)),
        "openshift/99_openshift-cluster-api_master-machines-0.yaml",
    );
    let template = machine["spec"]["providerSpec"]["value"]["template"].as_str().unwrap();
    assert!(template.ends_with(expected), "{template}");
}
