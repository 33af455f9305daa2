//! The operator beside real clients, validators and API servers.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod approver;
mod attacks;
mod bootstrap;
mod certificates;
mod connections;
mod control_plane;
mod drivers;
mod first_boot;
mod from_cluster;
mod joining;
mod machine_config;
mod machine_controllers;
mod machines;
mod rights;
mod served;
mod shipped;
