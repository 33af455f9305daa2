//! How long a vCenter's certificate is valid, whoever signed it.

use std::time::Duration;

use jiff::Timestamp;
use slipway_providers::vsphere::{Endpoint, certificate};

use super::report::{Check, Finding};

/// Administrators need some time to replace a certificate.
pub(crate) const SOON_DAYS: i64 = 30;

/// The end of the validity of the certificate a server shows.
pub(crate) async fn expiry(endpoint: &Endpoint, limit: Duration) -> Result<Timestamp, String> {
    let shown = certificate::fetch(endpoint, limit).await?;
    let validity = shown.validity.ok_or_else(|| "its certificate cannot be read".to_owned())?;
    Ok(validity.not_after)
}

pub(super) fn judge(expires: Timestamp, now: Timestamp) -> Finding {
    let days = expires.duration_since(now).as_hours() / 24;
    let remedy =
        "replace the vCenter's certificate; if the install-config has its thumbprint, change that too";
    if expires <= now {
        let message = format!("the certificate expired at {expires:.0}");
        return Finding::failure(Check::Certificate, "certificate", message).remedy(remedy);
    }
    if days < SOON_DAYS {
        let message = format!("the certificate expires in {days} days, at {expires:.0}");
        return Finding::warning(Check::Certificate, "certificate", message).remedy(remedy);
    }
    Finding::pass(Check::Certificate, "certificate", format!("the certificate is valid until {expires:.0}"))
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use rstest::rstest;

    use super::super::report::Outcome;
    use super::judge;

    #[rstest]
    #[case::long("2027-01-01T00:00:00Z", Outcome::Pass)]
    #[case::soon("2026-11-30T00:00:00Z", Outcome::Warning)]
    #[case::over("2026-11-14T23:59:59Z", Outcome::Failure)]
    fn the_end_is_judged(#[case] expires: Timestamp, #[case] outcome: Outcome) {
        let now = "2026-11-15T00:00:00Z".parse().unwrap();
        assert_eq!(judge(expires, now).outcome, outcome);
    }
}
