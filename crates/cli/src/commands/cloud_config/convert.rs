//! `slipway cloud-config convert`.

use std::path::Path;

use serde::Serialize;
use slipway_config::driver_config::cloud::{CloudConfig, Format, Leftover, Reading, read};

use crate::args::Output;
use crate::exit::Exit;
use crate::output::Printer;
use crate::{input, report};

pub(crate) fn run(file: &Path, printer: &Printer) -> anyhow::Result<Exit> {
    let text = input::read(file)?;
    let name = input::name(file);
    let reading = read(&text);
    // What is YAML already is not touched.
    let yaml = match reading.format {
        Some(Format::Yaml) => reading.config.is_some().then(|| text.clone()),
        _ => reading.config.as_ref().map(CloudConfig::to_yaml),
    };
    match printer.output {
        Output::Json => {
            printer.json(&Conversion::of(&name, &reading, yaml.as_deref()))?;
            Ok(if yaml.is_some() { Exit::Ok } else { Exit::Other })
        }
        Output::Text => {
            speak(&name, &reading, yaml.as_deref(), printer)?;
            Ok(Exit::Ok)
        }
    }
}

/// YAML to standard output, everything else to standard error.
fn speak(name: &str, reading: &Reading, yaml: Option<&str>, printer: &Printer) -> anyhow::Result<()> {
    let Some(yaml) = yaml else {
        printer.say(&report::text(&reading.report, name));
        anyhow::bail!("`{name}` cannot be converted ({})", report::plain_tally(&reading.report));
    };
    printer.data(yaml)?;
    if reading.format == Some(Format::Yaml) {
        printer.say(&format!("`{name}` is YAML already; it is printed as it is\n"));
    }
    for leftover in &reading.leftovers {
        printer.say(&format!(
            "not carried over: {} (line {}): {}\n",
            leftover.name, leftover.line, leftover.reason
        ));
    }
    Ok(())
}

/// What a program is told.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Conversion<'a> {
    file: &'a str,
    /// Whether there is a result.
    valid: bool,
    /// Of the file that was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<&'static str>,
    /// The result, as it would be printed otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    yaml: Option<&'a str>,
    not_carried_over: Vec<NotCarriedOver<'a>>,
    findings: Vec<report::FindingJson<'a>>,
}

#[derive(Debug, Serialize)]
struct NotCarriedOver<'a> {
    name: &'a str,
    line: usize,
    reason: &'static str,
}

impl<'a> Conversion<'a> {
    fn of(file: &'a str, reading: &'a Reading, yaml: Option<&'a str>) -> Self {
        let left = |leftover: &'a Leftover| NotCarriedOver {
            name: &leftover.name,
            line: leftover.line,
            reason: leftover.reason,
        };
        Conversion {
            file,
            valid: yaml.is_some(),
            format: reading.format.map(Format::as_str),
            yaml,
            not_carried_over: reading.leftovers.iter().map(left).collect(),
            findings: report::json(&reading.report),
        }
    }
}
