//! `slipway wait-for`, and what `create cluster` waits for.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use serde::Serialize;
use slipway_lifecycle::create::directory_flag;
use slipway_lifecycle::install::{self, Purpose};
use slipway_lifecycle::platform::{self, Removal};
use slipway_lifecycle::wait::{self, Error, Goal, Listener, View, WaitTarget, for_bootstrap, for_install};
use slipway_lifecycle::workspace::Workspace;

use super::{carry_out, exit_of, preview, refuse, troubles};
use crate::args::{Output, Timeouts, Wait, WaitFor};
use crate::commands::create::{self as files, with_request};
use crate::exit::Exit;
use crate::interrupt::interrupted;
use crate::output::{FAINT, GOOD, NAME, Printer, error_json};
use crate::progress::seconds;
use crate::runtime::Runtime;

pub(crate) fn run(args: &WaitFor, printer: &Printer) -> anyhow::Result<Exit> {
    let (Wait { dir, no_compute, timeouts }, goal) = match args {
        WaitFor::BootstrapComplete(wait) => (wait, Goal::Bootstrap),
        WaitFor::InstallComplete(wait) => (wait, Goal::Install),
    };
    let patience = patience(timeouts);
    let subject = match with_request(dir, false, WaitTarget::open) {
        Ok(subject) => subject.without_compute(*no_compute),
        Err(error) => return give_up(error, dir, printer),
    };
    let runtime = Runtime::new()?;
    let watch = Watch::new(printer);
    let nobody = BTreeMap::new();
    let result = runtime.block_on(async {
        match goal {
            Goal::Bootstrap => for_bootstrap(&subject, patience, &nobody, &watch, interrupted()).await,
            _ => for_install(&subject, patience, &watch, interrupted()).await,
        }
    });
    let view = match result {
        Ok(view) => view,
        Err(error) => return give_up(error, dir, printer),
    };
    for note in &view.notes {
        printer.warning(note);
    }
    let (verdict, kubeconfig) = (verdict(goal), subject.kubeconfig.display().to_string());
    match printer.output {
        Output::Json => printer.json(&serde_json::json!({
            "cluster": subject.cluster, "done": true, "kubeconfig": kubeconfig, "notes": view.notes,
        }))?,
        Output::Text => printer.data(&format!(
            "{GOOD}{verdict}{GOOD:#}: {NAME}{}{NAME:#}\n  export KUBECONFIG={kubeconfig}\n",
            subject.cluster
        ))?,
    }
    if goal == Goal::Bootstrap && printer.output == Output::Text {
        let dir = directory_flag(dir);
        printer.next(&format!("remove the bootstrap machine, then: slipway wait-for install-complete{dir}"));
    }
    Ok(Exit::Ok)
}

fn verdict(goal: Goal) -> &'static str {
    match goal {
        Goal::Bootstrap => "bootstrap complete",
        Goal::Install | Goal::Operators => "installation complete",
    }
}

fn patience(timeouts: &Timeouts) -> wait::WaitTimeouts {
    let Timeouts { bootstrap_timeout: bootstrap, install_timeout: install, .. } = *timeouts;
    wait::WaitTimeouts { bootstrap, install, ..wait::WaitTimeouts::default() }
}

/// Says why it was given up, with the first real cause.
fn give_up(error: Error, dir: &Path, printer: &Printer) -> anyhow::Result<Exit> {
    let (exit, cause, hint) = match error {
        Error::Create(error) => return files::refuse(error, printer),
        Error::Store(error) => return refuse(install::Error::Store(error), printer),
        Error::Directory(_) => {
            let hint = format!("create them first: slipway create cluster{}", directory_flag(dir));
            (Exit::Other, None, Some(hint))
        }
        Error::Interrupted => {
            (Exit::Interrupted, None, Some("run the same command again to continue".to_owned()))
        }
        Error::Stuck { ref view, .. } => {
            let exit = match view.goal {
                Goal::Bootstrap => Exit::Bootstrap,
                Goal::Install => Exit::Install,
                Goal::Operators => Exit::Operators,
            };
            (exit, view.cause.clone(), view.hint.clone())
        }
    };
    if printer.output == Output::Json {
        let causes: Vec<String> = cause.clone().into_iter().collect();
        printer.json(&error_json(&error.to_string(), &causes, &[], hint.as_deref()))?;
    }
    let message = error.to_string();
    printer.error(&error.into());
    if let Some(cause) = cause.filter(|cause| !message.contains(cause.as_str())) {
        printer.say(&format!("  Caused by: {cause}\n"));
    }
    if let Some(hint) = hint {
        printer.hint(&hint);
    }
    Ok(exit)
}

/// Shows what is waited for, line by line.
struct Watch<'a> {
    printer: &'a Printer,
    began: Instant,
}

impl<'a> Watch<'a> {
    fn new(printer: &'a Printer) -> Self {
        Watch { printer, began: Instant::now() }
    }
}

impl Listener for Watch<'_> {
    fn tell(&self, view: &View) {
        if self.printer.output == Output::Json {
            let event = serde_json::json!({"event": "waiting", "for": view.waiting, "notes": view.notes});
            self.printer.say(&format!("{event}\n"));
            return;
        }
        let time = self.began.elapsed().as_secs_f32();
        for what in &view.waiting {
            self.printer.say(&format!("{FAINT}{time:>6.1} s{FAINT:#}  waiting for {what}\n"));
        }
    }
}

/// How long something took.
#[derive(Debug, Serialize)]
pub(super) struct Time {
    what: &'static str,
    seconds: f64,
}

/// What waiting led to.
#[derive(Debug)]
pub(super) struct Waited {
    pub(super) exit: Exit,
    pub(super) kubeconfig: String,
    pub(super) times: Vec<Time>,
}

/// What comes after the machines: waits, removes the bootstrap machine, and waits again.
pub(super) fn complete(
    workspace: &mut Workspace<'_>,
    (timeouts, no_compute): (&Timeouts, bool),
    addresses: &BTreeMap<String, Vec<IpAddr>>,
    reach: install::Timeouts,
    runtime: &Runtime,
    printer: &Printer,
) -> anyhow::Result<Waited> {
    let patience = patience(timeouts);
    let dir = workspace.request().directory;
    let mut waited = Waited {
        exit: Exit::Ok,
        kubeconfig: dir.join("auth/kubeconfig").display().to_string(),
        times: Vec::new(),
    };
    let subject = match WaitTarget::in_workspace(workspace) {
        Ok(subject) => subject.without_compute(no_compute),
        Err(error) => {
            waited.exit = give_up(error, dir, printer)?;
            return Ok(waited);
        }
    };
    let watch = Watch::new(printer);
    let began = Instant::now();
    if let Err(error) = runtime.block_on(for_bootstrap(&subject, patience, addresses, &watch, interrupted()))
    {
        waited.exit = give_up(error, dir, printer)?;
        return Ok(waited);
    }
    waited.took("bootstrap", began);
    let began = Instant::now();
    waited.exit = remove_bootstrap(workspace, reach, runtime, printer)?;
    if waited.exit != Exit::Ok {
        return Ok(waited);
    }
    waited.took("bootstrap machine removed", began);
    let began = Instant::now();
    match runtime.block_on(for_install(&subject, patience, &watch, interrupted())) {
        Ok(view) => view.notes.iter().for_each(|note| printer.warning(note)),
        Err(error) => {
            waited.exit = give_up(error, dir, printer)?;
            return Ok(waited);
        }
    }
    waited.took("installation", began);
    Ok(waited)
}

impl Waited {
    fn took(&mut self, what: &'static str, began: Instant) {
        self.times.push(Time { what, seconds: began.elapsed().as_secs_f64() });
    }

    /// The end: where the kubeconfig is, and a table of times.
    pub(super) fn text(&self, cluster: &str) -> String {
        let mut text = format!(
            "\n{GOOD}installation complete{GOOD:#}: {NAME}{cluster}{NAME:#}\n  export KUBECONFIG={}\n",
            self.kubeconfig
        );
        for Time { what, seconds: time } in &self.times {
            let time = seconds(Duration::from_secs_f64(*time));
            text.push_str(&format!("  {FAINT}{what:<26} {time:>12}{FAINT:#}\n"));
        }
        text
    }
}

fn remove_bootstrap(
    workspace: &mut Workspace<'_>,
    timeouts: install::Timeouts,
    runtime: &Runtime,
    printer: &Printer,
) -> anyhow::Result<Exit> {
    let installation = match platform::open_to_destroy(workspace, Removal::default(), timeouts) {
        Ok(installation) => installation,
        Err(error) => return refuse(error, printer),
    };
    let (installation, preview) =
        match preview(installation, Purpose::DestroyBootstrap, &[], runtime, printer) {
            Ok(found) => found,
            Err(end) => return end,
        };
    for unseen in &preview.unseen {
        printer.warning(&format!("{unseen}: it may still run"));
    }
    let applied = match carry_out(installation, &preview, &[], timeouts, runtime, printer) {
        Ok(applied) => applied,
        Err(error) => return refuse(error, printer),
    };
    if !applied.is_done() {
        printer.say(&format!("\n{}", troubles(&applied.ends)));
        printer.hint(
            "bootstrap is complete, but the bootstrap machine still exists: run the same command again",
        );
    }
    Ok(exit_of(&applied))
}
