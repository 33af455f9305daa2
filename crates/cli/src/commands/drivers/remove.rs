//! `slipway drivers remove`.

use slipway_lifecycle::drivers::remove::{RemoveError, remove};

use super::on_cluster;
use crate::args::RemoveDrivers;
use crate::confirm::{Question, refused};
use crate::exit::Exit;
use crate::output::{GOOD, Printer};
use crate::runtime::Runtime;

pub(crate) fn run(args: &RemoveDrivers, printer: &Printer) -> anyhow::Result<Exit> {
    let RemoveDrivers { access, yes, force } = args;
    let question = Question {
        word: "yes",
        deed: "remove the drivers; without them new volumes and new nodes do not work",
        otherwise: "nothing was removed",
        look: "look at what would go with `slipway drivers status`",
    };
    // Signals are heard on the runtime that asked first: it stays until the end.
    let runtime = Runtime::new()?;
    let refused = if *yes { None } else { runtime.block_on(refused(&question, printer))? };
    if let Some(end) = refused {
        return Ok(end);
    }
    let interrupted = "what was removed is gone; run it again to remove the rest";
    on_cluster(access, interrupted, printer, async |client| {
        let told = |what: &str| printer.say(&format!("{GOOD}removed{GOOD:#} {what}\n"));
        match remove(&client, *force, told).await {
            Ok(0) => {
                printer.say(
                    "there is nothing to remove: the cluster has neither the operator nor drivers of it\n",
                );
                Ok(Exit::Ok)
            }
            Ok(_) => Ok(Exit::Ok),
            Err(error @ RemoveError::Attached { .. }) => {
                printer.error(&error.into());
                printer.hint("end the pods that use them first; `--force` removes the driver anyway");
                Ok(Exit::Infrastructure)
            }
            Err(error) => Err(error.into()),
        }
    })
}
