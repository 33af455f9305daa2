//! `slipway version`.

use serde::Serialize;

use crate::args::Output;
use crate::exit::Exit;
use crate::output::Printer;

#[derive(Debug, Serialize)]
struct Version {
    version: &'static str,
    /// What it was built from, where that was said.
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<&'static str>,
    platform: String,
}

pub(crate) fn run(printer: &Printer) -> anyhow::Result<Exit> {
    let version = Version {
        version: env!("CARGO_PKG_VERSION"),
        commit: option_env!("SLIPWAY_COMMIT"),
        platform: format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH),
    };
    match printer.output {
        Output::Json => printer.json(&version)?,
        Output::Text => {
            let commit = version.commit.map(|commit| format!(", commit {commit}")).unwrap_or_default();
            printer.data(&format!("slipway {} ({}{commit})\n", version.version, version.platform))?;
        }
    }
    Ok(Exit::Ok)
}
