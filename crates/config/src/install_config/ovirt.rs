//! `platform.ovirt`: clusters on an oVirt engine.

use std::collections::HashMap;
use std::net::IpAddr;

use super::pool::WrittenPools;
use super::vips::{self, Demand, LoadBalancer, VipFields, Vips, WrittenLoadBalancer};
use super::{Check, Networking, Pools, Stack};
use crate::decode::{Entries, Field, Located, choice, closest, object};
use crate::findings::Rule;
use crate::names::{EngineObject, Uuid};
use crate::yaml::At;

object! {
    /// A cluster on oVirt. How to log in to the engine is not written here but in oVirt's own
    /// configuration file, `~/.ovirt/ovirt-config.yaml` or the one `OVIRT_CONFIG` names.
    WrittenPlatform {
        /// The oVirt cluster the machines run in, by name or id.
        cluster_id: EngineObject as "ovirt_cluster_id", required;
        /// The storage domain the machines' disks are in, by name or id.
        storage_domain_id: EngineObject as "ovirt_storage_domain_id", required;
        /// The network machines are attached to.
        network_name: String as "ovirt_network_name", default "ovirtmgmt";
        /// The vNIC profile of the machines' network card, by name or id. A name is looked for in that network.
        vnic_profile_id: EngineObject as "vnicProfileID", required;
        /// The template that machines are made from, by name or id. Its system has to know Ignition. Machines need it.
        template_name: EngineObject as "templateName";
        /// Virtual IPs of the API, one per address family.
        api_vips: Entries<IpAddr> as "api_vips", at_most 2;
        /// Virtual IPs of the ingress, one per address family.
        ingress_vips: Entries<IpAddr> as "ingress_vips", at_most 2;
        /// The API's virtual IP.
        api_vip: IpAddr as "api_vip", deprecated "use `api_vips`";
        /// The ingress's virtual IP.
        ingress_vip: IpAddr as "ingress_vip", deprecated "use `ingress_vips`";
        /// What machines look like unless their pool says otherwise.
        default_machine: WrittenPool as "defaultMachinePlatform";
        /// Affinity groups to create. Absent means one that spreads the control plane and one that spreads compute machines; an empty list means none.
        affinity_groups: Entries<WrittenAffinityGroup> as "affinityGroups", default "controlplane and compute";
        /// Who balances the load of API and ingress.
        load_balancer: WrittenLoadBalancer as "loadBalancer";
    }
}

object! {
    /// Machines that should run on different hosts.
    WrittenAffinityGroup {
        /// Its name, which pools list in `affinityGroupsNames`.
        name: String as "name", required;
        /// 0 (least) to 5 (most).
        priority: u32 as "priority", default "0";
        /// A description for people.
        description: String as "description";
        /// Whether machines are not started at all rather than on the same host.
        enforcing: bool as "enforcing", default "false";
    }
}

object! {
    /// What machines look like on oVirt.
    WrittenPool {
        /// An instance type of the engine, instead of `cpu` and `memoryMB`.
        instance_type_id: Uuid as "instanceTypeID";
        /// Virtual processors.
        cpu: WrittenCpu as "cpu";
        /// Memory in MiB.
        memory_mb: u32 as "memoryMB", default "16384";
        /// The disk the system is on.
        os_disk: WrittenOsDisk as "osDisk";
        /// What kind of machine it is.
        vm_type: VmType as "vmType", default "high_performance (control plane), server (compute)";
        /// Affinity groups the machines join.
        affinity_groups: Entries<String> as "affinityGroupsNames";
        /// Whether processors are pinned.
        auto_pinning_policy: AutoPinning as "autoPinningPolicy", default "none";
        /// Size of huge pages in KiB.
        hugepages: u32 as "hugepages";
        /// Whether disks are copies of the template's rather than layers over it.
        clone: bool as "clone";
        /// Whether disks take space only as it is written.
        sparse: bool as "sparse";
        /// Format of the disks.
        format: DiskFormat as "format";
    }
}

object! {
    /// Virtual processors: sockets × cores × threads.
    WrittenCpu {
        /// Sockets.
        sockets: u32 as "sockets", default "1";
        /// Cores per socket.
        cores: u32 as "cores", default "4";
        /// Threads per core.
        threads: u32 as "threads", default "1";
    }
}

object! {
    /// The disk the system is on.
    WrittenOsDisk {
        /// Its size in GB.
        size_gb: u32 as "sizeGB", default "120";
    }
}

choice! {
    /// What kind of machine it is.
    VmType {
        /// With graphics and sound.
        Desktop = "desktop",
        /// Without.
        Server = "server",
        /// Pinned and headless, for steady load.
        HighPerformance = "high_performance",
    }
}

choice! {
    /// Whether processors are pinned.
    AutoPinning {
        /// Not pinned.
        None = "none",
        /// Sized to the host and pinned.
        ResizeAndPin = "resize_and_pin",
    }
}

choice! {
    /// Format of a disk.
    DiskFormat {
        /// Plain.
        Raw = "raw",
        /// With snapshots.
        Cow = "cow",
    }
}

/// A cluster on oVirt.
#[derive(Debug, Clone)]
pub struct Platform {
    pub cluster_id: EngineObject,
    pub storage_domain_id: EngineObject,
    pub network_name: String,
    pub vnic_profile_id: EngineObject,
    /// What machines are made from; none as long as only files are wanted.
    pub template: Option<EngineObject>,
    pub vips: Vips,
    pub load_balancer: LoadBalancer,
    pub affinity_groups: Vec<AffinityGroup>,
    pub machines: Pools<Machine>,
}

/// Machines that should run on different hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AffinityGroup {
    pub name: String,
    pub priority: u32,
    pub description: String,
    pub enforcing: bool,
}

/// What a machine looks like on oVirt.
#[derive(Debug, Clone)]
pub struct Machine {
    pub size: Size,
    pub os_disk_gb: u32,
    pub vm_type: VmType,
    pub affinity_groups: Vec<String>,
    pub auto_pinning: AutoPinning,
    pub hugepages_kib: Option<u32>,
    pub clone: Option<bool>,
    pub sparse: Option<bool>,
    pub format: Option<DiskFormat>,
}

/// How large a machine is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Size {
    InstanceType(Uuid),
    Custom { sockets: u32, cores: u32, threads: u32, memory_mib: u32 },
}

pub(super) fn resolve(
    platform: &Located<WrittenPlatform>,
    networking: Option<&Networking>,
    pools: &WrittenPools<'_>,
    check: &mut Check<'_>,
) -> Option<Platform> {
    let written = &platform.value;
    if networking.is_some_and(|net| net.stack == Stack::DualV6First && !net.doubtful) {
        let at = written.api_vips.at().or(written.api_vip.at()).unwrap_or(platform.at);
        check
            .findings
            .error(Rule::DualStack, at, "on oVirt the IPv4 networks come first")
            .hint("list the IPv4 network first in machineNetwork, clusterNetwork and serviceNetwork");
    }
    let load_balancer = load_balancer(written, check);
    let mut api = vips::collect(&written.api_vips, &written.api_vip, ("api_vips", "api_vip"), check);
    let mut ingress =
        vips::collect(&written.ingress_vips, &written.ingress_vip, ("ingress_vips", "ingress_vip"), check);
    // As openshift-install does: on oVirt the IPv4 address is the first one, however they are written.
    for addresses in [&mut api, &mut ingress] {
        addresses.readable.sort_by_key(|vip| vip.value.is_ipv6());
    }
    let vips = vips::resolve(
        &VipFields {
            platform: platform.at,
            api_key: "api_vips",
            api,
            ingress_key: "ingress_vips",
            ingress,
            load_balancer,
            demand: Demand::Required,
            networking,
        },
        check,
    );
    let affinity_groups = affinity_groups(&written.affinity_groups, check);
    let parts = pools.platform(|platform| &platform.ovirt);
    let default = written.default_machine.located();
    for layer in default.into_iter().chain(parts.control_plane).chain(parts.compute) {
        check_pool(layer, check);
    }
    let groups = affinity_groups.as_deref().unwrap_or_default();
    for layer in default.into_iter().chain(parts.control_plane).chain(parts.compute) {
        near_misses(&layer.value.affinity_groups, groups, check);
    }
    let control_plane =
        machine(default, parts.control_plane, VmType::HighPerformance, joined(groups, CONTROL_PLANE));
    let compute = machine(default, parts.compute, VmType::Server, joined(groups, COMPUTE));
    if written.network_name.is_invalid()
        || written.template_name.is_invalid()
        || written.default_machine.is_invalid()
    {
        return None;
    }
    Some(Platform {
        cluster_id: written.cluster_id.get()?.clone(),
        storage_domain_id: written.storage_domain_id.get()?.clone(),
        network_name: written.network_name.cloned_or("ovirtmgmt".to_owned()),
        vnic_profile_id: written.vnic_profile_id.get()?.clone(),
        template: written.template_name.get().cloned(),
        vips: vips?,
        load_balancer: load_balancer?,
        affinity_groups: affinity_groups?,
        machines: Pools { control_plane: control_plane?, compute: compute? },
    })
}

fn load_balancer(written: &WrittenPlatform, check: &mut Check<'_>) -> Option<LoadBalancer> {
    let set = match &written.load_balancer {
        Field::Absent => return Some(LoadBalancer::OpenShiftManagedDefault),
        Field::Invalid(_) => return None,
        Field::Set(set) => set,
    };
    if !check.features.tech_preview() {
        check
            .findings
            .error(
                Rule::FeatureGateOff,
                set.at,
                "`loadBalancer` on oVirt needs the feature set TechPreviewNoUpgrade",
            )
            .hint("set `featureSet: TechPreviewNoUpgrade`, or remove the field");
    }
    if set.value.kind.is_invalid() {
        return None;
    }
    Some(set.value.kind.cloned_or(LoadBalancer::OpenShiftManagedDefault))
}

const CONTROL_PLANE: &str = "controlplane";
const COMPUTE: &str = "compute";

/// Pools join the group that is made for them, if it is.
fn joined(groups: &[AffinityGroup], name: &str) -> Vec<String> {
    groups.iter().filter(|group| group.name == name).map(|group| group.name.clone()).collect()
}

fn affinity_groups(
    written: &Field<Entries<WrittenAffinityGroup>>,
    check: &mut Check<'_>,
) -> Option<Vec<AffinityGroup>> {
    if written.is_absent() {
        let group = |name: &str, priority, what: &str| AffinityGroup {
            name: name.to_owned(),
            priority,
            description: format!("spreads the {what} machines over the hosts"),
            enforcing: true,
        };
        return Some(vec![group(CONTROL_PLANE, 5, "control-plane"), group(COMPUTE, 3, "compute")]);
    }
    let mut groups: Vec<AffinityGroup> = Vec::new();
    let mut seen: HashMap<&str, (usize, At)> = HashMap::new();
    let mut complete = !written.is_partial();
    for Located { value, at } in written.items() {
        if let Some(priority) = value.priority.located()
            && priority.value > 5
        {
            check.findings.error(
                Rule::OutOfRange,
                priority.at,
                format!("{} is out of range, allowed: 0 to 5", priority.value),
            );
        }
        if value.priority.is_invalid() || value.description.is_invalid() || value.enforcing.is_invalid() {
            complete = false;
            continue;
        }
        let Some(name) = value.name.get() else {
            complete = false;
            continue;
        };
        let group = AffinityGroup {
            name: name.clone(),
            priority: value.priority.cloned_or(0),
            description: value.description.cloned_or(String::new()),
            enforcing: value.enforcing.cloned_or(false),
        };
        match seen.get(name.as_str()) {
            None => {
                seen.insert(name, (groups.len(), *at));
                groups.push(group);
            }
            Some((position, _)) if groups[*position] == group => {}
            Some((_, first)) => {
                check
                    .findings
                    .error(Rule::AffinityGroup, *at, format!("two affinity groups are named `{name}`"))
                    .hint("give each group a unique name")
                    .related(*first, "the first one");
            }
        }
    }
    complete.then_some(groups)
}

/// Groups may exist on the engine already, so an unknown name is only suspicious when it is nearly a known one.
fn near_misses(names: &Field<Entries<String>>, groups: &[AffinityGroup], check: &mut Check<'_>) {
    for name in names.items().filter(|name| groups.iter().all(|group| group.name != name.value)).take(100) {
        if let Some(near) = closest(&name.value, groups.iter().map(|group| group.name.as_str())) {
            check
                .findings
                .warning(
                    Rule::AffinityGroup,
                    name.at,
                    format!("no affinity group `{}` will be created", name.value),
                )
                .hint(format!("did you mean `{near}`?"));
        }
    }
}

fn check_pool(pool: &Located<WrittenPool>, check: &mut Check<'_>) {
    let WrittenPool { instance_type_id, cpu, memory_mb, os_disk, hugepages, .. } = &pool.value;
    if let (Some(at), Some(size)) = (instance_type_id.at(), cpu.at().or(memory_mb.at())) {
        check
            .findings
            .error(Rule::InstanceType, size, "`instanceTypeID` already says how large machines are")
            .hint("remove `cpu` and `memoryMB`, or `instanceTypeID`")
            .related(at, "given here");
    }
    if let Some(cpu) = cpu.get() {
        for field in [&cpu.sockets, &cpu.cores, &cpu.threads] {
            positive(field, check);
        }
    }
    if let Some(disk) = os_disk.get() {
        positive(&disk.size_gb, check);
    }
    if let Some(pages) = hugepages.located()
        && !matches!(pages.value, 2048 | 1_048_576)
    {
        check
            .findings
            .error(Rule::OutOfRange, pages.at, format!("huge pages of {} KiB do not exist", pages.value))
            .hint("write 2048 or 1048576");
    }
}

fn positive(field: &Field<u32>, check: &mut Check<'_>) {
    if let Some(zero) = field.located().filter(|field| field.value == 0) {
        check.findings.error(Rule::OutOfRange, zero.at, "must be more than zero");
    }
}

fn machine(
    default: Option<&Located<WrittenPool>>,
    pool: Option<&Located<WrittenPool>>,
    vm_type: VmType,
    groups: Vec<String>,
) -> Option<Machine> {
    let layers: Vec<&WrittenPool> = pool.into_iter().chain(default).map(|layer| &layer.value).collect();
    let unreadable = layers.iter().any(|layer| {
        layer.cpu.is_invalid()
            || layer.memory_mb.is_invalid()
            || layer.os_disk.is_invalid()
            || layer.affinity_groups.is_partial()
            || layer.instance_type_id.is_invalid()
    });
    if unreadable {
        return None;
    }
    let cpu = |field: fn(&WrittenCpu) -> &Field<u32>, default: u32| {
        let set = layers.iter().filter_map(|layer| layer.cpu.get()).find_map(|cpu| field(cpu).get().copied());
        set.unwrap_or(default)
    };
    // The layer that speaks of size at all decides how.
    let sized = layers.iter().find(|layer| {
        !layer.instance_type_id.is_absent() || !layer.cpu.is_absent() || !layer.memory_mb.is_absent()
    });
    let size = match sized.and_then(|layer| layer.instance_type_id.get()) {
        Some(id) => Size::InstanceType(id.clone()),
        None => Size::Custom {
            sockets: cpu(|cpu| &cpu.sockets, 1),
            cores: cpu(|cpu| &cpu.cores, 4),
            threads: cpu(|cpu| &cpu.threads, 1),
            memory_mib: layers
                .iter()
                .find_map(|layer| layer.memory_mb.get().copied().filter(|memory| *memory != 0))
                .unwrap_or(16384),
        },
    };
    let named = layers.iter().find(|layer| !layer.affinity_groups.is_empty());
    let os_disk =
        layers.iter().filter_map(|layer| layer.os_disk.get()).find_map(|disk| disk.size_gb.get().copied());
    Some(Machine {
        size,
        os_disk_gb: os_disk.unwrap_or(120),
        vm_type: layers.iter().find_map(|layer| layer.vm_type.get().copied()).unwrap_or(vm_type),
        affinity_groups: named
            .map_or(groups, |layer| layer.affinity_groups.items().map(|group| group.value.clone()).collect()),
        auto_pinning: layers
            .iter()
            .find_map(|layer| layer.auto_pinning_policy.get().copied())
            .unwrap_or(AutoPinning::None),
        hugepages_kib: layers.iter().find_map(|layer| layer.hugepages.get().copied()),
        clone: layers.iter().find_map(|layer| layer.clone.get().copied()),
        sparse: layers.iter().find_map(|layer| layer.sparse.get().copied()),
        format: layers.iter().find_map(|layer| layer.format.get().copied()),
    })
}
