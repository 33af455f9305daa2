//! What the infrastructure cluster of KubeVirt is asked for: the image, what machines boot from, and the
//! machines that are there before the cluster is.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{PodAffinityTerm, Secret};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use slipway_api::LocalReference;
use slipway_api::kubevirt::{
    Affinity, Binding, Claim, ClaimResources, ClaimSource, ConfigDrive, Cpu, DataVolume, DataVolumeSource,
    DataVolumeSpec, DataVolumeTemplate, Devices, Disk, DiskTarget, Domain, HttpSource, InstanceSpec,
    Interface, Memory, Multus, Named, Network, PodAntiAffinity, VirtualMachine, VirtualMachineSpec,
    VirtualMachineTemplate, Volume, WeightedTerm,
};
use slipway_api::openshift::ObjectLabels;
use slipway_config::install_config::kubevirt::{self, InterfaceBinding, Platform};

use crate::names::{CLUSTER_MARK, OBJECT_MARK, Role};
use crate::objects::{map, secret, within};
use crate::{Cluster, ignition};

/// Room for the image of the operating system.
const IMAGE_SIZE: &str = "20Gi";

/// The bootstrap machine lives for minutes: it is as small as it may be.
const BOOTSTRAP_CPU: u32 = 4;
const BOOTSTRAP_MEMORY: &str = "8G";
const BOOTSTRAP_DISK: &str = "35Gi";

/// Seconds a machine gets to shut down.
const GRACE: u32 = 600;

/// The volume all boot disks are cloned from.
pub fn source_name(cluster: &Cluster) -> String {
    format!("{}-source-pvc", cluster.identity.infra_id)
}

/// Everything that is created on the infrastructure cluster before there is a tenant.
#[derive(Debug, Clone)]
pub struct InfraObjects {
    pub image: DataVolume,
    pub secrets: Vec<Secret>,
    pub machines: Vec<VirtualMachine>,
}

/// `image` is the URL of the operating system's disk image; the configurations are Ignition's.
pub fn infra_objects(
    cluster: &Cluster,
    platform: &Platform,
    image: &str,
    bootstrap: &[u8],
    master: &[u8],
) -> InfraObjects {
    let mut objects = InfraObjects {
        image: image_volume(cluster, platform, image),
        secrets: Vec::new(),
        machines: Vec::new(),
    };
    let mut add = |name: String, config: &[u8], size: &Size, role: &str| {
        objects.secrets.push(ignition_secret(cluster, platform, &name, config));
        objects.machines.push(machine(cluster, platform, &name, size, role));
    };
    let small =
        Size { cpu: BOOTSTRAP_CPU, memory: BOOTSTRAP_MEMORY.to_owned(), disk: BOOTSTRAP_DISK.to_owned() };
    add(cluster.bootstrap_name(), bootstrap, &small, "bootstrap");
    let size = Size::of(&platform.machines.control_plane);
    for index in 0..cluster.replicas(Role::Master) {
        add(cluster.machine_name(Role::Master, index), master, &size, Role::Master.as_str());
    }
    objects
}

/// How large a machine is.
struct Size {
    cpu: u32,
    memory: String,
    disk: String,
}

impl Size {
    fn of(machine: &kubevirt::Machine) -> Self {
        Size {
            cpu: machine.cpu,
            memory: machine.memory.as_str().to_owned(),
            disk: machine.storage_size.as_str().to_owned(),
        }
    }
}

/// Labels by which everything of the cluster is found again.
fn labels(cluster: &Cluster, name: &str) -> BTreeMap<String, String> {
    let infra_id = cluster.identity.infra_id.as_str();
    map([
        (format!("tenantcluster-{infra_id}-machine.openshift.io").as_str(), "owned".to_owned()),
        (CLUSTER_MARK, infra_id.to_owned()),
        (OBJECT_MARK, cluster.identity.object_id(name).to_string()),
    ])
}

fn metadata(cluster: &Cluster, platform: &Platform, name: &str) -> ObjectMeta {
    ObjectMeta { labels: Some(labels(cluster, name)), ..within(platform.namespace.as_str(), name) }
}

fn claim(platform: &Platform, size: &str) -> Claim {
    Claim {
        access_modes: vec![platform.access_mode.to_string()],
        resources: ClaimResources { requests: map([("storage", size)]) },
        storage_class_name: platform.storage_class.as_ref().map(ToString::to_string),
    }
}

fn image_volume(cluster: &Cluster, platform: &Platform, url: &str) -> DataVolume {
    let mut metadata = metadata(cluster, platform, &source_name(cluster));
    // Without a consumer the import would wait for one, and the first consumer waits for the import.
    metadata.annotations = Some(map([("cdi.kubevirt.io/storage.bind.immediate.requested", "true")]));
    DataVolume {
        metadata,
        spec: DataVolumeSpec {
            pvc: claim(platform, IMAGE_SIZE),
            source: DataVolumeSource { http: Some(HttpSource { url: url.to_owned() }), pvc: None },
        },
    }
}

fn ignition_secret(cluster: &Cluster, platform: &Platform, machine: &str, config: &[u8]) -> Secret {
    let config = ignition::hostname_wrapper(config, machine);
    let name = format!("{machine}-ignition");
    let data = map([("userdata", String::from_utf8_lossy(&config).into_owned())]);
    secret(metadata(cluster, platform, &name), "Opaque", data)
}

fn machine(cluster: &Cluster, platform: &Platform, name: &str, size: &Size, role: &str) -> VirtualMachine {
    let boot_volume = format!("{name}-bootvolume");
    let apart = map([(format!("anti-affinity-tag-{}", cluster.identity.infra_id).as_str(), role)]);
    // Selectors see the labels of pods, and pods have those of the template.
    let mut pod_labels = labels(cluster, name);
    pod_labels.extend(apart.clone());
    let (interface, network) = network(platform);
    let disk = |name: &str| Disk { name: name.to_owned(), disk: DiskTarget { bus: "virtio".to_owned() } };
    VirtualMachine {
        metadata: metadata(cluster, platform, name),
        spec: VirtualMachineSpec {
            run_strategy: "Always".to_owned(),
            data_volume_templates: vec![DataVolumeTemplate {
                metadata: Named { name: boot_volume.clone(), labels: labels(cluster, &boot_volume) },
                spec: DataVolumeSpec {
                    pvc: claim(platform, &size.disk),
                    source: DataVolumeSource {
                        http: None,
                        pvc: Some(ClaimSource {
                            name: source_name(cluster),
                            namespace: platform.namespace.to_string(),
                        }),
                    },
                },
            }],
            template: VirtualMachineTemplate {
                metadata: ObjectLabels { labels: pod_labels, ..ObjectLabels::default() },
                spec: InstanceSpec {
                    affinity: Some(anti_affinity(apart)),
                    domain: Domain {
                        cpu: Cpu { cores: size.cpu },
                        memory: Memory { guest: size.memory.clone() },
                        devices: Devices {
                            disks: vec![disk("boot"), disk("ignition")],
                            interfaces: vec![interface],
                        },
                    },
                    hostname: Some(name.to_owned()),
                    networks: vec![network],
                    termination_grace_period_seconds: GRACE,
                    volumes: vec![
                        Volume {
                            name: "boot".to_owned(),
                            data_volume: Some(LocalReference::new(&boot_volume)),
                            cloud_init_config_drive: None,
                        },
                        Volume {
                            name: "ignition".to_owned(),
                            data_volume: None,
                            cloud_init_config_drive: Some(ConfigDrive {
                                secret_ref: LocalReference::new(format!("{name}-ignition")),
                            }),
                        },
                    ],
                },
            },
        },
    }
}

/// Rather on different nodes, but better together than not at all.
fn anti_affinity(labels: BTreeMap<String, String>) -> Affinity {
    let selector = LabelSelector { match_labels: Some(labels), ..LabelSelector::default() };
    let term = PodAffinityTerm {
        label_selector: Some(selector),
        topology_key: "kubernetes.io/hostname".to_owned(),
        ..PodAffinityTerm::default()
    };
    Affinity {
        pod_anti_affinity: PodAntiAffinity {
            preferred_during_scheduling_ignored_during_execution: vec![WeightedTerm {
                weight: 100,
                pod_affinity_term: term,
            }],
        },
    }
}

fn network(platform: &Platform) -> (Interface, Network) {
    let name = "main".to_owned();
    let model = Some("virtio".to_owned());
    let unbound = Interface { name: name.clone(), model, bridge: None, sriov: None, masquerade: None };
    match &platform.network {
        kubevirt::Network::Pods => (
            Interface { masquerade: Some(Binding {}), ..unbound },
            Network { name, multus: None, pod: Some(Binding {}) },
        ),
        kubevirt::Network::Attachment { name: attachment, binding, .. } => {
            let interface = match binding {
                InterfaceBinding::Bridge => Interface { bridge: Some(Binding {}), ..unbound },
                // A virtual function is not an emulated card: it has no model.
                InterfaceBinding::Sriov => Interface { sriov: Some(Binding {}), model: None, ..unbound },
            };
            let multus = Some(Multus { network_name: attachment.to_string() });
            (interface, Network { name, multus, pod: None })
        }
    }
}
