//! Rules about `failureDomains`.

use std::collections::{HashMap, HashSet};

use super::super::Check;
use super::vcenters::VCenter;
use super::written::{RegionType, WrittenFailureDomain, WrittenTopology, WrittenVCenter, ZoneType};
use crate::decode::{Entries, Field, Located, closest, closest_within};
use crate::features::Gate;
use crate::findings::Rule;
use crate::ids::InfraId;
use crate::inventory::{Branch, InventoryPath, network_name};
use crate::names::{ClusterName, FailureDomainName, TagId};
use crate::yaml::At;

/// Longest name of an object in vSphere.
const MAX_NAME: usize = 80;

/// A place machines can be put: one zone of one region on one vCenter.
#[derive(Debug, Clone)]
pub struct FailureDomain {
    pub name: FailureDomainName,
    pub region: String,
    pub zone: String,
    pub region_kind: RegionKind,
    pub zone_kind: ZoneKind,
    /// Position of its vCenter in the platform's list.
    pub vcenter: usize,
    pub topology: Topology,
}

/// What a region is in vSphere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RegionKind {
    Datacenter,
    ComputeCluster,
}

impl RegionKind {
    /// How OpenShift and Cluster API spell it.
    pub fn as_str(self) -> &'static str {
        match self {
            RegionKind::Datacenter => "Datacenter",
            RegionKind::ComputeCluster => "ComputeCluster",
        }
    }
}

/// What a zone is in vSphere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ZoneKind {
    ComputeCluster,
    HostGroup(String),
}

/// The vSphere objects of a failure domain.
#[derive(Debug, Clone)]
pub struct Topology {
    pub datacenter: String,
    /// Missing only in configurations of the old form whose machines the user provides.
    pub compute_cluster: Option<InventoryPath>,
    pub networks: Vec<String>,
    pub datastore: InventoryPath,
    /// Missing with the compute cluster.
    pub resource_pool: Option<InventoryPath>,
    pub folder: Option<InventoryPath>,
    pub template: Option<String>,
    pub tag_ids: Vec<TagId>,
}

/// What the rules about failure domains need to know of the rest.
#[derive(Debug)]
pub(super) struct Around<'a> {
    pub(super) platform: At,
    pub(super) vcenters: &'a Field<Entries<WrittenVCenter>>,
    pub(super) resolved_vcenters: Option<&'a [VCenter]>,
    pub(super) cluster_os_image: Option<At>,
    pub(super) cluster_name: Option<&'a ClusterName>,
    pub(super) old_upi: bool,
}

pub(super) fn resolve(
    written: &Field<Entries<WrittenFailureDomain>>,
    around: &Around<'_>,
    check: &mut Check<'_>,
) -> Option<Vec<FailureDomain>> {
    if written.is_invalid() {
        return None;
    }
    if written.is_empty() {
        check
            .findings
            .missing(around.platform, "failureDomains", "at least one failure domain is required")
            .hint("add `failureDomains:` with name, region, zone, server and topology");
        return None;
    }
    let mut names = HashMap::new();
    let mut places = HashMap::new();
    let mut used = HashSet::new();
    let mut complete = !written.is_partial();
    let mut domains = Vec::new();
    let index = VCenterIndex::new(around);
    for domain in written.items() {
        unique_name(domain, &mut names, check);
        unique_place(domain, &mut places, check);
        if let Some(server) = domain.value.server.get() {
            used.insert(server.as_str().to_owned());
        }
        match resolve_one(domain, around, &index, check) {
            Some(domain) => domains.push(domain),
            None => complete = false,
        }
    }
    // A server that is missing or misspelt may be the one that seems unused.
    let sure = written.items().all(|domain| {
        domain.value.server.get().is_some_and(|server| index.positions.contains_key(server.as_str()))
    });
    if !written.is_partial() && sure {
        unused_vcenters(around, &used, check);
    }
    complete.then_some(domains)
}

/// vCenters by server name, and the datacenters of each.
struct VCenterIndex<'a> {
    positions: HashMap<&'a str, usize>,
    /// `None` where they could not all be read.
    datacenters: Vec<Option<HashSet<&'a str>>>,
    /// Servers are missing or could not be read, so an unknown one proves nothing.
    partial: bool,
}

impl<'a> VCenterIndex<'a> {
    fn new(around: &'a Around<'_>) -> Self {
        let entries = around.vcenters.get().map(Vec::as_slice).unwrap_or_default();
        let mut positions = HashMap::new();
        let mut partial = around.vcenters.is_invalid() || entries.is_empty();
        for (position, entry) in entries.iter().enumerate() {
            match entry.get().and_then(|vcenter| vcenter.server.get()) {
                Some(server) => {
                    positions.entry(server.as_str()).or_insert(position);
                }
                None => partial = true,
            }
        }
        let datacenters = entries.iter().map(|entry| datacenters_of(entry.get()?)).collect();
        VCenterIndex { positions, datacenters, partial }
    }
}

fn unique_name(
    domain: &Located<WrittenFailureDomain>,
    names: &mut HashMap<String, At>,
    check: &mut Check<'_>,
) {
    let Some(name) = domain.value.name.located() else { return };
    if let Some(first) = names.get(name.value.as_str()) {
        check
            .findings
            .error(
                Rule::FailureDomainDuplicate,
                name.at,
                format!("two failure domains are named `{}`", name.value),
            )
            .hint("give each failure domain a unique name")
            .related(*first, "the first one");
    } else {
        names.insert(name.value.as_str().to_owned(), name.at);
    }
}

/// A region and zone together name one failure domain.
fn unique_place(
    domain: &Located<WrittenFailureDomain>,
    places: &mut HashMap<(String, String), At>,
    check: &mut Check<'_>,
) {
    let (Some(region), Some(zone)) = (domain.value.region.get(), domain.value.zone.located()) else { return };
    let place = (region.clone(), zone.value.clone());
    if let Some(first) = places.get(&place) {
        check
            .findings
            .error(
                Rule::ZoneDuplicate,
                zone.at,
                format!("zone `{}` of region `{region}` is already another failure domain", zone.value),
            )
            .hint("use another zone or region; nodes are distinguished by both")
            .related(*first, "used here");
    } else {
        places.insert(place, zone.at);
    }
}

fn unused_vcenters(around: &Around<'_>, used: &HashSet<String>, check: &mut Check<'_>) {
    // Those beyond the third have been reported as too many.
    for vcenter in around.vcenters.items().take(3) {
        if let Some(server) = vcenter.value.server.located()
            && !used.contains(server.value.as_str())
        {
            check
                .findings
                .warning(
                    Rule::VCenterUnused,
                    server.at,
                    format!("no failure domain is on `{}`", server.value),
                )
                .hint("add a failure domain with this server, or remove the vCenter");
        }
    }
}

fn resolve_one(
    domain: &Located<WrittenFailureDomain>,
    around: &Around<'_>,
    index: &VCenterIndex<'_>,
    check: &mut Check<'_>,
) -> Option<FailureDomain> {
    let written = &domain.value;
    let vcenter = server(domain, index, check);
    let topology = written.topology.located();
    let kinds = kinds(domain, check);
    let resolved = topology.and_then(|topology| {
        let datacenters = vcenter.and_then(|position| index.datacenters[position].as_ref());
        resolve_topology(topology, datacenters, around, check)
    });
    if let Some(name_length) = around.cluster_name.map(InfraId::length) {
        template_name(domain, name_length, check);
    }
    around.resolved_vcenters?;
    let (region_kind, zone_kind) = kinds?;
    Some(FailureDomain {
        name: written.name.get()?.clone(),
        region: written.region.get()?.clone(),
        zone: written.zone.get()?.clone(),
        region_kind,
        zone_kind,
        vcenter: vcenter?,
        topology: resolved?,
    })
}

fn datacenters_of(vcenter: &WrittenVCenter) -> Option<HashSet<&str>> {
    let datacenters = &vcenter.datacenters;
    let known = !datacenters.is_partial() && !datacenters.is_empty();
    known.then(|| datacenters.items().map(|datacenter| datacenter.value.as_str()).collect())
}

fn server(
    domain: &Located<WrittenFailureDomain>,
    index: &VCenterIndex<'_>,
    check: &mut Check<'_>,
) -> Option<usize> {
    if domain.value.server.is_absent() {
        check
            .findings
            .missing(domain.at, "server", "`server` is required")
            .hint("add the `server` of one of the vCenters");
    }
    let server = domain.value.server.located()?;
    let position = index.positions.get(server.value.as_str()).copied();
    if position.is_none() && !index.partial {
        let hint = match closest_within(server.value.as_str(), index.positions.keys().copied(), |_| 2) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "add it to `platform.vsphere.vcenters`".to_owned(),
        };
        check
            .findings
            .error(
                Rule::FailureDomainServer,
                server.at,
                format!("`{}` is not one of the vCenters", server.value),
            )
            .hint(hint);
    }
    position
}

/// What region and zone are, and whether the two go together.
fn kinds(domain: &Located<WrittenFailureDomain>, check: &mut Check<'_>) -> Option<(RegionKind, ZoneKind)> {
    let WrittenFailureDomain { region_type, zone_type, topology, .. } = &domain.value;
    if region_type.is_invalid() || zone_type.is_invalid() || topology.is_invalid() {
        return None;
    }
    let host_group = topology.get().map(|topology| &topology.host_group);
    let (region, zone) = match (region_type, zone_type) {
        (Field::Set(region), Field::Set(zone)) => (region, zone),
        (Field::Absent, Field::Absent) => {
            unused_group(host_group, check);
            return Some((RegionKind::Datacenter, ZoneKind::ComputeCluster));
        }
        _ => {
            let (given, missing) =
                if region_type.is_absent() { ("zoneType", "regionType") } else { ("regionType", "zoneType") };
            let at = region_type.at().or(zone_type.at()).unwrap_or(domain.at);
            check
                .findings
                .error(Rule::ZoneType, at, format!("`{given}` is given without `{missing}`"))
                .hint("give both or neither");
            return None;
        }
    };
    let region_kind = match region.value {
        RegionType::Datacenter => RegionKind::Datacenter,
        RegionType::ComputeCluster => RegionKind::ComputeCluster,
        RegionType::HostGroup => {
            check
                .findings
                .error(Rule::ZoneType, region.at, "a region cannot be a host group")
                .hint("use `regionType: ComputeCluster` with `zoneType: HostGroup`");
            return None;
        }
    };
    if region_kind == RegionKind::ComputeCluster && zone.value != ZoneType::HostGroup {
        check
            .findings
            .error(Rule::ZoneType, zone.at, "in a region that is a compute cluster, zones are host groups")
            .hint("write `zoneType: HostGroup`, or `regionType: Datacenter`");
        return None;
    }
    if zone.value == ZoneType::ComputeCluster {
        unused_group(host_group, check);
        return Some((region_kind, ZoneKind::ComputeCluster));
    }
    check.gate(Gate::VSphereHostVmGroupZonal, zone.at, "`zoneType: HostGroup`");
    let topology = topology.located()?;
    if topology.value.host_group.is_absent() {
        check
            .findings
            .missing(topology.at, "hostGroup", "`hostGroup` is required because the zone is a host group")
            .hint("add the name of the host group of this zone");
    }
    let group = topology.value.host_group.located()?;
    name_length(group, "host group", check);
    Some((region_kind, ZoneKind::HostGroup(group.value.clone())))
}

fn unused_group(host_group: Option<&Field<String>>, check: &mut Check<'_>) {
    if let Some(group) = host_group.and_then(Field::at) {
        check
            .findings
            .warning(Rule::ZoneType, group, "`hostGroup` has no effect: the zone is a compute cluster")
            .hint("set `regionType: ComputeCluster` and `zoneType: HostGroup`, or remove it");
    }
}

fn name_length(name: &Located<String>, what: &str, check: &mut Check<'_>) {
    let length = name.value.chars().count();
    if length > MAX_NAME {
        let message = format!("the {what}'s name has {length} characters, vSphere allows {MAX_NAME}");
        check.findings.error(Rule::TooLong, name.at, message);
    }
}

fn resolve_topology(
    topology: &Located<WrittenTopology>,
    datacenters: Option<&HashSet<&str>>,
    around: &Around<'_>,
    check: &mut Check<'_>,
) -> Option<Topology> {
    let written = &topology.value;
    let datacenter = datacenter(topology, datacenters, check);
    let dc = datacenter.as_deref();
    let datastore = required_path(&written.datastore, topology.at, "datastore", Branch::Datastore, dc, check);
    let compute_cluster = match (&written.compute_cluster, around.old_upi) {
        (Field::Absent, true) => {
            missing_upi(topology.at, "compute cluster", check);
            Some(None)
        }
        (field, _) => required_path(field, topology.at, "computeCluster", Branch::Host, dc, check).map(Some),
    };
    let folder = optional_path(&written.folder, "folder", Branch::Vm, dc, check);
    let pool = resource_pool(&written.resource_pool, compute_cluster.as_ref(), dc, check);
    networks(topology, around, check);
    if let (Some(template), Some(image)) = (written.template.at(), around.cluster_os_image) {
        check
            .findings
            .error(Rule::TemplateOrImage, template, "`template` and `clusterOSImage` exclude each other")
            .hint("remove one: machines are cloned from the template, or from the imported image")
            .related(image, "the image is given here");
    }
    if written.networks.is_partial() || written.tag_ids.is_partial() || written.template.is_invalid() {
        return None;
    }
    Some(Topology {
        datacenter: datacenter?,
        compute_cluster: compute_cluster?,
        networks: written.networks.items().map(|network| network_name(&network.value)).collect(),
        datastore: datastore?,
        resource_pool: pool?,
        folder: folder?,
        template: written.template.get().cloned(),
        tag_ids: written.tag_ids.items().map(|tag| tag.value.clone()).collect(),
    })
}

fn missing_upi(at: At, what: &str, check: &mut Check<'_>) {
    check
        .findings
        .warning(Rule::OldUpi, at, format!("no {what} is given; machines can then not be created for you"))
        .hint("fine when you provide the machines yourself");
}

fn datacenter(
    topology: &Located<WrittenTopology>,
    datacenters: Option<&HashSet<&str>>,
    check: &mut Check<'_>,
) -> Option<String> {
    if topology.value.datacenter.is_absent() {
        check
            .findings
            .missing(topology.at, "datacenter", "`datacenter` is required")
            .hint("add one of the vCenter's `datacenters`");
    }
    let datacenter = topology.value.datacenter.located()?;
    name_length(datacenter, "datacenter", check);
    if let Some(datacenters) = datacenters
        && !datacenters.contains(datacenter.value.as_str())
    {
        let hint = match closest(&datacenter.value, datacenters.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "add it to the vCenter's `datacenters`".to_owned(),
        };
        let message = format!("`{}` is not among the datacenters of its vCenter", datacenter.value);
        check.findings.error(Rule::FailureDomainDatacenter, datacenter.at, message).hint(hint);
        return None;
    }
    Some(datacenter.value.clone())
}

fn required_path(
    field: &Field<String>,
    parent: At,
    key: &str,
    branch: Branch,
    datacenter: Option<&str>,
    check: &mut Check<'_>,
) -> Option<InventoryPath> {
    if field.is_absent() {
        let dc = datacenter.unwrap_or("<datacenter>");
        check
            .findings
            .missing(parent, key, format!("`{key}` is required"))
            .hint(format!("add an inventory path: /{dc}/{}/<name>", branch.as_str()));
    }
    optional_path(field, key, branch, datacenter, check)?
}

/// `Some(None)` is an absent field, `None` one that cannot be used.
#[expect(clippy::option_option, reason = "absent and unusable are different things")]
fn optional_path(
    field: &Field<String>,
    key: &str,
    branch: Branch,
    datacenter: Option<&str>,
    check: &mut Check<'_>,
) -> Option<Option<InventoryPath>> {
    let written = match field {
        Field::Absent => return Some(None),
        Field::Invalid(_) => return None,
        Field::Set(written) => written,
    };
    let Some(path) = InventoryPath::parse(&written.value, branch) else {
        let dc = datacenter.unwrap_or("<datacenter>");
        check
            .findings
            .error(Rule::InventoryPath, written.at, format!("`{}` is not the path of a {key}", written.value))
            .hint(format!("write it as /{dc}/{}/<name>", branch.as_str()));
        return None;
    };
    if let Some(datacenter) = datacenter
        && path.datacenter() != datacenter.trim_matches('/')
    {
        let message = format!(
            "`{path}` is in datacenter `{}`, the failure domain is in `{datacenter}`",
            path.datacenter()
        );
        let hint = datacenter_hint(datacenter, &path, branch);
        check.findings.error(Rule::PathDatacenter, written.at, message).hint(hint);
        return None;
    }
    Some(Some(path))
}

/// In vSphere a slash parts folders; one in a name, and the percent sign, are written as their codes.
fn datacenter_hint(datacenter: &str, path: &InventoryPath, branch: Branch) -> String {
    let escaped = datacenter.replace('%', "%25").replace('/', "%2f");
    let fixed = InventoryPath::of(datacenter, branch, path.rest());
    if path.datacenter().eq_ignore_ascii_case(&escaped) {
        format!("write `{}` for the datacenter too, here and in `datacenters`", path.datacenter())
    } else if datacenter.trim_matches('/').contains('/') {
        let named = InventoryPath::of(&escaped, branch, path.rest());
        format!(
            "write `{fixed}` for a datacenter in folders; if the slash is part of its name, `{named}`, and \
             `{escaped}` for the datacenter"
        )
    } else {
        format!("write `{fixed}`, or change the datacenter")
    }
}

#[expect(clippy::option_option, reason = "absent and unusable are different things")]
fn resource_pool(
    field: &Field<String>,
    cluster: Option<&Option<InventoryPath>>,
    datacenter: Option<&str>,
    check: &mut Check<'_>,
) -> Option<Option<InventoryPath>> {
    let Some(pool) = optional_path(field, "resource pool", Branch::Host, datacenter, check)? else {
        // The root pool of a cluster.
        return Some(cluster?.as_ref().map(|cluster| cluster.join("Resources")));
    };
    if let (Some(Some(cluster)), Some(at)) = (cluster, field.at())
        && !pool.is_below(cluster)
    {
        let (message, hint) = if pool == *cluster {
            let message = format!("`{pool}` is the compute cluster, not one of its resource pools");
            (message, format!("write {cluster}/Resources/<pool>, or leave it out for the root pool"))
        } else {
            let message = format!("`{pool}` is not in the compute cluster `{cluster}`");
            (message, format!("write it as {cluster}/Resources/<pool>"))
        };
        check.findings.error(Rule::PoolCluster, at, message).hint(hint);
        return None;
    }
    Some(Some(pool))
}

fn networks(topology: &Located<WrittenTopology>, around: &Around<'_>, check: &mut Check<'_>) {
    let networks = &topology.value.networks;
    if networks.is_empty() {
        if around.old_upi {
            missing_upi(topology.at, "network", check);
        } else {
            check
                .findings
                .missing(topology.at, "networks", "at least one network is required")
                .hint("add `networks:` with the name of the port group machines are attached to");
        }
    }
    let Some(entries) = networks.get() else { return };
    if let Some(second) = entries.get(1).and_then(Field::at) {
        check.gate(Gate::VSphereMultiNetworks, second, "more than one entry in `networks`");
    }
}

/// The name of the imported template must fit into vSphere.
fn template_name(domain: &Located<WrittenFailureDomain>, infra_id: usize, check: &mut Check<'_>) {
    let WrittenFailureDomain { name, region, zone, topology, .. } = &domain.value;
    let own_template = topology.get().is_none_or(|topology| !topology.template.is_absent());
    let (Some(name), Some(region), Some(zone), false) =
        (name.located(), region.get(), zone.get(), own_template)
    else {
        return;
    };
    let fixed = infra_id + "-rhcos-".len();
    let usual = fixed + region.chars().count() + 1 + zone.chars().count();
    let short = fixed + name.value.as_str().len();
    if usual > MAX_NAME && short > MAX_NAME {
        check
            .findings
            .error(
                Rule::TemplateName,
                name.at,
                format!("the template of this failure domain would have a name of {short} characters, vSphere allows {MAX_NAME}"),
            )
            .hint(format!("shorten the failure domain's name to {} characters", MAX_NAME - fixed));
    } else if usual > MAX_NAME {
        check.findings.note(
            Rule::TemplateName,
            name.at,
            format!("region and zone are too long for the template's name; it is named after the failure domain `{}`", name.value),
        );
    }
}
