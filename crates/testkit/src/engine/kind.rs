//! What there is on an engine, and what its representations link to.

/// A kind of object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    DataCenter,
    Cluster,
    Host,
    StorageDomain,
    Network,
    VnicProfile,
    Template,
    Vm,
    Disk,
    /// Its id is the disk's, its parent the machine or template.
    DiskAttachment,
    Nic,
    Tag,
    AffinityGroup,
    AffinityLabel,
    InstanceType,
    Quota,
    User,
    Role,
    Permission,
    Event,
    Job,
    Step,
    ImageTransfer,
    CpuProfile,
    DiskProfile,
    GraphicsConsole,
    OperatingSystem,
    MacPool,
}

use Kind::{
    AffinityGroup, AffinityLabel, Cluster, CpuProfile, DataCenter, Disk, DiskAttachment, DiskProfile, Event,
    GraphicsConsole, Host, ImageTransfer, InstanceType, Job, MacPool, Network, Nic, OperatingSystem,
    Permission, Quota, Role, Step, StorageDomain, Tag, Template, User, Vm, VnicProfile,
};

impl Kind {
    pub(super) const ALL: [Kind; 28] = [
        DataCenter,
        Cluster,
        Host,
        StorageDomain,
        Network,
        VnicProfile,
        Template,
        Vm,
        Disk,
        DiskAttachment,
        Nic,
        Tag,
        AffinityGroup,
        AffinityLabel,
        InstanceType,
        Quota,
        User,
        Role,
        Permission,
        Event,
        Job,
        Step,
        ImageTransfer,
        CpuProfile,
        DiskProfile,
        GraphicsConsole,
        OperatingSystem,
        MacPool,
    ];

    /// Collections at the root.
    pub(super) fn of_collection(segment: &str) -> Option<Kind> {
        let is_nested = |kind: Kind| {
            matches!(kind, DiskAttachment | Nic | AffinityGroup | Quota | Step | GraphicsConsole)
        };
        Kind::ALL.into_iter().find(|kind| kind.collection() == segment && !is_nested(*kind))
    }

    /// The name of an item, in both formats.
    pub(super) fn item(self) -> &'static str {
        self.names().0
    }

    /// The name of a list in XML.
    pub(super) fn list(self) -> &'static str {
        self.names().1
    }

    /// The segment of a path.
    pub(super) fn collection(self) -> &'static str {
        self.names().2
    }

    fn names(self) -> (&'static str, &'static str, &'static str) {
        match self {
            DataCenter => ("data_center", "data_centers", "datacenters"),
            Cluster => ("cluster", "clusters", "clusters"),
            Host => ("host", "hosts", "hosts"),
            StorageDomain => ("storage_domain", "storage_domains", "storagedomains"),
            Network => ("network", "networks", "networks"),
            VnicProfile => ("vnic_profile", "vnic_profiles", "vnicprofiles"),
            Template => ("template", "templates", "templates"),
            Vm => ("vm", "vms", "vms"),
            Disk => ("disk", "disks", "disks"),
            DiskAttachment => ("disk_attachment", "disk_attachments", "diskattachments"),
            Nic => ("nic", "nics", "nics"),
            Tag => ("tag", "tags", "tags"),
            AffinityGroup => ("affinity_group", "affinity_groups", "affinitygroups"),
            AffinityLabel => ("affinity_label", "affinity_labels", "affinitylabels"),
            InstanceType => ("instance_type", "instance_types", "instancetypes"),
            Quota => ("quota", "quotas", "quotas"),
            User => ("user", "users", "users"),
            Role => ("role", "roles", "roles"),
            Permission => ("permission", "permissions", "permissions"),
            Event => ("event", "events", "events"),
            Job => ("job", "jobs", "jobs"),
            Step => ("step", "steps", "steps"),
            ImageTransfer => ("image_transfer", "image_transfers", "imagetransfers"),
            CpuProfile => ("cpu_profile", "cpu_profiles", "cpuprofiles"),
            DiskProfile => ("disk_profile", "disk_profiles", "diskprofiles"),
            GraphicsConsole => ("graphics_console", "graphics_consoles", "graphicsconsoles"),
            OperatingSystem => ("operating_system", "operating_systems", "operatingsystems"),
            MacPool => ("mac_pool", "mac_pools", "macpools"),
        }
    }

    pub(super) fn links(self) -> &'static [&'static str] {
        match self {
            DataCenter => {
                &["storagedomains", "clusters", "networks", "permissions", "quotas", "qoss", "iscsibonds"]
            }
            Cluster => &[
                "affinitygroups",
                "glusterhooks",
                "glustervolumes",
                "enabledfeatures",
                "externalnetworkproviders",
                "cpuprofiles",
                "networkfilters",
                "networks",
                "permissions",
            ],
            Host => &[
                "nics",
                "numanodes",
                "hooks",
                "unmanagednetworks",
                "fenceagents",
                "networkattachments",
                "storage",
                "devices",
                "permissions",
                "tags",
                "affinitylabels",
                "statistics",
            ],
            StorageDomain => &[
                "disksnapshots",
                "diskprofiles",
                "disks",
                "storageconnections",
                "permissions",
                "templates",
                "vms",
            ],
            Network => &["networklabels", "permissions", "vnicprofiles"],
            VnicProfile | Quota | DiskProfile | CpuProfile | MacPool => &["permissions"],
            Template => &[
                "nics",
                "diskattachments",
                "cdroms",
                "mediateddevices",
                "watchdogs",
                "graphicsconsoles",
                "permissions",
                "tags",
            ],
            Vm => &[
                "snapshots",
                "applications",
                "hostdevices",
                "reporteddevices",
                "sessions",
                "backups",
                "checkpoints",
                "nics",
                "numanodes",
                "diskattachments",
                "cdroms",
                "mediateddevices",
                "watchdogs",
                "graphicsconsoles",
                "katelloerrata",
                "permissions",
                "tags",
                "affinitylabels",
                "statistics",
            ],
            Disk => &["disksnapshots", "permissions", "statistics"],
            Nic => &["networkfilterparameters", "reporteddevices", "statistics"],
            AffinityGroup => &["vmlabels", "hostlabels", "hosts", "vms"],
            AffinityLabel => &["hosts", "vms"],
            InstanceType => &["nics", "watchdogs", "graphicsconsoles"],
            User => &["groups", "roles", "permissions", "tags", "sshpublickeys", "options"],
            Role => &["permits"],
            Job => &["steps"],
            Step => &["statistics"],
            DiskAttachment | Tag | Permission | Event | ImageTransfer | GraphicsConsole | OperatingSystem => {
                &[]
            }
        }
    }

    pub(super) fn actions(self) -> &'static [&'static str] {
        match self {
            DataCenter => &["setmaster", "cleanfinishedtasks"],
            Cluster => &["upgrade", "resetemulatedmachine", "syncallnetworks", "refreshglusterhealstatus"],
            Host => &[
                "activate",
                "deactivate",
                "fence",
                "refresh",
                "approve",
                "install",
                "upgrade",
                "upgradecheck",
            ],
            StorageDomain => &["isattached", "updateovfstore", "refreshluns", "reduceluns"],
            Template => &["export"],
            Vm => &[
                "migrate",
                "ticket",
                "cancelmigration",
                "commitsnapshot",
                "clone",
                "freezefilesystems",
                "logon",
                "maintenance",
                "previewsnapshot",
                "autopincpuandnumanodes",
                "reordermacaddresses",
                "thawfilesystems",
                "undosnapshot",
                "screenshot",
                "reboot",
                "shutdown",
                "start",
                "stop",
                "suspend",
                "reset",
                "export",
                "detach",
            ],
            Disk => &["export", "move", "refreshlun", "convert", "copy", "sparsify", "reduce"],
            Nic => &["deactivate", "activate"],
            Job => &["clear", "end"],
            Step => &["end"],
            ImageTransfer => &["extend", "finalize", "cancel", "pause", "resume"],
            _ => &[],
        }
    }
}

/// Where an object lies that a field refers to.
pub(super) fn referred(field: &str) -> Option<&'static str> {
    Some(match field {
        "cluster" => "clusters",
        "data_center" => "datacenters",
        "host" => "hosts",
        "template" | "original_template" | "base_template" => "templates",
        "vm" => "vms",
        "disk" => "disks",
        "storage_domain" => "storagedomains",
        "network" => "networks",
        "vnic_profile" => "vnicprofiles",
        "large_icon" | "small_icon" => "icons",
        "cpu_profile" => "cpuprofiles",
        "disk_profile" => "diskprofiles",
        "mac_pool" => "macpools",
        "scheduling_policy" => "schedulingpolicies",
        "user" | "owner" => "users",
        "parent" => "tags",
        "job" => "jobs",
        "instance_type" => "instancetypes",
        "network_filter" => "networkfilters",
        "role" => "roles",
        "affinity_label" => "affinitylabels",
        _ => return None,
    })
}
