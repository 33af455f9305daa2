//! `slipway create cluster`.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use slipway_engine::apply::Performed;
use slipway_engine::{Endpoint, Plan};
use slipway_lifecycle::create::{create_ignition_in, directory_flag};
use slipway_lifecycle::install::{Applied, Machine, Purpose, ResourceView, StateView, Timeouts, Words};
use slipway_lifecycle::platform::{self, NeededImage};
use slipway_lifecycle::preflight;
use slipway_lifecycle::workspace::Workspace;

use super::{
    carry_out, ends_json, exit_of, find_os_image, plan_text, preview, refuse, surplus_note, tally, timeouts,
    troubles, wait,
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
    with_request(&args.reach.dir, false, |request| match Workspace::open(request) {
        Ok(mut workspace) => run_in(&mut workspace, args, printer),
        Err(error) => files::refuse(error, printer),
    })
}

/// The whole command sees the directory as it was when it was opened.
fn run_in(workspace: &mut Workspace<'_>, args: &CreateCluster, printer: &Printer) -> anyhow::Result<Exit> {
    let CreateCluster {
        reach,
        saved_plan,
        skip_preflight,
        no_wait,
        no_compute,
        address_timeout: address,
        timeouts: until,
        recreate,
    } = args;
    let timeouts = Timeouts { address: *address, ..timeouts(reach) };
    let saved = saved_plan.as_deref().map(read_plan).transpose()?;
    if let Err(error) = platform::check_to_create(workspace.config()) {
        return refuse(error, printer);
    }
    let runtime = Runtime::new()?;
    if let Err(end) = find_os_image(workspace, &runtime, printer) {
        return end.report(printer);
    }
    let new_names = match create_ignition_in(workspace) {
        Ok(made) => made.new_names,
        Err(error) => return files::refuse(error, printer),
    };
    let installation = match platform::open(workspace, timeouts, new_names) {
        Ok(installation) => installation,
        Err(error) => return refuse(error, printer),
    };
    let (cluster, infra_id) = (installation.cluster().to_owned(), installation.infra_id().to_string());
    let words = installation.words();
    let (installation, preview) = match preview(installation, Purpose::Create, recreate, &runtime, printer) {
        Ok(found) => found,
        Err(end) => return end,
    };
    if let Some(saved) = &saved
        && saved.unknown.is_empty()
        && !preview.plan.unknown.is_empty()
    {
        runtime.block_on(installation.close());
        let reasons: BTreeSet<String> =
            preview.plan.unknown.iter().map(|stop| stop.cause.message.clone()).collect();
        let endpoints: BTreeSet<&str> =
            preview.plan.unknown.iter().map(|stop| stop.resource.endpoint.as_str()).collect();
        let endpoints = endpoints.into_iter().collect::<Vec<_>>().join(", ");
        let error = anyhow::anyhow!("no answer from {endpoints}, so the saved plan cannot be compared");
        printer.refusal(
            &error,
            &reasons.into_iter().collect::<Vec<_>>(),
            Some("nothing was changed; try again when it answers"),
        );
        return Ok(Exit::Infrastructure);
    }
    if let Some(saved) = saved
        && let Err(moved) = preview.plan.same_as(&saved)
    {
        runtime.block_on(installation.close());
        printer.error(&anyhow::Error::new(moved).context("the saved plan cannot be used"));
        printer.hint("nothing was changed. Create a new plan with `slipway plan --save`, and look at it");
        return Ok(Exit::Infrastructure);
    }
    let surplus = runtime.block_on(installation.surplus());
    let nothing = preview.plan.is_empty();
    let machines_run = preview.resources.iter().any(runs);
    if !nothing && !skip_preflight {
        let end = match preflight::in_workspace(workspace) {
            Ok(request) => preflight(request, timeouts, words, machines_run, &runtime, printer),
            Err(error) => files::refuse(error, printer).map(Some),
        };
        if !matches!(end, Ok(None)) {
            runtime.block_on(installation.close());
            return end.map(|exit| exit.unwrap_or(Exit::Ok));
        }
    }
    if printer.output == Output::Text && !nothing {
        printer.say(&format!(
            "{HEADING}creating{HEADING:#} {NAME}{cluster}{NAME:#}, infrastructure {infra_id}: {}\n{}\n",
            tally(&preview.plan, words),
            plan_text(&preview.plan)
        ));
    }
    for note in preview.notes.iter().chain(&surplus_note(&surplus)) {
        printer.warning(note);
    }
    if preview.is_futile {
        runtime.block_on(installation.close());
        if printer.output == Output::Json {
            let mut refusal = error_json("no machine can be created or started", &[], &[], None);
            refusal["plan"] = serde_json::to_value(&preview.plan)?;
            printer.json(&refusal)?;
        }
        printer.error(&anyhow::anyhow!("no machine can be created or started, for the reasons above"));
        printer.hint("nothing was changed. Fix what is listed, then run the same command again");
        return Ok(Exit::Infrastructure);
    }
    if let Some(NeededImage { url, cached }) = installation.needed_image() {
        let doing = if cached { "verifying the image of" } else { "downloading" };
        printer.say(&format!("{FAINT}{doing} {url}{FAINT:#}\n"));
        let fetched = runtime.block_on(unless_interrupted(installation.fetch_image()));
        if !matches!(fetched, Some(Ok(()))) {
            runtime.block_on(installation.close());
            return match fetched {
                Some(Err(error)) => refuse(error, printer),
                _ => interrupt::report("nothing was changed", printer),
            };
        }
    }
    let applied = match carry_out(installation, &preview, recreate, timeouts, &runtime, printer) {
        Ok(applied) => applied,
        Err(error) => return refuse(error, printer),
    };
    let exit = exit_of(&applied);
    let made = Made { cluster: &cluster, infra_id: &infra_id, words, nothing };
    let waits = exit == Exit::Ok && !no_wait;
    // A program gets one document, at the end.
    if !waits || printer.output == Output::Text {
        tell(&applied, &made, None, printer)?;
    }
    for wrong in &applied.misaddressed {
        printer.warning(&wrong.to_string());
    }
    if !applied.misaddressed.is_empty() {
        printer.hint(ADDRESS_HINT);
    }
    if !waits {
        if exit == Exit::Ok && printer.output == Output::Text {
            printer.next(&format!("slipway wait-for bootstrap-complete{}", directory_flag(&reach.dir)));
        }
        return Ok(exit);
    }
    let addresses: BTreeMap<String, Vec<IpAddr>> =
        applied.machines.iter().map(|machine| (machine.name.clone(), machine.addresses.clone())).collect();
    let waited = wait::complete(workspace, (until, *no_compute), &addresses, timeouts, &runtime, printer)?;
    match printer.output {
        Output::Json if waited.exit == Exit::Ok => {
            tell(&applied, &made, Some(&waited), printer)?;
        }
        Output::Text if waited.exit == Exit::Ok => printer.data(&waited.text(&cluster))?,
        _ => {}
    }
    Ok(waited.exit)
}

/// Whether a machine runs.
fn runs(resource: &ResourceView) -> bool {
    let StateView::Present(view) = &resource.view else { return false };
    view.machine.as_ref().is_some_and(|machine| machine.on)
}

/// Looks for problems; with an exit code if there are any.
pub(super) fn preflight(
    request: preflight::Request,
    timeouts: Timeouts,
    words: Words,
    machines_run: bool,
    runtime: &Runtime,
    printer: &Printer,
) -> anyhow::Result<Option<Exit>> {
    printer.say(&format!("{FAINT}checking the {}{FAINT:#}\n", words.endpoints));
    let options = preflight::Options { call: timeouts.call, machines_run, ..preflight::Options::default() };
    let looking = preflight::examine(request, options, preflight::network::ThisMachine, interrupted());
    let Some(report) = runtime.block_on(looking) else {
        return interrupt::report("nothing was changed", printer).map(Some);
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
    printer.hint("nothing was changed. `--skip-preflight` continues anyway");
    Ok(Some(Exit::Infrastructure))
}

/// What every saved plan begins with, whatever else its format has.
#[derive(Debug, Deserialize)]
struct Version {
    version: u32,
}

pub(super) fn read_plan(path: &Path) -> anyhow::Result<Plan<Value>> {
    let text = fs_err::read_to_string(path)?;
    let broken = || format!("`{}` is not a saved plan", path.display());
    let Version { version } = serde_json::from_str(&text).with_context(broken)?;
    if version != slipway_engine::plan::VERSION {
        anyhow::bail!(
            "`{}` was saved by another version of slipway (format {version}): create a new plan with `slipway plan --save`",
            path.display()
        );
    }
    serde_json::from_str(&text).with_context(broken)
}

/// Which cluster it was, and whether anything was to be done.
#[derive(Debug, Clone, Copy)]
struct Made<'a> {
    cluster: &'a str,
    infra_id: &'a str,
    words: Words,
    nothing: bool,
}

fn tell(
    applied: &Applied,
    made: &Made<'_>,
    waited: Option<&wait::Waited>,
    printer: &Printer,
) -> anyhow::Result<()> {
    let Made { cluster, infra_id, words, nothing } = *made;
    let stages = stages(&applied.performed);
    if printer.output == Output::Json {
        return printer.json(&Done {
            cluster,
            infra_id,
            done: applied.is_done(),
            machines: applied.machines.iter().map(MachineJson::from).collect(),
            stages: &stages,
            resources: ends_json(&applied.ends),
            kubeconfig: waited.map(|waited| waited.kubeconfig.as_str()),
            times: waited.map(|waited| waited.times.as_slice()),
        });
    }
    let mut text = table(&applied.machines, words);
    if applied.is_done() {
        let verdict = if nothing { "nothing to do" } else { "machines are running" };
        text.push_str(&format!(
            "\n{GOOD}{verdict}{GOOD:#}: {NAME}{cluster}{NAME:#}, infrastructure {infra_id}\n"
        ));
    }
    for Stage { name, count, took, .. } in &stages {
        text.push_str(&format!("  {FAINT}{name:<18} {count:>4} × {:>10}{FAINT:#}\n", seconds(*took)));
    }
    printer.data(&text)?;
    if !applied.is_done() {
        printer.say(&format!("\n{}", troubles(&applied.ends)));
        printer.hint(
            "what was created stays: run the same command again to continue, or `slipway destroy cluster`",
        );
    }
    Ok(())
}

/// A machine that was made.
#[derive(Debug, Serialize)]
struct MachineJson<'a> {
    name: &'a str,
    endpoint: &'a Endpoint,
    addresses: &'a [IpAddr],
    on: bool,
}

impl<'a> From<&'a Machine> for MachineJson<'a> {
    fn from(machine: &'a Machine) -> Self {
        let Machine { name, endpoint, on, addresses } = machine;
        MachineJson { name, endpoint, addresses, on: *on }
    }
}

pub(super) fn table(machines: &[Machine], words: Words) -> String {
    if machines.is_empty() {
        return String::new();
    }
    let heading = words.endpoint.to_uppercase();
    let width =
        |text: fn(&Machine) -> usize, least: usize| machines.iter().map(text).max().unwrap_or(0).max(least);
    let names = width(|machine| machine.name.len(), 7);
    let endpoints = width(|machine| machine.endpoint.as_str().len(), heading.len());
    let mut table = format!(
        "{HEADING}{:<names$}  {heading:<endpoints$}  {:<5}  ADDRESSES{HEADING:#}\n",
        "MACHINE", "POWER"
    );
    for Machine { name, endpoint, addresses, on } in machines {
        let power = if *on { "on" } else { "off" };
        let addresses: Vec<String> = addresses.iter().map(ToString::to_string).collect();
        let endpoint = endpoint.as_str();
        table.push_str(&format!(
            "{name:<names$}  {endpoint:<endpoints$}  {power:<5}  {}\n",
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
    machines: Vec<MachineJson<'a>>,
    stages: &'a [Stage],
    resources: Vec<super::EndJson<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kubeconfig: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    times: Option<&'a [wait::Time]>,
}
