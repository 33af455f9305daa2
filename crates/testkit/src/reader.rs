//! The drivers' own configuration readers, asked line by line.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, bail};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::peers;

/// A reader program that stays up between questions.
#[derive(Debug)]
pub struct Reader {
    child: Child,
    requests: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
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
        // It ends when its input does, so it cannot outlive this program.
        let mut child = Command::new(peers::find(program)?)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("starting {program}"))?;
        let requests = child.stdin.take();
        let answers = BufReader::new(child.stdout.take().context("no output")?);
        Ok(Reader { child, requests, answers, next: 0 })
    }

    /// Asks one reader about several texts; the answers are in the same order.
    pub fn read_all(&mut self, reader: &str, texts: &[String]) -> anyhow::Result<Vec<Answer>> {
        let mut answers = Vec::with_capacity(texts.len());
        // In portions, so that neither side waits for the other with a full pipe.
        for portion in texts.chunks(64) {
            let first = self.next;
            let requests = self.requests.as_mut().context("the reader is stopping")?;
            let mut lines = String::new();
            for text in portion {
                lines.push_str(&json!({"id": self.next, "reader": reader, "text": text}).to_string());
                lines.push('\n');
                self.next += 1;
            }
            std::thread::scope(|scope| -> anyhow::Result<()> {
                let writing = scope.spawn(|| requests.write_all(lines.as_bytes()));
                for id in first..self.next {
                    let mut line = String::new();
                    self.answers.read_line(&mut line)?;
                    let answer: Answer = serde_json::from_str(&line)
                        .with_context(|| format!("the answer of {reader}: {line:?}"))?;
                    if answer.id != id {
                        bail!("{reader} answered {} instead of {id}", answer.id);
                    }
                    answers.push(answer);
                }
                match writing.join() {
                    Ok(result) => Ok(result?),
                    Err(_) => bail!("writing to {reader} failed"),
                }
            })?;
        }
        Ok(answers)
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.requests.take();
        // It ends by itself, unless it waits for somebody to read its answers.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
