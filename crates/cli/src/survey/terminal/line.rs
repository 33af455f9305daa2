//! A line that is being typed, with the keys people know from their shell.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// What has been typed, and where the cursor is.
#[derive(Debug, Default)]
pub(super) struct Line {
    characters: Vec<char>,
    cursor: usize,
}

/// What a key means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pressed {
    /// The line may look different now.
    Edited,
    Enter,
    /// Esc.
    Back,
    /// Ctrl-C.
    Abort,
}

impl Line {
    pub(super) fn text(&self) -> String {
        self.characters.iter().collect()
    }

    /// How many characters stand before the cursor, and how many there are.
    pub(super) fn position(&self) -> (usize, usize) {
        (self.cursor, self.characters.len())
    }

    pub(super) fn press(&mut self, key: KeyEvent) -> Pressed {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let alt = key.modifiers.contains(KeyModifiers::ALT);
        let (here, end) = self.position();
        match key.code {
            KeyCode::Enter => return Pressed::Enter,
            KeyCode::Esc => return Pressed::Back,
            KeyCode::Char('c') if control => return Pressed::Abort,
            KeyCode::Char('u') if control => self.remove(0, here),
            KeyCode::Char('k') if control => self.remove(here, end),
            KeyCode::Char('w') if control => self.remove(self.word(), here),
            KeyCode::Backspace if control || alt => self.remove(self.word(), here),
            KeyCode::Char('h') if control => self.remove(here.saturating_sub(1), here),
            KeyCode::Backspace => self.remove(here.saturating_sub(1), here),
            KeyCode::Delete => self.remove(here, (here + 1).min(end)),
            KeyCode::Char('a') if control => self.cursor = 0,
            KeyCode::Char('e') if control => self.cursor = end,
            KeyCode::Home => self.cursor = 0,
            KeyCode::End => self.cursor = end,
            KeyCode::Left => self.cursor = here.saturating_sub(1),
            KeyCode::Right => self.cursor = (here + 1).min(end),
            // With both, some keyboards write characters.
            KeyCode::Char(character) if control == alt => {
                self.characters.insert(here, character);
                self.cursor += 1;
            }
            // A key that does nothing writes nothing.
            _ => {}
        }
        Pressed::Edited
    }

    fn remove(&mut self, from: usize, to: usize) {
        self.characters.drain(from..to);
        self.cursor = from;
    }

    /// Where the word before the cursor begins.
    fn word(&self) -> usize {
        let before = &self.characters[..self.cursor];
        let blanks = before.iter().rev().take_while(|character| character.is_whitespace()).count();
        let rest = &before[..before.len() - blanks];
        rest.len() - rest.iter().rev().take_while(|character| !character.is_whitespace()).count()
    }
}

#[cfg(test)]
mod tests {
    use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
    use rstest::rstest;

    use super::{Line, Pressed};

    /// `^x` is Ctrl-X, `<` the left arrow, and everything else itself.
    #[rstest]
    #[case::plain("abc", "abc|")]
    #[case::clear("oops^uabc", "abc|")]
    #[case::clear_before("abc<^u", "|c")]
    #[case::word("one two^w", "one |")]
    #[case::word_and_blanks("one two  ^w", "one |")]
    #[case::to_the_end("abc<<^k", "a|")]
    #[case::home("abc^aX", "X|abc")]
    #[case::end("abc^a^e^h", "ab|")]
    #[case::unknown("ab^x^t^n", "ab|")]
    fn keys_do_what_they_do_in_a_shell(#[case] keys: &str, #[case] shown: &str) {
        let mut line = Line::default();
        let mut keys = keys.chars();
        while let Some(key) = keys.next() {
            let event = match key {
                '^' => KeyEvent::new(KeyCode::Char(keys.next().unwrap()), KeyModifiers::CONTROL),
                '<' => KeyEvent::new(KeyCode::Left, KeyModifiers::NONE),
                key => KeyEvent::new(KeyCode::Char(key), KeyModifiers::NONE),
            };
            assert_eq!(line.press(event), Pressed::Edited);
        }
        let mut text: Vec<char> = line.text().chars().collect();
        text.insert(line.position().0, '|');
        assert_eq!(text.into_iter().collect::<String>(), shown);
    }
}
