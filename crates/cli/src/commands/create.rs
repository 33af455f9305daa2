//! `slipway create`.

mod assets;
mod install_config;

pub(super) use assets::{refuse, tell_written, warnings, with_request};
use serde::Serialize;
use slipway_lifecycle::create::{create_ignition, create_manifests};
use slipway_lifecycle::store::Conflict;

use crate::args::Create;
use crate::exit::Exit;
use crate::output::Printer;

pub(crate) fn run(create: Create, printer: &Printer) -> anyhow::Result<Exit> {
    match create {
        Create::InstallConfig(args) => install_config::run(*args, printer),
        Create::Manifests(args) => assets::run(&args, create_manifests, Some("ignition-configs"), printer),
        Create::IgnitionConfigs(args) => assets::run(&args, create_ignition, Some("cluster"), printer),
        Create::Cluster(args) => super::cluster::create::run(&args, printer),
    }
}

/// Why there are no files, for a program.
#[derive(Debug, Default, Serialize)]
struct Refusal<'a> {
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'a str>,
    details: &'a [String],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    conflicts: &'a [Conflict],
    /// Inputs that are not what they were in the last run.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    changed: &'a [String],
}

impl Refusal<'_> {
    fn print(&self, printer: &Printer) -> anyhow::Result<()> {
        printer.json(&serde_json::json!({"error": self}))
    }
}
