//! What the infrastructure cluster of KubeVirt is asked for: the image, what machines boot from, and the
//! machines that are there before the cluster is.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{PodAffinityTerm, Secret};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use slipway_api::LocalReference;
use slipway_api::kubevirt::{
    Affinity, Binding, Claim, ClaimResources, ClaimSource, ConfigDrive, Cpu, DataVolume, DataVolumeSource,
    DataVolumeSpec, DataVolumeTemplate, Devices, Disk, DiskTarget, Domain, HttpSource, InstanceSpec,
    Interface, Memory, Multus, Named as VolumeName, Network, PodAntiAffinity, VirtualMachine,
    VirtualMachineSpec, VirtualMachineTemplate, Volume, WeightedTerm,
};
use slipway_api::openshift::ObjectLabels;
use slipway_api::provider_spec::KubevirtProviderSpec;
use slipway_config::install_config::kubevirt::{InterfaceBinding, Platform};

use crate::machines::kubevirt_spec as spec;
use crate::names::{CLUSTER_MARK, OBJECT_MARK, Role};
use crate::objects::{map, secret, within};
use crate::{Named, ignition};

/// Room for the image of the operating system.
pub const IMAGE_SIZE: &str = "20Gi";

/// The bootstrap machine lives for minutes: it is as small as it may be.
const BOOTSTRAP_CPU: u32 = 4;
const BOOTSTRAP_MEMORY: &str = "8G";
const BOOTSTRAP_DISK: &str = "35Gi";

/// Seconds a machine gets to shut down.
const GRACE: u32 = 600;

/// Some versions of CDI remove a volume's object when it is filled, and what is gone looks as if it had been lost.
const KEPT: (&str, &str) = ("cdi.kubevirt.io/storage.deleteAfterCompletion", "false");

/// The role of the bootstrap machine.
pub const BOOTSTRAP: &str = "bootstrap";

/// The volume all boot disks are cloned from.
pub fn source_name(named: &Named) -> String {
    format!("{}-source-pvc", named.identity.infra_id)
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
    named: &Named,
    platform: &Platform,
    image: &str,
    bootstrap: &[u8],
    master: &[u8],
) -> InfraObjects {
    let mut objects = InfraObjects {
        image: image_volume(named, platform, image),
        secrets: Vec::new(),
        machines: Vec::new(),
    };
    let mut add = |name: String, config: &[u8], spec: &KubevirtProviderSpec, role: &str| {
        objects.secrets.push(ignition_secret(named, platform, &name, config));
        objects.machines.push(machine(named, platform, &name, spec, role));
    };
    add(named.bootstrap_name(), bootstrap, &bootstrap_spec(named, platform), BOOTSTRAP);
    let spec = control_plane_spec(named, platform);
    for index in 0..named.replicas(Role::Master) {
        add(named.machine_name(Role::Master, index), master, &spec, Role::Master.as_str());
    }
    objects
}

/// What control-plane machines are like, unless their files are edited.
pub fn control_plane_spec(named: &Named, platform: &Platform) -> KubevirtProviderSpec {
    spec(named, platform, &platform.machines.control_plane, Role::Master)
}

/// What the cluster's own machines are like, unless their set is edited.
pub fn compute_spec(named: &Named, platform: &Platform) -> KubevirtProviderSpec {
    spec(named, platform, &platform.machines.compute, Role::Worker)
}

/// The bootstrap machine, which no manifest describes.
pub fn bootstrap_spec(named: &Named, platform: &Platform) -> KubevirtProviderSpec {
    KubevirtProviderSpec {
        requested_cpu: BOOTSTRAP_CPU,
        requested_memory: BOOTSTRAP_MEMORY.to_owned(),
        requested_storage: BOOTSTRAP_DISK.to_owned(),
        ..control_plane_spec(named, platform)
    }
}

/// Labels by which everything of the cluster is found again.
fn labels(named: &Named, name: &str) -> BTreeMap<String, String> {
    let infra_id = named.identity.infra_id.as_str();
    map([
        (format!("tenantcluster-{infra_id}-machine.openshift.io").as_str(), "owned".to_owned()),
        (CLUSTER_MARK, infra_id.to_owned()),
        (OBJECT_MARK, named.identity.object_id(name).to_string()),
    ])
}

fn metadata(named: &Named, platform: &Platform, name: &str) -> ObjectMeta {
    ObjectMeta { labels: Some(labels(named, name)), ..within(platform.namespace.as_str(), name) }
}

fn claim(size: &str, access_mode: &str, storage_class: Option<String>) -> Claim {
    Claim {
        access_modes: vec![access_mode.to_owned()],
        resources: ClaimResources { requests: map([("storage", size)]) },
        storage_class_name: storage_class,
    }
}

/// The volume with the image, which CDI fetches from there.
pub fn image_volume(named: &Named, platform: &Platform, url: &str) -> DataVolume {
    let mut metadata = metadata(named, platform, &source_name(named));
    // Without a consumer the import would wait for one, and the first consumer waits for the import.
    metadata.annotations = Some(map([("cdi.kubevirt.io/storage.bind.immediate.requested", "true"), KEPT]));
    let storage_class = platform.storage_class.as_ref().map(ToString::to_string);
    DataVolume {
        metadata,
        spec: DataVolumeSpec {
            pvc: claim(IMAGE_SIZE, &platform.access_mode.to_string(), storage_class),
            source: DataVolumeSource { http: Some(HttpSource { url: url.to_owned() }), pvc: None },
        },
    }
}

/// The name of the volume that a machine's system is on.
pub fn disk_name(machine: &str) -> String {
    format!("{machine}-bootvolume")
}

/// The name of the Secret that a machine boots from.
pub fn secret_name(machine: &str) -> String {
    format!("{machine}-ignition")
}

/// What a machine boots from, with its name in it.
pub fn ignition_secret(named: &Named, platform: &Platform, machine: &str, config: &[u8]) -> Secret {
    let config = ignition::hostname_wrapper(config, machine);
    let name = secret_name(machine);
    let data = map([("userdata", String::from_utf8_lossy(&config).into_owned())]);
    secret(metadata(named, platform, &name), "Opaque", data)
}

/// A machine that does not run yet.
pub fn machine(
    named: &Named,
    platform: &Platform,
    name: &str,
    wanted: &KubevirtProviderSpec,
    role: &str,
) -> VirtualMachine {
    let boot_volume = disk_name(name);
    let apart = map([(format!("anti-affinity-tag-{}", named.identity.infra_id).as_str(), role)]);
    // Selectors see the labels of pods, and pods have those of the template.
    let mut pod_labels = labels(named, name);
    pod_labels.extend(apart.clone());
    let (interface, network) = network(wanted);
    // A machine that cannot migrate would keep its node from being drained for ever.
    let migrates = wanted.persistent_volume_access_mode == "ReadWriteMany";
    let eviction = if migrates { "LiveMigrate" } else { "None" };
    let disk = |name: &str| Disk { name: name.to_owned(), disk: DiskTarget { bus: "virtio".to_owned() } };
    VirtualMachine {
        metadata: metadata(named, platform, name),
        spec: VirtualMachineSpec {
            run_strategy: "Halted".to_owned(),
            data_volume_templates: vec![DataVolumeTemplate {
                metadata: VolumeName {
                    name: boot_volume.clone(),
                    labels: labels(named, &boot_volume),
                    annotations: map([KEPT]),
                },
                spec: DataVolumeSpec {
                    pvc: claim(
                        &wanted.requested_storage,
                        &wanted.persistent_volume_access_mode,
                        wanted.storage_class_name.clone(),
                    ),
                    source: DataVolumeSource {
                        http: None,
                        pvc: Some(ClaimSource {
                            name: wanted.source_pvc_name.clone(),
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
                        cpu: Cpu { cores: wanted.requested_cpu },
                        memory: Memory { guest: wanted.requested_memory.clone() },
                        devices: Devices {
                            disks: vec![disk("boot"), disk("ignition")],
                            interfaces: vec![interface],
                        },
                    },
                    eviction_strategy: Some(eviction.to_owned()),
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
                                secret_ref: LocalReference::new(secret_name(name)),
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

fn network(wanted: &KubevirtProviderSpec) -> (Interface, Network) {
    let name = "main".to_owned();
    let model = Some("virtio".to_owned());
    let unbound = Interface { name: name.clone(), model, bridge: None, sriov: None, masquerade: None };
    let Some(attachment) = &wanted.network_name else {
        return (
            Interface { masquerade: Some(Binding {}), ..unbound },
            Network { name, multus: None, pod: Some(Binding {}) },
        );
    };
    let is_sriov = wanted.interface_binding_method == Some(InterfaceBinding::Sriov.to_string());
    let interface = if is_sriov {
        // A virtual function is not an emulated card: it has no model.
        Interface { sriov: Some(Binding {}), model: None, ..unbound }
    } else {
        Interface { bridge: Some(Binding {}), ..unbound }
    };
    let multus = Some(Multus { network_name: attachment.clone() });
    (interface, Network { name, multus, pod: None })
}
