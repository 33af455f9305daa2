//! `slipway cloud-config convert`.

use std::path::Path;

use slipway_config::driver_config::cloud::{Format, read};

use crate::exit::Exit;
use crate::output::Printer;
use crate::{input, report};

pub(crate) fn run(file: &Path, printer: &Printer) -> anyhow::Result<Exit> {
    let text = input::read(file)?;
    let name = input::name(file);
    let reading = read(&text);
    let Some(config) = reading.config else {
        printer.say(&report::text(&reading.report, &name));
        anyhow::bail!("`{name}` cannot be converted ({})", report::plain_tally(&reading.report));
    };
    if reading.format == Some(Format::Yaml) {
        // Nothing to convert, so nothing is touched.
        printer.data(&text)?;
        printer.say(&format!("`{name}` is YAML already; it is printed as it is\n"));
        return Ok(Exit::Ok);
    }
    printer.data(&config.to_yaml())?;
    for leftover in &reading.leftovers {
        printer.say(&format!(
            "not carried over: {} (line {}): {}\n",
            leftover.name, leftover.line, leftover.reason
        ));
    }
    Ok(Exit::Ok)
}
