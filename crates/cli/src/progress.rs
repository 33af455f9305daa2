//! Progress of long work: bars on a terminal, lines elsewhere, JSON lines for programs.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use slipway_engine::progress::{Event, Listener};
use slipway_engine::{Endpoint, Id};

use crate::args::Output;
use crate::interrupt;
use crate::output::{ERROR, FAINT, GOOD, NAME, Printer, WARNING};

/// In lines, an upload is worth three of them.
const QUARTER: u8 = 25;

/// Who shows progress.
pub(crate) struct Progress<'a> {
    printer: &'a Printer,
    began: Instant,
    bars: Option<Bars>,
    /// How far each step had come when a line said so.
    told: Mutex<BTreeMap<Id, u8>>,
}

struct Bars {
    all: MultiProgress,
    bars: BTreeMap<Endpoint, ProgressBar>,
    /// What runs, with how far it has come.
    running: Mutex<BTreeMap<Endpoint, BTreeMap<String, Option<u8>>>>,
}

/// How it stands with a step.
#[derive(Clone, Copy)]
enum Running {
    Started,
    At(u8),
    Ended,
}

impl<'a> Progress<'a> {
    /// `steps` says how many there are, by endpoint.
    pub(crate) fn new(printer: &'a Printer, steps: &BTreeMap<Endpoint, u64>) -> Self {
        let bars = (printer.shows_progress() && std::io::stderr().is_terminal()).then(|| Bars::new(steps));
        if let Some(bars) = &bars {
            printer.show_bars(bars.all.clone());
        }
        interrupt::defer(Some("the steps that are under way"));
        Progress { printer, began: Instant::now(), bars, told: Mutex::default() }
    }

    pub(crate) fn finish(self) {
        self.printer.clear_bars();
    }

    /// Whether a step has come a quarter further than the last line said.
    fn is_news(&self, resource: &Id, percent: u8) -> bool {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let last = told.entry(resource.clone()).or_default();
        let news = percent / QUARTER > *last / QUARTER && percent < 100;
        if news || percent < *last {
            *last = percent;
        }
        news
    }

    fn line(&self, text: &str) {
        let seconds = self.began.elapsed().as_secs_f32();
        self.printer.say(&format!("{FAINT}{seconds:>6.1} s{FAINT:#}  {text}\n"));
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

    fn show(&self, resource: &Id, verb: &str, state: Running) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let here = running.entry(resource.endpoint.clone()).or_default();
        let what = format!("{verb} {}", resource.name);
        match state {
            Running::Started => here.insert(what, None),
            Running::At(percent) => here.insert(what, Some(percent)),
            Running::Ended => here.remove(&what),
        };
        let Some(bar) = self.bars.get(&resource.endpoint) else { return };
        let word = |(what, percent): (&String, &Option<u8>)| match percent {
            Some(percent) => format!("{what} {percent} %"),
            None => what.clone(),
        };
        bar.set_message(here.iter().map(word).collect::<Vec<_>>().join(", "));
    }
}

impl Listener for Progress<'_> {
    fn tell(&self, event: &Event<'_>) {
        tracing::debug!(event = serde_json::to_string(event).unwrap_or_default(), "step");
        if self.printer.output == Output::Json {
            if let Ok(text) = serde_json::to_string(event) {
                self.printer.say(&format!("{text}\n"));
            }
            return;
        }
        match event {
            Event::Started { resource, verb, .. } => {
                if let Some(bars) = &self.bars {
                    bars.show(resource, verb, Running::Started);
                }
            }
            Event::Progress { resource, verb, percent } => match &self.bars {
                Some(bars) => bars.show(resource, verb, Running::At(*percent)),
                None if self.is_news(resource, *percent) => {
                    let Id { endpoint, name, .. } = resource;
                    self.line(&format!(
                        "{NAME}{endpoint}{NAME:#}  {FAINT}{verb} {name}: {percent} %{FAINT:#}"
                    ));
                }
                None => {}
            },
            Event::Finished { resource, verb, took } => {
                if let Some(bars) = &self.bars {
                    bars.show(resource, verb, Running::Ended);
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
                    bars.show(resource, verb, Running::Ended);
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
            Event::Waiting { resource, why, .. } => {
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
