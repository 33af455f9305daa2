//! `slipway drivers matrix pin`.

use std::path::PathBuf;

use anyhow::Context;
use slipway_config::matrix::EMBEDDED;
use slipway_lifecycle::drivers::pin::{PinError, Pinned, pin};
use slipway_lifecycle::registry::{Registries, Settings, login};

use super::refused;
use crate::args::{Output, PinMatrix};
use crate::exit::Exit;
use crate::input;
use crate::output::Printer;
use crate::runtime::Runtime;

pub(crate) fn run(args: &PinMatrix, printer: &Printer) -> anyhow::Result<Exit> {
    let PinMatrix { file, registry, ca_file, plain_http, auth_file } = args;
    let (name, text) = match file {
        None => ("embedded".to_owned(), EMBEDDED.to_owned()),
        Some(file) => (input::name(file), input::read(file)?),
    };
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let logins = match auth_file {
        Some(file) => Some(file.clone()),
        None => login::usual_places(variable).into_iter().find(|file| file.is_file()),
    };
    let logins = logins.as_deref().map(login::read).transpose().context("reading the logins")?;
    let settings = Settings {
        authorities: ca_file.as_deref().map(fs_err::read_to_string).transpose()?,
        plain: *plain_http,
        logins: logins.unwrap_or_default(),
        ..Settings::default()
    };
    let mut registries = Registries::new(settings)?;
    let Pinned { text, digests, kept } =
        match Runtime::new()?.block_on(pin(&text, registry.as_deref(), &mut registries)) {
            Ok(pinned) => pinned,
            Err(PinError::Invalid(found)) => {
                return Err(refused(&found, &name, printer));
            }
            Err(error) => return refuse(error, printer),
        };
    match printer.output {
        Output::Json => printer.json(&serde_json::json!({"digests": digests, "matrix": text}))?,
        Output::Text => printer.data(&text)?,
    }
    let before = if kept > 0 { format!(", and {kept} had one before") } else { String::new() };
    printer.say(&format!("{} images have a digest now{before}\n", digests.len()));
    Ok(Exit::Ok)
}

/// Everything that registries did not tell, each with its cause, and what to do about it once.
fn refuse(error: PinError, printer: &Printer) -> anyhow::Result<Exit> {
    let PinError::Images { all, failed } = error else { return Err(error.into()) };
    let mut hints: Vec<&str> = Vec::new();
    let count = failed.len();
    for problem in failed {
        hints.extend(problem.hint().filter(|hint| !hints.contains(hint)));
        printer.error(&problem.into());
    }
    printer.error(&anyhow::anyhow!("{count} of {all} images could not be looked up"));
    for hint in hints {
        printer.hint(hint);
    }
    Ok(Exit::Infrastructure)
}
