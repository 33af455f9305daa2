//! The one place that writes: data to stdout, conversation to stderr.

mod fold;

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, Mutex, PoisonError};

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use indicatif::{MultiProgress, ProgressDrawTarget};
use slipway_config::yaml::to_yaml;
use slipway_lifecycle::text::words;

use crate::args::{Color, Format, Output};

/// Bold, for headings.
pub(crate) const HEADING: Style = Style::new().bold();
/// For names of fields and commands.
pub(crate) const NAME: Style = AnsiColor::Cyan.on_default();
/// For what matters less.
pub(crate) const FAINT: Style = Style::new().dimmed();
pub(crate) const ERROR: Style = AnsiColor::Red.on_default().bold();
pub(crate) const WARNING: Style = AnsiColor::Yellow.on_default().bold();
pub(crate) const GOOD: Style = AnsiColor::Green.on_default().bold();

/// Writes what commands have to say.
#[derive(Debug, Clone)]
pub(crate) struct Printer {
    color: ColorChoice,
    pub(crate) output: Output,
    /// Write documents as YAML.
    yaml: bool,
    /// Print only results, questions, warnings and errors.
    quiet: bool,
    /// Print what passed, too.
    pub(crate) verbose: bool,
    transcript: Arc<Mutex<Transcript>>,
    /// What is on the screen below everything that is said.
    bars: Arc<Mutex<Option<MultiProgress>>>,
}

/// What has been said so far, for programs that read only the data.
#[derive(Debug, Default)]
struct Transcript {
    data: bool,
    /// The first error with its causes, and what to do about it.
    error: Vec<String>,
    hint: Option<String>,
    /// It was said that it ended before it was done.
    cut_short: bool,
}

/// An error for programs, the same for all commands: what is wrong, why, what else belongs to it, and what to do.
pub(crate) fn error_json(
    message: &str,
    causes: &[String],
    details: &[String],
    hint: Option<&str>,
) -> serde_json::Value {
    serde_json::json!({"error": {"message": message, "causes": causes, "details": details, "hint": hint}})
}

/// A document for programs.
pub(crate) fn document(value: &serde_json::Value, yaml: bool) -> String {
    if yaml { to_yaml(value) } else { format!("{value:#}\n") }
}

impl Printer {
    pub(crate) fn new(color: Color, format: Format, quiet: bool, verbose: bool) -> Self {
        let color = match color {
            Color::Auto => ColorChoice::Auto,
            Color::Always => ColorChoice::AlwaysAnsi,
            Color::Never => ColorChoice::Never,
        };
        let (output, yaml) = match format {
            Format::Text => (Output::Text, false),
            Format::Json => (Output::Json, false),
            Format::Yaml => (Output::Json, true),
        };
        Printer { color, output, yaml, quiet, verbose, transcript: Arc::default(), bars: Arc::default() }
    }

    /// Whether bars are wanted.
    pub(crate) fn shows_progress(&self) -> bool {
        self.output == Output::Text && !self.quiet
    }

    /// The user wants no colours, whatever the terminal could show.
    pub(crate) fn is_colourless(&self) -> bool {
        self.color == ColorChoice::Never
            || std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
    }

    /// Writes data. A reader that has gone away is no failure of ours.
    pub(crate) fn data(&self, text: &str) -> io::Result<()> {
        self.transcript().data = true;
        let text = fold(text, io::stdout().is_terminal());
        let mut stdout = AutoStream::new(io::stdout().lock(), self.color);
        match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            result => result,
        }
    }

    fn transcript(&self) -> std::sync::MutexGuard<'_, Transcript> {
        self.transcript.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A program that reads JSON gets some, also where a command had nothing but an error.
    pub(crate) fn finish(&self) {
        let Transcript { data, error, hint, .. } = std::mem::take(&mut *self.transcript());
        if let (Output::Json, false, Some((message, causes))) = (self.output, data, error.split_first()) {
            // Who cannot be transcript has gone.
            let _ = self.json(&error_json(message, causes, &[], hint.as_deref()));
        }
    }

    /// Writes a document for programs as data.
    pub(crate) fn json(&self, value: &impl serde::Serialize) -> anyhow::Result<()> {
        Ok(self.data(&document(&serde_json::to_value(value)?, self.yaml))?)
    }

    /// Talks to the user, on stderr, if that is wanted.
    pub(crate) fn say(&self, text: &str) {
        if !self.quiet {
            self.insist(text);
        }
    }

    /// Says what has to be known or answered, on stderr.
    pub(crate) fn insist(&self, text: &str) {
        let text = fold(text, io::stderr().is_terminal());
        let write = || {
            let mut stderr = AutoStream::new(io::stderr().lock(), self.color);
            // When stderr is closed there is no place to report that.
            let _ = stderr.write_all(text.as_bytes());
        };
        let bars = self.bars.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match bars {
            Some(bars) => bars.suspend(write),
            None => write(),
        }
    }

    /// Keeps bars below what is said.
    pub(crate) fn show_bars(&self, bars: MultiProgress) {
        *self.bars.lock().unwrap_or_else(PoisonError::into_inner) = Some(bars);
    }

    /// Takes them off the screen, for good.
    pub(crate) fn clear_bars(&self) {
        if let Some(bars) = self.bars.lock().unwrap_or_else(PoisonError::into_inner).take() {
            // A terminal that is gone needs no tidying.
            let _ = bars.clear();
            bars.set_draw_target(ProgressDrawTarget::hidden());
        }
    }

    /// A terminal has shown the key, and is still in that line.
    pub(crate) fn below_the_key(&self) {
        if io::stderr().is_terminal() {
            self.insist("\n");
        }
    }

    /// Answers a wish to end, while something has to be finished first.
    pub(crate) fn warn_interrupted(&self, what: &str) {
        self.clear_bars();
        if self.output == Output::Json {
            let event = serde_json::json!({"event": "interrupted", "finishing": what});
            self.insist(&format!("{event}\n"));
        } else {
            self.below_the_key();
            self.insist(&format!(
                "{WARNING}interrupted{WARNING:#}: finishing {what}; Ctrl-C again leaves at once\n"
            ));
        }
    }

    /// Whatever else was said, it ended because the user wanted it to.
    pub(crate) fn interrupted(&self) {
        if !self.transcript().cut_short {
            self.error(&anyhow::anyhow!("interrupted"));
        }
    }

    /// Says that the user did not want to go on.
    pub(crate) fn stopped(&self, outcome: &str) {
        self.insist(&format!("stopped; {outcome}\n"));
        self.transcript().cut_short = true;
    }

    /// Says what should be known, on stderr.
    pub(crate) fn warning(&self, text: &str) {
        self.insist(&format!("{WARNING}warning{WARNING:#}: {text}\n"));
    }

    /// Says what can be done, on stderr.
    pub(crate) fn hint(&self, text: &str) {
        self.insist(&format!("{GOOD}hint{GOOD:#}: {text}\n"));
        let mut transcript = self.transcript();
        if !transcript.error.is_empty() {
            transcript.hint.get_or_insert_with(|| text.to_owned());
        }
    }

    /// Says which command comes next, on stderr.
    pub(crate) fn next(&self, command: &str) {
        self.say(&format!("{FAINT}next: {command}{FAINT:#}\n"));
    }

    /// Says what went wrong, and why, on stderr.
    pub(crate) fn error(&self, error: &anyhow::Error) {
        let words = words(&**error);
        let mut text = format!("{ERROR}error{ERROR:#}: {}\n", words.first().map_or("", String::as_str));
        for cause in words.iter().skip(1) {
            text.push_str(&format!("  Caused by: {cause}\n"));
        }
        tracing::debug!(error = words.join(": "), "said");
        self.insist(&text);
        let mut transcript = self.transcript();
        transcript.cut_short |= words.first().is_some_and(|word| word.contains("interrupted"));
        if transcript.error.is_empty() {
            transcript.error = words;
        }
    }

    /// An error with all it is about, and what can be done.
    pub(crate) fn refusal(&self, error: &anyhow::Error, details: &[String], hint: Option<&str>) {
        self.error(error);
        for detail in details {
            self.insist(&format!("  {detail}\n"));
        }
        if let Some(hint) = hint {
            self.hint(hint);
        }
    }
}

/// Long lines are broken where people read them; programs and files get them whole.
fn fold(text: &str, on_terminal: bool) -> Cow<'_, str> {
    match crossterm::terminal::size() {
        Ok((width, _)) if on_terminal && width > 0 => fold::fold(text, usize::from(width)),
        _ => Cow::Borrowed(text),
    }
}
