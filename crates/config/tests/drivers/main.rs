//! Our readers and writers of driver configurations beside the drivers' own: the same texts, the same values.
//!
//! The number of texts is `SLIPWAY_CASES`, 1,000 unless `cargo xtask differential` asks for more. They are
//! the same in every run.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod broken;
mod broken_cloud;
mod broken_csi;
mod cloud;
mod csi;
mod ini;
mod samples;
