//! The preflight against simulated vCenters.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod alone;
mod bench;
mod calls;
mod findings;
mod names;
mod privileges;
