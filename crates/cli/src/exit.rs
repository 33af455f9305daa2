//! Exit codes, the same ones openshift-install uses where it has them.

use std::process::ExitCode;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    Ok = 0,
    /// Anything without a code of its own.
    Other = 1,
    /// The command was not called as it should be; clap's own code for it.
    Usage = 2,
    /// The install-config is not usable.
    InstallConfig = 3,
    /// What the cluster is to be made on is not ready for it.
    Infrastructure = 4,
    /// The cluster never came to do without its bootstrap machine.
    Bootstrap = 5,
    /// The cluster never became complete.
    Install = 6,
    /// Its operators never came to rest.
    Operators = 7,
    /// The user or a signal ended it.
    Interrupted = 8,
    /// Nothing is known to be wrong, but what matters most was not looked at.
    NotChecked = 9,
}

/// The command was not called as it should be, which only shows when it is looked at as a whole.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Usage(pub(crate) String);

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
}
