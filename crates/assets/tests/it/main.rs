//! The files of whole clusters: against what was agreed, and against software that reads them.

#![expect(clippy::unwrap_used, reason = "tests")]

mod certificates;
mod drivers;
mod fixtures;
mod golden;
mod growth;
mod ignition;
mod kubernetes;
mod onprem;
mod platforms;
mod reconcile;
mod seed;
mod strict;
