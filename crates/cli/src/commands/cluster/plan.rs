//! `slipway plan`.

use slipway_lifecycle::create::{create_ignition_in, directory_flag};
use slipway_lifecycle::install::{Preview, Purpose};
use slipway_lifecycle::platform::{self, Removal};
use slipway_lifecycle::workspace::Workspace;

use super::{
    NotBegun, find_os_image, kept_text, plan_text, preview, surplus_note, tally, timeouts, unseen_json,
    unseen_text,
};
use crate::args::{Output, Plan, PlanKind};
use crate::commands::create::{self as files, with_workspace};
use crate::exit::{Exit, Usage};
use crate::output::{FAINT, GOOD, HEADING, NAME, Printer};
use crate::runtime::Runtime;

pub(crate) fn run(args: &Plan, printer: &Printer) -> anyhow::Result<Exit> {
    let Plan { what, reach, keep_volumes, save } = args;
    if *keep_volumes && *what == PlanKind::Create {
        return Err(Usage("`--keep-volumes` is for `slipway plan destroy`".to_owned()).into());
    }
    if save.is_some() && *what == PlanKind::Destroy {
        return Err(Usage(
            "`--save` is for `slipway plan create`: `destroy` looks again and asks".to_owned(),
        )
        .into());
    }
    let timeouts = timeouts(reach);
    let runtime = Runtime::new()?;
    let open = |workspace: &mut Workspace<'_>| -> Result<_, NotBegun> {
        match what {
            PlanKind::Create => {
                platform::check_to_create(workspace.config())?;
                find_os_image(workspace, &runtime, printer)?;
                let outcome = create_ignition_in(workspace)?;
                files::tell_written(&outcome, &reach.dir, printer);
                Ok(platform::open(workspace, timeouts, false)?)
            }
            PlanKind::Destroy => {
                let removal = Removal { keep_volumes: *keep_volumes, ..Removal::default() };
                Ok(platform::open_to_destroy(workspace, removal, timeouts)?)
            }
        }
    };
    let installation = match with_workspace(&reach.dir, false, open) {
        Ok(installation) => installation,
        Err(end) => return end.report(printer),
    };
    let purpose = match what {
        PlanKind::Create => Purpose::Create,
        PlanKind::Destroy => Purpose::Destroy,
    };
    let (cluster, infra_id) = (installation.cluster().to_owned(), installation.infra_id().to_string());
    let words = installation.words();
    let (installation, preview) = match preview(installation, purpose, &[], &runtime, printer) {
        Ok(found) => found,
        Err(end) => return end,
    };
    let surplus = match what {
        PlanKind::Create => runtime.block_on(installation.surplus()),
        PlanKind::Destroy => Vec::new(),
    };
    runtime.block_on(installation.close());
    let Preview { plan, mut notes, unseen, kept, .. } = preview;
    notes.extend(surplus_note(&surplus));
    if let Some(path) = save {
        fs_err::write(path, serde_json::to_string_pretty(&plan)? + "\n")?;
    }
    let clear = plan.stops.is_empty() && plan.unknown.is_empty() && unseen.is_empty();
    let verb = if *what == PlanKind::Create { "create" } else { "destroy" };
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
                tally(&plan, words),
                plan_text(&plan)
            ))?;
            printer.data(&unseen_text(&unseen))?;
            printer.data(&kept_text(&kept))?;
            let next = if clear {
                let keep = if *keep_volumes { " --keep-volumes" } else { "" };
                format!("next: slipway {verb} cluster{}{keep}", directory_flag(&reach.dir))
            } else {
                "fix what blocks it, then run it again".to_owned()
            };
            printer
                .say(&format!("\n{FAINT}nothing was changed on the {}; {next}{FAINT:#}\n", words.endpoints));
        }
    }
    if printer.output == Output::Text {
        for note in &notes {
            printer.warning(note);
        }
    }
    Ok(if clear { Exit::Ok } else { Exit::Infrastructure })
}
