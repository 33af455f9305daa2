//! Why resources of an infrastructure cluster cannot be worked on, for programs.

use slipway_engine::Reason;

/// There is something else by its name.
pub const NAME_TAKEN: Reason = Reason::new("NameTaken");
/// It is to be made, and nothing says how it should look.
pub const NOT_DESCRIBED: Reason = Reason::new("NotDescribed");
/// The image is being imported.
pub const IMPORTING: Reason = Reason::new("Importing");
/// The image could not be imported.
pub const IMPORT_FAILED: Reason = Reason::new("ImportFailed");
/// A machine was started and does not run yet.
pub const NOT_RUNNING: Reason = Reason::new("NotRunning");
/// A machine was stopped and still runs.
pub const STOPPING: Reason = Reason::new("Stopping");
/// It was deleted, and something holds it.
pub const LEAVING: Reason = Reason::new("Leaving");
/// It is there and does not carry the marks of the cluster any more.
pub const MARKS_LOST: Reason = Reason::new("MarksLost");
/// Another namespace answers than the one the cluster was made in.
pub const ANOTHER_NAMESPACE: Reason = Reason::new("AnotherNamespace");
