//! Reading what users wrote.

use std::io::Read;
use std::path::Path;

use anyhow::{Context, anyhow, bail};
use slipway_config::yaml::Limits;

/// How a file is called in messages.
pub(crate) fn name(file: &Path) -> String {
    if file == Path::new("-") { "<stdin>".to_owned() } else { file.display().to_string() }
}

/// Reads the file, but never more of it than is going to be looked at.
pub(crate) fn read(file: &Path) -> anyhow::Result<String> {
    let limit = Limits::default().bytes as u64 + 1;
    let mut bytes = Vec::new();
    if file == Path::new("-") {
        std::io::stdin().lock().take(limit).read_to_end(&mut bytes).context("reading standard input")?;
    } else {
        let source = fs_err::File::open(file)?;
        if source.metadata()?.is_dir() {
            bail!("`{}` is a directory; name the file in it", file.display());
        }
        source.take(limit).read_to_end(&mut bytes)?;
    }
    if bytes.len() as u64 == limit {
        // Too large whatever it holds; the cut may lie within a character.
        return Ok(String::from_utf8_lossy(&bytes).into_owned());
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let line = error.as_bytes()[..at].split(|byte| *byte == b'\n').count();
        anyhow!("`{}` is not UTF-8 text: line {line} has a byte that is not", name(file))
    })
}
