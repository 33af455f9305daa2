//! The Ignition configurations, as machines and other people's tools see them.

mod bootstrap;
mod cluster;
mod dry_run;
mod scripts;
mod stages;
mod units;

pub(crate) use self::bootstrap::assert_accepted;
pub(crate) use self::cluster::{Ign, decoded};
