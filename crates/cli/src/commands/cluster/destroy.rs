//! `slipway destroy cluster` and `slipway destroy bootstrap`.

use std::io::{BufRead, IsTerminal};

use slipway_config::ids::InfraId;
use slipway_lifecycle::cluster::{Project, Purpose};
use tokio::sync::oneshot;

use super::{carry_out, ends_json, exit_of, patience, plan_text, refuse, survey, tally, troubles};
use crate::args::{Destroy, DestroyBootstrap, DestroyCluster, Output};
use crate::commands::create::with_request;
use crate::exit::Exit;
use crate::interrupt::{self, unless_interrupted};
use crate::output::{GOOD, HEADING, NAME, Printer};
use crate::runtime::Runtime;

pub(crate) fn run(args: Destroy, printer: &Printer) -> anyhow::Result<Exit> {
    let (reach, infra_id, yes, purpose) = match args {
        Destroy::Cluster(DestroyCluster { reach, infra_id, yes }) => (reach, infra_id, yes, Purpose::Destroy),
        Destroy::Bootstrap(DestroyBootstrap { reach, yes }) => (reach, None, yes, Purpose::DestroyBootstrap),
    };
    let patience = patience(&reach)?;
    let infra_id = infra_id.map(InfraId::try_from).transpose()?;
    let open = |request: &slipway_lifecycle::create::Request<'_>| {
        Project::open_to_destroy(request, infra_id, patience)
    };
    let project = match with_request(&reach.dir, false, open) {
        Ok(project) => project,
        Err(error) => return refuse(error, printer),
    };
    let runtime = Runtime::new()?;
    let (cluster, infra_id) = (project.cluster.clone(), project.infra_id.to_string());
    let (project, prospect) = match survey(project, purpose, &[], &runtime, printer) {
        Ok(found) => found,
        Err(end) => return end,
    };
    let plan = &prospect.plan;
    let nothing = plan.is_empty();
    if !nothing {
        let text = format!(
            "{HEADING}destroying{HEADING:#} {NAME}{cluster}{NAME:#}, infrastructure {infra_id}: {}\n{}\n",
            tally(plan),
            plan_text(plan)
        );
        printer.say(&text);
        let meant = yes.then_some(true).or_else(|| confirmed(&infra_id, &runtime, printer));
        if meant != Some(true) {
            runtime.block_on(project.close());
            return match meant {
                Some(_) => Ok(Exit::Other),
                None => interrupt::tell("nothing was done", printer),
            };
        }
    }
    let outcome = match carry_out(project, prospect, &[], patience, &runtime, printer) {
        Ok(outcome) => outcome,
        Err(error) => return refuse(error, printer),
    };
    if printer.output == Output::Json {
        printer.json(&serde_json::json!({
            "cluster": cluster,
            "infraID": infra_id,
            "done": outcome.is_done(),
            "removed": outcome.performed,
            "resources": ends_json(&outcome.ends),
        }))?;
    } else if outcome.is_done() {
        let verdict = match (nothing, purpose) {
            (true, _) => "nothing is left",
            (false, Purpose::DestroyBootstrap) => "the bootstrap machine is gone",
            (false, _) => "all is gone",
        };
        printer.data(&format!(
            "{GOOD}{verdict}{GOOD:#}: {NAME}{cluster}{NAME:#}, infrastructure {infra_id}\n"
        ))?;
    } else {
        printer.say(&format!("\n{}", troubles(&outcome.ends)));
        printer.hint("the rest is as it was: mend what is named, and run the same command again");
    }
    Ok(exit_of(&outcome))
}

/// Whether the user has typed the name of what goes; none if that is interrupted.
fn confirmed(infra_id: &str, runtime: &Runtime, printer: &Printer) -> Option<bool> {
    if !std::io::stdin().is_terminal() {
        printer.error(&anyhow::anyhow!("nobody is there to ask, and `--yes` was not given"));
        printer.hint("nothing was done. Look at the plan above, then add `--yes`");
        return Some(false);
    }
    printer.say(&format!("Type {NAME}{infra_id}{NAME:#} to remove all of this: "));
    let (tell, told) = oneshot::channel();
    // A thread of its own, since reading a line cannot be given up.
    std::thread::spawn(move || {
        let mut answer = String::new();
        let read = std::io::stdin().lock().read_line(&mut answer);
        tell.send(read.map(|_| answer))
    });
    let answer = runtime.block_on(unless_interrupted(told));
    let Some(answer) = answer else {
        printer.say("\n");
        return None;
    };
    let meant = matches!(answer, Ok(Ok(answer)) if answer.trim() == infra_id);
    if !meant {
        printer.say("nothing was done\n");
    }
    Some(meant)
}
