//! What a valid install-config becomes: defaults, old forms, merged machines, placement.

use secrecy::ExposeSecret;
use slipway_config::features::Gate;
use slipway_config::install_config::vsphere::{self, Password, PathLookup, Tls};
use slipway_config::install_config::{
    Curve, ImageRef, InstallConfig, LoadBalancer, Missing, Payload, Platform, SignerKey, Stack, kubevirt,
    load, load_with, ovirt,
};
use slipway_config::inventory::{Branch, InventoryPath};

use crate::judge::{KUBERNETES, KUBEVIRT, NONE, OLD_FORM, OVIRT, SEED, VSPHERE, edit};

fn config(text: &str) -> InstallConfig {
    let loaded = load(text);
    loaded.config.unwrap_or_else(|| panic!("{:#?}", loaded.report.findings))
}

fn on_vsphere(text: &str) -> (InstallConfig, vsphere::Platform) {
    let config = config(text);
    match &config.platform {
        Platform::VSphere(platform) => (config.clone(), platform.clone()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn defaults_are_openshifts() {
    let config = config(NONE);
    assert_eq!(config.cluster_domain(), "pontoon.example.com");
    assert_eq!(config.networking.machine[0].to_string(), "10.0.0.0/16");
    assert_eq!(config.networking.service[0].to_string(), "172.30.0.0/16");
    assert_eq!(config.networking.cluster[0].cidr.to_string(), "10.128.0.0/14");
    assert_eq!(config.networking.cluster[0].host_prefix, 23);
    assert_eq!(config.networking.network_type, "OVNKubernetes");
    assert_eq!(config.networking.stack, Stack::V4);
    assert_eq!((config.pools.control_plane.replicas, config.pools.compute.replicas), (3, 0));
    assert_eq!(config.signer_key(), SignerKey::Rsa(2048));
    assert!(matches!(config.payload, Payload::OpenShift { .. }));
    assert!(config.features.enabled(Gate::VSphereMultiVCenters));
    assert!(!config.features.enabled(Gate::VSphereMultiVCenterDay2));
}

/// kubeadm takes either kind; what is written counts.
#[test]
fn signers_of_the_kubernetes_payload_are_ecdsa() {
    assert_eq!(config(KUBERNETES).signer_key(), SignerKey::Ecdsa(Curve::P256));
    let rsa = "pki: {signerCertificates: {key: {algorithm: RSA, rsa: {keySize: 2048}}}}";
    let config = config(&format!("{KUBERNETES}{rsa}\n"));
    assert_eq!((config.signer_key, config.signer_key()), (Some(SignerKey::Rsa(2048)), SignerKey::Rsa(2048)));
}

#[test]
fn machines_merge_builtin_then_platform_then_pool() {
    let text = edit(
        VSPHERE,
        &[(
            "    apiVIPs:",
            "    defaultMachinePlatform: {cpus: 12, memoryMB: 24576, osDisk: {diskSizeGB: 200}, zones: [east], \
             dataDisks: [{name: d, sizeGiB: 9}]}\n    apiVIPs:",
        )],
    );
    let (_, platform) = on_vsphere(&text);
    let masters = &platform.machines.control_plane;
    assert_eq!((masters.cpus, masters.memory_mib, masters.os_disk_gib), (8, 32768, 200), "the pool wins");
    assert_eq!(masters.zones, [2], "from the defaults");
    assert_eq!(masters.data_disks.len(), 1);
    let workers = &platform.machines.compute;
    assert_eq!((workers.cpus, workers.cores_per_socket, workers.memory_mib), (12, 4, 24576));
    assert_eq!(workers.zones, [0, 1], "lists are replaced whole");
}

#[test]
fn zones_default_to_all_failure_domains() {
    let (config, platform) = on_vsphere(VSPHERE);
    assert_eq!(platform.machines.control_plane.zones, [0, 1, 2]);
    let placement = config.placement();
    assert_eq!(placement.control_plane, [0, 1, 2]);
    let sets: Vec<_> = placement.compute.iter().map(|set| (set.failure_domain, set.replicas)).collect();
    assert_eq!(sets, [(0, 3), (1, 2)]);
}

#[test]
fn the_seed_places_its_machines_as_it_shows() {
    let (config, platform) = on_vsphere(SEED);
    assert_eq!(config.placement().control_plane, [0, 1, 0]);
    assert_eq!(config.placement().bootstrap, 0);
    let servers: Vec<&str> = platform.vcenters.iter().map(|vcenter| vcenter.server.as_str()).collect();
    assert_eq!(servers, ["vcs8e-vc.ocp2.dev.cluster.com", "vcenter.ci.ibmc.devcluster.openshift.com"]);
    assert_eq!(platform.failure_domains[1].vcenter, 1);
    let Password::Inline(password) = &platform.vcenters[0].password else { panic!("not inline") };
    assert_eq!(password.expose_secret(), "password");
    assert!(!format!("{config:?}").contains("\"password\""), "secrets do not show in debug output");
}

#[test]
fn tls_and_passwords_keep_their_kind() {
    let (_, platform) = on_vsphere(VSPHERE);
    assert!(
        matches!(&platform.vcenters[0].password, Password::Env(name) if name.as_str() == "VCENTER_NORTH_PASSWORD")
    );
    assert!(
        matches!(&platform.vcenters[1].password, Password::File(path) if path == "/run/secrets/vcenter-south")
    );
    assert_eq!(platform.vcenters[0].tls, Tls::System);
    assert!(matches!(&platform.vcenters[1].tls, Tls::Thumbprint(bytes) if bytes.len() == 20));
}

#[test]
fn the_old_form_becomes_a_generated_failure_domain() {
    let (_, platform) = on_vsphere(OLD_FORM);
    let [vcenter] = platform.vcenters.as_slice() else { panic!("one vCenter") };
    assert_eq!((vcenter.server.as_str(), vcenter.port.get()), ("vc.example.com", 443));
    assert_eq!(vcenter.datacenters, ["dc1"]);
    let [domain] = platform.failure_domains.as_slice() else { panic!("one failure domain") };
    assert_eq!(domain.name.as_str(), "generated-failure-domain");
    assert_eq!((domain.region.as_str(), domain.zone.as_str()), ("generated-region", "generated-zone"));
    let topology = &domain.topology;
    let path = |path: &Option<InventoryPath>| path.as_ref().map(ToString::to_string);
    assert_eq!(path(&topology.compute_cluster).as_deref(), Some("/dc1/host/compute"));
    assert_eq!(path(&topology.resource_pool).as_deref(), Some("/dc1/host/compute/Resources/prod"));
    assert_eq!(topology.datastore.as_str(), "/dc1/datastore/fast");
    assert_eq!(path(&topology.folder).as_deref(), Some("/dc1/vm/clusters/old"));
    assert_eq!(topology.networks, ["net"]);
    assert_eq!(platform.vips.api.len(), 1);
}

/// Stands for a vCenter that knows where things are.
struct Folders;

impl PathLookup for Folders {
    fn path(
        &self,
        server: &str,
        datacenter: &str,
        branch: Branch,
        name: &str,
    ) -> Result<InventoryPath, String> {
        assert_eq!(server, "vc.example.com");
        match name {
            "compute" => Ok(InventoryPath::of(datacenter, branch, "europe/compute")),
            _ => Err(format!("two objects are named `{name}`: /dc1/a/{name} and /dc1/b/{name}")),
        }
    }
}

#[test]
fn a_live_look_up_can_take_the_place_of_the_rule() {
    let loaded = load_with(OLD_FORM, &Folders);
    let messages: Vec<&str> = loaded.report.findings.iter().map(|finding| finding.message.as_str()).collect();
    assert!(messages.contains(&"`compute` is read as `/dc1/host/europe/compute`"), "{messages:#?}");
    assert!(messages.iter().any(|message| message.starts_with("two objects are named")), "{messages:#?}");
    assert!(loaded.config.is_none());
}

#[test]
fn static_hosts_keep_their_addresses() {
    let text = edit(
        KUBERNETES,
        &[
            ("ipAddrs: [10.30.0.20/24]", "ipAddrs: [10.30.0.20/24, 'fd00:30::20/64']"),
            ("gateway: 10.30.0.1", "gateways: [10.30.0.1, 'fd00:30::1']"),
        ],
    );
    let (config, platform) = on_vsphere(&text);
    let bootstrap = &platform.hosts[0];
    assert_eq!(bootstrap.addresses.len(), 2);
    assert_eq!(bootstrap.gateways.len(), 2, "one per family");
    assert!(matches!(config.payload, Payload::Kubernetes { .. }));
    assert!(config.pull_secret.is_none());
}

#[test]
fn dual_stack_takes_the_first_family_of_the_networks() {
    let networks = "networking:\n  clusterNetwork: [{cidr: 'fd01::/48', hostPrefix: 64}, {cidr: 10.128.0.0/14, hostPrefix: 23}]\n  \
         serviceNetwork: ['fd02::/112', 172.30.0.0/16]\n  machineNetwork: [{cidr: 'fd00::/64'}, {cidr: 10.20.0.0/16}]\nplatform:\n";
    let text = edit(
        VSPHERE,
        &[
            ("networking:\n  machineNetwork:\n  - cidr: 10.20.0.0/16\nplatform:\n", networks),
            ("apiVIPs: [10.20.0.10]", "apiVIPs: ['fd00::10', 10.20.0.10]"),
            ("ingressVIPs: [10.20.0.11]", "ingressVIPs: ['fd00::11', 10.20.0.11]"),
        ],
    );
    let (config, platform) = on_vsphere(&text);
    assert_eq!(config.networking.stack, Stack::DualV6First);
    assert_eq!(platform.vips.api.len(), 2);
}

#[test]
fn ovirt_defaults() {
    let Platform::Ovirt(platform) = config(OVIRT).platform else { panic!("oVirt") };
    let groups: Vec<_> =
        platform.affinity_groups.iter().map(|group| (group.name.as_str(), group.priority)).collect();
    assert_eq!(groups, [("controlplane", 5), ("compute", 3)]);
    assert_eq!(platform.load_balancer, LoadBalancer::OpenShiftManagedDefault);
    let masters = &platform.machines.control_plane;
    assert_eq!(masters.size, ovirt::Size::Custom { sockets: 1, cores: 4, threads: 1, memory_mib: 16384 });
    assert_eq!(masters.vm_type, ovirt::VmType::HighPerformance);
    assert_eq!(masters.affinity_groups, ["controlplane"]);
    let workers = &platform.machines.compute;
    assert_eq!(workers.size, ovirt::Size::Custom { sockets: 2, cores: 4, threads: 1, memory_mib: 32768 });
    assert_eq!(workers.vm_type, ovirt::VmType::Server);

    let none = edit(OVIRT, &[("api_vips:", "affinityGroups: []\n    api_vips:")]);
    let Platform::Ovirt(platform) = config(&none).platform else { panic!("oVirt") };
    assert!(platform.affinity_groups.is_empty(), "an empty list means none");
    assert!(platform.machines.control_plane.affinity_groups.is_empty());
}

#[test]
fn kubevirt_defaults() {
    let Platform::KubeVirt(platform) = config(KUBEVIRT).platform else { panic!("KubeVirt") };
    assert!(matches!(platform.network, kubevirt::Network::Attachment { .. }));
    let masters = &platform.machines.control_plane;
    assert_eq!((masters.cpu, masters.memory.as_str(), masters.storage_size.as_str()), (4, "16Gi", "120Gi"));
    let workers = &platform.machines.compute;
    assert_eq!((workers.cpu, workers.memory.as_str(), workers.storage_size.as_str()), (8, "32Gi", "200Gi"));
}

#[test]
fn anchors_and_merge_keys_work() {
    let text = edit(
        VSPHERE,
        &[
            (
                "    - server: vcenter-north.example.com\n      user: slipway@vsphere.local",
                "    - &north\n      server: vcenter-north.example.com\n      user: slipway@vsphere.local",
            ),
            (
                "    - server: vcenter-east.example.com\n      user: slipway@vsphere.local\n      passwordEnv: VCENTER_EAST_PASSWORD\n",
                "    - <<: *north\n      server: vcenter-east.example.com\n",
            ),
        ],
    );
    let (_, platform) = on_vsphere(&text);
    assert!(
        matches!(&platform.vcenters[2].password, Password::Env(name) if name.as_str() == "VCENTER_NORTH_PASSWORD")
    );
    assert_eq!(platform.vcenters[2].datacenters, ["east"]);
}

#[test]
fn byte_order_marks_and_windows_line_ends_are_read() {
    let windows = format!("\u{feff}{}", NONE.replace('\n', "\r\n"));
    assert_eq!(config(&windows).cluster_domain(), "pontoon.example.com");
}

#[test]
fn what_machines_need_is_told_apart_from_mistakes() {
    let missing = |text: &str| config(text).missing_for_machines();
    let shown = |text: &str| missing(text).iter().map(ToString::to_string).collect::<Vec<_>>();
    let release = "  releaseImage: quay.io/openshift-release-dev/ocp-release:4.20.3-x86_64\n";
    assert_eq!(
        shown(&edit(VSPHERE, &[(release, "  type: OpenShift\n")])),
        ["`payload.releaseImage` is not given"]
    );
    // A release has an image of its own.
    let with_release = config(VSPHERE);
    let asked = with_release.release_with_os_image().map(ImageRef::as_str);
    assert_eq!(asked, Some("quay.io/openshift-release-dev/ocp-release:4.20.3-x86_64"));
    let image = format!("clusterOSImage: https://example.com/a.ova?sha256={}\n    apiVIPs:", "0".repeat(64));
    let with_image = config(&edit(VSPHERE, &[("apiVIPs:", &image)]));
    assert_eq!(with_image.release_with_os_image(), None);
    // Upstream Kubernetes has none. Only failure domains that get machines count.
    let template = "\n        template: /dc1/vm/templates/flatcar-1.34";
    let bare = missing(&edit(KUBERNETES, &[(template, "")]));
    assert!(matches!(bare.as_slice(), [Missing::OsImage { failure_domains }] if failure_domains.len() == 1));
    for complete in [KUBERNETES, VSPHERE, NONE] {
        assert!(missing(complete).is_empty());
    }
}
