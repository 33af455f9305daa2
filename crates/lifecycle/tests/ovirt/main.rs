//! Clusters on a simulated oVirt engine.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod bench;
#[path = "../shared/crash.rs"]
mod crash;
mod crashes;
#[path = "../shared/dice.rs"]
mod dice;
#[path = "../shared/directory.rs"]
mod directory;
#[path = "../shared/doubt.rs"]
mod doubt;
mod doubts;
mod faults;
mod life;
#[path = "../shared/mortal.rs"]
mod mortal;
mod preflight;
#[path = "../shared/storm.rs"]
mod storm;
