//! `slipway drivers matrix validate`.

use std::path::Path;

use serde::Serialize;
use slipway_config::matrix::{Driver, read};

use crate::args::Output;
use crate::exit::Exit;
use crate::output::{ERROR, GOOD, Printer};
use crate::{input, report};

pub(crate) fn run(file: &Path, printer: &Printer) -> anyhow::Result<Exit> {
    let text = input::read(file)?;
    let name = input::name(file);
    let reading = read(&text);
    match printer.output {
        Output::Json => printer.json(&Judgement {
            file: &name,
            valid: reading.matrix.is_some(),
            findings: report::json(&reading.report),
        })?,
        Output::Text => {
            let mut text = report::text(&reading.report, &name);
            let tally = report::tally(&reading.report);
            match &reading.matrix {
                Some(matrix) => {
                    let counts = Driver::ALL.map(|driver| {
                        let count = matrix.rows(driver).len();
                        let plural = if count == 1 { "" } else { "s" };
                        format!("{count} version{plural} of the {driver}")
                    });
                    let counts = counts.join(" and ");
                    text.push_str(&format!("{GOOD}valid{GOOD:#}: {name} has {counts} ({tally})\n"));
                }
                None => text.push_str(&format!("{ERROR}not valid{ERROR:#}: {name} ({tally})\n")),
            }
            printer.data(&text)?;
        }
    }
    Ok(if reading.matrix.is_some() { Exit::Ok } else { Exit::Other })
}

#[derive(Debug, Serialize)]
struct Judgement<'a> {
    file: &'a str,
    valid: bool,
    findings: Vec<report::FindingJson<'a>>,
}
