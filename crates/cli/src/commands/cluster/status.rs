//! `slipway status`.

use std::collections::BTreeMap;

use serde::Serialize;
use slipway_engine::{Endpoint, Id};
use slipway_lifecycle::install::{Misaddressed, Origin, Preview, Purpose, ResourceView, StateView, Surplus};
use slipway_lifecycle::platform;
use slipway_lifecycle::workspace::Workspace;

use super::{preview, refuse, timeouts};
use crate::args::{Output, Reach};
use crate::commands::create::with_workspace;
use crate::exit::Exit;
use crate::output::{FAINT, GOOD, HEADING, NAME, Printer, WARNING};
use crate::runtime::Runtime;

pub(crate) fn run(reach: &Reach, printer: &Printer) -> anyhow::Result<Exit> {
    let timeouts = timeouts(reach);
    let open = |workspace: &mut Workspace<'_>| platform::open(workspace, timeouts, false);
    let installation = match with_workspace(&reach.dir, false, open) {
        Ok(installation) => installation,
        Err(error) => return refuse(error, printer),
    };
    let runtime = Runtime::new()?;
    let (cluster, infra_id) = (installation.cluster().to_owned(), installation.infra_id().to_string());
    let (installation, preview) = match preview(installation, Purpose::Create, &[], &runtime, printer) {
        Ok(found) => found,
        Err(end) => return end,
    };
    let surplus = runtime.block_on(installation.surplus());
    runtime.block_on(installation.close());
    let rows = rows(&preview);
    let unwanted = surplus.iter().any(|machine| machine.origin != Origin::Tagged);
    let as_wanted = preview.plan.is_empty() && preview.misaddressed.is_empty() && !unwanted;
    match printer.output {
        Output::Json => printer.json(&serde_json::json!({
            "cluster": cluster, "infraID": infra_id, "inSync": as_wanted, "resources": rows,
            "surplus": surplus, "notes": preview.notes,
        }))?,
        Output::Text => {
            let verdict = if as_wanted {
                format!("{GOOD}in sync{GOOD:#}")
            } else {
                format!("{WARNING}out of sync{WARNING:#}")
            };
            printer.data(&format!(
                "{verdict}: {NAME}{cluster}{NAME:#}, infrastructure {infra_id}\n{}{}",
                table(&rows),
                surplus_table(&surplus)
            ))?;
            for note in &preview.notes {
                printer.warning(note);
            }
        }
    }
    Ok(if as_wanted { Exit::Ok } else { Exit::Infrastructure })
}

/// Longer names push the rest of their row aside.
const MAX_NAME_WIDTH: usize = 44;

/// A resource: how it is, and what would be done about it.
#[derive(Debug, Serialize)]
pub(super) struct Row<'a> {
    endpoint: &'a Endpoint,
    kind: &'a str,
    name: &'a str,
    is: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    missing: Vec<String>,
    /// Why it could not be looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    unseen: Option<&'a str>,
    /// It says whether a machine of the same name runs.
    #[serde(skip)]
    is_power: bool,
}

pub(super) fn rows(preview: &Preview) -> Vec<Row<'_>> {
    let mut missing: BTreeMap<&Id, Vec<String>> = BTreeMap::new();
    for planned in &preview.plan.steps {
        missing.entry(&planned.step.resource).or_default().push(planned.step.verb.to_string());
    }
    for wait in &preview.plan.waits {
        missing.entry(&wait.resource).or_default().push(format!("wait {}", wait.cause));
    }
    // What waits for another one has no reason of its own.
    for stop in preview.plan.stops.iter().filter(|stop| stop.waits_for.is_none()) {
        missing.entry(&stop.resource).or_default().push(stop.cause.message.clone());
    }
    let mut rows = Vec::new();
    for ResourceView { id, is_power, view, .. } in &preview.resources {
        let Id { endpoint, kind, name } = id;
        let unseen = match view {
            StateView::Unknown(why) => Some(&**why),
            StateView::Absent | StateView::Present(_) => None,
        };
        // What waits for something that was not seen need not be said beside it.
        let mut missing = missing.remove(id).filter(|_| unseen.is_none()).unwrap_or_default();
        let of_machine = |one: &&Misaddressed| one.endpoint == *endpoint && *one.machine == **name;
        if let Some(wrong) = preview.misaddressed.iter().find(of_machine).filter(|_| *is_power) {
            let given: Vec<String> = wrong.given.iter().map(ToString::to_string).collect();
            missing.push(format!("its static address {}", given.join(", ")));
        }
        rows.push(Row { endpoint, kind, name, is: describe(view), missing, unseen, is_power: *is_power });
    }
    merged(rows)
}

/// A machine and whether it runs are one row: people see one machine.
fn merged(rows: Vec<Row<'_>>) -> Vec<Row<'_>> {
    let (powers, mut rows): (Vec<Row<'_>>, Vec<Row<'_>>) = rows.into_iter().partition(|row| row.is_power);
    for power in powers {
        let same = |row: &&mut Row<'_>| (row.endpoint, row.name) == (power.endpoint, power.name);
        let Some(machine) = rows.iter_mut().find(same) else { continue };
        if machine.is == "present" {
            machine.is = power.is;
        }
        // Of one that is not there it need not be said that it does not run.
        if machine.missing.is_empty() {
            machine.missing = power.missing;
        }
    }
    rows
}

/// Machines that are not in the files: first those that were, then those with the id of another one, then those that only carry
/// the tag.
fn surplus_table(surplus: &[Surplus]) -> String {
    let mut text = String::new();
    for (origin, heading) in [
        (Origin::Made, "no longer in the files"),
        (Origin::SameId, "with the id of a machine above"),
        (Origin::Tagged, "not in the files, with the cluster's tag"),
    ] {
        let mut machines = surplus.iter().filter(|machine| machine.origin == origin).peekable();
        if machines.peek().is_some() {
            text.push_str(&format!("\n{HEADING}{heading}{HEADING:#}\n"));
        }
        for Surplus { endpoint, name, on, .. } in machines {
            let is = match on {
                Some(true) => "on",
                Some(false) => "off",
                None => "not visible",
            };
            text.push_str(&format!("  {name:<44} {is:<8} {FAINT}{endpoint}{FAINT:#}\n"));
        }
    }
    text
}

fn describe(view: &StateView) -> String {
    match view {
        StateView::Unknown(_) => "unknown".to_owned(),
        StateView::Absent => "absent".to_owned(),
        StateView::Present(view) => view.summary.clone(),
    }
}

pub(super) fn table(rows: &[Row<'_>]) -> String {
    let kinds = rows.iter().map(|row| row.kind.len()).max().unwrap_or_default();
    let names = rows.iter().map(|row| row.name.len()).max().unwrap_or_default().min(MAX_NAME_WIDTH);
    let mut text = String::new();
    let mut endpoint = None;
    for row in rows {
        if endpoint != Some(row.endpoint) {
            text.push_str(&format!("\n{HEADING}{}{HEADING:#}\n", row.endpoint));
            endpoint = Some(row.endpoint);
            let mut unseen: Vec<&str> =
                rows.iter().filter(|one| one.endpoint == row.endpoint).filter_map(|one| one.unseen).collect();
            unseen.dedup();
            for why in unseen {
                text.push_str(&format!("  {WARNING}not visible{WARNING:#}: {why}\n"));
            }
        }
        let missing = match &row.missing[..] {
            [] => String::new(),
            steps => format!("  {WARNING}needs{WARNING:#}: {}", steps.join(", ")),
        };
        text.push_str(&format!(
            "  {FAINT}{:<kinds$}{FAINT:#}  {:<names$}  {}{missing}\n",
            row.kind, row.name, row.is
        ));
    }
    text
}
