//! The old form with one vCenter, turned into `vcenters` and `failureDomains`.

use std::collections::HashSet;

use super::written::{WrittenFailureDomain, WrittenPlatform, WrittenTopology, WrittenVCenter};
use crate::decode::{Entries, Field, Located, Port};
use crate::findings::{Findings, Rule};
use crate::inventory::{Branch, InventoryPath};
use crate::names::FailureDomainName;
use crate::yaml::At;

const GENERATED_NAME: &str = "generated-failure-domain";
const GENERATED_REGION: &str = "generated-region";
const GENERATED_ZONE: &str = "generated-zone";

/// Finds the inventory path of an object that is given by name only.
pub trait PathLookup {
    /// The path, or why there is none: nothing has that name, or several things do.
    fn path(
        &self,
        server: &str,
        datacenter: &str,
        branch: Branch,
        name: &str,
    ) -> Result<InventoryPath, String>;
}

/// Builds paths without asking anyone: `/<datacenter>/<branch>/<name>`.
#[derive(Debug, Clone, Copy)]
pub struct ByRule;

impl PathLookup for ByRule {
    fn path(&self, _: &str, datacenter: &str, branch: Branch, name: &str) -> Result<InventoryPath, String> {
        Ok(InventoryPath::of(datacenter, branch, name))
    }
}

/// Whether the old fields say that the user provides the machines (UPI): a vCenter, but neither a
/// cluster nor a network to put machines into.
pub(super) fn is_old_upi(platform: &WrittenPlatform) -> bool {
    !platform.vcenter.is_absent() && platform.cluster.is_absent() && platform.network.is_absent()
}

/// Rewrites the old fields into the new ones, and names into paths.
pub(super) fn convert(
    platform: &mut Located<WrittenPlatform>,
    lookup: &dyn PathLookup,
    findings: &mut Findings,
) {
    let at = platform.at;
    let platform = &mut platform.value;
    let upi = is_old_upi(platform);
    if platform.vcenters.is_empty() {
        if let Some(server) = platform.vcenter.at() {
            require(&mut platform.username, at, "username", findings);
            require(&mut platform.password, at, "password", findings);
            // Failure domains that are written out name theirs themselves.
            let mut named = platform.failure_domains.items().filter_map(|domain| domain.value.topology.get());
            if !named.any(|topology| !topology.datacenter.is_absent()) {
                require(&mut platform.datacenter, at, "datacenter", findings);
            }
            platform.vcenters = Field::set(vec![Field::set(one_vcenter(platform), server)], server);
        }
    } else if let Some(old) = platform.vcenter.at() {
        ignored(old, "vCenter", "vcenters", findings);
    }
    inherit(platform);
    if platform.failure_domains.is_empty() {
        if let Some(place) = platform.datacenter.at() {
            require(&mut platform.default_datastore, at, "defaultDatastore", findings);
            if !upi {
                require(&mut platform.cluster, at, "cluster", findings);
                require(&mut platform.network, at, "network", findings);
            }
            let domain = one_failure_domain(platform, place)
                .map_or(Field::Invalid(place), |domain| Field::set(domain, place));
            platform.failure_domains = Field::set(vec![domain], place);
        }
    } else if let Some(old) = platform.cluster.at() {
        ignored(old, "cluster", "failureDomains", findings);
    }
    names_to_paths(platform, lookup, findings);
}

/// The old form needs the field; reported here, under the name it has here.
fn require<T>(field: &mut Field<T>, platform: At, key: &str, findings: &mut Findings) {
    if field.is_absent() {
        findings
            .missing(platform, key, format!("`{key}` is required beside `vCenter`"))
            .hint("add it, or describe the cluster with `vcenters` and `failureDomains`");
        *field = Field::Invalid(platform);
    }
}

fn ignored(at: At, old: &str, new: &str, findings: &mut Findings) {
    findings
        .warning(Rule::LegacyIgnored, at, format!("`{old}` has no effect because `{new}` is given"))
        .hint(format!("remove `{old}` and the other deprecated fields"));
}

fn one_vcenter(platform: &WrittenPlatform) -> WrittenVCenter {
    let mut datacenters: Entries<String> = Vec::new();
    let mut seen = HashSet::new();
    let listed = platform
        .failure_domains
        .items()
        .filter_map(|domain| domain.value.topology.get())
        .map(|topology| &topology.datacenter);
    for datacenter in std::iter::once(&platform.datacenter).chain(listed) {
        match datacenter {
            Field::Set(datacenter) if seen.insert(datacenter.value.as_str()) => {
                datacenters.push(Field::Set(datacenter.clone()));
            }
            Field::Invalid(at) => datacenters.push(Field::Invalid(*at)),
            _ => {}
        }
    }
    let place = platform.datacenter.at().or(platform.vcenter.at()).unwrap_or(At::ROOT);
    WrittenVCenter {
        server: platform.vcenter.clone(),
        port: Field::set(Port::HTTPS, place),
        user: platform.username.clone(),
        password: platform.password.clone(),
        datacenters: Field::set(datacenters, place),
        ..WrittenVCenter::default()
    }
}

/// Failure domains without server or datacenter take those of the old fields.
fn inherit(platform: &mut WrittenPlatform) {
    let server = platform.vcenter.clone();
    let datacenter = platform.datacenter.clone();
    for domain in platform.failure_domains.items_mut() {
        if domain.server.is_absent() {
            domain.server = server.clone();
        }
        if let Some(topology) = domain.topology.get_mut()
            && topology.datacenter.is_absent()
        {
            topology.datacenter = datacenter.clone();
        }
    }
}

fn one_failure_domain(platform: &WrittenPlatform, at: At) -> Option<WrittenFailureDomain> {
    let server = platform.vcenters.items().next().map(|vcenter| vcenter.value.server.clone())?;
    let networks = match &platform.network {
        Field::Absent => Field::Absent,
        network => Field::set(vec![network.clone()], at),
    };
    let topology = WrittenTopology {
        datacenter: platform.datacenter.clone(),
        compute_cluster: platform.cluster.clone(),
        networks,
        datastore: platform.default_datastore.clone(),
        resource_pool: platform.resource_pool.clone(),
        folder: platform.folder.clone(),
        ..WrittenTopology::default()
    };
    Some(WrittenFailureDomain {
        name: Field::set(GENERATED_NAME.parse::<FailureDomainName>().ok()?, at),
        region: Field::set(GENERATED_REGION.to_owned(), at),
        zone: Field::set(GENERATED_ZONE.to_owned(), at),
        server,
        topology: Field::set(topology, at),
        ..WrittenFailureDomain::default()
    })
}

/// Clusters, datastores and folders may be given by name; from here on they are paths.
fn names_to_paths(platform: &mut WrittenPlatform, lookup: &dyn PathLookup, findings: &mut Findings) {
    for domain in platform.failure_domains.items_mut() {
        let server = domain.server.get().map(ToString::to_string).unwrap_or_default();
        let Some(topology) = domain.topology.get_mut() else { continue };
        let datacenter = topology.datacenter.get().cloned();
        let fields = [
            (&mut topology.compute_cluster, Branch::Host),
            (&mut topology.datastore, Branch::Datastore),
            (&mut topology.folder, Branch::Vm),
        ];
        for (field, branch) in fields {
            let Field::Set(name) = field else { continue };
            if name.value.starts_with('/') {
                continue;
            }
            // Without a datacenter, which has been reported, nothing can be said about a name.
            let Some(datacenter) = &datacenter else {
                *field = Field::Invalid(name.at);
                continue;
            };
            match lookup.path(&server, datacenter, branch, &name.value) {
                Ok(path) => {
                    let message = format!("`{}` is read as `{path}`", name.value);
                    let below = name.value.strip_prefix(branch.as_str());
                    // Half a path is rarely the name of something.
                    if let Some(rest) = below.and_then(|rest| rest.strip_prefix('/')) {
                        let meant = InventoryPath::of(datacenter, branch, rest);
                        let hint = format!("write `{meant}`, or `{path}` if that is what you mean");
                        findings.warning(Rule::NameBecomesPath, name.at, message).hint(hint);
                    } else {
                        let hint = format!("write `{path}`");
                        findings.note(Rule::NameBecomesPath, name.at, message).hint(hint);
                    }
                    path.as_str().clone_into(&mut name.value);
                }
                Err(reason) => {
                    let at = name.at;
                    findings.error(Rule::InventoryPath, at, reason);
                    *field = Field::Invalid(at);
                }
            }
        }
        // A pool by name lies in the root pool of its cluster.
        if let Field::Set(pool) = &mut topology.resource_pool
            && !pool.value.starts_with('/')
        {
            let Some(cluster) = topology.compute_cluster.get() else {
                topology.resource_pool = Field::Invalid(pool.at);
                continue;
            };
            let path = format!("{cluster}/Resources/{}", pool.value);
            findings
                .note(Rule::NameBecomesPath, pool.at, format!("`{}` is read as `{path}`", pool.value))
                .hint(format!("write `{path}`"));
            pool.value = path;
        }
    }
}
