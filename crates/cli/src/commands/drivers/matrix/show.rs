//! `slipway drivers matrix show`.

use std::collections::BTreeMap;

use anyhow::Context;
use serde::Serialize;
use slipway_config::matrix::{
    Choice, Component, Driver, Environment, Matrix, Policy, Reading, Release, Row, Source, choose, embedded,
    read,
};

use super::refused;
use crate::args::{self, Output, ShowMatrix};
use crate::commands::table::table;
use crate::exit::Exit;
use crate::input;
use crate::output::{GOOD, HEADING, Printer};

pub(crate) fn run(show: &ShowMatrix, printer: &Printer) -> anyhow::Result<Exit> {
    let (source, Reading { matrix, report }) = match &show.file {
        None => ("embedded".to_owned(), embedded()),
        Some(file) => (input::name(file), read(&input::read(file)?)),
    };
    let Some(matrix) = matrix else {
        return Err(refused(&report, &source, printer));
    };
    let drivers: Vec<Driver> = match show.driver {
        None => Driver::ALL.to_vec(),
        Some(args::Driver::CloudProvider) => vec![Driver::CloudProvider],
        Some(args::Driver::StorageProvider) => vec![Driver::StorageProvider],
    };
    let environment = if show.explain { Some(environment(show)?) } else { None };
    let choices: Vec<(Driver, Option<Choice<'_>>)> = drivers
        .into_iter()
        .map(|driver| (driver, environment.as_ref().map(|environment| choose(&matrix, driver, environment))))
        .collect();
    match printer.output {
        Output::Json => printer.json(&Shown::of(&source, &matrix, &choices))?,
        Output::Text => {
            let mut text = format!("compatibility matrix of {} ({source})\n", matrix.published);
            for (driver, choice) in &choices {
                text.push_str(&match (choice, &environment) {
                    (Some(choice), Some(environment)) => explained(*driver, choice, environment),
                    _ => listed(*driver, &matrix),
                });
            }
            printer.data(&text)?;
        }
    }
    let fits = |(_, choice): &(Driver, Option<Choice<'_>>)| {
        choice.as_ref().is_none_or(|choice| choice.row.is_some())
    };
    Ok(if choices.iter().all(fits) { Exit::Ok } else { Exit::Other })
}

fn environment(show: &ShowMatrix) -> anyhow::Result<Environment> {
    let release = |text: &str, flag: &str| -> anyhow::Result<Release> {
        text.parse().with_context(|| format!("reading {flag}"))
    };
    let version = |text: &Option<String>, flag: &str| {
        let parsed = text.as_ref().map(|text| text.parse());
        parsed.transpose().with_context(|| format!("reading {flag}: write all three numbers, as in 3.7.0"))
    };
    let vcenters = show.vcenters.iter().map(|text| release(text, "--vcenter"));
    Ok(Environment {
        kubernetes: release(show.kubernetes.as_deref().unwrap_or_default(), "--kubernetes")?,
        vcenters: vcenters.collect::<Result<_, _>>()?,
        policy: match show.policy {
            args::Policy::Latest => Policy::Latest,
            args::Policy::Lts => Policy::Lts,
            args::Policy::Disabled => Policy::Disabled,
        },
        deployed: version(&show.deployed, "--deployed")?,
        pinned: version(&show.pinned, "--pinned")?,
    })
}

fn listed(driver: Driver, matrix: &Matrix) -> String {
    let heading =
        ["VERSION", "KUBERNETES", "VSPHERE", "VCENTERS", "UPGRADE", "RELEASED", "NOTES"].map(str::to_owned);
    let rows = matrix.rows(driver).iter().map(|row| {
        let any = |text: Option<String>| text.unwrap_or_else(|| "any".to_owned());
        [
            row.version.to_string(),
            row.kubernetes.to_string(),
            row.vsphere.to_string(),
            any(row.most_vcenters.map(|most| format!("up to {most}"))),
            any(row.upgrade_from.as_ref().map(|oldest| format!("{oldest}+"))),
            row.released.as_ref().map(ToString::to_string).unwrap_or_default(),
            notes(row).join(", "),
        ]
    });
    let rows: Vec<_> = std::iter::once(heading).chain(rows).collect();
    format!("\n{HEADING}{driver}{HEADING:#}\n{}", table(&rows, "  "))
}

fn notes(row: &Row) -> Vec<String> {
    let mut notes = Vec::new();
    notes.extend(row.blocked.as_ref().map(|reason| format!("blocked: {reason}")));
    match &row.source {
        Source::Manifests(_) => notes.push("own manifests".to_owned()),
        Source::Line { .. } if !row.proven => notes.push("unproven".to_owned()),
        Source::Line { .. } => {}
    }
    notes
}

fn explained(driver: Driver, choice: &Choice<'_>, environment: &Environment) -> String {
    let vcenters = match &*environment.vcenters {
        [] => "no vCenter".to_owned(),
        [one] => format!("vCenter {one}"),
        several => {
            let all: Vec<String> = several.iter().map(ToString::to_string).collect();
            format!("vCenters {}", all.join(", "))
        }
    };
    let rows = choice.considered.iter().map(|one| {
        let objections: Vec<String> = one.objections.iter().map(ToString::to_string).collect();
        let verdict = if objections.is_empty() { "chosen".to_owned() } else { objections.join("; ") };
        [one.row.version.to_string(), verdict]
    });
    let style = if choice.row.is_some() { GOOD } else { crate::output::ERROR };
    format!(
        "\n{HEADING}{driver}{HEADING:#} for Kubernetes {}, {vcenters}, policy {}\n{style}{}{style:#}\n{}",
        environment.kubernetes,
        environment.policy.as_str(),
        choice.why,
        table(&rows.collect::<Vec<_>>(), "  "),
    )
}

#[derive(Debug, Serialize)]
struct Shown<'a> {
    source: &'a str,
    published: &'a str,
    #[serde(flatten)]
    drivers: BTreeMap<&'static str, DriverJson>,
}

#[derive(Debug, Serialize)]
struct DriverJson {
    #[serde(skip_serializing_if = "Option::is_none")]
    choice: Option<ChoiceJson>,
    versions: Vec<RowJson>,
}

#[derive(Debug, Serialize)]
struct ChoiceJson {
    version: Option<String>,
    why: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct RowJson {
    version: String,
    kubernetes: String,
    vsphere: String,
    #[serde(rename = "mostVCenters")]
    most_vcenters: Option<u32>,
    upgrade_from: Option<String>,
    blocked: Option<String>,
    released: Option<String>,
    proven: bool,
    images: BTreeMap<&'static str, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    objections: Option<Vec<String>>,
}

impl<'a> Shown<'a> {
    fn of(source: &'a str, matrix: &'a Matrix, choices: &[(Driver, Option<Choice<'_>>)]) -> Self {
        let drivers = choices.iter().map(|(driver, choice)| {
            let versions = match choice {
                None => matrix.rows(*driver).iter().map(|row| RowJson::of(row, None)).collect(),
                Some(choice) => choice
                    .considered
                    .iter()
                    .map(|one| {
                        let objections = one.objections.iter().map(ToString::to_string).collect();
                        RowJson::of(one.row, Some(objections))
                    })
                    .collect(),
            };
            let choice = choice.as_ref().map(|choice| ChoiceJson {
                version: choice.row.map(|row| row.version.to_string()),
                why: choice.why.clone(),
            });
            (driver.key(), DriverJson { choice, versions })
        });
        Shown { source, published: matrix.published.as_str(), drivers: drivers.collect() }
    }
}

impl RowJson {
    fn of(row: &Row, objections: Option<Vec<String>>) -> Self {
        let images = match &row.source {
            Source::Line { images, .. } => images
                .iter()
                .map(|(component, image): (&Component, _)| (component.key(), image.as_str().to_owned()))
                .collect(),
            Source::Manifests(_) => BTreeMap::new(),
        };
        RowJson {
            version: row.version.to_string(),
            kubernetes: row.kubernetes.to_string(),
            vsphere: row.vsphere.to_string(),
            most_vcenters: row.most_vcenters,
            upgrade_from: row.upgrade_from.as_ref().map(ToString::to_string),
            blocked: row.blocked.clone(),
            released: row.released.as_ref().map(ToString::to_string),
            proven: row.proven,
            images,
            objections,
        }
    }
}
