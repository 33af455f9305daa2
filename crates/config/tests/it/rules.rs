//! Every rule, by an example that breaks it and nothing else.

use std::collections::BTreeSet;

use crate::judge::{KUBERNETES, KUBEVIRT, NONE, OVIRT, SEED, VSPHERE, edit, judge};
use slipway_config::findings::Rule;
use slipway_config::install_config::load;

/// An example, what is changed in it, and everything that must be found then.
struct Case(&'static str, &'static str, &'static [(&'static str, &'static str)], &'static [&'static str]);

const OLD_FORM: &str = r#"
apiVersion: v1
baseDomain: example.com
metadata: {name: old}
platform:
  vsphere:
    vCenter: vc.example.com
    username: me@vsphere.local
    password: pw
    datacenter: dc1
    cluster: compute
    defaultDatastore: fast
    network: net
    folder: clusters/old
    resourcePool: prod
    apiVIP: 10.0.0.5
    ingressVIP: 10.0.0.6
pullSecret: '{"auths":{"registry.example.com":{"auth":"dXNlcjpwYXNzd29yZA=="}}}'
"#;

const CASES: &[Case] = &[
    // The document
    Case("empty", "", &[], &["error document-empty "]),
    Case("only a comment", "# nothing\n", &[], &["error document-empty "]),
    Case("syntax", NONE, &[("metadata:", "metadata: {")], &["error yaml-syntax "]),
    Case("tabs", NONE, &[("  name: pontoon", "\tname: pontoon")], &["error yaml-syntax "]),
    Case("second document", NONE, &[("platform:", "---\nplatform:")], &["error yaml-documents "]),
    Case("tag", NONE, &[("none: {}", "none: !custom {}")], &["error yaml-unsupported "]),
    Case("alias in itself", NONE, &[("none: {}", "none: &a [*a]")], &["error yaml-unsupported "]),
    Case("merge of a word", NONE, &[("none: {}", "none: {<<: 3}")], &["error yaml-unsupported "]),
    Case("boolean", NONE, &[("baseDomain:", "fips: yes\nbaseDomain:")], &["error yaml-boolean fips"]),
    Case("boolean as a name", NONE, &[("name: pontoon", "name: on")], &["error yaml-boolean metadata.name"]),
    Case("duplicate", NONE, &[("baseDomain:", "baseDomain: a.b\nbaseDomain:")], &["error duplicate-key "]),
    Case(
        "duplicate in two spellings",
        NONE,
        &[("baseDomain:", "basedomain: a.b\nbaseDomain:")],
        &["note key-spelling basedomain", "error duplicate-key baseDomain"],
    ),
    Case(
        "unknown",
        NONE,
        &[("baseDomain:", "baseDomian: x\nbaseDomain:")],
        &["error unknown-field baseDomian"],
    ),
    Case(
        "another platform",
        NONE,
        &[("none: {}", "aws: {}")],
        &["error platform-count platform", "error unknown-field platform.aws"],
    ),
    Case("spelling", NONE, &[("none: {}", "None: {}")], &["note key-spelling platform.None"]),
    Case("list for a mapping", NONE, &[("name: pontoon", "- pontoon")], &["error wrong-kind metadata"]),
    Case(
        "mapping for a list",
        NONE,
        &[("- name: worker\n  replicas: 0", "  name: worker")],
        &["error wrong-kind compute"],
    ),
    Case(
        "mapping for a word",
        NONE,
        &[("name: pontoon", "name: {a: b}")],
        &["error wrong-kind metadata.name"],
    ),
    Case("missing", NONE, &[("baseDomain: example.com\n", "")], &["error required baseDomain"]),
    Case(
        "empty is missing",
        NONE,
        &[("baseDomain: example.com", "baseDomain: ''")],
        &["error required baseDomain"],
    ),
    Case("version", NONE, &[("apiVersion: v1", "apiVersion: v2")], &["error invalid-value apiVersion"]),
    Case(
        "old version",
        NONE,
        &[("apiVersion: v1", "apiVersion: v1beta4")],
        &["warning deprecated apiVersion"],
    ),
    Case(
        "quoted number",
        NONE,
        &[("replicas: 3", "replicas: '3'")],
        &["error invalid-value controlPlane.replicas"],
    ),
    Case("negative", NONE, &[("replicas: 3", "replicas: -3")], &["error out-of-range controlPlane.replicas"]),
    Case(
        "quoted boolean",
        NONE,
        &[("baseDomain:", "fips: 'true'\nbaseDomain:")],
        &["error invalid-value fips"],
    ),
    Case(
        "name too long",
        NONE,
        &[("name: pontoon", "name: a123456789b123456789c123456789d123456789e123456789f1234")],
        &["error too-long metadata.name"],
    ),
    // Names and values
    Case("upper case", NONE, &[("name: pontoon", "name: Pontoon")], &["error dns-name metadata.name"]),
    Case(
        "base domain",
        NONE,
        &[("baseDomain: example.com", "baseDomain: example..com")],
        &["error dns-name baseDomain"],
    ),
    Case("trailing dot", NONE, &[("baseDomain: example.com", "baseDomain: example.com.")], &[]),
    Case(
        "dot on vSphere",
        VSPHERE,
        &[("name: harbour", "name: har.bour")],
        &["error cluster-name-dot metadata.name"],
    ),
    Case("dot elsewhere", OVIRT, &[("name: barge", "name: bar.ge")], &[]),
    Case(
        "URL for a server",
        VSPHERE,
        &[("- server: vcenter-north.example.com", "- server: https://vcenter-north.example.com/sdk")],
        &["error server-name platform.vsphere.vcenters[0].server"],
    ),
    Case(
        "server with port",
        VSPHERE,
        &[("- server: vcenter-north.example.com", "- server: vcenter-north.example.com:443")],
        &["error server-name platform.vsphere.vcenters[0].server"],
    ),
    Case(
        "server in upper case",
        VSPHERE,
        &[("- server: vcenter-north.example.com", "- server: VCENTER-north.example.com")],
        &["error server-name platform.vsphere.vcenters[0].server"],
    ),
    Case(
        "port 0",
        VSPHERE,
        &[("passwordEnv: VCENTER_NORTH_PASSWORD", "passwordEnv: X\n      port: 0")],
        &["error port-range platform.vsphere.vcenters[0].port"],
    ),
    Case(
        "port 40000",
        VSPHERE,
        &[("passwordEnv: VCENTER_NORTH_PASSWORD", "passwordEnv: X\n      port: 40000")],
        &["error port-range platform.vsphere.vcenters[0].port"],
    ),
    Case(
        "not a UUID",
        OVIRT,
        &[("3b9f2c5e-0c1d-4f6a-9a57-2f1e6d8c4b10", "default")],
        &["error uuid platform.ovirt.ovirt_cluster_id"],
    ),
    Case(
        "tag by name",
        VSPHERE,
        &[("networks: [cluster-net]", "networks: [cluster-net]\n        tagIDs: [production]")],
        &["error tag-id platform.vsphere.failureDomains[0].topology.tagIDs[0]"],
    ),
    Case(
        "tag by id",
        VSPHERE,
        &[(
            "networks: [cluster-net]",
            "networks: [cluster-net]\n        tagIDs: ['urn:vmomi:InventoryServiceTag:3b9f2c5e-0c1d-4f6a-9a57-2f1e6d8c4b10:GLOBAL']",
        )],
        &[],
    ),
    Case(
        "no prefix length",
        OVIRT,
        &[("cidr: 192.168.40.0/24", "cidr: 192.168.40.0")],
        &["error cidr networking.machineNetwork[0].cidr"],
    ),
    Case(
        "host bits",
        OVIRT,
        &[("cidr: 192.168.40.0/24", "cidr: 192.168.40.5/24")],
        &["error cidr-host-bits networking.machineNetwork[0].cidr"],
    ),
    Case(
        "not an address",
        OVIRT,
        &[("api_vips: [192.168.40.10]", "api_vips: [192.168.40.300]")],
        &["error ip-address platform.ovirt.api_vips[0]"],
    ),
    Case(
        "quantity",
        KUBEVIRT,
        &[("memory: 32Gi", "memory: 32GB")],
        &["error quantity compute[0].platform.kubevirt.memory"],
    ),
    Case(
        "no quantity at all",
        KUBEVIRT,
        &[("memory: 32Gi", "memory: 0")],
        &["error quantity compute[0].platform.kubevirt.memory"],
    ),
    // Payload and features
    Case(
        "image with scheme",
        KUBERNETES,
        &[("version: v1.34.4", "version: v1.34.4\n  slipwayImage: https://example.com/a:b")],
        &["error image-reference payload.slipwayImage"],
    ),
    Case(
        "short digest",
        KUBERNETES,
        &[("version: v1.34.4", "version: v1.34.4\n  slipwayImage: example.com/a@sha256:12")],
        &["error image-reference payload.slipwayImage"],
    ),
    Case(
        "version without v",
        KUBERNETES,
        &[("v1.34.4", "1.34.4")],
        &["error kubernetes-version payload.version"],
    ),
    Case("no version", KUBERNETES, &[("  version: v1.34.4\n", "")], &["error required payload.version"]),
    Case(
        "release image for Kubernetes",
        KUBERNETES,
        &[("version: v1.34.4", "version: v1.34.4\n  releaseImage: example.com/a:b")],
        &["error payload-field payload.releaseImage"],
    ),
    Case(
        "version for OpenShift",
        NONE,
        &[("baseDomain:", "payload: {version: v1.34.4}\nbaseDomain:")],
        &["error payload-field payload.version"],
    ),
    Case(
        "no network plugin",
        KUBERNETES,
        &[("  networkManifests: ./cni\n", "")],
        &["warning network-manifests payload"],
    ),
    Case("OKD", NONE, &[("baseDomain:", "featureSet: OKD\nbaseDomain:")], &["error feature-set featureSet"]),
    Case(
        "tech preview",
        NONE,
        &[("baseDomain:", "featureSet: TechPreviewNoUpgrade\nbaseDomain:")],
        &["warning no-upgrade featureSet"],
    ),
    Case(
        "gates without the set",
        NONE,
        &[("baseDomain:", "featureGates: [A=true]\nbaseDomain:")],
        &["error feature-gates-forbidden featureGates"],
    ),
    Case(
        "gate without value",
        SEED,
        &[("- VSphereMultiVCenters=true", "- VSphereMultiVCenters")],
        &[
            "warning no-upgrade featureSet",
            "note feature-gate-retired featureGates[0]",
            "error feature-gate featureGates[1]",
        ],
    ),
    Case(
        "gate with two values",
        SEED,
        &[("- VSphereMultiVCenters=true", "- VSphereMultiVCenters=a=b")],
        &[
            "warning no-upgrade featureSet",
            "note feature-gate-retired featureGates[0]",
            "error feature-gate featureGates[1]",
        ],
    ),
    Case(
        "gate not boolean",
        SEED,
        &[("- VSphereMultiVCenters=true", "- VSphereMultiVCenters=perhaps")],
        &[
            "warning no-upgrade featureSet",
            "note feature-gate-retired featureGates[0]",
            "error feature-gate featureGates[1]",
        ],
    ),
    Case(
        "gate misspelt",
        SEED,
        &[("- VSphereMultiVCenters=true", "- VSphereMultiVCentres=true")],
        &[
            "warning no-upgrade featureSet",
            "note feature-gate-retired featureGates[0]",
            "warning feature-gate-unknown featureGates[1]",
        ],
    ),
    Case(
        "multi-vCenter off",
        SEED,
        &[("VSphereMultiVCenters=true", "VSphereMultiVCenters=false")],
        &[
            "warning no-upgrade featureSet",
            "note feature-gate-retired featureGates[0]",
            "error feature-gate-off platform.vsphere.vcenters[1]",
        ],
    ),
    Case(
        "load balancer on oVirt",
        OVIRT,
        &[("api_vips:", "loadBalancer: {type: UserManaged}\n    api_vips:")],
        &["error feature-gate-off platform.ovirt.loadBalancer"],
    ),
    // Networks
    Case(
        "SDN",
        OVIRT,
        &[("machineNetwork:", "networkType: OpenShiftSDN\n  machineNetwork:")],
        &["error network-type-unsupported networking.networkType"],
    ),
    Case("other plugin", OVIRT, &[("machineNetwork:", "networkType: Calico\n  machineNetwork:")], &[]),
    Case(
        "overlap",
        OVIRT,
        &[("machineNetwork:", "serviceNetwork: [192.168.0.0/16]\n  machineNetwork:")],
        &["error networks-overlap networking.machineNetwork[0].cidr"],
    ),
    Case(
        "overlap with a default",
        OVIRT,
        &[("- cidr: 192.168.40.0/24", "- cidr: 192.168.40.0/24\n  - cidr: 172.30.5.0/24")],
        &["error networks-overlap networking.machineNetwork[1].cidr"],
    ),
    Case(
        "OVN's own",
        OVIRT,
        &[("machineNetwork:", "serviceNetwork: [100.64.0.0/16]\n  machineNetwork:")],
        &["error network-reserved networking.serviceNetwork[0]"],
    ),
    Case(
        "OVN's own, moved away",
        OVIRT,
        &[(
            "machineNetwork:",
            "serviceNetwork: [100.64.0.0/16]\n  ovnKubernetesConfig: {ipv4: {internalJoinSubnet: 100.99.0.0/16}}\n  machineNetwork:",
        )],
        &[],
    ),
    Case(
        "bridge",
        OVIRT,
        &[("machineNetwork:", "serviceNetwork: [172.17.0.0/16]\n  machineNetwork:")],
        &["warning network-bridge networking.serviceNetwork[0]"],
    ),
    Case(
        "host prefix too small",
        OVIRT,
        &[("machineNetwork:", "clusterNetwork: [{cidr: 10.128.0.0/14, hostPrefix: 12}]\n  machineNetwork:")],
        &["error host-prefix networking.clusterNetwork[0].hostPrefix"],
    ),
    Case(
        "host prefixes differ",
        OVIRT,
        &[(
            "machineNetwork:",
            "clusterNetwork: [{cidr: 10.128.0.0/14, hostPrefix: 23}, {cidr: 10.64.0.0/14, hostPrefix: 24}]\n  machineNetwork:",
        )],
        &["error host-prefix networking.clusterNetwork[1].cidr"],
    ),
    Case(
        "two service networks",
        OVIRT,
        &[("machineNetwork:", "serviceNetwork: [172.30.0.0/16, 172.31.0.0/16]\n  machineNetwork:")],
        &["error service-networks networking.serviceNetwork[1]"],
    ),
    Case(
        "large service network",
        OVIRT,
        &[("machineNetwork:", "serviceNetwork: [11.0.0.0/8]\n  machineNetwork:")],
        &["error service-network-size networking.serviceNetwork[0]"],
    ),
    Case(
        "half dual stack",
        OVIRT,
        &[("machineNetwork:", "serviceNetwork: [172.30.0.0/16, 'fd00::/112']\n  machineNetwork:")],
        &["error dual-stack networking", "error dual-stack networking.machineNetwork[0].cidr"],
    ),
    Case(
        "old network fields",
        OVIRT,
        &[(
            "machineNetwork:\n  - cidr: 192.168.40.0/24",
            "machineCIDR: 192.168.40.0/24\n  serviceCIDR: 172.29.0.0/16\n  clusterNetworks: [{cidr: 10.128.0.0/14, hostSubnetLength: 9}]\n  type: ovnkubernetes",
        )],
        &[
            "warning deprecated networking.machineCIDR",
            "warning deprecated networking.serviceCIDR",
            "warning deprecated networking.clusterNetworks",
            "warning deprecated networking.clusterNetworks[0].hostSubnetLength",
            "warning deprecated networking.type",
        ],
    ),
    Case(
        "old field disagrees",
        OVIRT,
        &[("machineNetwork:", "machineCIDR: 10.9.0.0/16\n  machineNetwork:")],
        &["error deprecated-conflict networking.machineCIDR", "warning deprecated networking.machineCIDR"],
    ),
    // Pools
    Case(
        "two platforms",
        NONE,
        &[("none: {}", "none: {}\n  kubevirt: {namespace: a}")],
        &["error platform-count platform.none"],
    ),
    Case(
        "control plane's name",
        VSPHERE,
        &[("name: master", "name: control")],
        &["error pool-name controlPlane.name"],
    ),
    Case("compute's name", VSPHERE, &[("name: worker", "name: infra")], &["error pool-name compute[0].name"]),
    Case(
        "two compute pools",
        NONE,
        &[("  replicas: 0", "  replicas: 0\n- name: worker")],
        &["error pool-duplicate compute[1]"],
    ),
    Case(
        "machines of another platform",
        OVIRT,
        &[(
            "    ovirt:\n      memoryMB: 32768",
            "    vsphere:\n      memoryMB: 32768\n    ovirt:\n      memoryMB: 32768",
        )],
        &["error pool-platform compute[0].platform.vsphere"],
    ),
    Case(
        "two architectures",
        NONE,
        &[("- name: worker", "- name: worker\n  architecture: arm64")],
        &["error architecture compute[0].architecture"],
    ),
    Case(
        "no control plane",
        NONE,
        &[("replicas: 3", "replicas: 0")],
        &["error control-plane-replicas controlPlane.replicas"],
    ),
    Case(
        "even control plane",
        NONE,
        &[("replicas: 3", "replicas: 4")],
        &["warning control-plane-replicas controlPlane.replicas"],
    ),
    Case(
        "etcd disk on compute",
        VSPHERE,
        &[
            ("- name: worker", "- name: worker\n  diskSetup: [{type: etcd, etcd: {platformDiskID: d1}}]"),
            ("zones: [north, south]", "zones: [north, south]\n      dataDisks: [{name: d1, sizeGiB: 5}]"),
        ],
        &["error disk-setup compute[0].diskSetup[0]"],
    ),
    Case(
        "two swap disks",
        VSPHERE,
        &[
            (
                "- name: worker",
                "- name: worker\n  diskSetup: [{type: swap, swap: {platformDiskID: d1}}, {type: swap, swap: {platformDiskID: d1}}]",
            ),
            ("zones: [north, south]", "zones: [north, south]\n      dataDisks: [{name: d1, sizeGiB: 5}]"),
        ],
        &["error disk-setup compute[0].diskSetup[1]"],
    ),
    Case(
        "unknown disk",
        VSPHERE,
        &[("- name: worker", "- name: worker\n  diskSetup: [{type: swap, swap: {platformDiskID: d1}}]")],
        &["error disk-setup compute[0].diskSetup[0].swap.platformDiskID"],
    ),
    Case(
        "disk id too long",
        VSPHERE,
        &[(
            "- name: worker",
            "- name: worker\n  diskSetup: [{type: swap, swap: {platformDiskID: d123456789012}}]",
        )],
        &["error too-long compute[0].diskSetup[0].swap.platformDiskID"],
    ),
    Case(
        "single node",
        NONE,
        &[
            ("replicas: 3", "replicas: 1"),
            ("baseDomain:", "bootstrapInPlace: {installationDisk: /dev/sda}\nbaseDomain:"),
        ],
        &[],
    ),
    Case(
        "single node on vSphere",
        KUBERNETES,
        &[("baseDomain:", "bootstrapInPlace: {installationDisk: /dev/sda}\nbaseDomain:")],
        &["error bootstrap-in-place bootstrapInPlace"],
    ),
    // Virtual addresses
    Case(
        "two of one family",
        VSPHERE,
        &[("apiVIPs: [10.20.0.10]", "apiVIPs: [10.20.0.10, 10.20.0.12]")],
        &["error vip-count platform.vsphere.apiVIPs[1]"],
    ),
    Case(
        "three addresses",
        VSPHERE,
        &[("apiVIPs: [10.20.0.10]", "apiVIPs: [10.20.0.10, 'fd00::1', 10.20.0.12]")],
        &["error too-many platform.vsphere.apiVIPs[2]"],
    ),
    Case(
        "wrong family",
        VSPHERE,
        &[("apiVIPs: [10.20.0.10]", "apiVIPs: ['fd00::1']")],
        &["error vip-family platform.vsphere.apiVIPs[0]"],
    ),
    Case(
        "equal",
        VSPHERE,
        &[("ingressVIPs: [10.20.0.11]", "ingressVIPs: [10.20.0.10]")],
        &["error vips-equal platform.vsphere.ingressVIPs[0]"],
    ),
    Case(
        "equal behind a load balancer",
        VSPHERE,
        &[("ingressVIPs: [10.20.0.11]", "ingressVIPs: [10.20.0.10]\n    loadBalancer: {type: UserManaged}")],
        &[],
    ),
    Case(
        "outside on vSphere",
        VSPHERE,
        &[("ingressVIPs: [10.20.0.11]", "ingressVIPs: [10.21.0.11]")],
        &["warning vip-outside platform.vsphere.ingressVIPs[0]"],
    ),
    Case(
        "outside on oVirt",
        OVIRT,
        &[("ingress_vips: [192.168.40.11]", "ingress_vips: [192.168.41.11]")],
        &["error vip-outside platform.ovirt.ingress_vips[0]"],
    ),
    Case(
        "only one",
        VSPHERE,
        &[("    ingressVIPs: [10.20.0.11]\n", "")],
        &["error required platform.vsphere.ingressVIPs"],
    ),
    Case(
        "none on oVirt",
        OVIRT,
        &[("    api_vips: [192.168.40.10]\n    ingress_vips: [192.168.40.11]\n", "")],
        &["error required platform.ovirt.api_vips", "error required platform.ovirt.ingress_vips"],
    ),
    Case(
        "UPI",
        VSPHERE,
        &[("    apiVIPs: [10.20.0.10]\n    ingressVIPs: [10.20.0.11]\n", ""), ("replicas: 5", "replicas: 0")],
        &[],
    ),
    // vCenters
    Case(
        "four vCenters",
        VSPHERE,
        &[(
            "    failureDomains:",
            "    - server: vc4.example.com\n      user: a@b\n      passwordEnv: X\n      datacenters: [dc]\n    failureDomains:",
        )],
        &[
            "error too-many platform.vsphere.vcenters[3]",
            "warning vcenter-unused platform.vsphere.vcenters[3].server",
        ],
    ),
    Case(
        "vCenter twice",
        VSPHERE,
        &[
            ("- server: vcenter-east.example.com", "- server: vcenter-north.example.com"),
            ("server: vcenter-east.example.com", "server: vcenter-north.example.com"),
            ("datacenters: [north]", "datacenters: [north, east]"),
        ],
        &["error vcenter-duplicate platform.vsphere.vcenters[2].server"],
    ),
    Case(
        "vCenter twice, in upper case",
        VSPHERE,
        &[("- server: vcenter-east.example.com", "- server: VCENTER-NORTH.example.com")],
        &[
            "error server-name platform.vsphere.vcenters[2].server",
            "error vcenter-duplicate platform.vsphere.vcenters[2].server",
        ],
    ),
    Case(
        "no vCenters",
        NONE,
        &[(
            "none: {}",
            "vsphere: {vcenters: [], failureDomains: [{name: a, region: b, zone: c, server: d, topology: {datacenter: e, computeCluster: /e/host/f, datastore: /e/datastore/g, networks: [h]}}]}",
        )],
        &["error required platform.vsphere.vcenters"],
    ),
    Case(
        "no datacenters",
        VSPHERE,
        &[("      datacenters: [north]\n", "")],
        &["error required platform.vsphere.vcenters[0].datacenters"],
    ),
    Case(
        "no password",
        VSPHERE,
        &[("      passwordEnv: VCENTER_NORTH_PASSWORD\n", "")],
        &["error required platform.vsphere.vcenters[0].password"],
    ),
    Case(
        "user without domain",
        VSPHERE,
        &[("user: slipway@vsphere.local", "user: slipway")],
        &["warning user-domain platform.vsphere.vcenters[0].user"],
    ),
    Case("user of a Windows domain", VSPHERE, &[("user: slipway@vsphere.local", "user: CORP\\slipway")], &[]),
    Case(
        "password ends in a line break",
        VSPHERE,
        &[("passwordEnv: VCENTER_NORTH_PASSWORD", "password: |\n        secret")],
        &["error credential-whitespace platform.vsphere.vcenters[0].password"],
    ),
    Case(
        "two passwords",
        VSPHERE,
        &[("passwordEnv: VCENTER_NORTH_PASSWORD", "passwordEnv: A\n      password: b")],
        &["error password-source platform.vsphere.vcenters[0].passwordEnv"],
    ),
    Case(
        "two ways to verify",
        VSPHERE,
        &[("thumbprint:", "insecure: true\n        thumbprint:")],
        &["error tls-choice platform.vsphere.vcenters[1].tls.insecure"],
    ),
    Case(
        "not verified",
        VSPHERE,
        &[("thumbprint: 5F:3A:6B:1C:0D:9E:8F:7A:6B:5C:4D:3E:2F:1A:0B:9C:8D:7E:6F:5A", "insecure: true")],
        &["warning tls-insecure platform.vsphere.vcenters[1].tls.insecure"],
    ),
    Case(
        "thumbprint",
        VSPHERE,
        &[("thumbprint: 5F:", "thumbprint: 5X:")],
        &["error thumbprint platform.vsphere.vcenters[1].tls.thumbprint"],
    ),
    Case(
        "CA bundle",
        VSPHERE,
        &[("thumbprint: 5F:3A:6B:1C:0D:9E:8F:7A:6B:5C:4D:3E:2F:1A:0B:9C:8D:7E:6F:5A", "caBundle: nonsense")],
        &["error certificates platform.vsphere.vcenters[1].tls.caBundle"],
    ),
    // Old form
    Case(
        "old form",
        OLD_FORM,
        &[],
        &[
            "warning deprecated platform.vsphere.vCenter",
            "warning deprecated platform.vsphere.username",
            "warning deprecated platform.vsphere.password",
            "warning deprecated platform.vsphere.datacenter",
            "warning deprecated platform.vsphere.cluster",
            "note name-becomes-path platform.vsphere.cluster",
            "warning deprecated platform.vsphere.defaultDatastore",
            "note name-becomes-path platform.vsphere.defaultDatastore",
            "warning deprecated platform.vsphere.network",
            "warning deprecated platform.vsphere.folder",
            "note name-becomes-path platform.vsphere.folder",
            "warning deprecated platform.vsphere.resourcePool",
            "note name-becomes-path platform.vsphere.resourcePool",
            "warning deprecated platform.vsphere.apiVIP",
            "warning deprecated platform.vsphere.ingressVIP",
        ],
    ),
    Case(
        "old form for UPI",
        OLD_FORM,
        &[
            ("    cluster: compute\n", ""),
            ("    network: net\n", ""),
            ("    folder: clusters/old\n", ""),
            ("    resourcePool: prod\n", ""),
            ("    defaultDatastore: fast", "    defaultDatastore: /dc1/datastore/fast"),
        ],
        &[
            "warning deprecated platform.vsphere.vCenter",
            "warning deprecated platform.vsphere.username",
            "warning deprecated platform.vsphere.password",
            "warning deprecated platform.vsphere.datacenter",
            "warning old-upi platform.vsphere.datacenter",
            "warning old-upi platform.vsphere.datacenter",
            "warning deprecated platform.vsphere.defaultDatastore",
            "warning deprecated platform.vsphere.apiVIP",
            "warning deprecated platform.vsphere.ingressVIP",
        ],
    ),
    Case(
        "old beside new",
        VSPHERE,
        &[("    vcenters:", "    vCenter: old.example.com\n    cluster: c\n    vcenters:")],
        &[
            "warning deprecated platform.vsphere.vCenter",
            "warning legacy-ignored platform.vsphere.vCenter",
            "warning deprecated platform.vsphere.cluster",
            "warning legacy-ignored platform.vsphere.cluster",
        ],
    ),
    Case(
        "old VIP disagrees",
        VSPHERE,
        &[("    vcenters:", "    apiVIP: 10.20.0.99\n    vcenters:")],
        &["error deprecated-conflict platform.vsphere.apiVIP", "warning deprecated platform.vsphere.apiVIP"],
    ),
    // Failure domains
    Case(
        "no failure domains",
        NONE,
        &[(
            "none: {}",
            "vsphere: {vcenters: [{server: a, user: a@b, password: c, datacenters: [d]}], failureDomains: []}",
        )],
        &["error required platform.vsphere.failureDomains"],
    ),
    Case(
        "unused vCenter",
        VSPHERE,
        &[(
            "server: vcenter-east.example.com\n      topology:\n        datacenter: east\n        computeCluster: /east/host/compute\n        datastore: /east/datastore/vsan",
            "server: vcenter-north.example.com\n      topology:\n        datacenter: north\n        computeCluster: /north/host/compute\n        datastore: /north/datastore/vsan",
        )],
        &["warning vcenter-unused platform.vsphere.vcenters[2].server"],
    ),
    Case(
        "name twice",
        VSPHERE,
        &[("- name: east", "- name: north")],
        &["error failure-domain-duplicate platform.vsphere.failureDomains[2].name"],
    ),
    Case(
        "name starts with a digit",
        VSPHERE,
        &[("- name: east", "- name: 1east")],
        &["error invalid-value platform.vsphere.failureDomains[2].name"],
    ),
    Case(
        "unknown server",
        VSPHERE,
        &[(
            "zone: north\n      server: vcenter-north.example.com",
            "zone: north\n      server: vcenter-west.example.org",
        )],
        &[
            "warning vcenter-unused platform.vsphere.vcenters[0].server",
            "error failure-domain-server platform.vsphere.failureDomains[0].server",
        ],
    ),
    Case(
        "no server",
        VSPHERE,
        &[("zone: north\n      server: vcenter-north.example.com", "zone: north")],
        &[
            "warning vcenter-unused platform.vsphere.vcenters[0].server",
            "error required platform.vsphere.failureDomains[0].server",
        ],
    ),
    Case(
        "unlisted datacenter",
        VSPHERE,
        &[("datacenters: [north]", "datacenters: [north2]")],
        &["error failure-domain-datacenter platform.vsphere.failureDomains[0].topology.datacenter"],
    ),
    Case(
        "unknown zone in a pool",
        VSPHERE,
        &[("zones: [north, south]", "zones: [north, souht]")],
        &["error unknown-failure-domain compute[0].platform.vsphere.zones[1]"],
    ),
    Case(
        "zone twice in a pool",
        VSPHERE,
        &[("zones: [north, south]", "zones: [north, north]")],
        &["error zone-listed compute[0].platform.vsphere.zones[1]"],
    ),
    Case(
        "region and zone twice",
        VSPHERE,
        &[("zone: east", "zone: north")],
        &["error zone-duplicate platform.vsphere.failureDomains[2].zone"],
    ),
    Case(
        "only one type",
        VSPHERE,
        &[("zone: east", "zone: east\n      zoneType: HostGroup")],
        &["error zone-type platform.vsphere.failureDomains[2].zoneType"],
    ),
    Case(
        "region as host group",
        VSPHERE,
        &[("zone: east", "zone: east\n      zoneType: HostGroup\n      regionType: HostGroup")],
        &["error zone-type platform.vsphere.failureDomains[2].regionType"],
    ),
    Case(
        "cluster region, cluster zone",
        VSPHERE,
        &[("zone: east", "zone: east\n      zoneType: ComputeCluster\n      regionType: ComputeCluster")],
        &["error zone-type platform.vsphere.failureDomains[2].zoneType"],
    ),
    Case(
        "host group without group",
        VSPHERE,
        &[("zone: east", "zone: east\n      zoneType: HostGroup\n      regionType: ComputeCluster")],
        &["error required platform.vsphere.failureDomains[2].topology.hostGroup"],
    ),
    Case(
        "host group",
        VSPHERE,
        &[
            ("zone: east", "zone: east\n      zoneType: HostGroup\n      regionType: ComputeCluster"),
            ("datacenter: east", "datacenter: east\n        hostGroup: rack1"),
        ],
        &[],
    ),
    Case(
        "group without host group zone",
        VSPHERE,
        &[("datacenter: east", "datacenter: east\n        hostGroup: rack1")],
        &["warning zone-type platform.vsphere.failureDomains[2].topology.hostGroup"],
    ),
    Case(
        "path into the wrong branch",
        VSPHERE,
        &[("/north/host/compute", "/north/vm/compute")],
        &["error inventory-path platform.vsphere.failureDomains[0].topology.computeCluster"],
    ),
    Case(
        "datacenter that is only a prefix",
        VSPHERE,
        &[("/north/host/compute", "/north2/host/compute")],
        &["error path-datacenter platform.vsphere.failureDomains[0].topology.computeCluster"],
    ),
    Case(
        "datacenter elsewhere in the path",
        VSPHERE,
        &[("/north/datastore/vsan", "/south/datastore/north")],
        &["error path-datacenter platform.vsphere.failureDomains[0].topology.datastore"],
    ),
    Case(
        "two bad paths",
        VSPHERE,
        &[("/north/datastore/vsan", "/south/datastore/north"), ("/north/host/compute", "/x")],
        &[
            "error inventory-path platform.vsphere.failureDomains[0].topology.computeCluster",
            "error path-datacenter platform.vsphere.failureDomains[0].topology.datastore",
        ],
    ),
    Case(
        "names for paths",
        VSPHERE,
        &[("/north/host/compute", "compute")],
        &["note name-becomes-path platform.vsphere.failureDomains[0].topology.computeCluster"],
    ),
    Case(
        "pool of another cluster",
        VSPHERE,
        &[(
            "networks: [cluster-net]",
            "networks: [cluster-net]\n        resourcePool: /north/host/other/Resources/p",
        )],
        &["error pool-cluster platform.vsphere.failureDomains[0].topology.resourcePool"],
    ),
    Case(
        "folder of another datacenter",
        VSPHERE,
        &[("networks: [cluster-net]", "networks: [cluster-net]\n        folder: /south/vm/clusters")],
        &["error path-datacenter platform.vsphere.failureDomains[0].topology.folder"],
    ),
    Case(
        "no networks",
        VSPHERE,
        &[("        networks: [cluster-net]\n", "")],
        &["error required platform.vsphere.failureDomains[0].topology.networks"],
    ),
    Case(
        "eleven networks",
        VSPHERE,
        &[("networks: [cluster-net]", "networks: [a, b, c, d, e, f, g, h, i, j, k]")],
        &["error too-many platform.vsphere.failureDomains[0].topology.networks[10]"],
    ),
    Case(
        "template and image",
        KUBERNETES,
        &[("apiVIPs:", "clusterOSImage: https://example.com/rhcos.ova\n    apiVIPs:")],
        &["error template-or-image platform.vsphere.failureDomains[0].topology.template"],
    ),
    Case(
        "long region and zone",
        VSPHERE,
        &[("region: europe", "region: europe-and-a-very-long-name-of-a-region-that-goes-on-and-on-for-ever")],
        &["note template-name platform.vsphere.failureDomains[0].name"],
    ),
    Case(
        "long failure domain",
        VSPHERE,
        &[
            ("- name: east", "- name: a-long-name-of-a-failure-domain-long-name-of-a-failure-domain"),
            (
                "region: europe\n      zone: east",
                "region: europe-and-a-very-long-name-of-a-region-that-goes-on-and-on\n      zone: east",
            ),
        ],
        &["error template-name platform.vsphere.failureDomains[2].name"],
    ),
    Case(
        "image",
        VSPHERE,
        &[("apiVIPs:", "clusterOSImage: ftp://example.com/rhcos.ova\n    apiVIPs:")],
        &["error os-image platform.vsphere.clusterOSImage"],
    ),
    Case(
        "checksum",
        VSPHERE,
        &[("apiVIPs:", "clusterOSImage: https://example.com/rhcos.ova?sha256=abc\n    apiVIPs:")],
        &["error os-image platform.vsphere.clusterOSImage"],
    ),
    Case(
        "node network",
        VSPHERE,
        &[("apiVIPs:", "nodeNetworking: {internal: {network: other}}\n    apiVIPs:")],
        &["error node-network platform.vsphere.nodeNetworking.internal.network"],
    ),
    Case(
        "external DNS",
        VSPHERE,
        &[("apiVIPs:", "dnsRecordsType: External\n    apiVIPs:")],
        &[
            "error feature-gate-off platform.vsphere.dnsRecordsType",
            "error dns-records platform.vsphere.dnsRecordsType",
        ],
    ),
    Case(
        "disk type",
        VSPHERE,
        &[("apiVIPs:", "diskType: thinn\n    apiVIPs:")],
        &["error invalid-value platform.vsphere.diskType"],
    ),
    // Static hosts and machines
    Case(
        "host missing",
        KUBERNETES,
        &[("replicas: 1\nnetworking", "replicas: 2\nnetworking")],
        &["error host-count platform.vsphere.hosts"],
    ),
    Case(
        "no bootstrap host",
        KUBERNETES,
        &[("role: bootstrap", "role: compute")],
        &["error host-count platform.vsphere.hosts", "error host-count platform.vsphere.hosts"],
    ),
    Case(
        "host in an unknown domain",
        KUBERNETES,
        &[("role: bootstrap", "role: bootstrap\n      failureDomain: other")],
        &["error unknown-failure-domain platform.vsphere.hosts[0].failureDomain"],
    ),
    Case(
        "address twice",
        KUBERNETES,
        &[("10.30.0.31/24", "10.30.0.21/24")],
        &["error address-duplicate platform.vsphere.hosts[2].networkDevice.ipAddrs[0]"],
    ),
    Case(
        "address is virtual",
        KUBERNETES,
        &[("10.30.0.31/24", "10.30.0.5/24")],
        &["error address-duplicate platform.vsphere.hosts[2].networkDevice.ipAddrs[0]"],
    ),
    Case(
        "four name servers",
        KUBERNETES,
        &[("nameservers: [10.30.0.2]", "nameservers: [10.30.0.2, 10.30.0.3, 10.30.0.4, 10.30.0.7]")],
        &["error too-many platform.vsphere.hosts[0].networkDevice.nameservers[3]"],
    ),
    Case(
        "unreachable gateway",
        KUBERNETES,
        &[("gateway: 10.30.0.1", "gateway: 10.31.0.1")],
        &["warning gateway platform.vsphere.hosts[0].networkDevice.gateway"],
    ),
    Case(
        "two gateways",
        KUBERNETES,
        &[("gateway: 10.30.0.1", "gateways: [10.30.0.1, 10.30.0.254]")],
        &["error gateway platform.vsphere.hosts[0].networkDevice.gateways[1]"],
    ),
    Case(
        "sockets",
        VSPHERE,
        &[("cpus: 8", "cpus: 6")],
        &["error cores-per-socket controlPlane.platform.vsphere.cpus"],
    ),
    Case("sockets that fit", VSPHERE, &[("cpus: 8", "cpus: 6\n      coresPerSocket: 3")], &[]),
    Case(
        "sockets in the defaults",
        VSPHERE,
        &[("apiVIPs:", "defaultMachinePlatform: {coresPerSocket: 3}\n    apiVIPs:")],
        &["error cores-per-socket platform.vsphere.defaultMachinePlatform.coresPerSocket"],
    ),
    Case(
        "data disk name",
        VSPHERE,
        &[("cpus: 8", "cpus: 8\n      dataDisks: [{name: -d, sizeGiB: 5}]")],
        &["error data-disk controlPlane.platform.vsphere.dataDisks[0].name"],
    ),
    Case(
        "data disk size",
        VSPHERE,
        &[("cpus: 8", "cpus: 8\n      dataDisks: [{name: d, sizeGiB: 20000}]")],
        &["error data-disk controlPlane.platform.vsphere.dataDisks[0].sizeGiB"],
    ),
    Case(
        "data disk twice",
        VSPHERE,
        &[("cpus: 8", "cpus: 8\n      dataDisks: [{name: d, sizeGiB: 5}, {name: d, sizeGiB: 6}]")],
        &["error data-disk controlPlane.platform.vsphere.dataDisks[1].name"],
    ),
    // oVirt and KubeVirt
    Case(
        "instance type and cpu",
        OVIRT,
        &[("memoryMB: 32768", "instanceTypeID: 3b9f2c5e-0c1d-4f6a-9a57-2f1e6d8c4b10")],
        &["error instance-type compute[0].platform.ovirt.cpu"],
    ),
    Case(
        "no cores",
        OVIRT,
        &[("cores: 4", "cores: 0")],
        &["error out-of-range compute[0].platform.ovirt.cpu.cores"],
    ),
    Case(
        "huge pages",
        OVIRT,
        &[("memoryMB: 32768", "memoryMB: 32768\n      hugepages: 4096")],
        &["error out-of-range compute[0].platform.ovirt.hugepages"],
    ),
    Case(
        "affinity group twice",
        OVIRT,
        &[("api_vips:", "affinityGroups: [{name: a, priority: 1}, {name: a, priority: 2}]\n    api_vips:")],
        &["error affinity-group platform.ovirt.affinityGroups[1]"],
    ),
    Case(
        "affinity priority",
        OVIRT,
        &[("api_vips:", "affinityGroups: [{name: a, priority: 6}]\n    api_vips:")],
        &["error out-of-range platform.ovirt.affinityGroups[0].priority"],
    ),
    Case(
        "pod network with VIP",
        KUBEVIRT,
        &[("    networkName: tenant-net\n", "")],
        &["error pod-network platform.kubevirt.apiVIP", "error pod-network platform.kubevirt.ingressVIP"],
    ),
    Case(
        "pod network",
        KUBEVIRT,
        &[("    networkName: tenant-net\n    apiVIP: 192.168.50.10\n    ingressVIP: 192.168.50.11\n", "")],
        &[],
    ),
    Case(
        "read-only disk",
        KUBEVIRT,
        &[("storageClass: fast", "persistentVolumeAccessMode: ReadOnlyMany")],
        &["error access-mode platform.kubevirt.persistentVolumeAccessMode"],
    ),
    // The rest
    Case("pull secret", NONE, &[("pullSecret: '{", "pullSecret: '")], &["error pull-secret pullSecret"]),
    Case(
        "no pull secret",
        NONE,
        &[("pullSecret: '{\"auths\":{\"registry.example.com\":{\"auth\":\"dXNlcjpwYXNzd29yZA==\"}}}'\n", "")],
        &["error required pullSecret"],
    ),
    Case(
        "SSH key",
        NONE,
        &[("baseDomain:", "sshKey: ssh-rsa nonsense\nbaseDomain:")],
        &["error ssh-key sshKey"],
    ),
    Case(
        "SSH key and FIPS",
        NONE,
        &[(
            "baseDomain:",
            "fips: true\nsshKey: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ9fDs3bmzqfkWCkcXWeHPa/dbMK4NrZbMQfcZ1CrnmI\nbaseDomain:",
        )],
        &["error ssh-key sshKey"],
    ),
    Case(
        "trust bundle",
        NONE,
        &[("baseDomain:", "additionalTrustBundle: x\nbaseDomain:")],
        &["error certificates additionalTrustBundle"],
    ),
    Case(
        "proxy scheme",
        NONE,
        &[("baseDomain:", "proxy: {httpProxy: 'https://proxy:3128'}\nbaseDomain:")],
        &["error proxy proxy.httpProxy"],
    ),
    Case(
        "no proxy at all",
        NONE,
        &[("baseDomain:", "proxy: {noProxy: example.com}\nbaseDomain:")],
        &["error proxy proxy"],
    ),
    Case(
        "proxy inside",
        NONE,
        &[("baseDomain:", "proxy: {httpProxy: 'http://10.128.0.5:3128'}\nbaseDomain:")],
        &["error proxy proxy.httpProxy"],
    ),
    Case(
        "wildcard",
        NONE,
        &[("baseDomain:", "proxy: {httpProxy: 'http://proxy:3128', noProxy: '*.example.com'}\nbaseDomain:")],
        &["error no-proxy proxy.noProxy"],
    ),
    Case(
        "spaces",
        NONE,
        &[("baseDomain:", "proxy: {httpProxy: 'http://proxy:3128', noProxy: 'a.com, b.com'}\nbaseDomain:")],
        &["error no-proxy proxy.noProxy"],
    ),
    Case(
        "good proxy",
        NONE,
        &[(
            "baseDomain:",
            "proxy: {httpProxy: 'http://u:p@proxy:3128', httpsProxy: 'https://[fd00::1]:3128/', noProxy: '.example.com,10.0.0.0/8,fd00::1,host:80'}\nbaseDomain:",
        )],
        &[],
    ),
    Case(
        "mirror with tag",
        NONE,
        &[("baseDomain:", "imageDigestSources: [{source: quay.io/a:latest}]\nbaseDomain:")],
        &["error mirrors imageDigestSources[0].source"],
    ),
    Case(
        "mirrors in two forms",
        NONE,
        &[(
            "baseDomain:",
            "imageDigestSources: [{source: quay.io/a}]\nimageContentSources: [{source: quay.io/b}]\nbaseDomain:",
        )],
        &["error mirrors imageContentSources", "warning deprecated imageContentSources"],
    ),
    Case(
        "capability left out",
        NONE,
        &[("baseDomain:", "capabilities: {baselineCapabilitySet: None}\nbaseDomain:")],
        &["error capabilities capabilities.baselineCapabilitySet"],
    ),
    Case(
        "RSA size",
        NONE,
        &[(
            "baseDomain:",
            "pki: {signerCertificates: {key: {algorithm: RSA, rsa: {keySize: 1024}}}}\nbaseDomain:",
        )],
        &["error pki pki.signerCertificates.key.rsa.keySize"],
    ),
    Case(
        "internal",
        NONE,
        &[("baseDomain:", "publish: Internal\nbaseDomain:")],
        &["error not-supported publish"],
    ),
    Case(
        "credentials mode",
        NONE,
        &[("baseDomain:", "credentialsMode: Manual\nbaseDomain:")],
        &["error not-supported credentialsMode"],
    ),
];

#[test]
fn each_rule_finds_what_breaks_it_and_nothing_else() {
    let mut wrong = Vec::new();
    for Case(name, base, edits, expected) in CASES {
        let found = judge(&edit(base, edits));
        if found != *expected {
            wrong.push(format!("{name}:\n  expected {expected:#?}\n  found    {found:#?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_rule_has_a_case() {
    let shown: BTreeSet<&str> = CASES
        .iter()
        .flat_map(|Case(.., expected)| expected.iter().filter_map(|line| line.split(' ').nth(1)))
        .collect();
    let missing: Vec<&str> = Rule::ALL
        .iter()
        .map(|rule| rule.code())
        // Limits are tested with documents that are made, not written: tests/limits.rs.
        .filter(|code| *code != Rule::DocumentTooLarge.code() && !shown.contains(code))
        .collect();
    assert!(missing.is_empty(), "rules without a case: {missing:?}");
}

#[test]
fn codes_are_unique() {
    let codes: BTreeSet<&str> = Rule::ALL.iter().map(|rule| rule.code()).collect();
    assert_eq!(codes.len(), Rule::ALL.len());
}

#[test]
fn every_error_says_what_to_do() {
    let silent: Vec<String> = CASES
        .iter()
        .flat_map(|Case(_, base, edits, _)| load(&edit(base, edits)).report.findings)
        .filter(|finding| finding.hint.is_none() && !finding.message.contains("allowed"))
        .map(|finding| format!("{} {}: {}", finding.severity, finding.rule.code(), finding.message))
        .filter(|line| line.starts_with("error"))
        .collect();
    // These say all there is to say.
    let terse = [
        "wrong-kind",
        "yaml-unsupported",
        "yaml-syntax",
        "document-empty",
        "dns-name",
        "invalid-value",
        "quantity",
        "data-disk",
        "out-of-range",
        "too-long",
        "image-reference",
    ];
    let unexpected: Vec<&String> = silent
        .iter()
        .filter(|line| !terse.iter().any(|code| line.starts_with(&format!("error {code}:"))))
        .collect();
    assert!(unexpected.is_empty(), "{unexpected:#?}");
}

#[test]
fn examples_have_no_errors() {
    for (text, expected) in [(VSPHERE, 0), (KUBERNETES, 0), (OVIRT, 0), (KUBEVIRT, 0), (NONE, 0), (SEED, 2)] {
        assert_eq!(judge(text).len(), expected, "{text}");
    }
}
