//! Which privileges are needed where, and for what.
//!
//! [`provisional`] is a stand-in: it derives needs from the kinds of steps a configuration leads to. Its place will be
//! taken by the plan of the engine, whose steps carry their own needs; only [`Need`] stays.

use super::wanted::{Site, Template, Wanted};

/// A privilege that a step needs on an object.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Need {
    /// The vCenter, as the configuration has it.
    pub endpoint: String,
    /// An inventory path; `/` is the root folder. What will only be made later is judged by what it will be in.
    pub object: String,
    pub privilege: String,
    /// What it is needed for: the end of a sentence that starts with "needed to".
    pub step: String,
    /// What is left out without it; none if there is no going on.
    pub left_out: Option<String>,
}

/// The step that keeps control-plane machines apart, and can be left out.
const APART: &str = "control-plane machines will not be kept on different hosts";

/// Steps, by what they do to a vCenter.
#[derive(Debug, Clone, Copy)]
enum Step {
    CreateTags,
    DeleteTags,
    CreateFolder,
    DeleteFolder,
    ImportTemplate,
    CopyTemplate,
    CloneMachine,
    PowerOn,
    TagMachine,
    BindToHosts,
    KeepApart,
    DestroyMachine,
    RunStorage,
    RunMachines,
}

/// Where a privilege is needed.
#[derive(Debug, Clone, Copy)]
enum On {
    Root,
    Cluster,
    Pool,
    Datastore,
    Networks,
    Folder,
    Template,
}

impl Step {
    const ALL: [Step; 14] = [
        Step::CreateTags,
        Step::DeleteTags,
        Step::CreateFolder,
        Step::DeleteFolder,
        Step::ImportTemplate,
        Step::CopyTemplate,
        Step::CloneMachine,
        Step::PowerOn,
        Step::TagMachine,
        Step::BindToHosts,
        Step::KeepApart,
        Step::DestroyMachine,
        Step::RunStorage,
        Step::RunMachines,
    ];

    fn sentence(self) -> &'static str {
        match self {
            Step::CreateTags => "create the cluster's tag",
            Step::DeleteTags => "remove the cluster's tag when the cluster is destroyed",
            Step::CreateFolder => "create the folder of the machines",
            Step::DeleteFolder => "remove the folder when the cluster is destroyed",
            Step::ImportTemplate => "import the image of the operating system",
            Step::CopyTemplate => "copy the template to the other failure domains",
            Step::CloneMachine => "clone machines from the template",
            Step::PowerOn => "start machines",
            Step::TagMachine => "tag what belongs to the cluster",
            Step::BindToHosts => "bind machines to a group of hosts",
            Step::KeepApart => "keep control-plane machines on different hosts",
            Step::DestroyMachine => "remove machines",
            Step::RunStorage => "let the storage driver of the cluster provide volumes",
            Step::RunMachines => "let the cluster keep its session and its machines",
        }
    }

    /// Whether the configuration leads to this step in a failure domain.
    fn is_taken(self, site: &Site, wanted: &Wanted) -> bool {
        match self {
            // A folder that the user names is made too where it is missing; removing it is not for us.
            Step::DeleteFolder => site.own_folder,
            Step::ImportTemplate => matches!(site.template, Template::Imported { .. }),
            // Imported once per vCenter, and copied there from then on.
            Step::CopyTemplate => {
                let imported = |site: &&Site| matches!(site.template, Template::Imported { .. });
                imported(&site) && wanted.sites.iter().filter(imported).count() > 1
            }
            Step::BindToHosts => site.vm_group.is_some(),
            Step::KeepApart => {
                let beside = wanted.sites.iter().filter(|other| other.cluster == site.cluster);
                let machines = beside.flat_map(|site| &site.machines);
                machines.filter(|machine| machine.control_plane).count() > 1
            }
            _ => true,
        }
    }

    fn needs(self) -> &'static [(On, &'static [&'static str])] {
        match self {
            Step::CreateTags => &[(
                On::Root,
                &["InventoryService.Tagging.CreateCategory", "InventoryService.Tagging.CreateTag"],
            )],
            Step::DeleteTags => &[(
                On::Root,
                &["InventoryService.Tagging.DeleteCategory", "InventoryService.Tagging.DeleteTag"],
            )],
            Step::CreateFolder => &[(On::Folder, &["Folder.Create"])],
            Step::DeleteFolder => &[(On::Folder, &["Folder.Delete"])],
            Step::ImportTemplate => &[
                (On::Pool, &["VApp.Import", "Resource.AssignVMToPool"]),
                (
                    On::Folder,
                    &[
                        "VApp.Import",
                        "VirtualMachine.Config.AddNewDisk",
                        "VirtualMachine.Provisioning.MarkAsTemplate",
                        "VirtualMachine.Inventory.Delete",
                    ],
                ),
                (On::Datastore, &["Datastore.AllocateSpace"]),
                (On::Networks, &["Network.Assign"]),
            ],
            Step::CopyTemplate => &[(
                On::Folder,
                &[
                    "VirtualMachine.Inventory.CreateFromExisting",
                    "VirtualMachine.Provisioning.CloneTemplate",
                    "VirtualMachine.Config.AdvancedConfig",
                ],
            )],
            Step::CloneMachine => &[
                (On::Template, &["VirtualMachine.Provisioning.DeployTemplate"]),
                (On::Pool, &["Resource.AssignVMToPool"]),
                (
                    On::Folder,
                    &[
                        "VirtualMachine.Inventory.CreateFromExisting",
                        "VirtualMachine.Config.AddNewDisk",
                        "VirtualMachine.Config.AddRemoveDevice",
                        "VirtualMachine.Config.AdvancedConfig",
                        "VirtualMachine.Config.CPUCount",
                        "VirtualMachine.Config.DiskExtend",
                        "VirtualMachine.Config.EditDevice",
                        "VirtualMachine.Config.Memory",
                        "VirtualMachine.Config.Settings",
                    ],
                ),
                (On::Datastore, &["Datastore.AllocateSpace"]),
                (On::Networks, &["Network.Assign"]),
            ],
            Step::PowerOn => &[(On::Folder, &["VirtualMachine.Interact.PowerOn"])],
            Step::TagMachine => &[
                (On::Root, &["InventoryService.Tagging.AttachTag"]),
                (On::Folder, &["InventoryService.Tagging.ObjectAttachable"]),
            ],
            Step::BindToHosts | Step::KeepApart => &[(On::Cluster, &["Host.Inventory.EditCluster"])],
            Step::DestroyMachine => {
                &[(On::Folder, &["VirtualMachine.Interact.PowerOff", "VirtualMachine.Inventory.Delete"])]
            }
            Step::RunStorage => &[
                (On::Root, &["Cns.Searchable", "StorageProfile.Update", "StorageProfile.View"]),
                (
                    On::Datastore,
                    &[
                        "Datastore.Browse",
                        "Datastore.FileManagement",
                        "InventoryService.Tagging.ObjectAttachable",
                    ],
                ),
                (On::Folder, &["VirtualMachine.Config.AddExistingDisk", "VirtualMachine.Config.RemoveDisk"]),
            ],
            Step::RunMachines => &[
                (On::Root, &["Sessions.ValidateSession"]),
                (On::Folder, &["VirtualMachine.Interact.Reset", "VirtualMachine.Config.Annotation"]),
            ],
        }
    }
}

/// What the steps of creating, running and destroying the cluster need. To be replaced by the engine's plan.
pub fn provisional(wanted: &Wanted) -> Vec<Need> {
    let mut needs = Vec::new();
    for site in wanted.sites.iter().filter(|site| !site.folder.is_empty()) {
        for step in Step::ALL.into_iter().filter(|step| step.is_taken(site, wanted)) {
            for (on, privileges) in step.needs() {
                for object in on.objects(site) {
                    needs.extend(privileges.iter().map(|privilege| Need {
                        endpoint: wanted.server.clone(),
                        object: object.clone(),
                        privilege: (*privilege).to_owned(),
                        step: step.sentence().to_owned(),
                        left_out: matches!(step, Step::KeepApart).then(|| APART.to_owned()),
                    }));
                }
            }
        }
    }
    needs.sort();
    needs.dedup();
    needs
}

impl On {
    fn objects(self, site: &Site) -> Vec<String> {
        match self {
            On::Root => vec!["/".to_owned()],
            On::Cluster => site.cluster.iter().cloned().collect(),
            On::Pool => site.pool.iter().cloned().collect(),
            On::Datastore => vec![site.datastore.clone()],
            On::Networks => {
                let below = |network: &String| match &site.cluster {
                    Some(cluster) if !network.contains('/') => format!("{cluster}/{network}"),
                    _ => network.clone(),
                };
                site.networks.iter().map(below).collect()
            }
            On::Folder => vec![site.folder.clone()],
            On::Template => vec![match &site.template {
                Template::Given(path) if path.starts_with('/') => path.clone(),
                Template::Given(name) => format!("{}/vm/{name}", site.datacenter),
                Template::Imported { path, .. } => path.clone(),
                Template::None => site.folder.clone(),
            }],
        }
    }
}
