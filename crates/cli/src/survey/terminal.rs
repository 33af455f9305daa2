//! Prompts on a terminal.

use inquire::autocompletion::{Autocomplete, Replacement};
use inquire::error::{CustomUserError, InquireError};
use inquire::ui::RenderConfig;
use inquire::validator::Validation;
use inquire::{Confirm, Password, PasswordDisplayMode, Select, Text};
use secrecy::SecretString;

use super::prompt::{Ask, Check, Echo, Prompter, Stop, Tone, plain};
use crate::output::{ERROR, FAINT, GOOD, Printer, WARNING};

/// Options of a list that are shown at once.
const PAGE: usize = 12;

const KEYS: &str = "Esc: back, Ctrl-C: stop";

/// Asks on stderr and reads keys from the terminal.
#[derive(Debug)]
pub(crate) struct Terminal<'a> {
    printer: &'a Printer,
    look: RenderConfig<'static>,
}

impl<'a> Terminal<'a> {
    pub(crate) fn new(printer: &'a Printer) -> Self {
        let look = if printer.is_colourless() { RenderConfig::empty() } else { RenderConfig::default() };
        Terminal { printer, look }
    }
}

impl Prompter for Terminal<'_> {
    fn text(&mut self, ask: &Ask, default: Option<&str>, check: Check) -> Result<String, Stop> {
        let (message, help) = worded(ask);
        let default = default.map(plain);
        let mut prompt = Text::new(&message)
            .with_help_message(&help)
            .with_render_config(self.look)
            .with_autocomplete(Problem { check: check.clone() })
            .with_validator(move |text: &str| Ok(validation(judged(text, &check))));
        if let Some(default) = &default {
            prompt = prompt.with_default(default);
        }
        prompt.prompt().map(|text| text.trim().to_owned()).map_err(stopped)
    }

    fn secret(&mut self, ask: &Ask, echo: Echo, check: Check) -> Result<SecretString, Stop> {
        let (message, help) = worded(ask);
        let mode = match echo {
            Echo::Stars => PasswordDisplayMode::Masked,
            Echo::Nothing => PasswordDisplayMode::Hidden,
        };
        Password::new(&message)
            .with_help_message(&help)
            .with_render_config(self.look)
            .with_display_mode(mode)
            .without_confirmation()
            .with_validator(move |text: &str| Ok(validation(check(text))))
            .prompt()
            .map(SecretString::from)
            .map_err(stopped)
    }

    fn select(&mut self, ask: &Ask, options: &[String], start: usize) -> Result<usize, Stop> {
        let (message, mut help) = worded(ask);
        if options.len() > PAGE {
            help.push_str(", type to filter");
        }
        Select::new(&message, options.iter().map(|option| plain(option)).collect())
            .with_help_message(&help)
            .with_render_config(self.look)
            .with_page_size(PAGE)
            .with_starting_cursor(start)
            .raw_prompt()
            .map(|chosen| chosen.index)
            .map_err(stopped)
    }

    fn confirm(&mut self, ask: &Ask, default: bool) -> Result<bool, Stop> {
        let (message, help) = worded(ask);
        Confirm::new(&message)
            .with_help_message(&help)
            .with_render_config(self.look)
            .with_default(default)
            .prompt()
            .map_err(stopped)
    }

    fn say(&mut self, tone: Tone, line: &str) {
        let line = plain(line);
        let text = match tone {
            Tone::Plain => format!("{line}\n"),
            Tone::Info => format!("{FAINT}info: {line}{FAINT:#}\n"),
            Tone::Warning => format!("{WARNING}warning{WARNING:#}: {line}\n"),
            Tone::Error => format!("{ERROR}error{ERROR:#}: {line}\n"),
            Tone::Hint => format!("{GOOD}hint{GOOD:#}: {line}\n"),
        };
        self.printer.say(&text);
    }
}

/// What is wrong with what is being typed, below the line. The library has no place for it but that of completions, so
/// nothing of it may become an answer.
#[derive(Clone)]
struct Problem {
    check: Check,
}

/// How a problem begins, and no answer.
const SIGN: &str = "✗ ";

impl Autocomplete for Problem {
    fn get_suggestions(&mut self, typed: &str) -> Result<Vec<String>, CustomUserError> {
        let typed = typed.trim();
        // Who has not begun has made no mistake.
        if typed.is_empty() {
            return Ok(Vec::new());
        }
        let problem = (self.check)(typed).err();
        Ok(problem.into_iter().map(|reason| format!("{SIGN}{}", plain(&reason))).collect())
    }

    fn get_completion(
        &mut self,
        _typed: &str,
        _chosen: Option<String>,
    ) -> Result<Replacement, CustomUserError> {
        Ok(None)
    }
}

/// Judges an answer on Enter.
fn judged(text: &str, check: &Check) -> Result<(), String> {
    let text = text.trim();
    if text.starts_with(SIGN.trim()) {
        return Err("that is what is wrong, and not an answer".to_owned());
    }
    check(text)
}

fn worded(ask: &Ask) -> (String, String) {
    let help = if ask.help.is_empty() { KEYS.to_owned() } else { format!("{}. {KEYS}", plain(&ask.help)) };
    (plain(&ask.message), help)
}

fn validation(judgement: Result<(), String>) -> Validation {
    match judgement {
        Ok(()) => Validation::Valid,
        Err(reason) => Validation::Invalid(plain(&reason).into()),
    }
}

fn stopped(error: InquireError) -> Stop {
    match error {
        InquireError::OperationCanceled => Stop::Back,
        InquireError::OperationInterrupted => Stop::Abort,
        other => anyhow::Error::from(other).context("asking on the terminal").into(),
    }
}
