//! The install-config from outside: what is found in it, and what it becomes.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

mod estate;
mod judge;
mod limits;
mod matrix;
mod messages;
mod mutations;
mod resolved;
mod rules;
