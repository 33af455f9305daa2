//! The preflight against simulated vCenters.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod bench;
mod calls;
mod clocked;
mod findings;
mod names;
mod privileges;
