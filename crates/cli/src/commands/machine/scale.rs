//! `slipway machine scale`.

use slipway_lifecycle::machines::scale::{Plan, apply, plan};

use super::{blocked_lines, not_meant, on_cluster};
use crate::args::{Output, ScaleMachines};
use crate::exit::Exit;
use crate::output::{ERROR, GOOD, NAME, Printer};

pub(crate) fn run(args: &ScaleMachines, printer: &Printer) -> anyhow::Result<Exit> {
    let ScaleMachines { set, replicas, intent, access } = args;
    on_cluster(access, "nothing was changed", printer, async |client| {
        let plan = plan(&client, set, *replicas).await?;
        match printer.output {
            Output::Json => printer.json(&plan)?,
            Output::Text => printer.data(&text(&plan))?,
        }
        if plan.is_empty() {
            return Ok(Exit::Ok);
        }
        let deed = format!("scale `{}` from {} to {}", plan.set, plan.from, plan.to);
        if let Some(end) = not_meant(*intent, &deed, printer).await? {
            return Ok(end);
        }
        apply(&client, &plan).await?;
        printer.say(&format!(
            "{GOOD}scaled{GOOD:#} {} to {}; `slipway machine list` shows how far it is\n",
            plan.set, plan.to
        ));
        Ok(Exit::Ok)
    })
}

fn text(plan: &Plan) -> String {
    let Plan { set, from, to, create, delete, retain, blocked, .. } = plan;
    let mut text = format!("{NAME}{set}{NAME:#}: {from} machines now, {to} wanted\n");
    if plan.is_empty() {
        text.push_str("  nothing to do\n");
    }
    if *create > 0 {
        text.push_str(&format!("  {GOOD}make{GOOD:#} {create}\n"));
    }
    text.extend(delete.iter().map(|name| format!("  {ERROR}delete{ERROR:#} {name}\n")));
    text.extend(
        retain.iter().map(|name| format!("  {NAME}let go{NAME:#} {name}: it leaves the set and stays\n")),
    );
    text.push_str(&blocked_lines(blocked));
    text
}
