//! `slipway status`.

use std::collections::BTreeMap;

use serde::Serialize;
use slipway_engine::{Endpoint, Id};
use slipway_lifecycle::install::{Misaddressed, Origin, Preview, Purpose, ResourceView, StateView, Surplus};
use slipway_lifecycle::machines::owners::{MachineOwner, owners};
use slipway_lifecycle::platform;
use slipway_lifecycle::text::chain;
use slipway_lifecycle::wait::WaitTarget;
use slipway_lifecycle::workspace::Workspace;

use super::{preview, refuse, timeouts};
use crate::args::{Output, Reach};
use crate::commands::create::with_workspace;
use crate::exit::Exit;
use crate::interrupt::{self, unless_interrupted};
use crate::output::{FAINT, GOOD, HEADING, NAME, Printer, WARNING};
use crate::runtime::Runtime;

pub(crate) fn run(reach: &Reach, printer: &Printer) -> anyhow::Result<Exit> {
    let timeouts = timeouts(reach);
    let open = |workspace: &mut Workspace<'_>| {
        let target = WaitTarget::in_workspace(workspace).map_err(|error| chain(&error));
        platform::open(workspace, timeouts, false).map(|installation| (installation, target))
    };
    let (installation, target) = match with_workspace(&reach.dir, false, open) {
        Ok(opened) => opened,
        Err(error) => return refuse(error, printer),
    };
    let runtime = Runtime::new()?;
    let (cluster, infra_id) = (installation.cluster().to_owned(), installation.infra_id().to_string());
    let (installation, mut preview) = match preview(installation, Purpose::Create, &[], &runtime, printer) {
        Ok(found) => found,
        Err(end) => return end,
    };
    let surplus = runtime.block_on(installation.surplus());
    runtime.block_on(installation.close());
    let owned = match runtime.block_on(unless_interrupted(owned(surplus, target))) {
        Some((owned, note)) => {
            preview.notes.extend(note);
            owned
        }
        None => return interrupt::report("nothing was changed", printer),
    };
    let rows = rows(&preview);
    let unwanted = owned.iter().any(|one| one.machine.origin != Origin::Tagged);
    let as_wanted = preview.plan.is_empty() && preview.misaddressed.is_empty() && !unwanted;
    match printer.output {
        Output::Json => printer.json(&serde_json::json!({
            "cluster": cluster, "infraID": infra_id, "inSync": as_wanted, "resources": rows,
            "surplus": owned, "notes": preview.notes,
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
                surplus_table(&owned)
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

/// A machine that is not in the files, and the Machine of the running cluster that it belongs to.
#[derive(Debug, Serialize)]
struct Owned {
    #[serde(flatten)]
    machine: Surplus,
    #[serde(flatten)]
    owner: Option<MachineOwner>,
}

/// Asks the cluster whose they are, if there are machines that it can have made itself. Where it cannot be asked, a note says so:
/// a tag alone does not tell a machine of a set from one that was tagged by hand.
async fn owned(surplus: Vec<Surplus>, target: Result<WaitTarget, String>) -> (Vec<Owned>, Option<String>) {
    let tagged = surplus.iter().filter(|machine| machine.origin == Origin::Tagged).count();
    let known = match target {
        _ if tagged == 0 => Ok(BTreeMap::new()),
        Ok(target) => owners(&target).await,
        Err(why) => Err(why),
    };
    let (mut known, note) = match known {
        Ok(known) => (known, None),
        Err(why) => (BTreeMap::new(), Some(unasked(tagged, &why))),
    };
    let with_owner = |machine: Surplus| {
        let owner = if machine.origin == Origin::Tagged { known.remove(&machine.id) } else { None };
        Owned { machine, owner }
    };
    (surplus.into_iter().map(with_owner).collect(), note)
}

fn unasked(tagged: usize, why: &str) -> String {
    let machines = match tagged {
        1 => "1 machine with the cluster's tag belongs".to_owned(),
        _ => format!("{tagged} machines with the cluster's tag belong"),
    };
    format!("the cluster could not be asked whether {machines} to a MachineSet: {why}")
}

/// Machines that are not in the files: first those that were, then those with the id of another one, then those that the cluster
/// made itself, then those that only carry the tag.
fn surplus_table(surplus: &[Owned]) -> String {
    let mut text = String::new();
    for (origin, has_owner, heading) in [
        (Origin::Made, false, "no longer in the files"),
        (Origin::SameId, false, "with the id of a machine above"),
        (Origin::Tagged, true, "Machines of the running cluster"),
        (Origin::Tagged, false, "not in the files, with the cluster's tag"),
    ] {
        let is_here = |one: &&Owned| one.machine.origin == origin && one.owner.is_some() == has_owner;
        let mut machines = surplus.iter().filter(is_here).peekable();
        if machines.peek().is_some() {
            text.push_str(&format!("\n{HEADING}{heading}{HEADING:#}\n"));
        }
        for Owned { machine: Surplus { endpoint, name, on, .. }, owner } in machines {
            let is = match on {
                Some(true) => "on",
                Some(false) => "off",
                None => "not visible",
            };
            let owner = match owner {
                Some(MachineOwner { machine_set: Some(set), .. }) => format!("MachineSet {set}  "),
                Some(MachineOwner { machine_set: None, .. }) => "no MachineSet  ".to_owned(),
                None => String::new(),
            };
            text.push_str(&format!("  {name:<44} {is:<8} {owner}{FAINT}{endpoint}{FAINT:#}\n"));
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
