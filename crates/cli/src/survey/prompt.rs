//! How questions reach people: a few kinds of prompts, independent of the terminal.

use std::rc::Rc;

use secrecy::SecretString;
use slipway_lifecycle::install_config;

use crate::exit::Exit;
use crate::output::Printer;

/// A question as it is shown.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ask {
    pub(crate) message: String,
    /// One line below the prompt.
    pub(crate) help: String,
}

impl Ask {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Ask { message: message.into(), help: String::new() }
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = help.into();
        self
    }
}

/// Judges an answer; the reason is shown, and the question stays.
pub(crate) type Check = Rc<dyn Fn(&str) -> Result<(), String>>;

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum Stop {
    /// To the question before this one.
    Back,
    /// The user wants no more of it.
    Abort,
    /// Flags and answers do not make an install-config together.
    Refused(install_config::Error),
    Failed {
        error: anyhow::Error,
        hint: Option<String>,
    },
}

impl Stop {
    /// Tells people why it ended, and what came of it.
    pub(crate) fn tell(self, outcome: &str, printer: &Printer) -> Exit {
        match self {
            Stop::Back | Stop::Abort | Stop::Refused(_) => {
                printer.stopped(outcome);
                Exit::Interrupted
            }
            Stop::Failed { error, hint } => {
                printer.error(&error);
                if let Some(hint) = hint {
                    printer.hint(&hint);
                }
                Exit::Other
            }
        }
    }
}

impl From<anyhow::Error> for Stop {
    fn from(error: anyhow::Error) -> Self {
        Stop::Failed { error, hint: None }
    }
}

/// How much of a secret shows while it is typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Echo {
    /// A star for each character.
    Stars,
    /// Nothing: it is long, and pasted.
    Nothing,
}

/// How a line is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Plain,
    Info,
    Warning,
    Error,
    Hint,
}

/// Asks people, or plays one in a test.
pub(crate) trait Prompter {
    fn text(&mut self, ask: &Ask, default: Option<&str>, check: Check) -> Result<String, Stop>;

    fn secret(&mut self, ask: &Ask, echo: Echo, check: Check) -> Result<SecretString, Stop>;

    /// The position of the chosen option.
    fn select(&mut self, ask: &Ask, options: &[String], start: usize) -> Result<usize, Stop>;

    fn confirm(&mut self, ask: &Ask, default: bool) -> Result<bool, Stop>;

    /// Tells something. What comes from a server is harmless by then: see [`plain`].
    fn say(&mut self, tone: Tone, line: &str);
}

/// Text from elsewhere as one line that does nothing to a terminal.
pub(crate) fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}
