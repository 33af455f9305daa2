//! `slipway help`.

use crate::args::{command, topic};
use crate::exit::{Exit, Usage};
use crate::output::Printer;

pub(crate) fn run(words: &[String], printer: &Printer) -> anyhow::Result<Exit> {
    if let [one] = words
        && let Some(text) = topic(one)
    {
        printer.data(text)?;
        return Ok(Exit::Ok);
    }
    let mut page = command();
    page.build();
    for word in words {
        page = match page.find_subcommand(word) {
            Some(below) => below.clone(),
            None => {
                return Err(Usage(format!(
                    "there is no command or topic `{}`: `slipway -h` lists them",
                    words.join(" ")
                ))
                .into());
            }
        };
    }
    printer.data(&page.render_long_help().ansi().to_string())?;
    Ok(Exit::Ok)
}
