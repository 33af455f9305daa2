//! `slipway preflight`.

use std::collections::BTreeMap;

use serde::Serialize;
use slipway_lifecycle::create::directory_flag;
use slipway_lifecycle::environment::Environment;
use slipway_lifecycle::preflight::network::ThisMachine;
use slipway_lifecycle::preflight::report::{Finding, Outcome, Readiness, Report};
use slipway_lifecycle::preflight::{Opened, Options, examine, open};
use slipway_lifecycle::store::INSTALL_CONFIG;

use super::create::{refuse, warnings};
use crate::args::{Output, Preflight};
use crate::exit::Exit;
use crate::interrupt::{self, interrupted, unless_interrupted};
use crate::output::{ERROR, FAINT, GOOD, HEADING, NAME, Printer, WARNING};
use crate::report;
use crate::runtime::Runtime;

pub(crate) fn run(args: &Preflight, printer: &Printer) -> anyhow::Result<Exit> {
    let Preflight { dir, timeout } = args;
    let runtime = Runtime::new()?;
    let opened = match runtime.block_on(unless_interrupted(open(dir, &Environment::of_process()))) {
        Some(Ok(opened)) => opened,
        Some(Err(error)) => return refuse(error, printer),
        None => return interrupt::report("nothing was changed", printer),
    };
    let Opened { request, report: findings, warnings: known } = opened;
    let findings = warnings(&findings);
    if printer.output == Output::Text {
        printer.say(&report::text(&findings, &dir.join(INSTALL_CONFIG).display().to_string()));
        for warning in &known {
            printer.warning(warning);
        }
    }
    let options = Options { whole: *timeout, ..Options::default() };
    let result = runtime.block_on(examine(request, options, ThisMachine, interrupted()));
    let Some(result) = result else {
        return interrupt::report("nothing was changed, and no session is left", printer);
    };
    match printer.output {
        Output::Json => printer.json(&Judgement {
            cluster: &result.cluster,
            ready: result.verdict() == Readiness::Ready,
            verdict: result.verdict(),
            failures: result.count(Outcome::Failure),
            unknown: result.count(Outcome::Unknown),
            warnings: result.count(Outcome::Warning),
            passed: result.count(Outcome::Pass),
            notes: &known,
            findings: &result.findings,
        })?,
        Output::Text => {
            printer.data(&text(&result, printer.verbose))?;
            if result.verdict() == Readiness::Ready {
                printer.next(&format!("slipway plan{}", directory_flag(dir)));
            }
        }
    }
    Ok(exit_of(&result))
}

/// How a command ends that does nothing else.
pub(super) fn exit_of(report: &Report) -> Exit {
    match report.verdict() {
        Readiness::Ready => Exit::Ok,
        Readiness::Incomplete => Exit::InstallConfig,
        Readiness::NotReady => Exit::Infrastructure,
        Readiness::NotChecked => Exit::NotChecked,
    }
}

/// What a program is told.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Judgement<'a> {
    cluster: &'a str,
    ready: bool,
    verdict: Readiness,
    failures: usize,
    unknown: usize,
    warnings: usize,
    passed: usize,
    /// What should be known about credentials.
    notes: &'a [String],
    findings: &'a [Finding],
}

/// The verdict first, then what to do something about, endpoint by endpoint; of what passed, how often.
pub(super) fn text(report: &Report, verbose: bool) -> String {
    let mut text = findings(report, verbose);
    if !verbose && report.count(Outcome::Pass) > 0 {
        let mut counts: BTreeMap<_, usize> = BTreeMap::new();
        for finding in report.findings.iter().filter(|finding| finding.outcome == Outcome::Pass) {
            *counts.entry(finding.check).or_default() += 1;
        }
        let counts: Vec<String> =
            counts.into_iter().map(|(check, count)| format!("{} {count}", check.code())).collect();
        text.push_str(&format!(
            "\n{FAINT}passed (`slipway preflight -v` lists them): {}{FAINT:#}\n",
            counts.join(", ")
        ));
    }
    text
}

/// The verdict, and what to do something about; with `passed`, everything that was looked at.
pub(crate) fn findings(report: &Report, passed: bool) -> String {
    let Report { cluster, findings } = report;
    let verdict = match report.verdict() {
        Readiness::Ready => format!("{GOOD}ready{GOOD:#}"),
        Readiness::Incomplete | Readiness::NotReady => format!("{ERROR}not ready{ERROR:#}"),
        Readiness::NotChecked => format!("{WARNING}not checked{WARNING:#}"),
    };
    let mut text = format!("{verdict}: {NAME}{cluster}{NAME:#} ({})\n", tally(report));
    let mut place = None;
    for finding in findings.iter().filter(|finding| passed || finding.outcome != Outcome::Pass) {
        if place != Some(finding.place()) {
            let name = finding.place();
            text.push_str(&format!("\n{HEADING}{name}{HEADING:#}\n"));
            place = Some(name);
        }
        text.push_str(&lines(finding));
    }
    text
}

fn lines(finding: &Finding) -> String {
    let (style, word) = match finding.outcome {
        Outcome::Failure => (ERROR, "failure"),
        Outcome::Unknown => (ERROR, "unknown"),
        Outcome::Warning => (WARNING, "warning"),
        Outcome::Pending => (WARNING, "pending"),
        Outcome::Pass => (GOOD, "pass"),
    };
    // A message about what is not right names the object; one about what is right need not.
    let object = match finding.outcome {
        Outcome::Pass => format!("{}: ", finding.object),
        _ => String::new(),
    };
    let domains = match &finding.failure_domains[..] {
        [] => String::new(),
        domains => format!(" {FAINT}[{}]{FAINT:#}", domains.join(", ")),
    };
    let code = finding.check.code();
    let mut text = format!("  {style}{word}{style:#}[{code}]: {object}{}{domains}\n", finding.message);
    for detail in &finding.details {
        text.push_str(&format!("      {detail}\n"));
    }
    if let Some(remedy) = &finding.remedy {
        text.push_str(&format!("    {GOOD}help{GOOD:#}: {remedy}\n"));
    }
    text
}

/// `2 failures, 1 warning, 30 passed`.
fn tally(report: &Report) -> String {
    let plural = |count: usize, word: &str| match count {
        1 => format!("1 {word}"),
        _ => format!("{count} {word}s"),
    };
    let count = |outcome: Outcome| report.count(outcome);
    let mut parts = Vec::new();
    if count(Outcome::Failure) > 0 {
        parts.push(plural(count(Outcome::Failure), "failure"));
    }
    if count(Outcome::Unknown) > 0 {
        parts.push(format!("{} unknown", count(Outcome::Unknown)));
    }
    if count(Outcome::Warning) > 0 {
        parts.push(plural(count(Outcome::Warning), "warning"));
    }
    parts.push(format!("{} passed", count(Outcome::Pass)));
    parts.join(", ")
}
