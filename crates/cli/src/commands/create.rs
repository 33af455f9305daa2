//! `slipway create`.

mod assets;
mod install_config;

pub(super) use assets::{refuse, tell_written, warnings, with_request, with_workspace};
use slipway_lifecycle::create::{create_ignition, create_manifests};

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
