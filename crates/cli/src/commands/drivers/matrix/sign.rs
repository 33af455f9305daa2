//! `slipway drivers matrix sign`.

use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use anyhow::{Context, bail};
use slipway_assets::drivers::signature;
use slipway_config::matrix::read;
use slipway_config::secret::Secret;

use super::refused;
use crate::args::Output;
use crate::exit::Exit;
use crate::input;
use crate::output::Printer;

pub(crate) fn run(file: &Path, key: &Path, printer: &Printer) -> anyhow::Result<Exit> {
    if file == Path::new("-") {
        bail!("a signature is written beside the matrix: name a file");
    }
    let text = input::read(file)?;
    let reading = read(&text);
    if reading.matrix.is_none() {
        return Err(refused(&reading.report, &input::name(file), printer).context("nothing was signed"));
    }
    let private = match fs_err::read_to_string(key) {
        Ok(private) => Secret::from(private.as_str()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => draw(key, printer)?,
        Err(error) => return Err(error.into()),
    };
    let (signed, public) =
        signature::sign(&text, &private).with_context(|| format!("signing with {}", key.display()))?;
    let mut beside = file.as_os_str().to_owned();
    beside.push(".sig");
    fs_err::write(&beside, signed)?;
    match printer.output {
        Output::Json => printer
            .json(&serde_json::json!({"signature": Path::new(&beside), "publicKey": public.to_string()}))?,
        Output::Text => printer.data(&format!("{public}\n"))?,
    }
    printer.hint("give the key to the operator: `slipway drivers deploy --matrix PLACE --matrix-key KEY`");
    Ok(Exit::Ok)
}

/// A new key, for its owner alone.
fn draw(key: &Path, printer: &Printer) -> anyhow::Result<Secret> {
    let (private, _) = signature::draw()?;
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    let mut file = options.open(key).with_context(|| format!("making {}", key.display()))?;
    writeln!(file, "{}", private.expose())?;
    printer.say(&format!("made the key {}; keep it safe\n", key.display()));
    Ok(private)
}
