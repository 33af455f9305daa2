//! Asking whether something is meant that cannot be taken back.

use std::io::{BufRead, IsTerminal};

use tokio::sync::oneshot;

use crate::exit::Exit;
use crate::interrupt::{self, unless_interrupted};
use crate::output::{NAME, Printer};

/// What is asked.
#[derive(Debug)]
pub(crate) struct Question<'a> {
    /// What has to be typed.
    pub(crate) word: &'a str,
    /// What that does: `approve this request`.
    pub(crate) deed: &'a str,
    /// What happens otherwise: `nothing was approved`.
    pub(crate) otherwise: &'a str,
    /// What one looks at before `--yes`: `look at the requests`.
    pub(crate) look: &'a str,
}

/// How the command ends, if it is not meant.
pub(crate) async fn refused(question: &Question<'_>, printer: &Printer) -> anyhow::Result<Option<Exit>> {
    let Question { word, deed, otherwise, look } = question;
    if !std::io::stdin().is_terminal() {
        printer.error(&anyhow::anyhow!("stdin is not a terminal; pass `--yes` to confirm"));
        printer.hint(&format!("{otherwise}; {look}, then add `--yes`"));
        return Ok(Some(Exit::Other));
    }
    // Before the question: the user may press Ctrl-C as soon as it is shown.
    interrupt::defer(None);
    printer.insist(&format!("Type {NAME}{word}{NAME:#} to {deed}: "));
    let (tell, told) = oneshot::channel();
    // A thread of its own, since reading a line cannot be given up.
    std::thread::spawn(move || {
        let mut answer = String::new();
        let read = std::io::stdin().lock().read_line(&mut answer);
        tell.send(read.map(|_| answer))
    });
    let Some(answer) = unless_interrupted(told).await else {
        printer.say("\n");
        return interrupt::report(otherwise, printer).map(Some);
    };
    interrupt::defer(Some(interrupt::CALLS));
    if matches!(answer, Ok(Ok(answer)) if answer.trim() == *word) {
        return Ok(None);
    }
    printer.say(&format!("{otherwise}\n"));
    Ok(Some(Exit::Other))
}
