//! The drivers' own configuration readers, asked line by line.

use std::process::Command;

use anyhow::bail;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::dialogue::Dialogue;
use crate::peers;

/// A reader program that stays up between questions.
#[derive(Debug)]
pub struct Reader {
    dialogue: Dialogue,
    next: u64,
}

/// What the real reader makes of a text.
#[derive(Debug, Clone, Deserialize)]
pub struct Answer {
    id: u64,
    pub ok: bool,
    #[serde(default)]
    pub value: Value,
    #[serde(default)]
    pub error: String,
}

impl Reader {
    /// `cpi-reader` or `csi-reader`.
    pub fn start(program: &str) -> anyhow::Result<Self> {
        Ok(Reader { dialogue: Dialogue::start(Command::new(peers::find(program)?))?, next: 0 })
    }

    /// Asks one reader about several texts; the answers are in the same order.
    pub fn read_all(&mut self, reader: &str, texts: &[String]) -> anyhow::Result<Vec<Answer>> {
        let numbered = (self.next..).zip(texts);
        let questions: Vec<Value> =
            numbered.map(|(id, text)| json!({"id": id, "reader": reader, "text": text})).collect();
        let answers: Vec<Answer> = self.dialogue.ask(&questions)?;
        for (id, answer) in (self.next..).zip(&answers) {
            if answer.id != id {
                bail!("{reader} answered {} instead of {id}", answer.id);
            }
        }
        self.next += answers.len() as u64;
        Ok(answers)
    }
}
