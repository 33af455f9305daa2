//! The simulated oVirt engine, held to what others say it is.

mod access;
mod client;
mod life;
mod recordings;
mod sdk;
mod trouble;
mod types;
mod upload;
