//! The command on a terminal of its own: keys go in, the screen's text comes out.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::process::{Child, Command};
use std::time::Duration;

use rustix::fs::{OFlags, fcntl_setfl};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use slipway_testkit::process::eventually;

/// Long enough for a busy machine.
const TIMEOUT: Duration = Duration::from_secs(40);

pub(crate) const ENTER: &str = "\r";
pub(crate) const ESCAPE: &str = "\u{1b}";
pub(crate) const INTERRUPT: &str = "\u{3}";
/// Ctrl-U.
pub(crate) const CLEAR: &str = "\u{15}";
pub(crate) const DOWN: &str = "\u{1b}[B";
pub(crate) const BACKSPACE: &str = "\u{7f}";

const WINDOW: Winsize = Winsize { ws_col: 160, ws_row: 60, ws_xpixel: 0, ws_ypixel: 0 };

/// A terminal with the command in it.
pub(crate) struct Terminal {
    /// The side of who types and looks.
    keys: File,
    child: Child,
    raw: Vec<u8>,
    /// How much of the text has been waited for.
    seen: usize,
}

/// Both sides of a new terminal. No program that another test starts meanwhile gets hold of them.
fn terminal() -> std::io::Result<(File, File)> {
    let keys = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    grantpt(&keys)?;
    unlockpt(&keys)?;
    let name = ptsname(&keys, Vec::new())?;
    let screen = File::options().read(true).write(true).open(OsStr::from_bytes(name.to_bytes()))?;
    tcsetwinsize(&screen, WINDOW)?;
    fcntl_setfl(&keys, OFlags::RDWR | OFlags::NONBLOCK)?;
    Ok((keys.into(), screen))
}

impl Terminal {
    pub(crate) fn run(command: &Command) -> Self {
        let (keys, screen) = terminal().expect("a terminal");
        // It becomes the terminal of a session of its own, and setsid the command.
        let mut session = Command::new("setsid");
        session.arg("--ctty").arg(command.get_program()).args(command.get_args());
        session.env_clear().env("TERM", "xterm");
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => session.env(name, value),
                None => session.env_remove(name),
            };
        }
        if let Some(folder) = command.get_current_dir() {
            session.current_dir(folder);
        }
        let copy = || screen.try_clone().expect("a terminal");
        let child = session.stdin(copy()).stdout(copy()).stderr(copy()).spawn().expect("the command runs");
        Terminal { keys, child, raw: Vec::new(), seen: 0 }
    }

    /// Everything that was on the screen, without colours and movements.
    pub(crate) fn text(&self) -> String {
        plain(&String::from_utf8_lossy(&self.raw))
    }

    /// Waits until the text appears behind the last one that was waited for.
    pub(crate) fn expect(&mut self, part: &str) -> &mut Self {
        let waited = eventually(part, TIMEOUT, || {
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
        self.keys.write_all(keys.as_bytes()).expect("a terminal");
        self
    }

    /// Sends a signal to the command, and not a key to the terminal.
    pub(crate) fn signal(&mut self, signal: Signal) -> &mut Self {
        kill_process(Pid::from_child(&self.child), signal).expect("a process");
        self
    }

    /// Waits for a question, and answers it.
    pub(crate) fn answer(&mut self, question: &str, keys: &str) -> &mut Self {
        self.expect(&format!("? {question}")).send(keys).send(ENTER)
    }

    /// Waits for the end: the exit code.
    pub(crate) fn finish(&mut self) -> i32 {
        let ended = eventually("the end", TIMEOUT, || Ok(self.read().then_some(())));
        assert!(ended.is_ok(), "still running:\n{}", self.text());
        let status = self.child.wait().expect("a status");
        status.code().unwrap_or_else(|| panic!("{status}:\n{}", self.text()))
    }

    /// Takes what there is to read; true at the end.
    fn read(&mut self) -> bool {
        let mut buffer = [0; 4096];
        loop {
            match self.keys.read(&mut buffer) {
                Ok(0) => return true,
                Ok(count) => self.raw.extend_from_slice(&buffer[..count]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return false,
                // All writers have closed the terminal.
                Err(_) => return true,
            }
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // Ended already, if all went well.
        let _ = self.child.kill();
        let _ = self.child.wait();
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
