//! Prompts on a terminal.

mod line;
mod typed;

use std::io;

use anyhow::Context;
use inquire::Select;
use inquire::error::InquireError;
use inquire::ui::RenderConfig;
use secrecy::SecretString;

use self::line::Pressed;
use self::typed::{Shown, Typed};
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
        let typed = Typed {
            message: &message,
            default: default.as_deref(),
            help: &help,
            shown: Shown::All,
            colourless: self.printer.is_colourless(),
        };
        let wrong = |text: &str| {
            // Who has not begun has made no mistake.
            let text = Some(text.trim()).filter(|text| !text.is_empty())?;
            check(text).err().map(|reason| plain(&reason))
        };
        let judge = |text: &str| check(text.trim()).map_err(|reason| plain(&reason));
        answered(typed.ask(judge, wrong)).map(|text| text.trim().to_owned())
    }

    fn secret(&mut self, ask: &Ask, echo: Echo, check: Check) -> Result<SecretString, Stop> {
        let (message, help) = worded(ask);
        let shown = match echo {
            Echo::Stars => Shown::Stars,
            Echo::Nothing => Shown::Nothing,
        };
        let colourless = self.printer.is_colourless();
        let typed = Typed { message: &message, default: None, help: &help, shown, colourless };
        let judge = |text: &str| check(text).map_err(|reason| plain(&reason));
        answered(typed.ask(judge, |_| None)).map(SecretString::from)
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
        let typed = Typed {
            message: &message,
            default: Some(if default { "yes" } else { "no" }),
            help: &help,
            shown: Shown::All,
            colourless: self.printer.is_colourless(),
        };
        let judge = |text: &str| yes_or_no(text).map(drop).ok_or_else(|| "type yes or no".to_owned());
        answered(typed.ask(judge, |_| None)).map(|text| yes_or_no(&text).unwrap_or(default))
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
        self.printer.insist(&text);
    }
}

/// Asks for a password outside of a survey, with the same keys.
pub(crate) fn password(message: &str) -> anyhow::Result<SecretString> {
    let colourless = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let typed = Typed { message, default: None, help: "Ctrl-C: stop", shown: Shown::Stars, colourless };
    match typed.ask(|_| Ok(()), |_| None).context("asking on the terminal")? {
        Ok(text) => Ok(text.into()),
        Err(_) => anyhow::bail!("interrupted"),
    }
}

fn yes_or_no(text: &str) -> Option<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Some(true),
        "n" | "no" => Some(false),
        _ => None,
    }
}

fn worded(ask: &Ask) -> (String, String) {
    let help = if ask.help.is_empty() { KEYS.to_owned() } else { format!("{}. {KEYS}", plain(&ask.help)) };
    (plain(&ask.message), help)
}

fn answered(asked: io::Result<Result<String, Pressed>>) -> Result<String, Stop> {
    match asked {
        Ok(Ok(text)) => Ok(text),
        Ok(Err(Pressed::Back)) => Err(Stop::Back),
        Ok(Err(_)) => Err(Stop::Abort),
        Err(error) => Err(anyhow::Error::from(error).context("asking on the terminal").into()),
    }
}

fn stopped(error: InquireError) -> Stop {
    match error {
        InquireError::OperationCanceled => Stop::Back,
        InquireError::OperationInterrupted => Stop::Abort,
        other => anyhow::Error::from(other).context("asking on the terminal").into(),
    }
}
