//! `slipway destroy cluster` and `slipway destroy bootstrap`.

use slipway_config::ids::InfraId;
use slipway_lifecycle::cluster::{Project, Purpose};

use super::{carry_out, ends_json, exit_of, patience, plan_text, refuse, survey, tally, troubles};
use crate::args::{Destroy, DestroyBootstrap, DestroyCluster, Output};
use crate::commands::create::with_request;
use crate::confirm::{Question, refused};
use crate::exit::Exit;
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
        if yes {
            printer.say(&text);
        } else {
            printer.insist(&text);
        }
        let question = Question {
            word: &infra_id,
            deed: "remove all of this",
            otherwise: "nothing was done",
            look: "look at the plan above",
        };
        let refused = if yes { None } else { runtime.block_on(refused(&question, printer))? };
        if let Some(end) = refused {
            runtime.block_on(project.close());
            return Ok(end);
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
