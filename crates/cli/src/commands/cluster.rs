//! Commands that touch the machines of a cluster.

pub(crate) mod create;
pub(crate) mod destroy;
pub(crate) mod gather;
pub(crate) mod plan;
pub(crate) mod status;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod toy;
pub(crate) mod wait;

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;
use slipway_engine::plan::Stop;
use slipway_engine::{End, Endpoint, Id, Plan};
use slipway_lifecycle::install::{
    Applied, Error, Installation, Kept, NotVisible, Origin, Preview, Purpose, Surplus, Timeouts, Words,
};
use slipway_lifecycle::workspace::Workspace;

use super::create as files;
use crate::args::{Output, Reach};
use crate::exit::Exit;
use crate::interrupt::{self, interrupted, unless_interrupted};
use crate::output::{ERROR, FAINT, HEADING, NAME, Printer, WARNING, error_json};
use crate::progress::Progress;
use crate::runtime::Runtime;

fn timeouts(reach: &Reach) -> Timeouts {
    let Reach { call_timeout, unreachable_timeout: silence, .. } = *reach;
    // Waiting longer for one answer would exceed the time that was given for no answer at all.
    Timeouts { call: call_timeout.min(silence), silence, ..Timeouts::default() }
}

/// Why a command ends before it has begun.
enum NotBegun {
    Refused(Error),
    Interrupted,
}

impl NotBegun {
    fn report(self, printer: &Printer) -> anyhow::Result<Exit> {
        match self {
            NotBegun::Refused(error) => refuse(error, printer),
            NotBegun::Interrupted => interrupt::report("nothing was changed", printer),
        }
    }
}

impl From<Error> for NotBegun {
    fn from(error: Error) -> Self {
        NotBegun::Refused(error)
    }
}

impl From<slipway_lifecycle::create::Error> for NotBegun {
    fn from(error: slipway_lifecycle::create::Error) -> Self {
        NotBegun::Refused(error.into())
    }
}

/// Asks the release which OS image it has, where the install-config leaves it to the release.
fn find_os_image(
    workspace: &mut Workspace<'_>,
    runtime: &Runtime,
    printer: &Printer,
) -> Result<(), NotBegun> {
    if let Some(release) = workspace.release_to_ask() {
        printer.say(&format!("{FAINT}looking for the OS image of {}{FAINT:#}\n", release.as_str()));
    }
    match runtime.block_on(unless_interrupted(workspace.find_os_image())) {
        Some(found) => Ok(found.map_err(Error::from)?),
        None => Err(NotBegun::Interrupted),
    }
}

fn refuse(error: Error, printer: &Printer) -> anyhow::Result<Exit> {
    let exit = match error {
        Error::Create(error) => return files::refuse(error, printer),
        Error::Missing(_) => Exit::InstallConfig,
        Error::Endpoint(_)
        | Error::Release(_)
        | Error::Unreadable { .. }
        | Error::Strays { .. }
        | Error::Lacking(_)
        | Error::NothingFound { .. } => Exit::Infrastructure,
        _ => Exit::Other,
    };
    let (details, hint) = (error.details(), error.hint());
    if printer.output == Output::Json {
        printer.json(&error_json(&error.to_string(), &[], &details, hint.as_deref()))?;
    }
    printer.refusal(&error.into(), &details, hint.as_deref());
    Ok(exit)
}

/// The steps of a plan, endpoint by endpoint, and what stands in the way.
fn plan_text(plan: &Plan<Value>) -> String {
    let mut text = String::new();
    let mut endpoints: BTreeMap<&Endpoint, Vec<String>> = BTreeMap::new();
    for (index, planned) in plan.steps.iter().enumerate() {
        let step = &planned.step;
        let line = format!("  {:>3}  {}\n", index + 1, step.sentence);
        endpoints.entry(&step.resource.endpoint).or_default().push(line);
    }
    for wait in &plan.waits {
        let line = format!("       {FAINT}wait {}{FAINT:#}\n", wait.cause);
        endpoints.entry(&wait.resource.endpoint).or_default().push(line);
    }
    for (endpoint, steps) in endpoints {
        text.push_str(&format!("\n{HEADING}{endpoint}{HEADING:#}\n"));
        text.extend(steps);
    }
    // What could not be seen is why others stop.
    for (stops, style, word) in [(&plan.unknown, WARNING, "unknown"), (&plan.stops, ERROR, "stop")] {
        let causes = causes(stops);
        if !causes.is_empty() {
            text.push('\n');
        }
        for ((endpoint, reason), resources) in causes {
            let what = match &resources[..] {
                [one] => format!("{} `{}`", one.kind, one.name),
                [first, rest @ ..] => format!("{} `{}` and {} more", first.kind, first.name, rest.len()),
                [] => continue,
            };
            text.push_str(&format!("{style}{word}{style:#}: {what} on {endpoint}: {reason}\n"));
        }
    }
    let waiting = plan.stops.iter().filter(|stop| stop.waits_for.is_some()).count();
    if waiting > 0 {
        text.push_str(&format!("{FAINT}{}{FAINT:#}\n", waiting_for_these(waiting)));
    }
    text
}

/// Each cause once, with the resources it is the cause for.
fn causes(stops: &[Stop]) -> BTreeMap<(&Endpoint, &str), Vec<&Id>> {
    let mut causes: BTreeMap<_, Vec<&Id>> = BTreeMap::new();
    for Stop { resource, cause, .. } in stops.iter().filter(|stop| stop.waits_for.is_none()) {
        causes.entry((&resource.endpoint, cause.message.as_str())).or_default().push(resource);
    }
    causes
}

fn waiting_for_these(count: usize) -> String {
    if count == 1 { "1 more waits for these".to_owned() } else { format!("{count} more wait for these") }
}

/// What was made and cannot be said to be gone.
fn unseen_text(unseen: &[NotVisible]) -> String {
    unseen.iter().map(|one| format!("{WARNING}not visible{WARNING:#}: {one}\n")).collect()
}

/// What stays when a cluster goes.
fn kept_text(kept: &[Kept]) -> String {
    kept.iter().map(|one| format!("{WARNING}kept{WARNING:#}: {one}\n")).collect()
}

fn unseen_json(NotVisible { resource: Id { endpoint, kind, name }, at }: &NotVisible) -> Value {
    serde_json::json!({"endpoint": endpoint, "kind": kind, "name": name, "made": at})
}

/// What to say about machines of the cluster that its files do not know: they stay.
fn surplus_note(surplus: &[Surplus]) -> Option<String> {
    let names: Vec<&str> =
        surplus.iter().filter(|one| one.origin == Origin::Made).map(|one| one.name.as_str()).collect();
    (!names.is_empty()).then(|| {
        format!(
            "created before and no longer in the files, so left alone: {}. `slipway status` shows them",
            names.join(", ")
        )
    })
}

/// `14 steps on 2 vCenters`.
fn tally(plan: &Plan<Value>, words: Words) -> String {
    let count = |count: usize, one: &str, several: &str| match count {
        1 => format!("1 {one}"),
        _ => format!("{count} {several}"),
    };
    let endpoints = steps_of(plan).len();
    format!(
        "{} on {}",
        count(plan.steps.len(), "step", "steps"),
        count(endpoints, words.endpoint, words.endpoints)
    )
}

fn steps_of(plan: &Plan<Value>) -> BTreeMap<Endpoint, u64> {
    let mut steps: BTreeMap<Endpoint, u64> = BTreeMap::new();
    for planned in &plan.steps {
        *steps.entry(planned.step.resource.endpoint.clone()).or_default() += 1;
    }
    steps
}

/// Does what was planned, shows how far it is, and logs out.
fn carry_out(
    mut installation: Box<dyn Installation>,
    preview: &Preview,
    recreate: &[String],
    timeouts: Timeouts,
    runtime: &Runtime,
    printer: &Printer,
) -> Result<Applied, Error> {
    let progress = Progress::new(printer, &steps_of(&preview.plan));
    let applied = runtime.block_on(async {
        let cancelled = Box::pin(interrupted());
        let applied = installation.apply(recreate, timeouts, &progress, cancelled).await;
        installation.close().await;
        applied
    });
    progress.finish();
    applied
}

/// Looks at everything, or logs out again: then it is known how the command ends.
fn preview(
    mut installation: Box<dyn Installation>,
    purpose: Purpose,
    recreate: &[String],
    runtime: &Runtime,
    printer: &Printer,
) -> Result<(Box<dyn Installation>, Preview), anyhow::Result<Exit>> {
    for warning in installation.take_warnings() {
        printer.warning(&warning);
    }
    let found = runtime.block_on(unless_interrupted(installation.plan(purpose, recreate)));
    match found {
        Some(Ok(preview)) => Ok((installation, preview)),
        found => {
            runtime.block_on(installation.close());
            Err(match found {
                Some(Err(error)) => refuse(error, printer),
                _ => interrupt::report("nothing was changed", printer),
            })
        }
    }
}

/// What did not end well, and what to do about it.
fn troubles(ends: &BTreeMap<Id, End>) -> String {
    let mut text = String::new();
    for (id, end) in ends {
        let (word, reason, remedy) = match end {
            End::Done { .. } | End::Blocked { .. } | End::Unfinished => continue,
            End::Failed { verb, error, remedy, .. } => ("failed", format!("{verb}: {error}"), remedy.clone()),
            End::Stopped(cause) => ("stopped", cause.message.clone(), None),
            End::Unknown(cause) => ("unknown", cause.message.clone(), None),
        };
        text.push_str(&format!("{ERROR}{word}{ERROR:#}: {NAME}{id}{NAME:#}: {reason}\n"));
        if let Some(remedy) = remedy {
            text.push_str(&format!("  {FAINT}{remedy}{FAINT:#}\n"));
        }
    }
    let count = |wanted: fn(&End) -> bool| ends.values().filter(|end| wanted(end)).count();
    let blocked = count(|end| matches!(end, End::Blocked { .. }));
    let unfinished = count(|end| matches!(end, End::Unfinished));
    if blocked > 0 {
        text.push_str(&format!("{}\n", waiting_for_these(blocked)));
    }
    if unfinished > 0 {
        let s = if unfinished == 1 { "" } else { "s" };
        text.push_str(&format!("{unfinished} resource{s} not finished\n"));
    }
    text
}

/// How a resource ended, for a program.
#[derive(Debug, Serialize)]
struct EndJson<'a> {
    endpoint: &'a Endpoint,
    kind: &'a str,
    name: &'a str,
    #[serde(flatten)]
    end: &'a End,
}

fn ends_json(ends: &BTreeMap<Id, End>) -> Vec<EndJson<'_>> {
    ends.iter().map(|(Id { endpoint, kind, name }, end)| EndJson { endpoint, kind, name, end }).collect()
}

fn exit_of(applied: &Applied) -> Exit {
    if applied.cancelled {
        Exit::Interrupted
    } else if applied.is_done() {
        Exit::Ok
    } else {
        Exit::Infrastructure
    }
}
