//! Clusters on simulated vCenters: made, broken off, made again, removed.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod again;
mod bench;
mod changed;
mod clocked;
mod contract;
mod crash;
#[path = "../shared/dice.rs"]
mod dice;
mod doubt;
mod earlier;
mod faults;
mod imported;
mod made;
#[path = "../shared/mortal.rs"]
mod mortal;
mod strangers;
