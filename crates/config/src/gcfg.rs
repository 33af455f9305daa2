//! The INI dialect of the vSphere drivers, as the Go library gcfg reads it.
//!
//! It is not git's: a value may be quoted in part, a backslash outside of quotes only continues a line or
//! stands before a quote, carriage returns vanish wherever they are, and escapes are `\\`, `\"`, `\n` and
//! `\t`. Section and variable names are compared without regard to case, subsections are not.

mod scan;

use std::fmt::{self, Write};

use self::scan::{Scanner, Token};

/// A file: sections in the order they appear. A repeated header makes a further entry.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct File {
    pub sections: Vec<Section>,
}

/// `[name "subsection"]` and the variables below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    pub name: String,
    /// Never empty.
    pub subsection: Option<String>,
    pub variables: Vec<Variable>,
    /// Where the header starts, in bytes.
    pub offset: usize,
}

/// `name = value`, or a name alone. The value may be a password and is not shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Variable {
    pub name: String,
    pub value: Option<String>,
    /// Where the name and the value stand, in bytes.
    pub offset: usize,
    pub value_span: std::ops::Range<usize>,
}

impl fmt::Debug for Variable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Variable").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Why a text is not in this dialect.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SyntaxError {
    pub offset: usize,
    pub message: &'static str,
}

impl SyntaxError {
    fn new(offset: usize, message: &'static str) -> Self {
        SyntaxError { offset, message }
    }
}

/// Reads a file.
pub fn parse(text: &str) -> Result<File, SyntaxError> {
    let mut scanner = Scanner::new(text);
    let mut file = File::default();
    loop {
        let (offset, token) = scanner.next()?;
        match token {
            Token::End => return Ok(file),
            Token::LineEnd => {}
            Token::Open => file.sections.push(header(&mut scanner, offset)?),
            Token::Name(name) => {
                let variable = variable(&mut scanner, offset, name)?;
                let Some(section) = file.sections.last_mut() else {
                    return Err(SyntaxError::new(
                        offset,
                        "a section header must come first, such as [Global]",
                    ));
                };
                section.variables.push(variable);
            }
            Token::Close | Token::Equals | Token::Text { .. } => {
                return Err(SyntaxError::new(offset, "expected a section header or `name = value`"));
            }
        }
    }
}

/// The rest of a header, behind its `[`.
fn header(scanner: &mut Scanner<'_>, start: usize) -> Result<Section, SyntaxError> {
    let (offset, token) = scanner.next()?;
    let Token::Name(name) = token else {
        return Err(SyntaxError::new(offset, "expected the name of a section"));
    };
    let (mut offset, mut token) = scanner.next()?;
    let mut subsection = None;
    if let Token::Text { value, .. } = token {
        if value.is_empty() {
            return Err(SyntaxError::new(offset, "the name in quotes is empty"));
        }
        subsection = Some(value);
        (offset, token) = scanner.next()?;
    }
    if !matches!(token, Token::Close) {
        return Err(SyntaxError::new(offset, "expected `]`, or a name in double quotes and `]`"));
    }
    line_end(scanner)?;
    Ok(Section { name: name.to_owned(), subsection, variables: Vec::new(), offset: start })
}

/// The rest of a variable, behind its name.
fn variable(scanner: &mut Scanner<'_>, start: usize, name: &str) -> Result<Variable, SyntaxError> {
    let (offset, token) = scanner.next()?;
    let (value, value_span) = match token {
        Token::End | Token::LineEnd => (None, offset..offset),
        Token::Equals => {
            let (value, span) = scanner.value()?;
            line_end(scanner)?;
            (Some(value), span)
        }
        _ => return Err(SyntaxError::new(offset, "expected `=`")),
    };
    Ok(Variable { name: name.to_owned(), value, offset: start, value_span })
}

fn line_end(scanner: &mut Scanner<'_>) -> Result<(), SyntaxError> {
    match scanner.next()? {
        (_, Token::End | Token::LineEnd) => Ok(()),
        (offset, _) => Err(SyntaxError::new(offset, "expected the end of the line")),
    }
}

/// Whether two section or variable names are the same to gcfg, which folds case as Go does: by simple
/// folding, which takes the long s and the Kelvin sign for letters of the alphabet.
pub fn same_name(a: &str, b: &str) -> bool {
    fn fold(c: char) -> char {
        match c {
            '\u{17f}' => 's',
            '\u{212a}' => 'k',
            c => c.to_ascii_lowercase(),
        }
    }
    a.chars().map(fold).eq(b.chars().map(fold))
}

/// A text that cannot be written in this dialect.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} cannot be written to an INI file: it contains {reason}")]
pub struct WriteError {
    /// Which value, never the value itself.
    pub what: String,
    pub reason: &'static str,
}

/// Writes files that every value survives.
#[derive(Debug, Default)]
pub struct Writer {
    text: String,
}

impl Writer {
    pub fn section(&mut self, name: &str, subsection: Option<&str>) -> Result<(), WriteError> {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        match subsection {
            None => {
                let _ = writeln!(self.text, "[{name}]");
            }
            Some(subsection) => {
                let fail = |reason| WriteError { what: format!("the name of a section [{name}]"), reason };
                let forbidden = [('\n', "a line break"), ('\0', "a NUL character")];
                if let Some((_, reason)) = forbidden.iter().find(|(c, _)| subsection.contains(*c)) {
                    return Err(fail(reason));
                }
                if subsection.is_empty() {
                    return Err(fail("nothing"));
                }
                let escaped = subsection.replace('\\', r"\\").replace('"', "\\\"");
                let _ = writeln!(self.text, "[{name} \"{escaped}\"]");
            }
        }
        Ok(())
    }

    pub fn variable(&mut self, name: &str, value: &str) -> Result<(), WriteError> {
        let forbidden = [('\r', "a carriage return"), ('\0', "a NUL character")];
        if let Some((_, reason)) = forbidden.iter().find(|(c, _)| value.contains(*c)) {
            return Err(WriteError { what: format!("`{name}`"), reason });
        }
        let _ = write!(self.text, "{name} = \"");
        for c in value.chars() {
            match c {
                '\\' => self.text.push_str(r"\\"),
                '"' => self.text.push_str("\\\""),
                '\n' => self.text.push_str(r"\n"),
                '\t' => self.text.push_str(r"\t"),
                c => self.text.push(c),
            }
        }
        self.text.push_str("\"\n");
        Ok(())
    }

    pub fn finish(self) -> String {
        self.text
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::string::{RegexGeneratorStrategy, string_regex};
    use rstest::rstest;

    use super::{Writer, parse, same_name};

    /// The value of the only variable.
    fn value(text: &str) -> Result<Option<String>, &'static str> {
        let file = parse(text).map_err(|error| error.message)?;
        Ok(file.sections[0].variables[0].value.clone())
    }

    #[rstest]
    #[case::plain("[a]\nb = c d", "c d")]
    #[case::trailing_space("[a]\nb = c \t ; comment", "c")]
    #[case::quoted("[a]\nb = \"c ; d\" # e", "c ; d")]
    #[case::partly_quoted("[a]\nb = c\" d \"e", "c d e")]
    #[case::escapes(
        r#"[a]
b = "\\ \" \n \t""#,
        "\\ \" \n \t"
    )]
    #[case::escaped_quote(
        r#"[a]
b = \"c"#,
        "\"c"
    )]
    #[case::continued("[a]\nb = c\\\n d", "c d")]
    #[case::carriage_returns("[a]\r\nb = \"c\rd\"\r\n", "cd")]
    #[case::no_spaces("[a]\nb=c", "c")]
    #[case::empty("[a]\nb =", "")]
    #[case::equals("[a]\nb = c=d", "c=d")]
    fn reads_values(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(value(text), Ok(Some(expected.to_owned())));
    }

    #[rstest]
    #[case("a = b", "a section header must come first, such as [Global]")]
    #[case("[a]\nb c", "expected `=`")]
    #[case("[a]\nb = \"c", "the quote is not closed on its line")]
    #[case("[a]\nb = c\\d", "a backslash outside of quotes is only allowed before a quote or a line break")]
    #[case("[a]\nb = \"\\x\"", "unknown escape; there are \\\\, \\\", \\n and \\t")]
    #[case("[a \"\"]", "the name in quotes is empty")]
    #[case("[a", "expected `]`, or a name in double quotes and `]`")]
    #[case("[1a]", "unexpected character")]
    #[case("[]", "expected the name of a section")]
    #[case("[a] b", "expected the end of the line")]
    #[case("[a \"\\n\"]", "unknown escape; in a name there are \\\\ and \\\"")]
    #[case("\u{feff}[a]", "unexpected character")]
    #[case("; \0", "a NUL character")]
    fn refuses(#[case] text: &str, #[case] message: &str) {
        assert_eq!(parse(text).map_err(|error| error.message), Err(message));
    }

    #[test]
    fn names_fold_like_go() {
        assert!(same_name("Virtual-Center", "vIRTUAL-cENTER"));
        assert!(same_name("inſecure-flaG", "insecure-flag"));
        assert!(!same_name("a", "ab"));
    }

    /// Given as a text, a pattern is read anew for every case.
    fn matching(pattern: &str) -> RegexGeneratorStrategy<String> {
        string_regex(pattern).unwrap()
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(name in matching("[^\\n\\x00]{1,20}"), value in matching("[^\\r\\x00]{0,40}")) {
            let mut writer = Writer::default();
            writer.section("VirtualCenter", Some(&name)).unwrap();
            writer.variable("password", &value).unwrap();
            let file = parse(&writer.finish()).unwrap();
            prop_assert_eq!(file.sections[0].subsection.as_deref(), Some(name.as_str()));
            prop_assert_eq!(file.sections[0].variables[0].value.as_deref(), Some(value.as_str()));
        }

        #[test]
        fn any_text_is_judged(text in matching("(\\[|\\]|\"|\\\\|=|;|#| |\\n|\\r|\\t|a|ä|1|-|\\PC){0,60}")) {
            let _ = parse(&text);
        }
    }
}
