//! Asking for a line on a terminal: the question, what is typed, and below it what is wrong with that or what can be done.

use std::io::{self, Write};

use crossterm::cursor::{MoveToColumn, MoveUp};
use crossterm::event::{self, Event, KeyEventKind};
use crossterm::queue;
use crossterm::style::Print;
use crossterm::terminal::{Clear, ClearType, disable_raw_mode, enable_raw_mode, size};

use super::line::{Line, Pressed};
use crate::output::{ERROR, GOOD, NAME};

/// What stands for a secret that was given, however long it is.
const STARS: &str = "********";
const FALLBACK_WIDTH: usize = 80;

/// How much of what is typed is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shown {
    All,
    Stars,
    Nothing,
}

/// A question that is answered by a line.
pub(super) struct Typed<'a> {
    pub(super) message: &'a str,
    pub(super) default: Option<&'a str>,
    /// What can be done.
    pub(super) help: &'a str,
    pub(super) shown: Shown,
    pub(super) colourless: bool,
}

/// Gives the terminal back, however it ends.
struct Raw;

impl Raw {
    fn new() -> io::Result<Self> {
        enable_raw_mode()?;
        Ok(Raw)
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        // A terminal that is gone needs nothing back.
        let _ = disable_raw_mode();
    }
}

impl Typed<'_> {
    /// Asks until there is an answer that `judge` accepts, or another wish. `hint` says what is wrong while it is typed.
    pub(super) fn ask(
        &self,
        judge: impl Fn(&str) -> Result<(), String>,
        hint: impl Fn(&str) -> Option<String>,
    ) -> io::Result<Result<String, Pressed>> {
        let _raw = Raw::new()?;
        let mut line = Line::default();
        let mut wrong = None;
        loop {
            let below = wrong.clone().or_else(|| hint(&line.text()));
            self.draw(&line, below.as_deref())?;
            // What is pasted is drawn once.
            while let Event::Key(key) = event::read()? {
                if key.kind != KeyEventKind::Press {
                    continue;
                }
                match line.press(key) {
                    Pressed::Edited => wrong = None,
                    Pressed::Enter => {
                        let text = self.answer(&line);
                        match judge(&text) {
                            Ok(()) => {
                                self.close(&text)?;
                                return Ok(Ok(text));
                            }
                            Err(reason) => wrong = Some(reason),
                        }
                        break;
                    }
                    other => {
                        self.close("<canceled>")?;
                        return Ok(Err(other));
                    }
                }
                if !event::poll(std::time::Duration::ZERO)? {
                    break;
                }
            }
        }
    }

    fn answer(&self, line: &Line) -> String {
        match (line.text(), self.default) {
            (text, Some(default)) if text.is_empty() => default.to_owned(),
            (text, _) => text,
        }
    }

    /// Rows that are no longer than the terminal is wide. Of a long line the end is seen.
    fn draw(&self, line: &Line, wrong: Option<&str>) -> io::Result<()> {
        let width = size().map_or(FALLBACK_WIDTH, |(columns, _)| usize::from(columns)).max(20) - 1;
        let default = self.default.map(|default| format!("({default}) ")).unwrap_or_default();
        let question: String = format!("? {} {default}", self.message).chars().take(width * 2 / 3).collect();
        let room = width - question.chars().count();
        let (cursor, _) = line.position();
        let typed: Vec<char> = match self.shown {
            Shown::All => line.text().chars().collect(),
            Shown::Stars => line.text().chars().map(|_| '*').collect(),
            Shown::Nothing => Vec::new(),
        };
        let cursor = cursor.min(typed.len());
        let from = cursor.saturating_sub(room.saturating_sub(1));
        let seen: String = typed[from..].iter().take(room).collect();
        let (style, below) = match wrong {
            Some(reason) => (ERROR, wrapped(&format!("✗ {reason}"), width)),
            None => (NAME, wrapped(&format!("[{}]", self.help), width)),
        };
        let rest: String = question.chars().skip(1).collect();
        let column = question.chars().count() + cursor - from;
        let mut screen = io::stderr().lock();
        queue!(screen, MoveToColumn(0), Clear(ClearType::FromCursorDown))?;
        queue!(screen, Print(self.styled(GOOD, "?", 1)), Print(rest), Print(seen))?;
        for row in &below {
            queue!(screen, Print("\r\n"), Print(self.styled(style, row, width)))?;
        }
        queue!(screen, MoveUp(u16::try_from(below.len()).unwrap_or_default()))?;
        queue!(screen, MoveToColumn(u16::try_from(column).unwrap_or_default()))?;
        screen.flush()
    }

    /// What stays on the screen.
    fn close(&self, answer: &str) -> io::Result<()> {
        let answer = if self.shown == Shown::All || answer == "<canceled>" { answer } else { STARS };
        let mut screen = io::stderr().lock();
        queue!(screen, MoveToColumn(0), Clear(ClearType::FromCursorDown))?;
        queue!(screen, Print(self.styled(GOOD, ">", 1)), Print(format!(" {} ", self.message)))?;
        queue!(screen, Print(self.styled(NAME, answer, usize::MAX)), Print("\r\n"))?;
        screen.flush()
    }

    fn styled(&self, style: anstyle::Style, text: &str, width: usize) -> String {
        let text: String = text.chars().take(width).collect();
        if self.colourless { text } else { format!("{style}{text}{style:#}") }
    }
}

/// Rows of whole words, at least one. A word that is too long is cut by whoever shows it.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut rows = vec![String::new()];
    for word in text.split_whitespace() {
        let row = rows.len() - 1;
        let length = rows[row].chars().count() + 1 + word.chars().count();
        if rows[row].is_empty() {
            rows[row].push_str(word);
        } else if length <= width {
            rows[row].push_str(&format!(" {word}"));
        } else {
            rows.push(word.to_owned());
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::wrapped;

    #[test]
    fn long_reasons_take_several_rows() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("one", 2), ["one"]);
        assert_eq!(wrapped("", 10), [""]);
    }
}
