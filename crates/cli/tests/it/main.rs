//! The command as its users run it: whole runs, with everything they print.

#![expect(clippy::expect_used, reason = "a test that cannot go on fails")]

mod airgapped;
mod check;
mod cloud_config;
mod cluster;
mod create;
mod drivers;
mod drivers_cluster;
mod explain;
mod files;
mod generated;
mod guides;
mod interrupt;
mod machine;
mod node;
mod preflight;
mod release;
mod run;
mod schema;
mod shells;
mod status;
mod survey;
mod terminal;
mod validate;
mod wait;
