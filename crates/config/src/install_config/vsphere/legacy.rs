//! The old form with one vCenter, turned into `vcenters` and `failureDomains`.

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
    if platform.vcenters.is_absent() {
        if let Some(server) = platform.vcenter.at() {
            platform.vcenters = Field::set(vec![Field::set(one_vcenter(platform), server)], server);
        }
    } else if let Some(old) = platform.vcenter.at().filter(|_| !platform.vcenters.is_empty()) {
        ignored(old, "vCenter", "vcenters", findings);
    }
    inherit(platform);
    if platform.failure_domains.is_absent() {
        if let Some(domain) = one_failure_domain(platform) {
            let place = platform.datacenter.at().unwrap_or(at);
            platform.failure_domains = Field::set(vec![Field::set(domain, place)], place);
        }
    } else if let Some(old) = platform.cluster.at().filter(|_| !platform.failure_domains.is_empty()) {
        ignored(old, "cluster", "failureDomains", findings);
    }
    names_to_paths(platform, lookup, findings);
}

fn ignored(at: At, old: &str, new: &str, findings: &mut Findings) {
    findings
        .warning(Rule::LegacyIgnored, at, format!("`{old}` has no effect because `{new}` is given"))
        .hint(format!("remove `{old}` and the other deprecated fields"));
}

fn one_vcenter(platform: &WrittenPlatform) -> WrittenVCenter {
    let mut datacenters: Entries<String> = Vec::new();
    let listed = platform
        .failure_domains
        .items()
        .filter_map(|domain| domain.value.topology.get())
        .map(|topology| &topology.datacenter);
    for datacenter in std::iter::once(&platform.datacenter).chain(listed) {
        if let Some(datacenter) = datacenter.located()
            && !datacenters.iter().any(|seen| seen.get() == Some(&datacenter.value))
        {
            datacenters.push(Field::Set(datacenter.clone()));
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

fn one_failure_domain(platform: &WrittenPlatform) -> Option<WrittenFailureDomain> {
    let datacenter = platform.datacenter.located()?;
    let at = datacenter.at;
    let server = platform.vcenters.items().next().map(|vcenter| vcenter.value.server.clone())?;
    let networks = platform.network.located().map(|network| vec![Field::Set(network.clone())]);
    let topology = WrittenTopology {
        datacenter: platform.datacenter.clone(),
        compute_cluster: platform.cluster.clone(),
        networks: networks.map_or(Field::Absent, |networks| Field::set(networks, at)),
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
        let Some(datacenter) = topology.datacenter.get().cloned() else { continue };
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
            match lookup.path(&server, &datacenter, branch, &name.value) {
                Ok(path) => {
                    findings
                        .note(
                            Rule::NameBecomesPath,
                            name.at,
                            format!("`{}` is taken for `{path}`", name.value),
                        )
                        .hint(format!("write `{path}`"));
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
        if let (Some(cluster), Field::Set(pool)) =
            (topology.compute_cluster.get(), &mut topology.resource_pool)
            && !pool.value.starts_with('/')
        {
            let path = format!("{cluster}/Resources/{}", pool.value);
            findings
                .note(Rule::NameBecomesPath, pool.at, format!("`{}` is taken for `{path}`", pool.value))
                .hint(format!("write `{path}`"));
            pool.value = path;
        }
    }
}
