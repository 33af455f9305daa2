//! The command on a terminal of its own: keys go in, the screen's text comes out.

use std::io::{ErrorKind, Write};
use std::process::Command;
use std::time::Duration;

use expectrl::process::unix::WaitStatus;
use expectrl::session::OsSession;
use slipway_testkit::process::eventually;

/// Long enough for a busy machine.
const PATIENCE: Duration = Duration::from_secs(40);

pub(crate) const ENTER: &str = "\r";
pub(crate) const ESCAPE: &str = "\u{1b}";
pub(crate) const INTERRUPT: &str = "\u{3}";
pub(crate) const DOWN: &str = "\u{1b}[B";
pub(crate) const BACKSPACE: &str = "\u{7f}";

/// A terminal with the command in it.
pub(crate) struct Terminal {
    session: OsSession,
    raw: Vec<u8>,
    /// How much of the text has been waited for.
    seen: usize,
}

impl Terminal {
    pub(crate) fn run(mut command: Command) -> Self {
        command.env("TERM", "xterm");
        let mut session = OsSession::spawn(command).expect("the command runs");
        session.get_process_mut().set_window_size(160, 60).expect("a window");
        Terminal { session, raw: Vec::new(), seen: 0 }
    }

    /// Everything that was on the screen, without colours and movements.
    pub(crate) fn text(&self) -> String {
        plain(&String::from_utf8_lossy(&self.raw))
    }

    /// Waits until the text appears behind the last one that was waited for.
    pub(crate) fn expect(&mut self, part: &str) -> &mut Self {
        let waited = eventually(part, PATIENCE, || {
            let ended = self.read();
            let text = self.text();
            match text[self.seen..].find(part) {
                Some(at) => {
                    self.seen += at + part.len();
                    Ok(Some(true))
                }
                None => Ok(ended.then_some(false)),
            }
        });
        let text = self.text();
        assert!(
            matches!(waited, Ok(true)),
            "no {part:?} ({waited:?}) in\n{}\n--- all of it\n{text}",
            &text[self.seen..]
        );
        self
    }

    pub(crate) fn send(&mut self, keys: &str) -> &mut Self {
        self.session.write_all(keys.as_bytes()).expect("a terminal");
        self
    }

    /// Waits for a question, and answers it.
    pub(crate) fn answer(&mut self, question: &str, keys: &str) -> &mut Self {
        self.expect(&format!("? {question}")).send(keys).send(ENTER)
    }

    /// Waits for the end: the exit code.
    pub(crate) fn finish(&mut self) -> i32 {
        let ended = eventually("the end", PATIENCE, || Ok(self.read().then_some(())));
        assert!(ended.is_ok(), "still running:\n{}", self.text());
        match self.session.get_process().wait().expect("a status") {
            WaitStatus::Exited(_, code) => code,
            other => panic!("{other:?}:\n{}", self.text()),
        }
    }

    /// Takes what there is to read; true at the end.
    fn read(&mut self) -> bool {
        let mut buffer = [0; 4096];
        loop {
            match self.session.try_read(&mut buffer) {
                Ok(0) => return true,
                Ok(count) => self.raw.extend_from_slice(&buffer[..count]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return false,
                // A terminal nobody writes to any more.
                Err(_) => return true,
            }
        }
    }
}

/// Text without escape sequences.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        if c != '\u{1b}' {
            plain.push(c);
        } else if characters.next() == Some('[') {
            // Parameters, and then the letter that ends them.
            characters.by_ref().find(|c| ('@'..='~').contains(c));
        }
    }
    plain
}
