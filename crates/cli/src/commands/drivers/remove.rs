//! `slipway drivers remove`.

use std::io::{BufRead, IsTerminal};

use slipway_lifecycle::drivers::remove::{RemoveError, remove};

use super::on_cluster;
use crate::args::RemoveDrivers;
use crate::exit::Exit;
use crate::output::{GOOD, Printer};

pub(crate) fn run(args: &RemoveDrivers, printer: &Printer) -> anyhow::Result<Exit> {
    let RemoveDrivers { access, yes, force } = args;
    if !yes && !confirmed(printer) {
        return Ok(Exit::Other);
    }
    let interrupted = "what was removed is gone; run it again to remove the rest";
    on_cluster(access, interrupted, printer, async |client| {
        let told = |what: &str| printer.say(&format!("{GOOD}removed{GOOD:#} {what}\n"));
        match remove(&client, *force, told).await {
            Ok(()) => Ok(Exit::Ok),
            Err(error @ RemoveError::Attached { .. }) => {
                printer.error(&error.into());
                printer.hint("end the pods that use them first; `--force` removes the driver nevertheless");
                Ok(Exit::Infrastructure)
            }
            Err(error) => Err(error.into()),
        }
    })
}

fn confirmed(printer: &Printer) -> bool {
    if !std::io::stdin().is_terminal() {
        printer.error(&anyhow::anyhow!("nobody is there to ask, and `--yes` was not given"));
        printer
            .hint("nothing was done. Look at what would go with `slipway drivers status`, then add `--yes`");
        return false;
    }
    printer.say(&format!(
        "New volumes and new nodes will not work any more. Type {GOOD}yes{GOOD:#} to remove the drivers: "
    ));
    let mut answer = String::new();
    let read = std::io::stdin().lock().read_line(&mut answer);
    let meant = read.is_ok() && answer.trim() == "yes";
    if !meant {
        printer.say("nothing was removed\n");
    }
    meant
}
