//! `slipway create cluster`.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use serde::{Deserialize, Serialize};
use slipway_engine::apply::Performed;
use slipway_engine::{Endpoint, Outcome, Plan};
use slipway_lifecycle::cluster::{NeededImage, Patience, Project, Purpose};
use slipway_lifecycle::create::create_ignition;
use slipway_lifecycle::environment::Environment;
use slipway_lifecycle::preflight;
use slipway_providers::vsphere::kinds::{Action, State};

use super::{
    carry_out, ends_json, exit_of, patience, plan_text, refuse, surplus_note, survey, tally, troubles, wait,
};
use crate::args::{CreateCluster, Output};
use crate::commands::create::{self as files, with_request};
use crate::commands::preflight as checks;
use crate::exit::Exit;
use crate::interrupt::{self, interrupted, unless_interrupted};
use crate::output::{FAINT, GOOD, HEADING, NAME, Printer, error_json};
use crate::progress::seconds;
use crate::runtime::Runtime;

/// What to do about machines that did not take the addresses they were given.
const ADDRESS_HINT: &str = "static addresses reach a machine as kernel arguments: see that the template is an image with Ignition \
                            and afterburn, and that nothing in `cluster-api/` or on the machine overrides them";

pub(crate) fn run(args: &CreateCluster, printer: &Printer) -> anyhow::Result<Exit> {
    let CreateCluster { reach, plan: saved, skip_preflight, no_wait, timeouts, recreate } = args;
    let patience = patience(reach);
    let saved = saved.as_deref().map(read_plan).transpose()?;
    if let Err(error) = with_request(&reach.dir, false, Project::check_to_create) {
        return refuse(error, printer);
    }
    let new_names = match with_request(&reach.dir, false, create_ignition) {
        Ok(made) => made.new_names,
        Err(error) => return files::refuse(error, printer),
    };
    let runtime = Runtime::new()?;
    let project = match with_request(&reach.dir, false, |request| Project::open(request, patience)) {
        Ok(project) if new_names => project.with_new_names(),
        Ok(project) => project,
        Err(error) => return refuse(error, printer),
    };
    let (cluster, infra_id) = (project.cluster.clone(), project.infra_id.to_string());
    let (project, prospect) = match survey(project, Purpose::Create, recreate, &runtime, printer) {
        Ok(found) => found,
        Err(end) => return end,
    };
    if let Some(saved) = &saved
        && saved.unknown.is_empty()
        && !prospect.plan.unknown.is_empty()
    {
        runtime.block_on(project.close());
        let reasons: BTreeSet<String> =
            prospect.plan.unknown.iter().map(|stop| stop.cause.message.clone()).collect();
        let endpoints: BTreeSet<&str> =
            prospect.plan.unknown.iter().map(|stop| stop.resource.endpoint.as_str()).collect();
        let endpoints = endpoints.into_iter().collect::<Vec<_>>().join(", ");
        let error = anyhow::anyhow!("no answer from {endpoints}, so the saved plan cannot be compared");
        printer.refusal(
            &error,
            &reasons.into_iter().collect::<Vec<_>>(),
            Some("nothing was done; try again when it answers"),
        );
        return Ok(Exit::Infrastructure);
    }
    if let Some(saved) = saved
        && let Err(moved) = prospect.plan.same_as(&saved)
    {
        runtime.block_on(project.close());
        printer.error(&anyhow::Error::new(moved).context("the saved plan cannot be used"));
        printer.hint("nothing was done. Make a new plan with `slipway plan --save`, and look at it");
        return Ok(Exit::Infrastructure);
    }
    let surplus = runtime.block_on(project.surplus(&prospect));
    let nothing = prospect.plan.is_empty();
    let runs = |state: Option<&State>| matches!(state, Some(State::Power { on: true, .. }));
    let machines_run = prospect.world.iter().any(|(_, sight)| runs(sight.state()));
    if !nothing
        && !skip_preflight
        && let Some(exit) = preflight(&reach.dir, patience, machines_run, &runtime, printer)?
    {
        runtime.block_on(project.close());
        return Ok(exit);
    }
    if printer.output == Output::Text && !nothing {
        printer.say(&format!(
            "{HEADING}creating{HEADING:#} {NAME}{cluster}{NAME:#}, infrastructure {infra_id}: {}\n{}\n",
            tally(&prospect.plan),
            plan_text(&prospect.plan)
        ));
    }
    for note in prospect.notes.iter().chain(&surplus_note(&surplus)) {
        printer.warning(note);
    }
    if prospect.is_futile() {
        runtime.block_on(project.close());
        if printer.output == Output::Json {
            let mut refusal = error_json("no machine can be made or started", &[], &[], None);
            refusal["plan"] = serde_json::to_value(&prospect.plan)?;
            printer.json(&refusal)?;
        }
        printer.error(&anyhow::anyhow!("no machine can be made or started, for the reasons above"));
        printer.hint("nothing was done. Mend what is named, and run the same command again");
        return Ok(Exit::Infrastructure);
    }
    if let Some(NeededImage { url, cached }) = project.needed_image(&prospect) {
        let doing = if cached { "verifying the image of" } else { "downloading" };
        printer.say(&format!("{FAINT}{doing} {url}{FAINT:#}\n"));
        let fetched = runtime.block_on(unless_interrupted(project.fetch_image()));
        if !matches!(fetched, Some(Ok(()))) {
            runtime.block_on(project.close());
            return match fetched {
                Some(Err(error)) => refuse(error, printer),
                _ => interrupt::tell("nothing was done", printer),
            };
        }
    }
    let given = project.static_addresses();
    let outcome = match carry_out(project, prospect, recreate, patience, &runtime, printer) {
        Ok(outcome) => outcome,
        Err(error) => return refuse(error, printer),
    };
    let exit = exit_of(&outcome);
    let waits = exit == Exit::Ok && !no_wait;
    // A program gets one document, at the end.
    if !waits || printer.output == Output::Text {
        tell(&outcome, &cluster, &infra_id, nothing, None, printer)?;
    }
    let misaddressed = given.missing_in(&outcome.world);
    for wrong in &misaddressed {
        printer.warning(&wrong.to_string());
    }
    if !misaddressed.is_empty() {
        printer.hint(ADDRESS_HINT);
    }
    if !waits {
        return Ok(exit);
    }
    let addresses: BTreeMap<String, Vec<IpAddr>> =
        machines(&outcome).into_iter().map(|machine| (machine.name, machine.addresses)).collect();
    let waited = wait::complete(&reach.dir, timeouts, &addresses, patience, &runtime, printer)?;
    match printer.output {
        Output::Json if waited.exit == Exit::Ok => {
            tell(&outcome, &cluster, &infra_id, nothing, Some(&waited), printer)?;
        }
        Output::Text if waited.exit == Exit::Ok => printer.data(&waited.text(&cluster))?,
        _ => {}
    }
    Ok(waited.exit)
}

/// Looks for problems; with an exit code if there are any.
fn preflight(
    dir: &Path,
    patience: Patience,
    machines_run: bool,
    runtime: &Runtime,
    printer: &Printer,
) -> anyhow::Result<Option<Exit>> {
    let subject = match preflight::open(dir, &Environment::of_process()) {
        Ok(opened) => opened.subject,
        Err(error) => return files::refuse(error, printer).map(Some),
    };
    printer.say(&format!("{FAINT}looking at the vCenters{FAINT:#}\n"));
    let options = preflight::Options { call: patience.call, machines_run, ..preflight::Options::default() };
    let looking = preflight::examine(subject, options, preflight::network::ThisMachine, interrupted());
    let Some(report) = runtime.block_on(looking) else {
        return interrupt::tell("nothing was done", printer).map(Some);
    };
    if printer.output == Output::Text {
        printer.say(&checks::findings(&report, false));
    }
    if report.is_clear() {
        return Ok(None);
    }
    if printer.output == Output::Json {
        let mut refusal = error_json("not ready", &[], &[], None);
        refusal["findings"] = serde_json::to_value(&report.findings)?;
        printer.json(&refusal)?;
    }
    printer.hint("nothing was done. `--skip-preflight` goes on all the same");
    Ok(Some(Exit::Infrastructure))
}

/// What every saved plan begins with, whatever else its format has.
#[derive(Debug, Deserialize)]
struct Version {
    version: u32,
}

fn read_plan(path: &Path) -> anyhow::Result<Plan<Action>> {
    let text = fs_err::read_to_string(path)?;
    let broken = || format!("`{}` is not a saved plan", path.display());
    let Version { version } = serde_json::from_str(&text).with_context(broken)?;
    if version != slipway_engine::plan::VERSION {
        anyhow::bail!(
            "`{}` was saved by another version of slipway (format {version}): make a new plan with `slipway plan --save`",
            path.display()
        );
    }
    serde_json::from_str(&text).with_context(broken)
}

fn tell(
    outcome: &Outcome<State>,
    cluster: &str,
    infra_id: &str,
    nothing: bool,
    waited: Option<&wait::Waited>,
    printer: &Printer,
) -> anyhow::Result<()> {
    let (machines, stages) = (machines(outcome), stages(&outcome.performed));
    if printer.output == Output::Json {
        return printer.json(&Done {
            cluster,
            infra_id,
            done: outcome.is_done(),
            machines: &machines,
            stages: &stages,
            resources: ends_json(&outcome.ends),
            kubeconfig: waited.map(|waited| waited.kubeconfig.as_str()),
            times: waited.map(|waited| waited.times.as_slice()),
        });
    }
    let mut text = table(&machines);
    if outcome.is_done() {
        let verdict = if nothing { "nothing to do" } else { "the machines run" };
        text.push_str(&format!(
            "\n{GOOD}{verdict}{GOOD:#}: {NAME}{cluster}{NAME:#}, infrastructure {infra_id}\n"
        ));
    }
    for Stage { name, count, took, .. } in &stages {
        text.push_str(&format!("  {FAINT}{name:<18} {count:>4} × {:>10}{FAINT:#}\n", seconds(*took)));
    }
    printer.data(&text)?;
    if !outcome.is_done() {
        printer.say(&format!("\n{}", troubles(&outcome.ends)));
        printer
            .hint("what was done is kept: run the same command again to go on, or `slipway destroy cluster`");
    }
    Ok(())
}

/// A machine that was made.
#[derive(Debug, Serialize)]
struct MachineJson {
    name: String,
    vcenter: Endpoint,
    addresses: Vec<IpAddr>,
    on: bool,
}

fn machines(outcome: &Outcome<State>) -> Vec<MachineJson> {
    let machine = |(id, sight): (&slipway_engine::Id, &slipway_engine::Sight<State>)| {
        let Some(State::Power { on, addresses, .. }) = sight.state() else { return None };
        Some(MachineJson {
            name: id.name.to_string(),
            vcenter: id.endpoint.clone(),
            addresses: addresses.clone(),
            on: *on,
        })
    };
    let mut machines: Vec<MachineJson> = outcome.world.iter().filter_map(machine).collect();
    machines.sort_by(|one, other| one.name.cmp(&other.name));
    machines
}

fn table(machines: &[MachineJson]) -> String {
    if machines.is_empty() {
        return String::new();
    }
    let width = |text: fn(&MachineJson) -> usize, least: usize| {
        machines.iter().map(text).max().unwrap_or(0).max(least)
    };
    let names = width(|machine| machine.name.len(), 7);
    let vcenters = width(|machine| machine.vcenter.as_str().len(), 7);
    let mut table = format!(
        "{HEADING}{:<names$}  {:<vcenters$}  {:<5}  ADDRESSES{HEADING:#}\n",
        "MACHINE", "VCENTER", "POWER"
    );
    for MachineJson { name, vcenter, addresses, on } in machines {
        let power = if *on { "on" } else { "off" };
        let addresses: Vec<String> = addresses.iter().map(ToString::to_string).collect();
        let vcenter = vcenter.as_str();
        table.push_str(&format!(
            "{name:<names$}  {vcenter:<vcenters$}  {power:<5}  {}\n",
            addresses.join(", ")
        ));
    }
    table
}

/// Steps of one kind: how many, and how long from the first start to the last end.
#[derive(Debug, Serialize)]
struct Stage {
    name: Box<str>,
    count: usize,
    #[serde(skip)]
    began: Duration,
    #[serde(rename = "seconds", serialize_with = "as_seconds")]
    took: Duration,
}

fn as_seconds<S: serde::Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(time.as_secs_f64())
}

fn stages(performed: &[Performed]) -> Vec<Stage> {
    let mut stages: BTreeMap<&str, (usize, Duration, Duration)> = BTreeMap::new();
    for step in performed {
        let end = step.started + step.took;
        let stage = stages.entry(&step.verb).or_insert((0, step.started, end));
        *stage = (stage.0 + 1, stage.1.min(step.started), stage.2.max(end));
    }
    let stage = |(name, (count, began, end)): (&str, (usize, Duration, Duration))| Stage {
        name: name.into(),
        count,
        began,
        took: end.saturating_sub(began),
    };
    let mut stages: Vec<Stage> = stages.into_iter().map(stage).collect();
    stages.sort_by_key(|stage| stage.began);
    stages
}

/// What a program is told.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Done<'a> {
    cluster: &'a str,
    #[serde(rename = "infraID")]
    infra_id: &'a str,
    done: bool,
    machines: &'a [MachineJson],
    stages: &'a [Stage],
    resources: Vec<super::EndJson<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kubeconfig: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    times: Option<&'a [wait::Time]>,
}
