//! The checks of a running cluster, against simulated vCenters and a real API server.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod alerts;
mod bench;
mod calls;
mod cluster;
mod findings;
mod mixed;
mod nodes;
mod outage;
mod privileges;
