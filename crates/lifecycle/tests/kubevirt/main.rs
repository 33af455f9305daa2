//! Clusters on a real API server with KubeVirt's definitions, as a user with exactly the Role that is shipped.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod bench;
mod crash;
mod doubt;
mod life;
#[path = "../shared/mortal.rs"]
mod mortal;
mod preflight;
