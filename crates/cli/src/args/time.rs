//! Times as they are typed.

use std::time::Duration;

use jiff::SignedDuration;

/// A time greater than zero: `90s`, `5m`, `1h 30m`.
pub(super) fn positive(text: &str) -> Result<Duration, String> {
    let time: SignedDuration = text.parse().map_err(|_| "write a time like 90s, 5m or 1h 30m".to_owned())?;
    let time = Duration::try_from(time).ok().filter(|time| !time.is_zero());
    time.ok_or_else(|| "the time must be greater than zero".to_owned())
}
