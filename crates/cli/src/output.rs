//! The one place that writes: data to stdout, conversation to stderr.

use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use slipway_lifecycle::text::words;

use crate::args::{Color, Output};

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
#[derive(Debug)]
pub(crate) struct Printer {
    color: ColorChoice,
    pub(crate) output: Output,
    told: Mutex<Told>,
}

/// What has been said so far, for programs that read only the data.
#[derive(Debug, Default)]
struct Told {
    data: bool,
    /// The first error with its causes, and what to do about it.
    error: Vec<String>,
    hint: Option<String>,
}

impl Printer {
    pub(crate) fn new(color: Color, output: Output) -> Self {
        let color = match color {
            Color::Auto => ColorChoice::Auto,
            Color::Always => ColorChoice::AlwaysAnsi,
            Color::Never => ColorChoice::Never,
        };
        Printer { color, output, told: Mutex::default() }
    }

    /// Nobody wants colours, whatever the terminal could show.
    pub(crate) fn is_colourless(&self) -> bool {
        self.color == ColorChoice::Never
            || std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
    }

    /// Writes data. A reader that has gone away is no failure of ours.
    pub(crate) fn data(&self, text: &str) -> io::Result<()> {
        self.told().data = true;
        let mut stdout = AutoStream::new(io::stdout().lock(), self.color);
        match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            result => result,
        }
    }

    fn told(&self) -> std::sync::MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A program that reads JSON gets some, also where a command had nothing but an error.
    pub(crate) fn finish(&self) {
        let Told { data, error, hint } = std::mem::take(&mut *self.told());
        if let (Output::Json, false, Some((message, causes))) = (self.output, data, error.split_first()) {
            // Who cannot be told has gone.
            let _ = self.json(&serde_json::json!({
                "error": {"message": message, "causes": causes, "hint": hint},
            }));
        }
    }

    /// Writes a JSON document as data.
    pub(crate) fn json(&self, value: &impl serde::Serialize) -> anyhow::Result<()> {
        let mut text = serde_json::to_string_pretty(value)?;
        text.push('\n');
        Ok(self.data(&text)?)
    }

    /// Talks to the user, on stderr.
    pub(crate) fn say(&self, text: &str) {
        let mut stderr = AutoStream::new(io::stderr().lock(), self.color);
        // When stderr is gone there is nobody left to tell.
        let _ = stderr.write_all(text.as_bytes());
    }

    /// Says what should be known, on stderr.
    pub(crate) fn warning(&self, text: &str) {
        self.say(&format!("{WARNING}warning{WARNING:#}: {text}\n"));
    }

    /// Says what can be done, on stderr.
    pub(crate) fn hint(&self, text: &str) {
        self.say(&format!("{GOOD}hint{GOOD:#}: {text}\n"));
        let mut told = self.told();
        if !told.error.is_empty() {
            told.hint.get_or_insert_with(|| text.to_owned());
        }
    }

    /// Says what went wrong, and why, on stderr.
    pub(crate) fn error(&self, error: &anyhow::Error) {
        let words = words(&**error);
        let mut text = format!("{ERROR}error{ERROR:#}: {}\n", words.first().map_or("", String::as_str));
        for cause in words.iter().skip(1) {
            text.push_str(&format!("  Caused by: {cause}\n"));
        }
        self.say(&text);
        let mut told = self.told();
        if told.error.is_empty() {
            told.error = words;
        }
    }

    /// An error with all it is about, and what can be done.
    pub(crate) fn refusal(&self, error: &anyhow::Error, details: &[String], hint: Option<&str>) {
        self.error(error);
        for detail in details {
            self.say(&format!("  {detail}\n"));
        }
        if let Some(hint) = hint {
            self.hint(hint);
        }
    }
}
