//! Each peer does what tests will rely on.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod cluster_api;
mod control_plane;
mod engine;
mod ignition;
mod lab;
mod network;
mod processes;
mod vcenter;
