//! `slipway destroy cluster` and `slipway destroy bootstrap`.

use slipway_config::ids::InfraId;
use slipway_lifecycle::cluster::{Patience, Project, Prospect, Purpose};

use super::{
    carry_out, ends_json, exit_of, patience, plan_text, refuse, survey, tally, troubles, unseen_json,
    unseen_text,
};
use crate::args::{Destroy, DestroyBootstrap, DestroyCluster, Output};
use crate::commands::create::with_request;
use crate::confirm::{Question, refused};
use crate::exit::Exit;
use crate::output::{GOOD, HEADING, NAME, Printer};
use crate::runtime::Runtime;

pub(crate) fn run(args: Destroy, printer: &Printer) -> anyhow::Result<Exit> {
    let (reach, infra_id, forget, yes, purpose) = match args {
        Destroy::Cluster(DestroyCluster { reach, infra_id, forget, yes }) => {
            (reach, infra_id, forget, yes, Purpose::Destroy)
        }
        Destroy::Bootstrap(DestroyBootstrap { reach, yes }) => {
            (reach, None, Vec::new(), yes, Purpose::DestroyBootstrap)
        }
    };
    let patience = patience(&reach)?;
    let infra_id = infra_id.map(InfraId::try_from).transpose()?;
    let open = |request: &slipway_lifecycle::create::Request<'_>| {
        Project::open_to_destroy(request, infra_id, patience)
    };
    let mut project = match with_request(&reach.dir, false, open) {
        Ok(project) => project,
        Err(error) => return refuse(error, printer),
    };
    let runtime = Runtime::new()?;
    if let Err(error) = runtime.block_on(project.forget(&forget)) {
        return refuse(error, printer);
    }
    let (project, prospect) = match survey(project, purpose, &[], &runtime, printer) {
        Ok(found) => found,
        Err(end) => return end,
    };
    let (project, prospect) = if prospect.plan.is_empty() {
        (project, prospect)
    } else {
        show(&project, &prospect, yes, printer);
        if yes {
            (project, prospect)
        } else {
            match confirmed(project, &prospect, purpose, &runtime, printer) {
                Ok(confirmed) => confirmed,
                Err(end) => return end,
            }
        }
    };
    remove(project, prospect, purpose, patience, &runtime, printer)
}

/// What will go, and what people should know first. It is said whatever they want to hear, if they are asked about it.
fn show(project: &Project, prospect: &Prospect, yes: bool, printer: &Printer) {
    let (plan, cluster, infra_id) = (&prospect.plan, &project.cluster, &project.infra_id);
    if printer.output == Output::Json {
        printer.say(&format!(
            "{}\n",
            serde_json::json!({"event": "planned", "plan": plan, "notes": prospect.notes})
        ));
        return;
    }
    let text = format!(
        "{HEADING}to destroy{HEADING:#} {NAME}{cluster}{NAME:#}, infrastructure {infra_id}: {}\n{}\n",
        tally(plan),
        plan_text(plan)
    );
    let text = text + &unseen_text(&prospect.unseen);
    if yes {
        printer.say(&text);
    } else {
        printer.insist(&text);
    }
    for note in &prospect.notes {
        printer.warning(note);
    }
}

/// Asks, and looks again: the question may have stood there for hours.
fn confirmed(
    project: Project,
    prospect: &Prospect,
    purpose: Purpose,
    runtime: &Runtime,
    printer: &Printer,
) -> Result<(Project, Prospect), anyhow::Result<Exit>> {
    let infra_id = project.infra_id.to_string();
    let question = Question {
        word: &infra_id,
        deed: "remove all of this",
        otherwise: "nothing was done",
        look: "look at the plan above",
    };
    match runtime.block_on(refused(&question, printer)) {
        Ok(None) => {}
        Ok(Some(end)) => {
            runtime.block_on(project.close());
            return Err(Ok(end));
        }
        Err(error) => {
            runtime.block_on(project.close());
            return Err(Err(error));
        }
    }
    let (project, now) = survey(project, purpose, &[], runtime, printer)?;
    if let Err(moved) = now.plan.same_as(&prospect.plan) {
        runtime.block_on(project.close());
        printer.error(&anyhow::Error::new(moved).context("this is not what was asked about any more"));
        printer.hint("nothing was done. Run the same command again, and look at the new plan");
        return Err(Ok(Exit::Infrastructure));
    }
    Ok((project, now))
}

fn remove(
    project: Project,
    prospect: Prospect,
    purpose: Purpose,
    patience: Patience,
    runtime: &Runtime,
    printer: &Printer,
) -> anyhow::Result<Exit> {
    let (cluster, infra_id) = (project.cluster.clone(), project.infra_id.to_string());
    let (nothing, unseen) = (prospect.plan.is_empty(), prospect.unseen.clone());
    let outcome = match carry_out(project, prospect, &[], patience, runtime, printer) {
        Ok(outcome) => outcome,
        Err(error) => return refuse(error, printer),
    };
    let done = outcome.is_done() && unseen.is_empty();
    if printer.output == Output::Json {
        printer.json(&serde_json::json!({
            "cluster": cluster,
            "infraID": infra_id,
            "done": done,
            "removed": outcome.performed,
            "resources": ends_json(&outcome.ends),
            "unseen": unseen.iter().map(unseen_json).collect::<Vec<_>>(),
        }))?;
    } else if done {
        let verdict = match (nothing, purpose) {
            (true, _) => "nothing is left",
            (false, Purpose::DestroyBootstrap) => "the bootstrap machine is gone",
            (false, _) => "all is gone",
        };
        printer.data(&format!(
            "{GOOD}{verdict}{GOOD:#}: {NAME}{cluster}{NAME:#}, infrastructure {infra_id}\n"
        ))?;
    } else if !outcome.is_done() {
        printer.say(&format!("\n{}", troubles(&outcome.ends)));
        printer
            .hint("what is not named here was removed: mend what is named, and run the same command again");
    }
    if outcome.is_done() && !unseen.is_empty() {
        printer.say(&format!("\n{}", unseen_text(&unseen)));
        printer.hint(
            "what is not seen may only be out of sight: look with another user. What is gone for good: --forget NAME",
        );
        return Ok(Exit::Infrastructure);
    }
    Ok(exit_of(&outcome))
}
