//! Programs that stay up between questions: a line of JSON in, a line of JSON out.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, bail};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::process::spawn;

/// So many questions are under way at once.
const PORTION: usize = 64;

/// A program that answers. It ends when its input does, so it cannot outlive this program.
#[derive(Debug)]
pub(crate) struct Dialogue {
    child: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Dialogue {
    pub(crate) fn start(mut command: Command) -> anyhow::Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let name = command.get_program().display().to_string();
        let mut child = spawn(command)?.with_context(|| format!("starting {name}"))?;
        let questions = child.stdin.take().context("no input")?;
        let answers = BufReader::new(child.stdout.take().context("no output")?);
        Ok(Dialogue { child, questions, answers })
    }

    /// Asks several questions; the answers are in the same order.
    pub(crate) fn ask<A: DeserializeOwned>(
        &mut self,
        questions: &[impl Serialize],
    ) -> anyhow::Result<Vec<A>> {
        let mut answers = Vec::with_capacity(questions.len());
        // In portions, and while reading, so that neither side waits for the other with a full pipe.
        for portion in questions.chunks(PORTION) {
            let mut lines = Vec::new();
            for question in portion {
                serde_json::to_writer(&mut lines, question)?;
                lines.push(b'\n');
            }
            let Dialogue { questions: input, answers: output, .. } = self;
            std::thread::scope(|scope| -> anyhow::Result<()> {
                let writing = scope.spawn(|| input.write_all(&lines));
                for _ in portion {
                    let mut line = String::new();
                    output.read_line(&mut line)?;
                    answers
                        .push(serde_json::from_str(&line).with_context(|| format!("the answer {line:?}"))?);
                }
                match writing.join() {
                    Ok(result) => Ok(result?),
                    Err(_) => bail!("asking has panicked"),
                }
            })?;
        }
        Ok(answers)
    }
}

impl Drop for Dialogue {
    fn drop(&mut self) {
        // It may be waiting for somebody to read its answers.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
