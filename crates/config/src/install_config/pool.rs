//! `controlPlane` and `compute`: the pools of machines, as far as they are the same everywhere.

use super::{Check, PayloadType, kubevirt, ovirt, vsphere};
use crate::decode::{Entries, Field, Ignored, Located, Replicas, choice, object};
use crate::features::Gate;
use crate::findings::{Findings, Rule};
use crate::yaml::At;

object! {
    /// A pool of machines.
    WrittenPool {
        /// `master` for the control plane, `worker` for compute.
        name: String as "name";
        /// How many machines. 0 compute machines leaves the workload on the control plane.
        replicas: Replicas as "replicas", default "3";
        /// What the machines look like on the platform.
        platform: WrittenPoolPlatform as "platform";
        /// Whether machines use simultaneous multithreading.
        hyperthreading: Hyperthreading as "hyperthreading", default "Enabled";
        /// The processor architecture.
        architecture: Architecture as "architecture", default "amd64";
        /// What extra disks are used for.
        disk_setup: Entries<WrittenDiskSetup> as "diskSetup";
        /// How machines fence each other, which is not supported here.
        fencing: Ignored as "fencing";
    }
}

object! {
    /// What the machines of a pool look like, for the platform of the cluster.
    WrittenPoolPlatform {
        /// Machines on vSphere.
        vsphere: vsphere::WrittenPool as "vsphere";
        /// Machines on oVirt.
        ovirt: ovirt::WrittenPool as "ovirt";
        /// Machines on KubeVirt.
        kubevirt: kubevirt::WrittenPool as "kubevirt";
    }
}

object! {
    /// The use of one extra disk.
    WrittenDiskSetup {
        /// What the disk is for.
        kind: DiskUse as "type", required;
        /// The disk for etcd. Control plane only.
        etcd: WrittenDisk as "etcd";
        /// The disk for swap.
        swap: WrittenDisk as "swap";
        /// The disk for anything else.
        user_defined: WrittenUserDisk as "userDefined";
    }
}

object! {
    /// A disk by the name it has in the pool's `dataDisks`.
    WrittenDisk {
        /// Name of the data disk.
        platform_disk_id: String as "platformDiskID", required;
    }
}

object! {
    /// A disk and where it is mounted.
    WrittenUserDisk {
        /// Name of the data disk.
        platform_disk_id: String as "platformDiskID", required;
        /// Where it is mounted.
        mount_path: String as "mountPath", required;
    }
}

choice! {
    /// What an extra disk is used for.
    DiskUse {
        /// The data of etcd.
        Etcd = "etcd",
        /// Swap space.
        Swap = "swap",
        /// A file system of the user's.
        UserDefined = "user-defined",
    }
}

choice! {
    /// Simultaneous multithreading.
    Hyperthreading {
        /// On.
        Enabled = "Enabled",
        /// Off.
        Disabled = "Disabled",
    }
}

choice! {
    /// A processor architecture.
    Architecture {
        /// 64-bit x86.
        Amd64 = "amd64",
        /// 64-bit ARM.
        Arm64 = "arm64",
        /// 64-bit POWER, little endian.
        Ppc64le = "ppc64le",
        /// IBM Z.
        S390x = "s390x",
    }
}

/// A disk setup that names the disk it uses.
#[derive(Debug, Clone)]
pub enum DiskSetup {
    Etcd { disk: Located<String> },
    Swap { disk: Located<String> },
    UserDefined { disk: Located<String>, mount_path: String },
}

impl DiskSetup {
    /// The data disk it uses.
    pub fn disk(&self) -> &Located<String> {
        match self {
            DiskSetup::Etcd { disk } | DiskSetup::Swap { disk } | DiskSetup::UserDefined { disk, .. } => disk,
        }
    }
}

/// A pool of machines; what they look like on the platform is kept by the platform.
#[derive(Debug, Clone)]
pub struct MachinePool {
    pub replicas: u32,
    pub hyperthreading: Hyperthreading,
    pub architecture: Architecture,
    pub disk_setup: Vec<DiskSetup>,
}

/// One value for the control plane and one for compute.
#[derive(Debug, Clone)]
pub struct Pools<T> {
    pub control_plane: T,
    pub compute: T,
}

/// The two pools as written.
#[derive(Debug)]
pub(super) struct WrittenPools<'a> {
    pub(super) control_plane: Option<&'a Located<WrittenPool>>,
    pub(super) compute: Option<&'a Located<WrittenPool>>,
}

impl<'a> WrittenPools<'a> {
    /// The platform-specific part of each pool.
    pub(super) fn platform<T>(
        &self,
        part: impl Fn(&'a WrittenPoolPlatform) -> &'a Field<T>,
    ) -> Pools<Option<&'a Located<T>>> {
        let of = |pool: Option<&'a Located<WrittenPool>>| {
            pool.and_then(|pool| pool.value.platform.get()).and_then(|platform| part(platform).located())
        };
        Pools { control_plane: of(self.control_plane), compute: of(self.compute) }
    }
}

/// Reads both pools. The platform is only looked at to refuse settings for another one.
pub(super) fn resolve<'a>(
    control_plane: &'a Field<WrittenPool>,
    compute: &'a Field<Entries<WrittenPool>>,
    platform: Option<&str>,
    payload: PayloadType,
    findings: &mut Findings,
) -> (WrittenPools<'a>, Option<Pools<MachinePool>>) {
    let first_compute = compute.get().and_then(|pools| pools.first());
    let written = WrittenPools {
        control_plane: control_plane.located(),
        compute: first_compute.and_then(Field::located),
    };
    let masters = pool(control_plane, "master", platform, findings);
    let absent = Field::Absent;
    let workers = match first_compute {
        _ if compute.is_invalid() => None,
        Some(first) => pool(first, "worker", platform, findings),
        None => pool(&absent, "worker", platform, findings),
    };
    for extra in compute.items().filter(|pool| Some(pool.at) != first_compute.and_then(Field::at)) {
        let name = extra.value.name.get().map_or("worker", String::as_str);
        let rule = if name == "worker" { Rule::PoolDuplicate } else { Rule::PoolName };
        findings
            .error(rule, extra.at, "there is one compute pool, named `worker`")
            .hint("merge the pools; machines of other kinds are added after the installation");
    }
    if let (Some(masters), Some(replicas)) =
        (&masters, written.control_plane.and_then(|pool| pool.value.replicas.at()))
    {
        control_plane_replicas(masters.replicas, replicas, payload, findings);
    }
    let written_architecture =
        |pool: Option<&Located<WrittenPool>>| pool.and_then(|pool| pool.value.architecture.at());
    if let (Some(masters), Some(workers), Some(at)) = (
        &masters,
        &workers,
        written_architecture(written.compute).or(written_architecture(written.control_plane)),
    ) && masters.architecture != workers.architecture
    {
        let message =
            format!("compute is {}, the control plane is {}", workers.architecture, masters.architecture);
        findings.error(Rule::Architecture, at, message).hint("use one architecture for the whole cluster");
    }
    let pools = masters.zip(workers).map(|(control_plane, compute)| Pools { control_plane, compute });
    (written, pools)
}

fn control_plane_replicas(replicas: u32, at: At, payload: PayloadType, findings: &mut Findings) {
    if replicas == 0 {
        findings
            .error(Rule::ControlPlaneReplicas, at, "a cluster needs at least one control-plane machine")
            .hint("write 3, or 1 for a cluster that may fail");
    } else if replicas == 2 && payload == PayloadType::OpenShift {
        findings
            .error(
                Rule::ControlPlaneReplicas,
                at,
                "two control-plane machines stand still as soon as one of them fails",
            )
            .hint("write 3; OpenShift has two only where they fence each other");
    } else if replicas.is_multiple_of(2) {
        findings
            .warning(
                Rule::ControlPlaneReplicas,
                at,
                format!("{replicas} control-plane machines survive no more failures than {}", replicas - 1),
            )
            .hint("use an odd number");
    }
}

/// OpenShift sets up extra disks only with a gate.
pub(super) fn disk_setup_gate(pools: &WrittenPools<'_>, check: &mut Check<'_>) {
    for pool in [pools.control_plane, pools.compute].into_iter().flatten() {
        let setup = &pool.value.disk_setup;
        if let (Some(at), false) = (setup.at(), setup.is_empty()) {
            check.gate(Gate::MultiDiskSetup, at, "`diskSetup`");
        }
    }
}

fn pool(
    written: &Field<WrittenPool>,
    name: &str,
    platform: Option<&str>,
    findings: &mut Findings,
) -> Option<MachinePool> {
    let absent = WrittenPool::default();
    let written = match written {
        Field::Invalid(_) => return None,
        Field::Absent => &absent,
        Field::Set(pool) => &pool.value,
    };
    if let Some(given) = written.name.located()
        && given.value != name
    {
        findings
            .error(
                Rule::PoolName,
                given.at,
                format!("the pool must be named `{name}`, and is `{}`", given.value),
            )
            .hint(format!("write `name: {name}`"));
    }
    if let (Some(platform), Some(settings)) = (platform, written.platform.get()) {
        let WrittenPoolPlatform { vsphere, ovirt, kubevirt } = settings;
        for (key, at) in [("vsphere", vsphere.at()), ("ovirt", ovirt.at()), ("kubevirt", kubevirt.at())] {
            if let (Some(at), true) = (at, key != platform) {
                findings
                    .error(
                        Rule::PoolPlatform,
                        at,
                        format!("machine settings for {key}, but the cluster is on {platform}"),
                    )
                    .hint(format!("move them to `{platform}`, or remove them"));
            }
        }
    }
    let disk_setup = disk_setup(&written.disk_setup, name == "master", findings);
    if written.replicas.is_invalid()
        || written.architecture.is_invalid()
        || written.hyperthreading.is_invalid()
    {
        return None;
    }
    Some(MachinePool {
        replicas: written.replicas.get().map_or(3, |replicas| replicas.get()),
        hyperthreading: written.hyperthreading.cloned_or(Hyperthreading::Enabled),
        architecture: written.architecture.cloned_or(Architecture::Amd64),
        disk_setup: disk_setup?,
    })
}

fn disk_setup(
    written: &Field<Entries<WrittenDiskSetup>>,
    control_plane: bool,
    findings: &mut Findings,
) -> Option<Vec<DiskSetup>> {
    let mut setups = Vec::new();
    let mut complete = !written.is_partial();
    let mut seen: Vec<(DiskUse, At)> = Vec::new();
    for Located { value: setup, at } in written.items() {
        let Some(&kind) = setup.kind.get() else {
            complete = false;
            continue;
        };
        if kind == DiskUse::Etcd && !control_plane {
            findings
                .error(Rule::DiskSetup, *at, "etcd runs on control-plane machines only")
                .hint("move this entry to `controlPlane.diskSetup`");
        }
        if kind != DiskUse::UserDefined {
            if let Some((_, first)) = seen.iter().find(|(seen, _)| *seen == kind) {
                findings
                    .error(Rule::DiskSetup, *at, format!("two disks for {kind}"))
                    .hint("keep one of the two")
                    .related(*first, "the first one");
            } else {
                seen.push((kind, *at));
            }
        }
        let details = match kind {
            DiskUse::Etcd => disk(&setup.etcd, *at, "etcd", findings).map(|disk| DiskSetup::Etcd { disk }),
            DiskUse::Swap => disk(&setup.swap, *at, "swap", findings).map(|disk| DiskSetup::Swap { disk }),
            DiskUse::UserDefined => user_disk(&setup.user_defined, *at, findings),
        };
        complete &= details.is_some();
        setups.extend(details);
    }
    complete.then_some(setups)
}

fn disk(
    written: &Field<WrittenDisk>,
    parent: At,
    key: &str,
    findings: &mut Findings,
) -> Option<Located<String>> {
    if written.is_absent() {
        missing_details(parent, key, findings);
    }
    disk_id(&written.get()?.platform_disk_id, findings)
}

fn user_disk(written: &Field<WrittenUserDisk>, parent: At, findings: &mut Findings) -> Option<DiskSetup> {
    if written.is_absent() {
        missing_details(parent, "userDefined", findings);
    }
    let details = written.get()?;
    let disk = disk_id(&details.platform_disk_id, findings)?;
    Some(DiskSetup::UserDefined { disk, mount_path: details.mount_path.get()?.clone() })
}

fn missing_details(parent: At, key: &str, findings: &mut Findings) {
    findings
        .missing(parent, key, format!("`{key}` is required for this type"))
        .hint(format!("add `{key}: {{platformDiskID: …}}`"));
}

fn disk_id(field: &Field<String>, findings: &mut Findings) -> Option<Located<String>> {
    /// The label of a partition, which the id ends up in, has no room for more.
    const MAX_ID: usize = 12;
    let id = field.located()?;
    if id.value.chars().count() > MAX_ID {
        findings
            .error(Rule::TooLong, id.at, format!("`{}` is longer than {MAX_ID} characters", id.value))
            .hint("give the data disk a shorter name");
        return None;
    }
    Some(id.clone())
}
