//! `slipway gather`.

use std::collections::BTreeMap;
use std::net::IpAddr;

use jiff::Timestamp;
use slipway_lifecycle::gather::{Bundle, has_cluster, of_cluster, of_directory};
use slipway_lifecycle::install::{Purpose, ResourceView, StateView};
use slipway_lifecycle::platform;
use slipway_lifecycle::wait::WaitTarget;
use slipway_lifecycle::workspace::Workspace;

use super::timeouts;
use crate::args::{Gather, Output, Reach};
use crate::commands::create::{with_request, with_workspace};
use crate::exit::Exit;
use crate::interrupt::{self, unless_interrupted};
use crate::output::{GOOD, Printer, WARNING};
use crate::runtime::Runtime;

pub(crate) fn run(args: &Gather, printer: &Printer) -> anyhow::Result<Exit> {
    let Gather { reach, file } = args;
    if !has_cluster(&reach.dir) {
        let message = format!("there is no cluster in `{}`", reach.dir.display());
        let hint = "name its asset directory with `--dir`";
        if printer.output == Output::Json {
            printer.json(&serde_json::json!({"error": {"message": message, "hint": hint}}))?;
        }
        printer.error(&anyhow::Error::msg(message));
        printer.hint(hint);
        return Ok(Exit::Other);
    }
    // Before others are asked for what could then not be kept.
    if let Some(file) = file.as_ref().filter(|file| file.exists()) {
        anyhow::bail!("`{}` already exists", file.display());
    }
    let runtime = Runtime::new()?;
    let now = Timestamp::now();
    let mut bundle = Bundle::default();
    with_request(&reach.dir, false, |request| of_directory(request, &mut bundle));
    let interrupted = "nothing was written";
    let Some(addresses) = of_platform(reach, &runtime, &mut bundle)? else {
        return interrupt::report(interrupted, printer);
    };
    let name = match with_request(&reach.dir, false, WaitTarget::open) {
        Ok(subject) => {
            let gathered = of_cluster(&subject, &addresses, &mut bundle);
            if runtime.block_on(unless_interrupted(gathered)).is_none() {
                return interrupt::report(interrupted, printer);
            }
            subject.infra_id
        }
        Err(error) => {
            bundle.missing("the cluster", &error.to_string());
            "cluster".to_owned()
        }
    };
    let folder = format!("slipway-gather-{name}-{}", now.strftime("%Y%m%d%H%M%S"));
    let path = file.clone().unwrap_or_else(|| reach.dir.join(format!("{folder}.tar.gz")));
    bundle.write(&path, &folder, now)?;
    let files = bundle.files().count();
    match printer.output {
        Output::Json => printer.json(&serde_json::json!({
            "archive": path, "files": files, "missing": bundle.gaps(),
        }))?,
        Output::Text => {
            for gap in bundle.gaps() {
                printer.say(&format!("{WARNING}missing{WARNING:#}: {gap}\n"));
            }
            printer.data(&format!("{GOOD}gathered{GOOD:#}: {files} files in {}\n", path.display()))?;
        }
    }
    Ok(Exit::Ok)
}

/// What the platform says: the plan, how the machines are, and their addresses. `None` if that is interrupted.
fn of_platform(
    reach: &Reach,
    runtime: &Runtime,
    bundle: &mut Bundle,
) -> anyhow::Result<Option<BTreeMap<String, Vec<IpAddr>>>> {
    let timeouts = timeouts(reach);
    let mut addresses = BTreeMap::new();
    let open = |workspace: &mut Workspace<'_>| platform::open(workspace, timeouts, false);
    let mut installation = match with_workspace(&reach.dir, false, open) {
        Ok(installation) => installation,
        Err(error) => {
            bundle.missing("the machines on their platform", &error.to_string());
            return Ok(Some(addresses));
        }
    };
    let found = runtime.block_on(unless_interrupted(installation.plan(Purpose::Create, &[])));
    runtime.block_on(installation.close());
    let preview = match found {
        Some(Ok(preview)) => preview,
        Some(Err(error)) => {
            bundle.missing("the machines on their platform", &error.to_string());
            return Ok(Some(addresses));
        }
        None => return Ok(None),
    };
    bundle.json("platform/plan.json", serde_json::to_value(&preview.plan)?);
    let mut states = Vec::new();
    let mut silent = BTreeMap::new();
    for ResourceView { id, view, state, .. } in preview.resources {
        match view {
            StateView::Present(view) => {
                if let Some(machine) = view.machine {
                    addresses.insert(id.name.to_string(), machine.addresses);
                }
            }
            StateView::Unknown(why) => {
                silent.entry(id.endpoint.clone()).or_insert(why);
            }
            StateView::Absent => {}
        }
        states.push(serde_json::json!({
            "endpoint": id.endpoint, "kind": id.kind, "name": id.name, "state": state,
        }));
    }
    bundle.json("platform/resources.json", serde_json::Value::Array(states));
    for (endpoint, why) in silent {
        bundle.missing(&format!("what is on {endpoint}"), &why);
    }
    Ok(Some(addresses))
}
