//! The commands, one module each.

mod check;
mod cloud_config;
mod cluster;
mod completion;
mod create;
mod drivers;
mod explain;
mod help;
mod machine;
mod node;
mod preflight;
mod schema;
mod table;
mod validate;
mod version;

use kube::Client;
use slipway_lifecycle::access::{self, AccessError};

use crate::args::{Access, CloudConfig, Command};
use crate::exit::Exit;
use crate::output::Printer;

pub(crate) fn run(command: Command, printer: &Printer) -> anyhow::Result<Exit> {
    match command {
        Command::Validate { file, dir, strict } => {
            let file = dir.map_or(file, |dir| dir.join("install-config.yaml"));
            validate::run(&file, strict, printer)
        }
        Command::Create(create) => create::run(create, printer),
        Command::Plan(args) => cluster::plan::run(&args, printer),
        Command::Status(reach) => cluster::status::run(&reach, printer),
        Command::WaitFor(args) => cluster::wait::run(&args, printer),
        Command::Gather(args) => cluster::gather::run(&args, printer),
        Command::Destroy(args) => cluster::destroy::run(args, printer),
        Command::Check(args) => check::run(&args, printer),
        Command::Node(args) => node::run(&args, printer),
        Command::Machine(args) => machine::run(&args, printer),
        Command::Preflight(args) => preflight::run(&args, printer),
        Command::CloudConfig(CloudConfig::Validate { file }) => cloud_config::validate::run(&file, printer),
        Command::CloudConfig(CloudConfig::Convert { file }) => cloud_config::convert::run(&file, printer),
        Command::Drivers(drivers) => drivers::run(*drivers, printer),
        Command::Explain { path } => explain::run(path.as_deref(), printer),
        Command::Schema => schema::run(printer),
        Command::Completion { shell } => completion::run(shell, printer),
        Command::Version => version::run(printer),
        Command::Help { words } => help::run(&words, printer),
    }
}

/// Access to the cluster that the flags name.
async fn connect(Access { kubeconfig, context }: &Access) -> Result<Client, AccessError> {
    access::connect(kubeconfig.as_deref(), context.as_deref()).await
}
