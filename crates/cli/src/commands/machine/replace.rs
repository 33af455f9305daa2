//! `slipway machine replace`.

use slipway_lifecycle::machines::replace::{Health, Order, Plan, apply, plan};
use slipway_lifecycle::machines::roll::Which;

use super::roll::{GOES_ON, roll};
use super::{blocked_lines, not_meant, on_cluster};
use crate::args::{Output, ReplaceMachine, Rollout};
use crate::exit::Exit;
use crate::output::{GOOD, NAME, Printer, WARNING};

pub(crate) fn run(args: &ReplaceMachine, printer: &Printer) -> anyhow::Result<Exit> {
    let Rollout { timeout, intent, access } = &args.rollout;
    on_cluster(access, GOES_ON, printer, async |client| {
        let Some(plan) = plan(&client, &args.name).await? else {
            return roll(&client, Which::Machine(&args.name), &args.rollout, printer).await;
        };
        match printer.output {
            Output::Json => printer.json(&plan)?,
            Output::Text => printer.data(&text(&plan))?,
        }
        let deed = format!("replace `{}` of the control plane", plan.machine);
        if let Some(end) = not_meant(*intent, &deed, printer).await? {
            return Ok(end);
        }
        apply(&client, &plan, *timeout, |step| printer.say(&format!("{step}\n"))).await?;
        let (old, new) = (&plan.machine, &plan.replacement);
        printer.say(&format!("{GOOD}done{GOOD:#}: {new} has taken the place of {old}\n"));
        Ok(Exit::Ok)
    })
}

fn text(plan: &Plan) -> String {
    let Plan { machine, replacement, order, others, goes_on, needs_address, blocked } = plan;
    let again = if *goes_on { ", as was begun before" } else { "" };
    let how = match order {
        Order::NewFirst => format!(
            "{replacement} joins the control plane and etcd first, then {machine} leaves etcd, is drained and deleted"
        ),
        Order::OldFirst => format!(
            "{machine} does not work: it leaves etcd and is deleted first, then {replacement} joins the control plane"
        ),
    };
    let mut text = format!("{NAME}{machine}{NAME:#}: replaced by {replacement}{again}\n  {how}\n");
    for Health { machine, lacks } in others {
        let state = lacks.as_deref().unwrap_or("works");
        text.push_str(&format!("  beside it: {machine}, {state}\n"));
    }
    if *needs_address {
        text.push_str(&format!(
            "  {WARNING}note{WARNING:#}: the new machine needs a static address; its pool has to have a free one\n"
        ));
    }
    text.push_str(&blocked_lines(blocked));
    text
}
