//! What is looked at. The codes never change, and the names in metrics are those that alerts and dashboards know.

use serde::{Serialize, Serializer};

/// A check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Check {
    Connection,
    Credentials,
    VCenterVersion,
    Certificate,
    Clock,
    Sessions,
    Tasks,
    InfraConfig,
    DatacenterConsistency,
    Places,
    Datastore,
    DatastoreBrowse,
    StorageClasses,
    StoragePolicy,
    Permissions,
    ZoneTags,
    HostGroups,
    ClusterId,
    ExistingDriver,
    Workloads,
    NodeMachine,
    NodeProviderId,
    NodeDiskUuid,
    NodeHardware,
    NodeHost,
    NodeVolumeLimit,
    NodeLatency,
    NodeCluster,
    NodePool,
    NodeChangeTracking,
}

impl Check {
    pub const ALL: [Check; 30] = [
        Check::Connection,
        Check::Credentials,
        Check::VCenterVersion,
        Check::Certificate,
        Check::Clock,
        Check::Sessions,
        Check::Tasks,
        Check::InfraConfig,
        Check::DatacenterConsistency,
        Check::Places,
        Check::Datastore,
        Check::DatastoreBrowse,
        Check::StorageClasses,
        Check::StoragePolicy,
        Check::Permissions,
        Check::ZoneTags,
        Check::HostGroups,
        Check::ClusterId,
        Check::ExistingDriver,
        Check::Workloads,
        Check::NodeMachine,
        Check::NodeProviderId,
        Check::NodeDiskUuid,
        Check::NodeHardware,
        Check::NodeHost,
        Check::NodeVolumeLimit,
        Check::NodeLatency,
        Check::NodeCluster,
        Check::NodePool,
        Check::NodeChangeTracking,
    ];

    /// How scripts know it, and how metrics name it.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Check::Connection => ("connection", "CheckConnection"),
            Check::Credentials => ("credentials", "CheckCredentials"),
            Check::VCenterVersion => ("vcenter-version", "ClusterInfo"),
            Check::Certificate => ("certificate", "CheckCertificate"),
            Check::Clock => ("clock", "CheckClock"),
            Check::Sessions => ("sessions", "CheckSessions"),
            Check::Tasks => ("tasks", "CheckTaskPermissions"),
            Check::InfraConfig => ("infra-config", "CheckInfraConfig"),
            Check::DatacenterConsistency => ("datacenter-consistency", "CheckDatacenterConsistency"),
            Check::Places => ("places", "CheckPlaces"),
            Check::Datastore => ("datastore", "CheckDefaultDatastore"),
            Check::DatastoreBrowse => ("datastore-browse", "CheckFolderPermissions"),
            Check::StorageClasses => ("storage-classes", "CheckStorageClasses"),
            Check::StoragePolicy => ("storage-policy", "CheckStoragePolicy"),
            Check::Permissions => ("permissions", "CheckAccountPermissions"),
            Check::ZoneTags => ("zone-tags", "CheckZoneTags"),
            Check::HostGroups => ("host-groups", "CheckHostGroups"),
            Check::ClusterId => ("cluster-id", "CheckClusterID"),
            Check::ExistingDriver => ("existing-driver", "CheckExistingDriver"),
            Check::Workloads => ("workloads", "CheckWorkloads"),
            Check::NodeMachine => ("node-machine", "CheckNodeMachine"),
            Check::NodeProviderId => ("node-provider-id", "CheckNodeProviderID"),
            Check::NodeDiskUuid => ("node-disk-uuid", "CheckNodeDiskUUID"),
            Check::NodeHardware => ("node-hardware", "CollectNodeHWVersion"),
            Check::NodeHost => ("node-host", "CollectNodeESXiVersion"),
            Check::NodeVolumeLimit => ("node-volume-limit", "CheckNodeVolumeLimit"),
            Check::NodeLatency => ("node-latency", "CheckNodePerf"),
            Check::NodeCluster => ("node-cluster", "CheckComputeClusterPermissions"),
            Check::NodePool => ("node-pool", "CheckResourcePoolPermissions"),
            Check::NodeChangeTracking => ("node-change-tracking", "CollectNodeCBT"),
        }
    }

    pub fn code(self) -> &'static str {
        self.names().0
    }

    pub fn of_code(code: &str) -> Option<Self> {
        Check::ALL.into_iter().find(|check| check.code() == code)
    }

    /// The label `check` of its series.
    pub fn metric(self) -> &'static str {
        self.names().1
    }

    /// Whether it is about nodes, one by one.
    pub fn is_of_nodes(self) -> bool {
        self >= Check::NodeMachine
    }
}

impl Serialize for Check {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.code())
    }
}

/// Why it matters, in the words of OpenShift's storage operator where it has one. Conditions and metrics show them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    ExistingDriverFound,
    OpenshiftApiError,
    VsphereConnectionFailed,
    VcenterApiError,
    CheckDeprecatedVcenter,
    CheckDeprecatedEsxiVersion,
    CheckDeprecatedHwVersion,
    BlockVolumeLimitError,
    UsernameWithoutDomain,
    UsernameWithNewLine,
    PasswordWithNewLine,
    InvalidCredentials,
    /// What has no name elsewhere is known by its check.
    Other,
}

impl Reason {
    pub const ALL: [Reason; 13] = [
        Reason::ExistingDriverFound,
        Reason::OpenshiftApiError,
        Reason::VsphereConnectionFailed,
        Reason::VcenterApiError,
        Reason::CheckDeprecatedVcenter,
        Reason::CheckDeprecatedEsxiVersion,
        Reason::CheckDeprecatedHwVersion,
        Reason::BlockVolumeLimitError,
        Reason::UsernameWithoutDomain,
        Reason::UsernameWithNewLine,
        Reason::PasswordWithNewLine,
        Reason::InvalidCredentials,
        Reason::Other,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Reason::ExistingDriverFound => "existing_driver_found",
            Reason::OpenshiftApiError => "openshift_api_error",
            Reason::VsphereConnectionFailed => "vsphere_connection_failed",
            Reason::VcenterApiError => "vcenter_api_error",
            Reason::CheckDeprecatedVcenter => "check_deprecated_vcenter",
            Reason::CheckDeprecatedEsxiVersion => "check_deprecated_esxi_version",
            Reason::CheckDeprecatedHwVersion => "check_deprecated_hw_version",
            Reason::BlockVolumeLimitError => "block_volume_limit_error",
            Reason::UsernameWithoutDomain => "UsernameWithoutDomain",
            Reason::UsernameWithNewLine => "UsernameWithNewLine",
            Reason::PasswordWithNewLine => "PasswordWithNewLine",
            Reason::InvalidCredentials => "InvalidCredentials",
            Reason::Other => "check_failed",
        }
    }
}

impl Serialize for Reason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::Check;

    #[test]
    fn names_are_unique() {
        let codes: BTreeSet<&str> = Check::ALL.iter().map(|check| check.code()).collect();
        let metrics: BTreeSet<&str> = Check::ALL.iter().map(|check| check.metric()).collect();
        assert_eq!((codes.len(), metrics.len()), (Check::ALL.len(), Check::ALL.len()));
    }

    #[test]
    fn codes_say_what_they_are_about() {
        for check in Check::ALL {
            assert_eq!(check.is_of_nodes(), check.code().starts_with("node-"), "{}", check.code());
        }
    }
}
