//! What users of the drivers need in a vCenter, as the drivers' own documentation has it.

/// Every user: sees the object.
pub const READ: &str = "System.Read";
/// The storage driver, on the vCenter itself.
pub const STORAGE_ROOT: [&str; 2] = ["Cns.Searchable", "StorageProfile.View"];
/// The storage driver, on datastores of volumes. Others it skips.
pub const STORAGE_DATASTORE: [&str; 1] = ["Datastore.FileManagement"];
/// The storage driver, on the machines of nodes.
pub const STORAGE_MACHINES: [&str; 2] =
    ["VirtualMachine.Config.AddExistingDisk", "VirtualMachine.Config.AddRemoveDevice"];
/// The storage driver, on vSAN clusters of file volumes.
pub const STORAGE_FILE_CLUSTER: [&str; 1] = ["Host.Config.Storage"];
