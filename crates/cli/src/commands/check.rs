//! `slipway check`.

mod html;
mod text;

use std::time::Duration;

use anyhow::Context as _;
use serde::Serialize;
use slipway_assess::check::cluster::{Cluster, read};
use slipway_assess::check::report::{NodeState, Outcome, Round};
use slipway_assess::check::target::CheckTarget;
use slipway_assess::check::{Context, Options};
use slipway_lifecycle::environment::Environment;
use slipway_lifecycle::preflight;

use super::connect;
use super::create::refuse;
use crate::args::{Check, Output};
use crate::exit::Exit;
use crate::interrupt::{self, unless_interrupted};
use crate::output::Printer;
use crate::runtime::Runtime;

/// Where a cluster and its vCenters are known from.
enum Source {
    InstallConfig(Box<CheckTarget>),
    Cluster(kube::Client),
    Both(Box<CheckTarget>, kube::Client),
}

pub(crate) fn run(args: &Check, printer: &Printer) -> anyhow::Result<Exit> {
    let Check { access, dir, timeout, watch, interval, report: _ } = args;
    let (whole, pause) = (*timeout, *interval);
    let known = match dir {
        None => None,
        Some(dir) => match preflight::open_to_check(dir, &Environment::of_process()) {
            Ok((subject, warnings)) => {
                for warning in &warnings {
                    printer.warning(warning);
                }
                let Some(subject) = subject else {
                    printer.error(&anyhow::anyhow!("only clusters on vSphere can be checked yet"));
                    return Ok(Exit::Other);
                };
                Some(Box::new(subject))
            }
            Err(error) => return refuse(error, printer),
        },
    };
    let runtime = Runtime::new()?;
    let client = || runtime.block_on(connect(access));
    let source = match known {
        None => Source::Cluster(client()?),
        Some(subject) if access.kubeconfig.is_some() || access.context.is_some() => {
            Source::Both(subject, client()?)
        }
        Some(subject) => Source::InstallConfig(subject),
    };
    let options = Options { whole, ..Options::default() };
    runtime.block_on(rounds(args, &source, options, watch.then_some(pause), printer))
}

/// One round, or one after the other until the user ends it.
async fn rounds(
    args: &Check,
    source: &Source,
    options: Options,
    pause: Option<Duration>,
    printer: &Printer,
) -> anyhow::Result<Exit> {
    let mut context = Context::new(options);
    let mut last: Option<Round> = None;
    let mut exit = None;
    let looking = async {
        loop {
            match look(source, &mut context).await {
                Ok(round) => {
                    exit = Some(if round.is_clear() { Exit::Ok } else { Exit::Infrastructure });
                    let news = last.as_ref().is_none_or(|last| said(last) != said(&round));
                    if news {
                        show(args, &round, printer)?;
                    }
                    last = Some(round);
                }
                // A cluster that does not answer may answer the next time.
                Err(error) if pause.is_some() && last.is_some() => printer.error(&error),
                Err(error) => return Err(error),
            }
            let Some(pause) = pause else { return Ok(()) };
            tokio::time::sleep(pause).await;
        }
    };
    let result: Option<anyhow::Result<()>> = unless_interrupted(looking).await;
    context.close().await;
    result.transpose()?;
    // Ending a watch is no failure: the exit code is that of the last round.
    exit.map_or_else(
        || interrupt::report("nothing was changed, and the vCenters keep no session", printer),
        Ok,
    )
}

async fn look(source: &Source, context: &mut Context) -> anyhow::Result<Round> {
    let (subject, cluster): (CheckTarget, Option<Cluster>) = match source {
        Source::InstallConfig(subject) => ((**subject).clone(), None),
        Source::Cluster(client) => (read::subject(client, None).await?, Some(read::cluster(client).await?)),
        Source::Both(subject, client) => ((**subject).clone(), Some(read::cluster(client).await?)),
    };
    Ok(context.round(&subject, cluster.as_ref()).await)
}

/// What a person would notice.
fn said(round: &Round) -> impl PartialEq + '_ {
    let nodes: Vec<(&str, &NodeState)> = round.nodes.iter().map(|node| (&*node.name, &node.state)).collect();
    (&round.findings, &round.vcenters, nodes)
}

fn show(args: &Check, round: &Round, printer: &Printer) -> anyhow::Result<()> {
    match printer.output {
        // One document per line, so that what is watched can be read as it comes.
        Output::Json if args.watch => {
            printer.data(&format!("{}\n", serde_json::to_string(&Judgement::of(round))?))?;
        }
        Output::Json => printer.json(&Judgement::of(round))?,
        Output::Text => printer.data(&text::text(round, printer.verbose))?,
    }
    if let Some(file) = &args.report {
        let page = html::page(round);
        fs_err::write(file, page).context("writing the report")?;
        printer.say(&format!("the report is in {}\n", file.display()));
    }
    Ok(())
}

/// What a program is told.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Judgement<'a> {
    healthy: bool,
    failures: usize,
    unknown: usize,
    warnings: usize,
    pending: usize,
    passed: usize,
    #[serde(flatten)]
    round: &'a Round,
}

impl<'a> Judgement<'a> {
    fn of(round: &'a Round) -> Self {
        Judgement {
            healthy: round.is_clear(),
            failures: round.count(Outcome::Failure),
            unknown: round.count(Outcome::Unknown),
            warnings: round.count(Outcome::Warning),
            pending: round.count(Outcome::Pending),
            passed: round.passed(),
            round,
        }
    }
}
