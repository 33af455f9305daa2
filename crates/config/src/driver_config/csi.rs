//! The storage driver's configuration, which is INI only. It holds credentials: it belongs into a Secret.

use std::collections::BTreeMap;

use super::ServerPort;
use super::ini::{IniReader, Leftover, write_section};
use super::keys::keys;
use crate::findings::{Findings, Report, Rule};
use crate::gcfg::{self, WriteError, Writer};
use crate::names::storage_driver_accepts;
use crate::secret::Secret;
use crate::yaml::{FieldPath, Span};

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
        permissions: String = "permissions" "";
        /// Whether root is mapped to nobody.
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
/// Limits of the driver itself.
const MOST_VCENTERS: usize = 5;
const MOST_CATEGORIES: usize = 5;
const LONGEST_CLUSTER_ID: usize = 64;
const LABEL_DOMAINS: [&str; 3] =
    ["topology.kubernetes.io", "failure-domain.beta.kubernetes.io", "topology.csi.vmware.com"];

/// Reads the configuration and judges it as the driver does.
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
    for (path, problem, hint) in config.problems() {
        findings.error_in(Rule::CsiConfig, Span::default(), problem).at_path(FieldPath::of(path)).hint(hint);
    }
    let config = (!findings.has_errors()).then_some(config);
    Reading { config, leftovers, report: findings.report(None, text) }
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
            write_section(&mut writer, "TopologyCategory", Some(name), category, true)?;
        }
        for (name, permissions) in &self.net_permissions {
            write_section(&mut writer, "NetPermissions", Some(name), permissions, true)?;
        }
        write_section(&mut writer, "Snapshot", None, &self.snapshot, false)?;
        write_section(&mut writer, "GC", None, &self.guest, false)?;
        Ok(writer.finish())
    }

    /// What the driver would refuse to start with: where, what, and what to do.
    pub fn problems(&self) -> Vec<(String, String, &'static str)> {
        let mut problems = Vec::new();
        let mut problem = |path: String, message: String, hint| problems.push((path, message, hint));
        match self.vcenters.len() {
            0 => problem(
                "[VirtualCenter]".to_owned(),
                "no vCenter is configured".to_owned(),
                "add [VirtualCenter \"server\"]",
            ),
            count if count > MOST_VCENTERS => problem(
                "[VirtualCenter]".to_owned(),
                format!("{count} vCenters; the driver takes at most {MOST_VCENTERS}"),
                "remove the ones without volumes",
            ),
            count if count > 1 && self.labels.topology_categories.is_empty() => problem(
                "[Labels] topology-categories".to_owned(),
                "several vCenters need `topology-categories`".to_owned(),
                "add `topology-categories` with the tag categories of region and zone",
            ),
            _ => {}
        }
        if self.global.supervisor_id.len() > LONGEST_CLUSTER_ID {
            problem(
                "[Global] supervisor-id".to_owned(),
                format!("`supervisor-id` is longer than {LONGEST_CLUSTER_ID} characters"),
                "copy it from the Supervisor",
            );
        }
        if self.global.cluster_id.len() > LONGEST_CLUSTER_ID {
            problem(
                "[Global] cluster-id".to_owned(),
                format!("`cluster-id` is longer than {LONGEST_CLUSTER_ID} characters"),
                "use the infrastructure's name",
            );
        }
        let categories = &self.labels.topology_categories;
        if categories.len() > MOST_CATEGORIES {
            problem(
                "[Labels] topology-categories".to_owned(),
                format!("{} categories; the driver takes at most {MOST_CATEGORIES}", categories.len()),
                "use region and zone",
            );
        }
        let old_form = !self.labels.zone.is_empty() || !self.labels.region.is_empty();
        if !categories.is_empty() && old_form {
            problem(
                "[Labels]".to_owned(),
                "`topology-categories` excludes `zone` and `region`".to_owned(),
                "keep `topology-categories`",
            );
        }
        for (server, vcenter) in &self.vcenters {
            let user = if vcenter.user.is_empty() { &self.global.user } else { &vcenter.user };
            let path = |key: &str| format!("[VirtualCenter {server:?}] {key}");
            if user.is_empty() {
                problem(
                    path("user"),
                    format!("there is no user for `{server}`"),
                    "add `user = \"name@domain\"`",
                );
            } else if !storage_driver_accepts(user) {
                problem(
                    path("user"),
                    format!("the driver refuses the user of `{server}`"),
                    "write name@domain or DOMAIN\\name, with letters, digits, `.`, `-` and `_` only",
                );
            }
            if vcenter.password.is_empty() && self.global.password.is_empty() {
                problem(
                    path("password"),
                    format!("there is no password for `{server}`"),
                    "add `password = \"…\"`",
                );
            }
        }
        for (name, category) in &self.topology_categories {
            let domain = category.label.split('/').next().unwrap_or_default();
            if !LABEL_DOMAINS.contains(&domain) {
                problem(
                    format!("[TopologyCategory {name:?}] label"),
                    format!("`{}` is not a label the driver accepts", category.label),
                    "use a label of topology.kubernetes.io or topology.csi.vmware.com",
                );
            }
        }
        for (name, permissions) in &self.net_permissions {
            if !matches!(permissions.permissions.as_str(), "" | "READ_WRITE" | "READ_ONLY" | "NO_ACCESS") {
                problem(
                    format!("[NetPermissions {name:?}] permissions"),
                    format!("`{}` is not a permission", permissions.permissions),
                    "write READ_WRITE, READ_ONLY or NO_ACCESS",
                );
            }
        }
        problems
    }
}
