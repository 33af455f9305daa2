//! `slipway machine`.

mod create;
mod list;
mod replace;
mod roll;
mod scale;

use kube::Client;
use slipway_assess::machines::disruption::BlockedEviction;

use super::connect;
use crate::args::{Access, Intent, Machine};
use crate::confirm::{Question, refused};
use crate::exit::Exit;
use crate::interrupt::{self, unless_interrupted};
use crate::output::{Printer, WARNING};
use crate::runtime::Runtime;

pub(crate) fn run(args: &Machine, printer: &Printer) -> anyhow::Result<Exit> {
    match args {
        Machine::List(args) => list::run(args, printer),
        Machine::Create(args) => create::run(args, printer),
        Machine::Scale(args) => scale::run(args, printer),
        Machine::Roll(args) => roll::run(args, printer),
        Machine::Replace(args) => replace::run(args, printer),
    }
}

/// Connects to a cluster, and does something there until it is done or interrupted.
fn on_cluster<F, R>(access: &Access, interrupted: &str, printer: &Printer, work: F) -> anyhow::Result<Exit>
where
    F: FnOnce(Client) -> R,
    R: Future<Output = anyhow::Result<Exit>>,
{
    Runtime::new()?.block_on(async {
        let client = connect(access).await?;
        match unless_interrupted(work(client)).await {
            Some(done) => done,
            None => interrupt::report(interrupted, printer),
        }
    })
}

/// How the command ends, if what was shown is not to be done.
async fn not_meant(intent: Intent, deed: &str, printer: &Printer) -> anyhow::Result<Option<Exit>> {
    if intent.plan {
        return Ok(Some(Exit::Ok));
    }
    if intent.yes {
        return Ok(None);
    }
    let question =
        Question { word: "yes", deed, otherwise: "nothing was changed", look: "look at it with `--plan`" };
    refused(&question, printer).await
}

/// What disruption budgets would keep, as lines.
fn blocked_lines(blocked: &[BlockedEviction]) -> String {
    let lines = blocked.iter().map(|one| format!("  {WARNING}would wait{WARNING:#}: {}\n", one.sentence()));
    lines.collect()
}
