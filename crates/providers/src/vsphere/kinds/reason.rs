//! Why resources of a vCenter cannot be worked on, for programs.

use slipway_engine::Reason;

/// There is something else by its name.
pub const NAME_TAKEN: Reason = Reason::new("NameTaken");
/// It is to be made, and nothing says how it should look.
pub const NOT_DESCRIBED: Reason = Reason::new("NotDescribed");
/// A folder that is to go holds what is not of the cluster.
pub const FOLDER_IN_USE: Reason = Reason::new("FolderInUse");
/// The template that the user names is not there.
pub const TEMPLATE_MISSING: Reason = Reason::new("TemplateMissing");
/// A template was converted to a machine.
pub const TEMPLATE_CONVERTED: Reason = Reason::new("TemplateConverted");
/// Disks that are not its own would go with it.
pub const FOREIGN_DISKS: Reason = Reason::new("ForeignDisks");
/// Another vCenter answers than the one the cluster was made on.
pub const ANOTHER_VCENTER: Reason = Reason::new("AnotherVCenter");
/// A machine runs and has no address.
pub const NO_ADDRESS: Reason = Reason::new("NoAddress");
/// A machine is there and cannot be read.
pub const UNREADABLE: Reason = Reason::new("MachineUnreadable");
