//! The way back through a conversation.

/// Who answered a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    User,
    /// A flag, or there was only one answer.
    Itself,
}

/// The answers before each question that was answered.
#[derive(Debug)]
pub(super) struct History<D> {
    past: Vec<(D, By)>,
}

impl<D> Default for History<D> {
    fn default() -> Self {
        History { past: Vec::new() }
    }
}

impl<D> History<D> {
    pub(super) fn push(&mut self, before: D, by: By) {
        self.past.push((before, by));
    }

    /// To the last question the user answered, past those that answered themselves. Nothing at the first one.
    pub(super) fn back(&mut self) -> Option<D> {
        let at = self.past.iter().rposition(|(_, by)| *by == By::User)?;
        self.past.truncate(at + 1);
        self.past.pop().map(|(before, _)| before)
    }
}
