//! `slipway plan`.

use slipway_lifecycle::cluster::{Project, Prospect, Purpose};
use slipway_lifecycle::create::{Request, create_ignition, directory_flag};

use super::{kept_text, patience, plan_text, refuse, surplus_note, survey, tally, unseen_json, unseen_text};
use crate::args::{Output, Plan, Planned};
use crate::commands::create::{self as files, with_request};
use crate::exit::{Exit, Usage};
use crate::output::{FAINT, GOOD, HEADING, NAME, Printer};
use crate::runtime::Runtime;

pub(crate) fn run(args: &Plan, printer: &Printer) -> anyhow::Result<Exit> {
    let Plan { what, reach, keep_volumes, save } = args;
    if *keep_volumes && *what == Planned::Create {
        return Err(Usage("`--keep-volumes` is for `slipway plan destroy`".to_owned()).into());
    }
    if save.is_some() && *what == Planned::Destroy {
        return Err(Usage(
            "`--save` is for `slipway plan create`: `destroy` looks again and asks".to_owned(),
        )
        .into());
    }
    let patience = patience(reach);
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
        Planned::Destroy => Project::open_to_destroy(request, None, patience)
            .map(|project| project.with_volumes_kept(*keep_volumes)),
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
    let surplus = match what {
        Planned::Create => runtime.block_on(project.surplus(&prospect)),
        Planned::Destroy => Vec::new(),
    };
    runtime.block_on(project.close());
    let Prospect { plan, mut notes, unseen, kept, .. } = prospect;
    notes.extend(surplus_note(&surplus));
    if let Some(path) = save {
        fs_err::write(path, serde_json::to_string_pretty(&plan)? + "\n")?;
    }
    let clear = plan.stops.is_empty() && plan.unknown.is_empty() && unseen.is_empty();
    let verb = if *what == Planned::Create { "create" } else { "destroy" };
    match printer.output {
        Output::Json => printer.json(&serde_json::json!({
            "cluster": cluster, "infraID": infra_id, "purpose": verb, "plan": plan, "notes": notes,
            "unseen": unseen.iter().map(unseen_json).collect::<Vec<_>>(), "kept": kept,
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
            printer.data(&kept_text(&kept))?;
            let next = if clear {
                let keep = if *keep_volumes { " --keep-volumes" } else { "" };
                format!("to do it: slipway {verb} cluster{}{keep}", directory_flag(&reach.dir))
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
