//! `slipway plan`.

use slipway_lifecycle::cluster::{Project, Prospect, Purpose};
use slipway_lifecycle::create::{Request, create_ignition};

use super::{patience, plan_text, refuse, survey, tally, unseen_json, unseen_text};
use crate::args::{Output, Plan, Planned};
use crate::commands::create::{self as files, with_request};
use crate::exit::Exit;
use crate::output::{FAINT, GOOD, HEADING, NAME, Printer};
use crate::runtime::Runtime;

pub(crate) fn run(args: &Plan, printer: &Printer) -> anyhow::Result<Exit> {
    let Plan { what, reach, save } = args;
    let patience = patience(reach)?;
    let check = match what {
        Planned::Create => Project::check_to_create,
        Planned::Destroy => Project::check,
    };
    if let Err(error) = with_request(&reach.dir, false, check) {
        return refuse(error, printer);
    }
    if *what == Planned::Create {
        match with_request(&reach.dir, false, create_ignition) {
            Ok(outcome) => files::tell_written(&outcome, &reach.dir, printer),
            Err(error) => return files::refuse(error, printer),
        }
    }
    let open = |request: &Request<'_>| match what {
        Planned::Create => Project::open(request, patience),
        Planned::Destroy => Project::open_to_destroy(request, None, patience),
    };
    let project = match with_request(&reach.dir, false, open) {
        Ok(project) => project,
        Err(error) => return refuse(error, printer),
    };
    let purpose = match what {
        Planned::Create => Purpose::Create,
        Planned::Destroy => Purpose::Destroy,
    };
    let runtime = Runtime::new()?;
    let (cluster, infra_id) = (project.cluster.clone(), project.infra_id.to_string());
    let (project, prospect) = match survey(project, purpose, &[], &runtime, printer) {
        Ok(found) => found,
        Err(end) => return end,
    };
    runtime.block_on(project.close());
    let Prospect { plan, notes, unseen, .. } = prospect;
    if let Some(path) = save {
        fs_err::write(path, serde_json::to_string_pretty(&plan)? + "\n")?;
    }
    let clear = plan.stops.is_empty() && plan.unknown.is_empty() && unseen.is_empty();
    let verb = if *what == Planned::Create { "create" } else { "destroy" };
    match printer.output {
        Output::Json => printer.json(&serde_json::json!({
            "cluster": cluster, "infraID": infra_id, "purpose": verb, "plan": plan, "notes": notes,
            "unseen": unseen.iter().map(unseen_json).collect::<Vec<_>>(),
        }))?,
        Output::Text if plan.is_empty() && unseen.is_empty() => printer.data(&format!(
            "{GOOD}nothing to do{GOOD:#}: {NAME}{cluster}{NAME:#}, infrastructure {infra_id}\n"
        ))?,
        Output::Text => {
            printer.data(&format!(
                "{HEADING}to {verb}{HEADING:#} {NAME}{cluster}{NAME:#}, infrastructure {infra_id}: {}\n{}",
                tally(&plan),
                plan_text(&plan)
            ))?;
            printer.data(&unseen_text(&unseen))?;
            let next = if clear {
                format!("to do it: slipway {verb} cluster --dir {}", reach.dir.display())
            } else {
                "mend what is in the way, and look again".to_owned()
            };
            printer.say(&format!("\n{FAINT}nothing was done on the vCenters; {next}{FAINT:#}\n"));
        }
    }
    if printer.output == Output::Text {
        for note in &notes {
            printer.warning(note);
        }
    }
    Ok(if clear { Exit::Ok } else { Exit::Infrastructure })
}
