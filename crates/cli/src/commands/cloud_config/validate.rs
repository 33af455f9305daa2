//! `slipway cloud-config validate`.

use std::path::Path;

use serde::Serialize;
use slipway_config::driver_config::cloud::{CloudConfig, Credentials, EffectiveVCenter, Format, read};

use crate::args::Output;
use crate::exit::Exit;
use crate::output::{ERROR, GOOD, NAME, Printer};
use crate::{input, report};

pub(crate) fn run(file: &Path, printer: &Printer) -> anyhow::Result<Exit> {
    let text = input::read(file)?;
    let name = input::name(file);
    let reading = read(&text);
    let vcenters: Vec<VCenter> =
        reading.config.iter().flat_map(CloudConfig::effective).map(|vcenter| VCenter::of(&vcenter)).collect();
    let format = reading.format.map(Format::as_str);
    match printer.output {
        Output::Json => printer.json(&Judgement {
            file: &name,
            valid: reading.config.is_some(),
            format,
            vcenters,
            findings: report::json(&reading.report),
        })?,
        Output::Text => {
            let mut text = report::text(&reading.report, &name);
            let tally = report::tally(&reading.report);
            if reading.config.is_some() {
                let format = format.unwrap_or_default();
                text.push_str(&format!("{GOOD}valid{GOOD:#}: {name} is {format} ({tally})\n"));
                for vcenter in vcenters {
                    text.push_str(&vcenter.line());
                }
            } else {
                text.push_str(&format!("{ERROR}not valid{ERROR:#}: {name} ({tally})\n"));
            }
            printer.data(&text)?;
        }
    }
    Ok(if reading.config.is_some() { Exit::Ok } else { Exit::Other })
}

#[derive(Debug, Serialize)]
struct Judgement<'a> {
    file: &'a str,
    valid: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<&'static str>,
    vcenters: Vec<VCenter>,
    findings: Vec<report::FindingJson<'a>>,
}

/// A vCenter as the driver will use it.
#[derive(Debug, Serialize)]
struct VCenter {
    name: String,
    server: String,
    port: u16,
    datacenters: Vec<String>,
    insecure: bool,
    credentials: String,
}

impl VCenter {
    fn of(vcenter: &EffectiveVCenter) -> Self {
        VCenter {
            name: vcenter.name.clone(),
            server: vcenter.server.clone(),
            port: vcenter.port,
            datacenters: vcenter.datacenters.clone(),
            insecure: vcenter.insecure,
            credentials: match &vcenter.credentials {
                Credentials::Inline { user, .. } => format!("user {user}, password in this file"),
                Credentials::OwnSecret { namespace, name } => format!("Secret {namespace}/{name}"),
                Credentials::Global => "from the global section".to_owned(),
                Credentials::Missing => "missing".to_owned(),
            },
        }
    }

    /// For people, on one line whatever the values contain.
    fn line(&self) -> String {
        let datacenters = if self.datacenters.is_empty() {
            "all datacenters".to_owned()
        } else {
            self.datacenters.join(", ")
        };
        let insecure = if self.insecure { ", certificate not verified" } else { "" };
        let shown = |text: &str| text.replace(char::is_control, "\u{fffd}");
        format!(
            "  {NAME}{}{NAME:#} at {}:{}, {}, credentials: {}{insecure}\n",
            shown(&self.name),
            shown(&self.server),
            self.port,
            shown(&datacenters),
            shown(&self.credentials),
        )
    }
}
