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

/// A question as rows of a terminal.
#[derive(Debug, PartialEq, Eq)]
struct Question {
    above: Vec<String>,
    /// What is typed follows it.
    last: String,
}

/// As many columns as can be used.
fn width() -> usize {
    size().map_or(FALLBACK_WIDTH, |(columns, _)| usize::from(columns)).max(20) - 1
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
        let question = self.question(width());
        self.open(&question)?;
        let mut line = Line::default();
        let mut wrong = None;
        loop {
            let below = wrong.clone().or_else(|| hint(&line.text()));
            self.draw(&question, &line, below.as_deref())?;
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
                                self.close(&question, &text)?;
                                return Ok(Ok(text));
                            }
                            Err(reason) => wrong = Some(reason),
                        }
                        break;
                    }
                    other => {
                        self.close(&question, "<canceled>")?;
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

    /// A long question takes several rows, so that there is room for the answer behind the last one.
    fn question(&self, width: usize) -> Question {
        let default = self.default.map(|default| format!("({default}) ")).unwrap_or_default();
        let text = format!("? {} {default}", self.message);
        let most = width * 2 / 3;
        if text.chars().count() <= most {
            return Question { above: Vec::new(), last: text };
        }
        let mut above = wrapped(&text, width);
        let last = match above.pop_if(|last| last.chars().count() < most) {
            Some(last) => format!("{last} "),
            None => "  ".to_owned(),
        };
        Question { above, last }
    }

    /// The rows of a question that stay as they are while it is answered.
    fn open(&self, question: &Question) -> io::Result<()> {
        let mut screen = io::stderr().lock();
        for row in &question.above {
            queue!(screen, Print(self.marked(row)), Print("\r\n"))?;
        }
        screen.flush()
    }

    /// A row of a question, its mark in colour.
    fn marked(&self, row: &str) -> String {
        match row.strip_prefix('?') {
            Some(rest) => format!("{}{rest}", self.styled(GOOD, "?", 1)),
            None => row.to_owned(),
        }
    }

    /// Rows that are no longer than the terminal is wide. Of a long line the end is seen.
    fn draw(&self, question: &Question, line: &Line, wrong: Option<&str>) -> io::Result<()> {
        let width = width();
        let question = &question.last;
        let room = width.saturating_sub(question.chars().count());
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
        let column = question.chars().count() + cursor - from;
        let mut screen = io::stderr().lock();
        queue!(screen, MoveToColumn(0), Clear(ClearType::FromCursorDown))?;
        queue!(screen, Print(self.marked(question)), Print(seen))?;
        for row in &below {
            queue!(screen, Print("\r\n"), Print(self.styled(style, row, width)))?;
        }
        queue!(screen, MoveUp(u16::try_from(below.len()).unwrap_or_default()))?;
        queue!(screen, MoveToColumn(u16::try_from(column).unwrap_or_default()))?;
        screen.flush()
    }

    /// What stays on the screen.
    fn close(&self, question: &Question, answer: &str) -> io::Result<()> {
        let answer = if self.shown == Shown::All || answer == "<canceled>" { answer } else { STARS };
        let mut screen = io::stderr().lock();
        if !question.above.is_empty() {
            queue!(screen, MoveUp(u16::try_from(question.above.len()).unwrap_or_default()))?;
        }
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

/// Rows of whole words, at least one. A word that is too long is cut when it is shown.
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
    use rstest::rstest;

    use super::{Question, Shown, Typed, wrapped};

    /// On 80 columns nothing of a question is cut, and there is room to answer.
    #[rstest]
    #[case::short("Cluster name", None, &[], "? Cluster name ")]
    #[case::long(
        "Name of the failure domain in /datacenter-north/host/a-compute-cluster-with-a-name",
        Some("north"),
        &["? Name of the failure domain in", "/datacenter-north/host/a-compute-cluster-with-a-name (north)"],
        "  "
    )]
    #[case::full(
        "Zone of",
        Some("a-zone-with-a-name-of-fifty-characters-or-some-more-of-them-yet"),
        &["? Zone of (a-zone-with-a-name-of-fifty-characters-or-some-more-of-them-yet)"],
        "  "
    )]
    fn long_questions_take_several_rows(
        #[case] message: &str,
        #[case] default: Option<&str>,
        #[case] above: &[&str],
        #[case] last: &str,
    ) {
        let typed = Typed { message, default, help: "", shown: Shown::All, colourless: true };
        let above = above.iter().map(|row| (*row).to_owned()).collect();
        assert_eq!(typed.question(79), Question { above, last: last.to_owned() });
    }

    #[test]
    fn long_reasons_take_several_rows() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("one", 2), ["one"]);
        assert_eq!(wrapped("", 10), [""]);
    }
}
