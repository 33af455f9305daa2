//! `slipway destroy cluster` and `slipway destroy bootstrap`.

use std::path::Path;
use std::time::Duration;

use slipway_config::ids::InfraId;
use slipway_lifecycle::cluster::{Patience, Project, Prospect, Purpose};
use slipway_lifecycle::create::{Request, directory_flag};
use slipway_lifecycle::wait::{Subject, bootstrap_view};

use super::{
    carry_out, ends_json, exit_of, kept_text, patience, plan_text, refuse, survey, tally, troubles,
    unseen_json, unseen_text,
};
use crate::args::{Destroy, DestroyBootstrap, DestroyCluster, Output};
use crate::commands::create::with_request;
use crate::confirm::{Question, refused};
use crate::exit::Exit;
use crate::interrupt::{self, unless_interrupted};
use crate::output::{GOOD, HEADING, NAME, Printer};
use crate::runtime::Runtime;

/// For a cluster to say whether it needs its bootstrap machine.
const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) fn run(args: Destroy, printer: &Printer) -> anyhow::Result<Exit> {
    match args {
        Destroy::Cluster(args) => cluster(args, printer),
        Destroy::Bootstrap(args) => bootstrap(&args, printer),
    }
}

fn cluster(args: DestroyCluster, printer: &Printer) -> anyhow::Result<Exit> {
    let DestroyCluster { reach, infra_id, forget, keep_volumes, yes } = args;
    let patience = patience(&reach);
    let infra_id = infra_id.map(InfraId::try_from).transpose()?;
    let open = |request: &Request<'_>| Project::open_to_destroy(request, infra_id, patience);
    let project = match with_request(&reach.dir, false, open) {
        Ok(project) => project.with_volumes_kept(keep_volumes).with_forgotten(forget),
        Err(error) => return refuse(error, printer),
    };
    let runtime = Runtime::new()?;
    let (project, prospect) = match survey(project, Purpose::Destroy, &[], &runtime, printer) {
        Ok(found) => found,
        Err(end) => return end,
    };
    ask_and_remove(project, prospect, Purpose::Destroy, (patience, yes), &runtime, printer)
}

fn bootstrap(args: &DestroyBootstrap, printer: &Printer) -> anyhow::Result<Exit> {
    let DestroyBootstrap { reach, forget, force, yes } = args;
    let patience = patience(reach);
    let open = |request: &Request<'_>| Project::open_to_destroy(request, None, patience);
    let project = match with_request(&reach.dir, false, open) {
        Ok(project) => project.with_forgotten(forget.clone()),
        Err(error) => return refuse(error, printer),
    };
    let runtime = Runtime::new()?;
    let (project, prospect) = match survey(project, Purpose::DestroyBootstrap, &[], &runtime, printer) {
        Ok(found) => found,
        Err(end) => return end,
    };
    if !prospect.plan.is_empty() && !force {
        match runtime.block_on(unless_interrupted(still_needed(&reach.dir))) {
            Some(None) => {}
            Some(Some(why)) if *yes => {
                runtime.block_on(project.close());
                printer.error(&anyhow::anyhow!("the cluster may still need its bootstrap machine: {why}"));
                let dir = directory_flag(&reach.dir);
                printer.hint(&format!(
                    "nothing was done. Wait for it: slipway wait-for bootstrap-complete{dir}. `--force` removes it all the same"
                ));
                return Ok(Exit::Bootstrap);
            }
            Some(Some(why)) => {
                printer.warning(&format!("the cluster may still need its bootstrap machine: {why}"));
            }
            None => {
                runtime.block_on(project.close());
                return interrupt::tell("nothing was done", printer);
            }
        }
    }
    ask_and_remove(project, prospect, Purpose::DestroyBootstrap, (patience, *yes), &runtime, printer)
}

/// Why a bootstrap machine should not go yet, as the cluster itself says. A cluster that cannot be asked may need it.
async fn still_needed(dir: &Path) -> Option<String> {
    let view = match with_request(dir, false, Subject::open) {
        Ok(subject) => match tokio::time::timeout(PATIENCE, bootstrap_view(&subject)).await {
            Ok(view) => view,
            Err(_) => return Some(format!("the cluster has not answered within {} s", PATIENCE.as_secs())),
        },
        Err(error) => return Some(error.to_string()),
    };
    (!view.is_done()).then(|| format!("waiting for {}", view.waiting.join("; ")))
}

fn ask_and_remove(
    project: Project,
    prospect: Prospect,
    purpose: Purpose,
    (patience, yes): (Patience, bool),
    runtime: &Runtime,
    printer: &Printer,
) -> anyhow::Result<Exit> {
    let (project, prospect) = if prospect.plan.is_empty() {
        (project, prospect)
    } else {
        show(&project, &prospect, yes, printer);
        if yes {
            (project, prospect)
        } else {
            match confirmed(project, &prospect, purpose, runtime, printer) {
                Ok(confirmed) => confirmed,
                Err(end) => return end,
            }
        }
    };
    remove(project, prospect, purpose, patience, runtime, printer)
}

/// What will go, and what people should know first. It is said whatever they want to hear, if they are asked about it.
fn show(project: &Project, prospect: &Prospect, yes: bool, printer: &Printer) {
    let (plan, cluster, infra_id) = (&prospect.plan, &project.cluster, &project.infra_id);
    if printer.output == Output::Json {
        printer.say(&format!(
            "{}\n",
            serde_json::json!({
                "event": "planned", "plan": plan, "notes": prospect.notes, "kept": prospect.kept,
            })
        ));
        return;
    }
    let text = format!(
        "{HEADING}to destroy{HEADING:#} {NAME}{cluster}{NAME:#}, infrastructure {infra_id}: {}\n{}\n",
        tally(plan),
        plan_text(plan)
    );
    let text = text + &unseen_text(&prospect.unseen) + &kept_text(&prospect.kept);
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
    let nothing = prospect.plan.is_empty();
    let (unseen, kept) = (prospect.unseen.clone(), prospect.kept.clone());
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
            "kept": kept,
        }))?;
    } else if done {
        let verdict = match (nothing, purpose, kept.is_empty()) {
            (_, Purpose::DestroyBootstrap, _) if !nothing => "the bootstrap machine is gone",
            (true, _, true) => "nothing is left",
            (true, _, false) => "nothing is left but what is kept",
            (false, _, true) => "all is gone",
            (false, _, false) => "all is gone but what is kept",
        };
        printer.data(&format!(
            "{GOOD}{verdict}{GOOD:#}: {NAME}{cluster}{NAME:#}, infrastructure {infra_id}\n{}",
            kept_text(&kept)
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
