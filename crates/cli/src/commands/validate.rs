//! `slipway validate`.

use std::collections::HashMap;
use std::path::Path;

use serde::Serialize;
use slipway_config::findings::{Report, Severity};
use slipway_config::install_config::{InstallConfig, Platform, load};

use crate::args::Output;
use crate::exit::Exit;
use crate::input;
use crate::output::{ERROR, FAINT, GOOD, NAME, Printer};
use crate::report;

pub(crate) fn run(file: &Path, strict: bool, printer: &Printer) -> anyhow::Result<Exit> {
    let text = match input::read(file) {
        Ok(text) => text,
        // A file that cannot be read is an install-config that cannot be used.
        Err(error) => {
            printer.error(&error);
            let is_absent = |error: &std::io::Error| error.kind() == std::io::ErrorKind::NotFound;
            if error.downcast_ref::<std::io::Error>().is_some_and(is_absent) {
                printer.hint(
                    "name the file, or its directory with --dir; `slipway create install-config` creates one",
                );
            }
            return Ok(Exit::InstallConfig);
        }
    };
    let loaded = load(&text);
    let denied = strict && loaded.report.count(Severity::Warning) > 0;
    let valid = loaded.config.is_some() && !denied;
    let name = input::name(file);
    let summary = loaded.config.as_ref().map(Summary::of);
    match printer.output {
        Output::Json => printer.json(&Judgement {
            file: &name,
            valid,
            errors: loaded.report.count(Severity::Error),
            warnings: loaded.report.count(Severity::Warning),
            notes: loaded.report.count(Severity::Note),
            left_out: loaded.report.left_out(),
            cluster: summary,
            findings: report::json(&loaded.report),
        })?,
        Output::Text => printer.data(&text_report(&loaded.report, &name, valid, summary.as_ref()))?,
    }
    Ok(if valid { Exit::Ok } else { Exit::InstallConfig })
}

/// Tells about an install-config another command cannot use: JSON as data, text as conversation.
pub(crate) fn refuse(findings: &Report, file: &str, printer: &Printer) -> anyhow::Result<Exit> {
    match printer.output {
        Output::Json => printer.json(&Judgement {
            file,
            valid: false,
            errors: findings.count(Severity::Error),
            warnings: findings.count(Severity::Warning),
            notes: findings.count(Severity::Note),
            left_out: findings.left_out(),
            cluster: None,
            findings: report::json(findings),
        })?,
        Output::Text => printer.say(&text_report(findings, file, false, None)),
    }
    Ok(Exit::InstallConfig)
}

fn text_report(findings: &Report, file: &str, valid: bool, summary: Option<&Summary>) -> String {
    let mut text = report::text(findings, file);
    let tally = report::tally(findings);
    match summary {
        Some(summary) if valid => {
            text.push_str(&format!("{GOOD}valid{GOOD:#}: {file} ({tally})\n"));
            for (name, value) in summary.lines() {
                text.push_str(&format!("  {NAME}{name:<14}{NAME:#} {value}\n"));
            }
        }
        Some(_) => text.push_str(&format!(
            "{ERROR}not accepted{ERROR:#}: {file} ({tally}; warnings count with --strict)\n"
        )),
        None => {
            text.push_str(&format!("{ERROR}not valid{ERROR:#}: {file} ({tally})\n"));
            text.push_str(&format!("{FAINT}`slipway explain PATH` describes a field{FAINT:#}\n"));
        }
    }
    text
}

/// What a program is told.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Judgement<'a> {
    file: &'a str,
    valid: bool,
    errors: usize,
    warnings: usize,
    notes: usize,
    /// Findings beyond the most that are listed.
    #[serde(skip_serializing_if = "is_zero")]
    left_out: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    cluster: Option<Summary>,
    findings: Vec<report::FindingJson<'a>>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// What the install-config describes, so that a reader can see whether it is what was meant.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Summary {
    domain: String,
    payload: &'static str,
    platform: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    vcenters: Vec<String>,
    bootstrap: Option<String>,
    control_plane: Vec<PlacedIn>,
    compute: Vec<PlacedIn>,
    networks: &'static str,
}

/// How many machines are in a failure domain.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct PlacedIn {
    #[serde(skip_serializing_if = "Option::is_none")]
    failure_domain: Option<String>,
    machines: usize,
}

impl Summary {
    fn of(config: &InstallConfig) -> Self {
        let placement = config.placement();
        let (vcenters, domains) = match &config.platform {
            Platform::VSphere(platform) => (
                platform.vcenters.iter().map(|vcenter| vcenter.server.to_string()).collect(),
                platform.failure_domains.iter().map(|domain| domain.name.to_string()).collect(),
            ),
            _ => (Vec::new(), Vec::<String>::new()),
        };
        let name = |position: usize| domains.get(position).cloned();
        let mut machines: Vec<(usize, usize)> = Vec::new();
        let mut places: HashMap<usize, usize> = HashMap::new();
        for &position in &placement.control_plane {
            let place = *places.entry(position).or_insert(machines.len());
            match machines.get_mut(place) {
                Some((_, count)) => *count += 1,
                None => machines.push((position, 1)),
            }
        }
        let control_plane = machines
            .into_iter()
            .map(|(position, machines)| PlacedIn { failure_domain: name(position), machines })
            .collect();
        let compute = placement.compute.iter().filter(|set| set.replicas > 0);
        Summary {
            domain: config.cluster_domain(),
            payload: config.payload.kind().as_str(),
            platform: config.platform.name(),
            vcenters,
            bootstrap: name(placement.bootstrap),
            control_plane,
            compute: compute
                .map(|set| PlacedIn { failure_domain: name(set.failure_domain), machines: set.replicas })
                .collect(),
            networks: config.networking.stack.as_str(),
        }
    }

    fn lines(&self) -> Vec<(&'static str, String)> {
        let mut lines = vec![
            ("cluster", self.domain.clone()),
            ("payload", self.payload.to_owned()),
            ("platform", self.platform.to_owned()),
        ];
        if !self.vcenters.is_empty() {
            lines.push(("vCenters", self.vcenters.join(", ")));
        }
        lines.extend(self.bootstrap.as_ref().map(|domain| ("bootstrap", format!("in {domain}"))));
        lines.push(("control plane", machines(&self.control_plane)));
        lines.push(("compute", machines(&self.compute)));
        lines.push(("networks", self.networks.to_owned()));
        lines
    }
}

fn machines(placed: &[PlacedIn]) -> String {
    let total: usize = placed.iter().map(|placed| placed.machines).sum();
    let plural = if total == 1 { "" } else { "s" };
    let places: Vec<String> = placed
        .iter()
        .filter_map(|placed| Some(format!("{} in {}", placed.machines, placed.failure_domain.as_ref()?)))
        .collect();
    if places.is_empty() {
        format!("{total} machine{plural}")
    } else {
        format!("{total} machine{plural}: {}", places.join(", "))
    }
}
