//! The surveys of `slipway create install-config` and `slipway drivers configure`: questions on a terminal, answers judged as
//! they are given.
//!
//! | module | what it holds |
//! |---|---|
//! | `draft` | the answers so far, and which question comes next |
//! | `questions`, `vsphere` | how each question is asked |
//! | `contact` | the way into a vCenter |
//! | `drivers` | the survey of `drivers configure` |
//! | `rules` | answers judged as `slipway validate` judges a file |
//! | `estate` | what is read from vCenters |
//! | `history` | the way back |
//! | `prompt`, `terminal` | kinds of prompts, and how they look |
//! | `review` | the result, before it is written |

mod contact;
mod draft;
mod drivers;
mod estate;
mod history;
mod prompt;
mod questions;
mod review;
mod rules;
mod terminal;
#[cfg(test)]
mod tests;
mod vsphere;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;

use jiff::Timestamp;
use slipway_lifecycle::install_config::{Answers, Composed, PlatformKind};

use self::contact::Refusals;
use self::draft::{Draft, Question, next};
pub(crate) use self::drivers::{DriversSurvey, KnownAnswers};
use self::estate::Estate;
pub(crate) use self::estate::Live;
use self::history::{By, History};
pub(crate) use self::prompt::Stop;
use self::prompt::{Prompter, Tone};
pub(crate) use self::questions::ssh_keys;
pub(crate) use self::terminal::{Terminal, password};

/// Shown when the user wants to go back from the first question.
const FIRST: &str = "this is the first question; Ctrl-C stops";

/// What is known before the first question.
#[derive(Debug, Default)]
pub(crate) struct Setting {
    /// Answers that were given as flags.
    pub(crate) flags: Answers,
    /// Public SSH keys that can be offered: where they are, and what is in them.
    pub(crate) ssh_keys: Vec<(String, String)>,
    /// Where the result goes.
    pub(crate) path: PathBuf,
    pub(crate) now: Timestamp,
}

/// Whether there are questions: only some platforms have a survey.
pub(crate) fn is_for(platform: Option<PlatformKind>) -> bool {
    matches!(platform, None | Some(PlatformKind::VSphere | PlatformKind::None))
}

/// A conversation.
pub(crate) struct Survey<'a> {
    prompter: &'a mut dyn Prompter,
    estate: &'a mut dyn Estate,
    flags: Rc<Answers>,
    ssh_keys: Vec<(String, String)>,
    path: PathBuf,
    now: Timestamp,
    draft: Draft,
    history: History<Draft>,
    /// What was answered before the user went back: offered again. Never a secret.
    earlier: BTreeMap<Question, String>,
    refusals: Refusals,
}

impl<'a> Survey<'a> {
    pub(crate) fn new(setting: Setting, prompter: &'a mut dyn Prompter, estate: &'a mut dyn Estate) -> Self {
        let Setting { flags, ssh_keys, path, now } = setting;
        let topology_given = flags.vsphere.topology.is_some();
        Survey {
            prompter,
            estate,
            flags: Rc::new(flags),
            ssh_keys,
            path,
            now,
            draft: Draft { topology_given, ..Draft::default() },
            history: History::default(),
            earlier: BTreeMap::new(),
            refusals: Refusals::default(),
        }
    }

    /// Asks until there is an install-config that the user wants to have written.
    pub(crate) fn run(mut self) -> Result<Composed, Stop> {
        loop {
            let result = match next(&self.draft) {
                Some(question) => self.answer(question),
                None => match self.review() {
                    Ok(composed) => return Ok(composed),
                    Err(stop) => Err(stop),
                },
            };
            match result {
                Ok(()) => {}
                Err(Stop::Back) => self.back(),
                Err(stop) => return Err(stop),
            }
        }
    }

    fn answer(&mut self, question: Question) -> Result<(), Stop> {
        let before = self.draft.clone();
        match self.ask(question) {
            Ok(by) => {
                self.history.push(before, by);
                Ok(())
            }
            Err(stop) => {
                self.draft = before;
                Err(stop)
            }
        }
    }

    fn back(&mut self) {
        match self.history.back() {
            Some(draft) => self.draft = draft,
            None => self.prompter.say(Tone::Info, FIRST),
        }
    }
}
