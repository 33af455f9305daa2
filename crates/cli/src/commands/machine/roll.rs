//! `slipway machine roll`.

use kube::Client;
use slipway_lifecycle::machines::roll::{Plan, Which, apply, plan};

use super::{blocked_lines, not_meant, on_cluster};
use crate::args::{Output, RollMachines, Rollout};
use crate::exit::Exit;
use crate::output::{GOOD, NAME, Printer};

pub(super) const GOES_ON: &str = "what was begun continues; run the command again to see the rest through";

pub(crate) fn run(args: &RollMachines, printer: &Printer) -> anyhow::Result<Exit> {
    on_cluster(&args.rollout.access, GOES_ON, printer, async |client| {
        roll(&client, Which::Set(&args.set), &args.rollout, printer).await
    })
}

/// Replaces all machines of a set, or one.
pub(super) async fn roll(
    client: &Client,
    which: Which<'_>,
    rollout: &Rollout,
    printer: &Printer,
) -> anyhow::Result<Exit> {
    let Rollout { timeout, intent, .. } = rollout;
    let plan = plan(client, which).await?;
    match printer.output {
        Output::Json => printer.json(&plan)?,
        Output::Text => printer.data(&text(&plan))?,
    }
    let deed = format!("replace {} machines of `{}`", plan.replace.len(), plan.set);
    if let Some(end) = not_meant(*intent, &deed, printer).await? {
        return Ok(end);
    }
    apply(client, &plan, *timeout, |step| printer.say(&format!("{step}\n"))).await?;
    let (count, set) = (plan.replace.len(), &plan.set);
    printer.say(&format!("{GOOD}done{GOOD:#}: {count} machines of {set} were replaced\n"));
    Ok(Exit::Ok)
}

fn text(plan: &Plan) -> String {
    let Plan { set, replicas, replace, goes_on, blocked, .. } = plan;
    let again = if *goes_on { ", as a rollout that was cut off" } else { "" };
    let mut text = format!(
        "{NAME}{set}{NAME:#}: {} of {replicas} machines, one at a time, each after a new one is ready{again}\n",
        replace.len()
    );
    text.extend(replace.iter().map(|name| format!("  replace {name}\n")));
    text.push_str(&blocked_lines(blocked));
    text
}
