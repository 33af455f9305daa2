//! `slipway schema`.

use slipway_config::install_config::InstallConfig;
use slipway_config::shape::json_schema;

use crate::exit::Exit;
use crate::output::Printer;

pub(crate) fn run(printer: &Printer) -> anyhow::Result<Exit> {
    printer.json(&json_schema(&InstallConfig::shape(), "Slipway install-config"))?;
    Ok(Exit::Ok)
}
