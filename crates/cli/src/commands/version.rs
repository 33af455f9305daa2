//! `slipway version`.

use serde::Serialize;

use crate::args::Output;
use crate::exit::Exit;
use crate::output::Printer;

#[derive(Debug, Serialize)]
struct Version {
    version: &'static str,
    platform: String,
}

pub(crate) fn run(printer: &Printer) -> anyhow::Result<Exit> {
    let version = Version {
        version: env!("CARGO_PKG_VERSION"),
        platform: format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH),
    };
    match printer.output {
        Output::Json => printer.json(&version)?,
        Output::Text => printer.data(&format!("slipway {} ({})\n", version.version, version.platform))?,
    }
    Ok(Exit::Ok)
}
