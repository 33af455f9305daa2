//! Characters into tokens.

use std::iter::Peekable;
use std::ops::Range;
use std::str::CharIndices;

use unicode_general_category::{GeneralCategory, get_general_category};

use super::SyntaxError;

/// What a file is made of. Comments and white space are skipped.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Token<'t> {
    End,
    LineEnd,
    Open,
    Close,
    Equals,
    Name(&'t str),
    /// A text in quotes, outside of values.
    Text {
        value: String,
    },
}

pub(super) struct Scanner<'t> {
    text: &'t str,
    characters: Peekable<CharIndices<'t>>,
}

type Result<T> = std::result::Result<T, SyntaxError>;

impl<'t> Scanner<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Scanner { text, characters: text.char_indices().peekable() }
    }

    fn peek(&mut self) -> Option<char> {
        self.characters.peek().map(|(_, c)| *c)
    }

    /// Where the next character stands.
    fn offset(&mut self) -> usize {
        self.characters.peek().map_or(self.text.len(), |(offset, _)| *offset)
    }

    /// Takes a character. NUL is allowed nowhere, not even in a comment.
    fn take(&mut self) -> Result<Option<char>> {
        match self.characters.next() {
            Some((offset, '\0')) => Err(SyntaxError::new(offset, "a NUL character")),
            other => Ok(other.map(|(_, c)| c)),
        }
    }

    fn skip_space(&mut self) {
        while self.peek().is_some_and(is_space) {
            self.characters.next();
        }
    }

    pub(super) fn next(&mut self) -> Result<(usize, Token<'t>)> {
        loop {
            self.skip_space();
            let offset = self.offset();
            if self.peek().is_some_and(is_letter) {
                return Ok((offset, Token::Name(self.name(offset))));
            }
            let token = match self.take()? {
                None => Token::End,
                Some('\n') => Token::LineEnd,
                Some('[') => Token::Open,
                Some(']') => Token::Close,
                Some('=') => Token::Equals,
                Some('"') => Token::Text { value: self.quoted(offset)? },
                Some(';' | '#') => {
                    self.comment()?;
                    continue;
                }
                Some(_) => return Err(SyntaxError::new(offset, "unexpected character")),
            };
            return Ok((offset, token));
        }
    }

    fn name(&mut self, start: usize) -> &'t str {
        while self.peek().is_some_and(|c| is_letter(c) || is_digit(c) || c == '-') {
            self.characters.next();
        }
        let end = self.offset();
        &self.text[start..end]
    }

    fn comment(&mut self) -> Result<()> {
        while self.peek().is_some_and(|c| c != '\n') {
            self.take()?;
        }
        Ok(())
    }

    /// The rest of a text in quotes, behind the opening one.
    fn quoted(&mut self, start: usize) -> Result<String> {
        let mut value = String::new();
        loop {
            let offset = self.offset();
            match self.take()? {
                Some('"') => return Ok(value),
                None | Some('\n') => return Err(unclosed(start)),
                Some('\\') => match self.take()? {
                    Some(c @ ('\\' | '"')) => value.push(c),
                    _ => {
                        return Err(SyntaxError::new(
                            offset,
                            "unknown escape; in a name there are \\\\ and \\\"",
                        ));
                    }
                },
                Some(c) => value.push(c),
            }
        }
    }

    /// A value: everything behind `=` up to a comment or the end of the line.
    pub(super) fn value(&mut self) -> Result<(String, Range<usize>)> {
        self.skip_space();
        let start = self.offset();
        let (mut value, mut in_quotes) = (String::new(), false);
        // Up to where the value goes when white space at its end is left out.
        let (mut kept, mut end) = (0, start);
        while let Some(c) = self.peek() {
            if !in_quotes && matches!(c, '\n' | ';' | '#') {
                break;
            }
            let offset = self.offset();
            self.take()?;
            match c {
                '\\' if in_quotes => value.push(self.escape(offset)?),
                '\\' => value.extend(self.bare_escape(offset)?),
                '"' => in_quotes = !in_quotes,
                '\n' => return Err(unclosed(start)),
                '\r' => {}
                c => value.push(c),
            }
            if in_quotes || !is_space(c) {
                kept = value.len();
                end = self.offset();
            }
        }
        if in_quotes {
            return Err(unclosed(start));
        }
        value.truncate(kept);
        Ok((value, start..end))
    }

    fn escape(&mut self, start: usize) -> Result<char> {
        match self.take()? {
            Some(c @ ('\\' | '"')) => Ok(c),
            Some('n') => Ok('\n'),
            Some('t') => Ok('\t'),
            _ => Err(SyntaxError::new(start, "unknown escape; there are \\\\, \\\", \\n and \\t")),
        }
    }

    /// Outside of quotes a backslash escapes a quote or, together with the line break behind it, vanishes.
    fn bare_escape(&mut self, start: usize) -> Result<Option<char>> {
        if self.peek() == Some('\r') {
            self.take()?;
        }
        match self.take()? {
            Some('"') => Ok(Some('"')),
            Some('\n') => Ok(None),
            _ => Err(SyntaxError::new(
                start,
                "a backslash outside of quotes is only allowed before a quote or a line break",
            )),
        }
    }
}

fn unclosed(start: usize) -> SyntaxError {
    SyntaxError::new(start, "the quote is not closed on its line")
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r')
}

fn is_letter(c: char) -> bool {
    use GeneralCategory::{LowercaseLetter, ModifierLetter, OtherLetter, TitlecaseLetter, UppercaseLetter};
    c.is_ascii_alphabetic()
        || !c.is_ascii()
            && matches!(
                get_general_category(c),
                LowercaseLetter | ModifierLetter | OtherLetter | TitlecaseLetter | UppercaseLetter
            )
}

fn is_digit(c: char) -> bool {
    c.is_ascii_digit() || !c.is_ascii() && get_general_category(c) == GeneralCategory::DecimalNumber
}
