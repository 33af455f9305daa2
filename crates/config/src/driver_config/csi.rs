//! The storage driver's configuration, which is INI only. It holds credentials: it belongs into a Secret.

mod permission;
mod problems;

use std::collections::BTreeMap;

use super::ServerPort;
use super::ini::{self, IniReader, Leftover, write_section};
use super::keys::keys;
use crate::findings::{Findings, Report, Rule};
use crate::gcfg::{self, WriteError, Writer};
use crate::secret::Secret;
use crate::yaml::Span;

pub use permission::Permission;
pub use problems::Problem;

/// The configuration of the vSphere storage driver.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CsiConfig {
    pub global: Global,
    pub vcenters: BTreeMap<String, VCenter>,
    pub labels: Labels,
    pub topology_categories: BTreeMap<String, TopologyCategory>,
    pub net_permissions: BTreeMap<String, NetPermissions>,
    pub snapshot: Snapshot,
    pub guest: Guest,
}

keys! {
    /// The cluster, defaults for all vCenters, and tuning.
    Global {
        /// The only vCenter, in a form that no manual mentions.
        vcenter_ip: String = "vcenterip" "";
        /// The cluster's id, unique on each vCenter. At most 64 characters.
        cluster_id: String = "cluster-id" "";
        /// What kind of cluster it is, for support.
        cluster_distribution: String = "cluster-distribution" "";
        /// Id of a Supervisor.
        supervisor_id: String = "supervisor-id" "";
        /// User, as `name@domain` or `DOMAIN\name`.
        user: String = "user" "";
        /// Password.
        password: Secret = "password" "";
        /// Port of the vCenters.
        port: ServerPort = "port" "";
        /// Whether certificates are not verified.
        insecure_flag: bool = "insecure-flag" "";
        /// File with authorities to trust.
        ca_file: String = "ca-file" "";
        /// Fingerprint of the certificate.
        thumbprint: String = "thumbprint" "";
        /// Datacenters, separated by commas.
        datacenters: Vec<String> = "datacenters" "";
        /// Minutes between clean-ups of volume registrations.
        register_volumes_cleanup: u32 = "cnsregistervolumes-cleanup-intervalinmin" "";
        /// Minutes between clean-ups of claim protections.
        pvc_protection_cleanup: u32 = "cnspvcprotection-cleanup-intervalinmin" "";
        /// Minutes between clean-ups of migrations.
        migration_cleanup: u32 = "volumemigration-cr-cleanup-intervalinmin" "";
        /// Minutes between clean-ups of volume operations.
        operation_cleanup: u32 = "cnsvolumeoperationrequest-cleanup-intervalinmin" "";
        /// Minutes between checks of privileges.
        auth_check: u32 = "csi-auth-check-intervalinmin" "";
        /// Minutes between looks at preferred datastores.
        preferred_datastores: u32 = "csi-fetch-preferred-datastores-intervalinmin" "";
        /// Most volumes per query.
        query_limit: u32 = "query-limit" "";
        /// Volumes from which on listing is done in parts.
        list_volume_threshold: u32 = "list-volume-threshold" "";
    }
}

keys! {
    /// A vCenter. What is not set is taken from the global section.
    VCenter {
        /// User, as `name@domain` or `DOMAIN\name`.
        user: String = "user" "";
        /// Password.
        password: Secret = "password" "";
        /// Port.
        port: ServerPort = "port" "";
        /// Whether its certificate is not verified.
        insecure_flag: bool = "insecure-flag" "";
        /// File with authorities to trust.
        ca_file: String = "ca-file" "";
        /// Fingerprint of the certificate.
        thumbprint: String = "thumbprint" "";
        /// Datacenters, separated by commas.
        datacenters: Vec<String> = "datacenters" "";
        /// Clusters whose file service holds file volumes.
        file_share_clusters: String = "targetvSANFileShareClusters" "";
        /// Datastore that in-tree volumes are migrated to.
        migration_datastore_url: String = "migration-datastore-url" "";
    }
}

keys! {
    /// Tag categories of the topology.
    Labels {
        /// Categories, at most 5.
        topology_categories: Vec<String> = "topology-categories" "";
        /// Category of zones, in the old form.
        zone: String = "zone" "";
        /// Category of regions, in the old form.
        region: String = "region" "";
    }
}

keys! {
    /// The node label of a category.
    TopologyCategory {
        /// The label.
        label: String = "label" "";
    }
}

keys! {
    /// Who may mount file volumes.
    NetPermissions {
        /// Addresses, `*` for all.
        ips: String = "ips" "";
        /// READ_WRITE, READ_ONLY or NO_ACCESS.
        permissions: Option<Permission> = "permissions" "";
        /// Whether root is mapped to the user nobody.
        root_squash: bool = "rootsquash" "";
    }
}

keys! {
    /// Limits of snapshots per volume.
    Snapshot {
        /// For all datastores.
        global_max: u32 = "global-max-snapshots-per-block-volume" "";
        /// For vSAN.
        vsan_max: u32 = "granular-max-snapshots-per-block-volume-vsan" "";
        /// For vVols.
        vvol_max: u32 = "granular-max-snapshots-per-block-volume-vvol" "";
    }
}

keys! {
    /// Settings of guest clusters of a Supervisor.
    Guest {
        /// The Supervisor's address.
        endpoint: String = "endpoint" "";
        /// Its port.
        port: String = "port" "";
        /// Id of the cluster.
        cluster_uid: String = "tanzukubernetescluster-uid" "";
        /// Name of the cluster.
        cluster_name: String = "tanzukubernetescluster-name" "";
        /// What kind of cluster it is.
        cluster_distribution: String = "cluster-distribution" "";
        /// API version of the cluster.
        cluster_api_version: String = "cluster-api-version" "";
        /// Kind of the cluster.
        cluster_kind: String = "cluster-kind" "";
    }
}

/// The result of reading a storage driver's configuration.
#[derive(Debug)]
pub struct Reading {
    pub config: Option<CsiConfig>,
    pub leftovers: Vec<Leftover>,
    pub report: Report,
}

const SECTIONS: [&str; 7] =
    ["Global", "VirtualCenter", "Labels", "TopologyCategory", "NetPermissions", "Snapshot", "GC"];

/// Reads the configuration and judges it as the driver does. One with `[GC]` and no vCenter is a guest cluster's.
pub fn read(text: &str) -> Reading {
    let mut findings = Findings::default();
    let file = match gcfg::parse(text) {
        Ok(file) => file,
        Err(error) => {
            let end =
                text[error.offset..].chars().next().map_or(error.offset, |c| error.offset + c.len_utf8());
            findings
                .error_in(Rule::IniSyntax, Span::new(error.offset, end), error.message)
                .hint("write `[Section \"name\"]` and `key = \"value\"` lines");
            return Reading { config: None, leftovers: Vec::new(), report: findings.report(None, text) };
        }
    };
    let mut reader = IniReader::new(text, &file, &mut findings);
    reader.refuse_unnamed("VirtualCenter");
    let config = CsiConfig {
        global: reader.section("Global"),
        vcenters: reader.subsections("VirtualCenter"),
        labels: reader.section("Labels"),
        topology_categories: reader.subsections("TopologyCategory"),
        net_permissions: reader.subsections("NetPermissions"),
        snapshot: reader.section("Snapshot"),
        guest: reader.section("GC"),
    };
    reader.finish(&SECTIONS);
    let leftovers = reader.leftovers;
    empty_entries(&file, &mut findings);
    let broken = findings.has_errors();
    for problem in config.problems() {
        if broken && problem.missing && is_unreadable(&file, &problem) {
            continue;
        }
        let (section, name, key) = (problem.section, problem.name.as_deref(), problem.key);
        let span = ini::find(&file, section, name, key).unwrap_or_else(|| elsewhere(&file));
        findings
            .error_in(Rule::CsiConfig, span, problem.message)
            .at_path(ini::shown(section, name, key))
            .hint(problem.hint);
    }
    let config = (!findings.has_errors()).then_some(config);
    Reading { config, leftovers, report: findings.report(None, text) }
}

/// What is written but could not be read has been reported; it is not missing.
fn is_unreadable(file: &gcfg::File, problem: &Problem) -> bool {
    let of = |name: &str, subsection: Option<&str>| {
        let sections = file.sections.iter().filter(move |section| {
            gcfg::same_name(&section.name, name) && section.subsection.as_deref() == subsection
        });
        let mut variables = sections.flat_map(|section| &section.variables);
        let last = variables.rfind(|variable| gcfg::same_name(&variable.name, problem.key));
        // A list can also be one of nothing.
        last.is_some_and(|variable| match variable.value.as_deref() {
            None => true,
            Some(text) => problem.section == "Labels" && !text.is_empty(),
        })
    };
    if problem.key.is_empty() {
        return file.sections.iter().any(|section| gcfg::same_name(&section.name, problem.section));
    }
    of(problem.section, problem.name.as_deref()) || problem.section == "VirtualCenter" && of("Global", None)
}

/// Where to point at when the section that matters is not there: the last vCenter, else the first section.
fn elsewhere(file: &gcfg::File) -> Span {
    let vcenter = file.sections.iter().rfind(|section| gcfg::same_name(&section.name, "VirtualCenter"));
    vcenter.or(file.sections.first()).map(ini::header).unwrap_or_default()
}

/// The driver takes nothing between two commas for a name.
fn empty_entries(file: &gcfg::File, findings: &mut Findings) {
    let lists =
        [("Global", "datacenters"), ("VirtualCenter", "datacenters"), ("Labels", "topology-categories")];
    for section in &file.sections {
        for variable in &section.variables {
            let is_list = lists.iter().any(|(name, key)| {
                gcfg::same_name(&section.name, name) && gcfg::same_name(&variable.name, key)
            });
            let mut entries = variable.value.iter().flat_map(|value| value.split(','));
            let text = variable.value.as_deref().unwrap_or_default();
            // A list of nothing has been reported.
            let some = text.split(',').any(|entry| !entry.trim().is_empty());
            if is_list && some && entries.any(|entry| entry.trim().is_empty()) {
                let span = Span::new(variable.offset, variable.offset + variable.name.len());
                let message =
                    format!("`{}` has an empty entry, which the driver takes for a name", variable.name);
                findings
                    .error_in(Rule::DriverValue, span, message)
                    .at_path(ini::shown(&section.name, section.subsection.as_deref(), &variable.name))
                    .hint("remove the comma that is too many");
            }
        }
    }
}

impl CsiConfig {
    /// The configuration as the driver reads it. Every value survives, or is named in the error.
    pub fn to_ini(&self) -> Result<String, WriteError> {
        let mut writer = Writer::default();
        write_section(&mut writer, "Global", None, &self.global, true)?;
        for (server, vcenter) in &self.vcenters {
            write_section(&mut writer, "VirtualCenter", Some(server), vcenter, true)?;
        }
        write_section(&mut writer, "Labels", None, &self.labels, false)?;
        for (name, category) in &self.topology_categories {
            write_section(&mut writer, "TopologyCategory", ini::quoted(name), category, true)?;
        }
        for (name, permissions) in &self.net_permissions {
            write_section(&mut writer, "NetPermissions", ini::quoted(name), permissions, true)?;
        }
        write_section(&mut writer, "Snapshot", None, &self.snapshot, false)?;
        write_section(&mut writer, "GC", None, &self.guest, false)?;
        Ok(writer.finish())
    }
}
