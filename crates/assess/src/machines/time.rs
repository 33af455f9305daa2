//! Times as Go writes them: `300s`, `1.5h`, `2h45m`, and `0`.

use jiff::SignedDuration;

/// Reads one; `None` for what is none, and for less than nothing.
pub fn parse(text: &str) -> Option<SignedDuration> {
    if text == "0" {
        return Some(SignedDuration::ZERO);
    }
    let time: SignedDuration = text.parse().ok()?;
    // jiff also reads words and ISO 8601.
    let is_go = text.starts_with(|c: char| c.is_ascii_digit()) && !text.contains([' ', 'd', 'w', 'y']);
    (is_go && !time.is_negative()).then_some(time)
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;
    use rstest::rstest;

    use super::parse;

    #[rstest]
    #[case("0", Some(0))]
    #[case("0s", Some(0))]
    #[case("300s", Some(300))]
    #[case("10m", Some(600))]
    #[case("1.5h", Some(5400))]
    #[case("2h45m", Some(9900))]
    #[case("1h30m10s", Some(5410))]
    #[case("", None)]
    #[case("10", None)]
    #[case("-5m", None)]
    #[case("2d", None)]
    #[case("PT5M", None)]
    #[case("soon", None)]
    fn times_are_gos(#[case] text: &str, #[case] seconds: Option<i64>) {
        assert_eq!(parse(text), seconds.map(SignedDuration::from_secs));
    }
}
