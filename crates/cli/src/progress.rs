//! Progress of long work: bars on a terminal, lines elsewhere, JSON lines for programs.

use std::collections::{BTreeMap, BTreeSet};
use std::io::IsTerminal;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use slipway_engine::progress::{Event, Listener};
use slipway_engine::{Endpoint, Id};

use crate::args::Output;
use crate::output::{ERROR, FAINT, GOOD, NAME, Printer, WARNING};

/// Who shows progress.
pub(crate) struct Progress<'a> {
    printer: &'a Printer,
    began: Instant,
    bars: Option<Bars>,
}

struct Bars {
    all: MultiProgress,
    bars: BTreeMap<Endpoint, ProgressBar>,
    running: Mutex<BTreeMap<Endpoint, BTreeSet<String>>>,
}

impl<'a> Progress<'a> {
    /// `steps` says how many there are, by endpoint.
    pub(crate) fn new(printer: &'a Printer, steps: &BTreeMap<Endpoint, u64>) -> Self {
        let bars =
            (printer.output == Output::Text && std::io::stderr().is_terminal()).then(|| Bars::new(steps));
        Progress { printer, began: Instant::now(), bars }
    }

    pub(crate) fn finish(self) {
        if let Some(bars) = self.bars {
            // A terminal that is gone needs no tidying.
            let _ = bars.all.clear();
        }
    }

    fn line(&self, text: &str) {
        let seconds = self.began.elapsed().as_secs_f32();
        let line = format!("{FAINT}{seconds:>6.1} s{FAINT:#}  {text}\n");
        match &self.bars {
            Some(bars) => bars.all.suspend(|| self.printer.say(&line)),
            None => self.printer.say(&line),
        }
    }
}

impl Bars {
    fn new(steps: &BTreeMap<Endpoint, u64>) -> Self {
        let all = MultiProgress::new();
        let style = ProgressStyle::with_template("{prefix:>24} {bar:24} {pos:>3}/{len} {wide_msg}");
        let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
        let bar = |(endpoint, count): (&Endpoint, &u64)| {
            let bar = all.add(ProgressBar::new(*count));
            bar.set_style(style.clone());
            bar.set_prefix(endpoint.to_string());
            (endpoint.clone(), bar)
        };
        let bars = steps.iter().map(bar).collect();
        Bars { all, bars, running: Mutex::default() }
    }

    fn show(&self, resource: &Id, verb: &str, starts: bool) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let here = running.entry(resource.endpoint.clone()).or_default();
        let what = format!("{verb} {}", resource.name);
        if starts {
            here.insert(what)
        } else {
            here.remove(&what)
        };
        let Some(bar) = self.bars.get(&resource.endpoint) else { return };
        bar.set_message(here.iter().cloned().collect::<Vec<_>>().join(", "));
    }
}

impl Listener for Progress<'_> {
    fn tell(&self, event: &Event<'_>) {
        if self.printer.output == Output::Json {
            if let Ok(text) = serde_json::to_string(event) {
                self.printer.say(&format!("{text}\n"));
            }
            return;
        }
        match event {
            Event::Started { resource, verb, .. } => {
                if let Some(bars) = &self.bars {
                    bars.show(resource, verb, true);
                }
            }
            Event::Finished { resource, verb, took } => {
                if let Some(bars) = &self.bars {
                    bars.show(resource, verb, false);
                    if let Some(bar) = bars.bars.get(&resource.endpoint) {
                        bar.inc(1);
                    }
                }
                let Id { endpoint, name, .. } = resource;
                self.line(&format!(
                    "{NAME}{endpoint}{NAME:#}  {verb} {name} {FAINT}({}){FAINT:#}",
                    seconds(*took)
                ));
            }
            Event::Retrying { resource, verb, error, pause } => {
                if let Some(bars) = &self.bars {
                    bars.show(resource, verb, false);
                }
                let Id { endpoint, name, .. } = resource;
                self.line(&format!(
                    "{NAME}{endpoint}{NAME:#}  {WARNING}trying again{WARNING:#} in {}: {verb} {name}: {error}",
                    seconds(*pause)
                ));
            }
            Event::Silent { endpoint, error, pause } => self.line(&format!(
                "{NAME}{endpoint}{NAME:#}  {ERROR}does not answer{ERROR:#}, left alone for {}: {error}",
                seconds(*pause)
            )),
            Event::Back { endpoint } => {
                self.line(&format!("{NAME}{endpoint}{NAME:#}  {GOOD}answers again{GOOD:#}"));
            }
            Event::Waiting { resource, why } => {
                let Id { endpoint, name, .. } = resource;
                self.line(&format!("{NAME}{endpoint}{NAME:#}  {FAINT}{name} waits: {why}{FAINT:#}"));
            }
            Event::Settled { .. } => {}
        }
    }
}

/// `0.4 s`, `3 min 20 s`.
pub(crate) fn seconds(time: Duration) -> String {
    match time.as_secs() {
        0..60 => format!("{:.1} s", time.as_secs_f32()),
        whole => format!("{} min {} s", whole / 60, whole % 60),
    }
}
