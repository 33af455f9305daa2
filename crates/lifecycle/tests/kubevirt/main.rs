//! Clusters on a real API server with KubeVirt's definitions, as a user with exactly the Role that is shipped.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod bench;
#[path = "../shared/crash.rs"]
mod crash;
mod crashes;
#[path = "../shared/directory.rs"]
mod directory;
#[path = "../shared/doubt.rs"]
mod doubt;
mod doubts;
mod life;
#[path = "../shared/mortal.rs"]
mod mortal;
mod preflight;
