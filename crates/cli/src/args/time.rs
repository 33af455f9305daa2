//! Times as they are typed.

use jiff::SignedDuration;

/// A time that is more than nothing: `90s`, `5m`, `1h 30m`.
pub(super) fn positive(text: &str) -> Result<SignedDuration, String> {
    let time: SignedDuration = text.parse().map_err(|error: jiff::Error| error.to_string())?;
    if time.is_positive() { Ok(time) } else { Err("it leaves no time for anything".to_owned()) }
}
