//! Clusters on any platform: what should be there, what is there, and the way between.
//!
//! | module | what it holds |
//! |---|---|
//! | `run` | a cluster on its platform: plan, apply, settle, close |
//! | [`installation`] | the same without its platform's types, for commands |
//! | `addresses` | machines that report other addresses than they were given |
//! | `bootstrap` | the bootstrap machine, to go |
//! | `error` | why a cluster cannot be worked on |
//! | `journal` | what is between a run and its journal |
//! | `forgotten` | what was made, is not seen, and is taken for gone |
//! | `remembered` | what the journal says was made, and on which endpoints |
//! | `locations` | where machines live, whatever the files say now |
//! | `sweep` | the order in which machines go, and searching until nothing is left |

mod addresses;
mod bootstrap;
mod error;
mod forgotten;
pub mod installation;
mod journal;
mod locations;
mod remembered;
mod run;
mod sweep;

use std::time::Duration;

pub use self::addresses::Misaddressed;
pub use self::error::{EndpointError, Error, refused};
pub use self::installation::{AnyRun, Applied, Installation, Machine, Preview, ResourceView, StateView};
pub use self::journal::{Directly, Through};
pub use self::locations::{ActualLocation, MachineLocation, MachineLocations};
pub use self::run::{PlannedRun, Run, Target};
pub use slipway_providers::provider::{Kept, NotVisible, Origin, Surplus, Words};

/// Where the intents of a cluster are.
pub(crate) const JOURNAL: &str = "journal.jsonl";

/// What is to become of a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    Create,
    /// The bootstrap machine goes, the rest stays.
    DestroyBootstrap,
    Destroy,
}

/// How long to wait for what.
#[derive(Debug, Clone, Copy)]
pub struct Timeouts {
    /// For a call.
    pub call: Duration,
    /// For a machine to get an address.
    pub address: Duration,
    /// For an endpoint that does not answer.
    pub silence: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Timeouts {
            call: Duration::from_mins(1),
            address: Duration::from_mins(15),
            silence: Duration::from_mins(10),
        }
    }
}
