//! Why resources of an engine cannot be worked on, for programs.

use slipway_engine::Reason;

/// There is something else by its name.
pub const NAME_TAKEN: Reason = Reason::new("NameTaken");
/// It is to be made, and nothing says how it should look.
pub const NOT_DESCRIBED: Reason = Reason::new("NotDescribed");
/// Its disks are being copied, or removed.
pub const LOCKED: Reason = Reason::new("Locked");
/// A machine was started and does not run yet.
pub const NOT_RUNNING: Reason = Reason::new("NotRunning");
/// A machine was stopped and still runs.
pub const STOPPING: Reason = Reason::new("Stopping");
/// A machine moves to another host.
pub const MIGRATING: Reason = Reason::new("Migrating");
/// A machine must not be removed: its protection says so.
pub const PROTECTED: Reason = Reason::new("DeleteProtected");
/// A machine has no disk to boot from.
pub const NO_BOOT_DISK: Reason = Reason::new("NoBootDisk");
/// It is there and does not carry its name or the marks of the cluster any more.
pub const MARKS_LOST: Reason = Reason::new("MarksLost");
/// The user does not see the cluster any more in which it was made.
pub const NOT_VISIBLE: Reason = Reason::new("NotVisible");
/// Another cluster answers than the one it was made in.
pub const ANOTHER_CLUSTER: Reason = Reason::new("AnotherCluster");
