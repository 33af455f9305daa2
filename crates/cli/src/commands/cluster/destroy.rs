//! `slipway destroy cluster` and `slipway destroy bootstrap`.

use std::path::Path;
use std::time::Duration;

use slipway_config::ids::InfraId;
use slipway_lifecycle::create::directory_flag;
use slipway_lifecycle::install::{Installation, Preview, Purpose, Timeouts};
use slipway_lifecycle::platform::{self, Removal};
use slipway_lifecycle::wait::{WaitTarget, bootstrap_view};
use slipway_lifecycle::workspace::Workspace;

use super::{
    carry_out, ends_json, exit_of, kept_text, plan_text, preview, refuse, tally, timeouts, troubles,
    unseen_json, unseen_text,
};
use crate::args::{Destroy, DestroyBootstrap, DestroyCluster, Output};
use crate::commands::create::{with_request, with_workspace};
use crate::confirm::{Question, refused};
use crate::exit::Exit;
use crate::interrupt::{self, unless_interrupted};
use crate::output::{GOOD, HEADING, NAME, Printer};
use crate::runtime::Runtime;

/// For a cluster to say whether it needs its bootstrap machine.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);

pub(crate) fn run(args: Destroy, printer: &Printer) -> anyhow::Result<Exit> {
    match args {
        Destroy::Cluster(args) => cluster(args, printer),
        Destroy::Bootstrap(args) => bootstrap(&args, printer),
    }
}

fn cluster(args: DestroyCluster, printer: &Printer) -> anyhow::Result<Exit> {
    let DestroyCluster { reach, infra_id, forget, keep_volumes, yes } = args;
    let timeouts = timeouts(&reach);
    let infra_id = infra_id.map(InfraId::try_from).transpose()?;
    let removal = Removal { infra_id, keep_volumes, forgotten: forget };
    let open = |workspace: &mut Workspace<'_>| platform::open_to_destroy(workspace, removal, timeouts);
    let installation = match with_workspace(&reach.dir, false, open) {
        Ok(installation) => installation,
        Err(error) => return refuse(error, printer),
    };
    let runtime = Runtime::new()?;
    let (installation, preview) = match preview(installation, Purpose::Destroy, &[], &runtime, printer) {
        Ok(found) => found,
        Err(end) => return end,
    };
    ask_and_remove(installation, preview, Purpose::Destroy, (timeouts, yes), &runtime, printer)
}

fn bootstrap(args: &DestroyBootstrap, printer: &Printer) -> anyhow::Result<Exit> {
    let DestroyBootstrap { reach, forget, force, yes } = args;
    let timeouts = timeouts(reach);
    let removal = Removal { forgotten: forget.clone(), ..Removal::default() };
    let open = |workspace: &mut Workspace<'_>| platform::open_to_destroy(workspace, removal, timeouts);
    let installation = match with_workspace(&reach.dir, false, open) {
        Ok(installation) => installation,
        Err(error) => return refuse(error, printer),
    };
    let runtime = Runtime::new()?;
    let purpose = Purpose::DestroyBootstrap;
    let (installation, preview) = match preview(installation, purpose, &[], &runtime, printer) {
        Ok(found) => found,
        Err(end) => return end,
    };
    if !preview.plan.is_empty() && !force {
        match runtime.block_on(unless_interrupted(still_needed(&reach.dir))) {
            Some(None) => {}
            Some(Some(why)) if *yes => {
                runtime.block_on(installation.close());
                printer.error(&anyhow::anyhow!("the cluster may still need its bootstrap machine: {why}"));
                let dir = directory_flag(&reach.dir);
                printer.hint(&format!(
                    "nothing was changed. Wait for it: slipway wait-for bootstrap-complete{dir}. `--force` removes it anyway"
                ));
                return Ok(Exit::Bootstrap);
            }
            Some(Some(why)) => {
                printer.warning(&format!("the cluster may still need its bootstrap machine: {why}"));
            }
            None => {
                runtime.block_on(installation.close());
                return interrupt::report("nothing was changed", printer);
            }
        }
    }
    ask_and_remove(installation, preview, purpose, (timeouts, *yes), &runtime, printer)
}

/// Why a bootstrap machine should not go yet, as the cluster itself says. A cluster that cannot be asked may need it.
async fn still_needed(dir: &Path) -> Option<String> {
    let view = match with_request(dir, false, WaitTarget::open) {
        Ok(subject) => match tokio::time::timeout(ANSWER_TIMEOUT, bootstrap_view(&subject)).await {
            Ok(view) => view,
            Err(_) => {
                return Some(format!("the cluster has not answered within {} s", ANSWER_TIMEOUT.as_secs()));
            }
        },
        Err(error) => return Some(error.to_string()),
    };
    (!view.is_done()).then(|| format!("waiting for {}", view.waiting.join("; ")))
}

fn ask_and_remove(
    installation: Box<dyn Installation>,
    preview: Preview,
    purpose: Purpose,
    (timeouts, yes): (Timeouts, bool),
    runtime: &Runtime,
    printer: &Printer,
) -> anyhow::Result<Exit> {
    let (installation, preview) = if preview.plan.is_empty() {
        (installation, preview)
    } else {
        show(&*installation, &preview, yes, printer);
        if yes {
            (installation, preview)
        } else {
            match confirmed(installation, &preview, purpose, runtime, printer) {
                Ok(confirmed) => confirmed,
                Err(end) => return end,
            }
        }
    };
    remove(installation, preview, purpose, timeouts, runtime, printer)
}

/// What will go, and what people should know first. It is said whatever they want to hear, if they are asked about it.
fn show(installation: &dyn Installation, preview: &Preview, yes: bool, printer: &Printer) {
    let (plan, cluster, infra_id) = (&preview.plan, installation.cluster(), installation.infra_id());
    if printer.output == Output::Json {
        printer.say(&format!(
            "{}\n",
            serde_json::json!({
                "event": "planned", "plan": plan, "notes": preview.notes, "kept": preview.kept,
            })
        ));
        return;
    }
    let text = format!(
        "{HEADING}to destroy{HEADING:#} {NAME}{cluster}{NAME:#}, infrastructure {infra_id}: {}\n{}\n",
        tally(plan, installation.words()),
        plan_text(plan)
    );
    let text = text + &unseen_text(&preview.unseen) + &kept_text(&preview.kept);
    if yes {
        printer.say(&text);
    } else {
        printer.insist(&text);
    }
    for note in &preview.notes {
        printer.warning(note);
    }
}

/// Asks, and looks again: the question may have stood there for hours.
fn confirmed(
    installation: Box<dyn Installation>,
    shown: &Preview,
    purpose: Purpose,
    runtime: &Runtime,
    printer: &Printer,
) -> Result<(Box<dyn Installation>, Preview), anyhow::Result<Exit>> {
    let infra_id = installation.infra_id().to_string();
    let question = Question {
        word: &infra_id,
        deed: "remove all of this",
        otherwise: "nothing was changed",
        look: "look at the plan above",
    };
    match runtime.block_on(refused(&question, printer)) {
        Ok(None) => {}
        Ok(Some(end)) => {
            runtime.block_on(installation.close());
            return Err(Ok(end));
        }
        Err(error) => {
            runtime.block_on(installation.close());
            return Err(Err(error));
        }
    }
    let (installation, now) = preview(installation, purpose, &[], runtime, printer)?;
    if let Err(moved) = now.plan.same_as(&shown.plan) {
        runtime.block_on(installation.close());
        printer.error(&anyhow::Error::new(moved).context("the plan changed after the question was asked"));
        printer.hint("nothing was changed. Run the same command again, and look at the new plan");
        return Err(Ok(Exit::Infrastructure));
    }
    Ok((installation, now))
}

fn remove(
    installation: Box<dyn Installation>,
    preview: Preview,
    purpose: Purpose,
    timeouts: Timeouts,
    runtime: &Runtime,
    printer: &Printer,
) -> anyhow::Result<Exit> {
    let (cluster, infra_id) = (installation.cluster().to_owned(), installation.infra_id().to_string());
    let nothing = preview.plan.is_empty();
    let applied = match carry_out(installation, &preview, &[], timeouts, runtime, printer) {
        Ok(applied) => applied,
        Err(error) => return refuse(error, printer),
    };
    let Preview { unseen, kept, .. } = preview;
    let done = applied.is_done() && unseen.is_empty();
    if printer.output == Output::Json {
        printer.json(&serde_json::json!({
            "cluster": cluster,
            "infraID": infra_id,
            "done": done,
            "removed": applied.performed,
            "resources": ends_json(&applied.ends),
            "unseen": unseen.iter().map(unseen_json).collect::<Vec<_>>(),
            "kept": kept,
        }))?;
    } else if done {
        let verdict = match (nothing, purpose, kept.is_empty()) {
            (_, Purpose::DestroyBootstrap, _) if !nothing => "the bootstrap machine is removed",
            (true, _, true) => "nothing is left",
            (true, _, false) => "nothing is left except what is kept",
            (false, _, true) => "everything is removed",
            (false, _, false) => "everything is removed except what is kept",
        };
        printer.data(&format!(
            "{GOOD}{verdict}{GOOD:#}: {NAME}{cluster}{NAME:#}, infrastructure {infra_id}\n{}",
            kept_text(&kept)
        ))?;
    } else if !applied.is_done() {
        printer.say(&format!("\n{}", troubles(&applied.ends)));
        printer.hint("everything else was removed: fix what is listed, then run the same command again");
    }
    if applied.is_done() && !unseen.is_empty() {
        printer.say(&format!("\n{}", unseen_text(&unseen)));
        printer.hint(
            "objects that are not visible may still exist: check with another user. If they are gone: --forget NAME",
        );
        return Ok(Exit::Infrastructure);
    }
    Ok(exit_of(&applied))
}
