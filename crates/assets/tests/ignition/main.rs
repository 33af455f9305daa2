//! The Ignition configurations, as machines and other people's tools see them.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod bootstrap;
mod cluster;
mod dry_run;
mod scripts;
mod stages;
mod units;
