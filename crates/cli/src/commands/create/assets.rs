//! `slipway create manifests` and `slipway create ignition-configs`: the same but for what is made.

use std::collections::BTreeMap;
use std::path::Path;

use jiff::Timestamp;
use serde::Serialize;
use slipway_assets::random::OsRandom;
use slipway_config::findings::{Report, Severity};
use slipway_lifecycle::create::{Error, Outcome, Request};
use slipway_lifecycle::environment::Environment;
use slipway_lifecycle::platform;
use slipway_lifecycle::store::{self, FileResult};
use slipway_lifecycle::workspace::Workspace;

use crate::args::{Assets, Output};
use crate::commands::validate;
use crate::exit::Exit;
use crate::logging;
use crate::output::{FAINT, GOOD, NAME, Printer, error_json};
use crate::report;

/// Longest command others are told about.
const MAX_COMMAND: usize = 200;

pub(crate) fn run(
    args: &Assets,
    create: fn(&Request<'_>) -> Result<Outcome, Error>,
    next: Option<&str>,
    printer: &Printer,
) -> anyhow::Result<Exit> {
    let Assets { dir, force } = args;
    let result = with_request(dir, *force, create);
    match result {
        Ok(outcome) => {
            // Machines are not made on every platform.
            let makes_machines = |workspace: &mut Workspace<'_>| platform::check(workspace.config());
            let possible =
                |next: &&str| *next != "cluster" || with_workspace(dir, *force, makes_machines).is_ok();
            tell(&outcome, dir, next.filter(possible), printer)
        }
        Err(error) => refuse(error, printer),
    }
}

/// Asks for something in a directory, in the name of this command.
pub(crate) fn with_request<T>(dir: &Path, force: bool, ask: impl FnOnce(&Request<'_>) -> T) -> T {
    logging::keep_in(dir);
    let command: String =
        std::env::args().skip(1).fold("slipway".to_owned(), |line, word| line + " " + &word);
    ask(&Request {
        directory: dir,
        force,
        now: Timestamp::now(),
        random: &OsRandom,
        environment: &Environment::of_process(),
        command: &command.chars().take(MAX_COMMAND).collect::<String>(),
    })
}

/// Opens a directory once and does everything of a command in it.
pub(crate) fn with_workspace<T, E: From<Error>>(
    dir: &Path,
    force: bool,
    work: impl FnOnce(&mut Workspace<'_>) -> Result<T, E>,
) -> Result<T, E> {
    with_request(dir, force, |request| work(&mut Workspace::open(request)?))
}

fn tell(outcome: &Outcome, dir: &Path, next: Option<&str>, printer: &Printer) -> anyhow::Result<Exit> {
    let findings = warnings(&outcome.report);
    if printer.output == Output::Json {
        printer.json(&Done {
            cluster: &outcome.cluster,
            infra_id: &outcome.infra_id,
            directory: dir.display().to_string(),
            files: outcome.files.iter().map(|(path, result)| FileJson { path, result: *result }).collect(),
            backup: outcome.backup.as_deref(),
            warnings: &outcome.warnings,
            findings: report::json(&findings),
        })?;
        return Ok(Exit::Ok);
    }
    printer.say(&report::text(&findings, &dir.join(store::INSTALL_CONFIG).display().to_string()));
    for warning in &outcome.warnings {
        printer.warning(warning);
    }
    printer.data(&text(outcome))?;
    if let Some(next) = next {
        printer.say(&format!(
            "{FAINT}next (edit the files first if you like): slipway create {next} --dir {}{FAINT:#}\n",
            dir.display()
        ));
    }
    Ok(Exit::Ok)
}

/// Says that a command which is about something else has written files.
pub(crate) fn tell_written(outcome: &Outcome, dir: &Path, printer: &Printer) {
    let written = outcome.files.iter().filter(|(_, result)| *result == FileResult::Written).count();
    if written > 0 {
        printer.say(&format!("{written} files of the cluster were written to {}\n", dir.display()));
    }
}

/// Notes were told by `slipway validate`; here they would only be in the way.
pub(crate) fn warnings(report: &Report) -> Report {
    report.only(Severity::Warning)
}

/// What people want to know: how much was written, and every file that is not as generated.
fn text(outcome: &Outcome) -> String {
    let Outcome { cluster, infra_id, files, backup, .. } = outcome;
    let mut counts: BTreeMap<FileResult, usize> = BTreeMap::new();
    for (_, result) in files {
        *counts.entry(*result).or_default() += 1;
    }
    let changed = counts
        .keys()
        .any(|result| matches!(result, FileResult::Written | FileResult::Overwritten | FileResult::Removed));
    let verdict = if changed { "written" } else { "up to date" };
    let counts: Vec<String> =
        counts.into_iter().map(|(result, count)| format!("{count} {}", describe(result))).collect();
    let counts = if counts.is_empty() { "no files".to_owned() } else { counts.join(", ") };
    let mut text =
        format!("{GOOD}{verdict}{GOOD:#}: {NAME}{cluster}{NAME:#}, infrastructure {infra_id} ({counts})\n");
    for (path, result) in
        files.iter().filter(|(_, result)| !matches!(result, FileResult::Written | FileResult::Unchanged))
    {
        text.push_str(&format!("  {:<14} {path}\n", describe(*result)));
    }
    if let Some(backup) = backup {
        text.push_str(&format!("what was replaced is in {backup}\n"));
    }
    text
}

fn describe(result: FileResult) -> &'static str {
    match result {
        FileResult::Written => "written",
        FileResult::Overwritten => "overwritten",
        FileResult::Removed => "removed",
        FileResult::EditKept => "edit kept",
        FileResult::DeletionKept => "deletion kept",
        FileResult::Ignored => "ignored",
        FileResult::Unchanged => "unchanged",
    }
}

/// Tells why a directory cannot be worked with.
pub(crate) fn refuse(error: Error, printer: &Printer) -> anyhow::Result<Exit> {
    if let Error::InstallConfig { path, report } = &error {
        return validate::refuse(report, &path.display().to_string(), printer);
    }
    let exit = match &error {
        Error::NoInstallConfig { .. }
        | Error::NotText { .. }
        | Error::NotAFile(_)
        | Error::Assets(slipway_assets::Error::ReleaseImage) => Exit::InstallConfig,
        _ => Exit::Other,
    };
    let (details, hint) = (error.details(), error.hint());
    if printer.output == Output::Json {
        let (conflicts, changed) = match &error {
            Error::Store(store::Error::Conflicts { conflicts, changed }) => (&conflicts[..], &changed[..]),
            _ => (&[][..], &[][..]),
        };
        let mut refusal = error_json(&error.to_string(), &[], &details, hint.as_deref());
        if !conflicts.is_empty() {
            refusal["error"]["conflicts"] = serde_json::to_value(conflicts)?;
            refusal["error"]["changed"] = serde_json::to_value(changed)?;
        }
        printer.json(&refusal)?;
    }
    printer.refusal(&error.into(), &details, hint.as_deref());
    Ok(exit)
}

/// What a program is told.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Done<'a> {
    cluster: &'a str,
    #[serde(rename = "infraID")]
    infra_id: &'a str,
    directory: String,
    files: Vec<FileJson<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    backup: Option<&'a str>,
    warnings: &'a [String],
    findings: Vec<report::FindingJson<'a>>,
}

#[derive(Debug, Serialize)]
struct FileJson<'a> {
    path: &'a str,
    result: FileResult,
}
