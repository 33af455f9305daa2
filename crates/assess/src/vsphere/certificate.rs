//! Until when a vCenter's certificate is valid, whatever signed it.

use std::time::Duration;

use jiff::Timestamp;
use slipway_providers::vsphere::{Endpoint, certificate};

use crate::finding::Judgement;

/// Administrators need some time to replace a certificate.
const WARNING_DAYS: i64 = 30;

/// The end of the validity of the certificate a server shows.
pub(crate) async fn expiry(endpoint: &Endpoint, limit: Duration) -> Result<Timestamp, String> {
    let shown = certificate::fetch(endpoint, limit).await?;
    let validity = shown.validity.ok_or_else(|| "its certificate cannot be read".to_owned())?;
    Ok(validity.not_after)
}

pub(crate) fn judge(expires: &Result<Timestamp, String>, now: Timestamp) -> Judgement {
    let expires = match expires {
        Ok(expires) => *expires,
        Err(reason) => {
            return Judgement::unknown(format!("how long the certificate is valid is not known: {reason}"));
        }
    };
    let days = expires.duration_since(now).as_hours() / 24;
    let remedy = "replace the vCenter's certificate; where its thumbprint is configured, change that too";
    if expires <= now {
        return Judgement::failure(format!("the certificate expired at {expires:.0}")).remedy(remedy);
    }
    if days < WARNING_DAYS {
        let message = format!("the certificate expires in {days} days, at {expires:.0}");
        return Judgement::warning(message).remedy(remedy);
    }
    Judgement::pass(format!("the certificate is valid until {expires:.0}"))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::judge;
    use crate::finding::Outcome;

    #[rstest]
    #[case::long("2027-01-01T00:00:00Z", Outcome::Pass)]
    #[case::soon("2026-11-30T00:00:00Z", Outcome::Warning)]
    #[case::over("2026-11-14T23:59:59Z", Outcome::Failure)]
    #[case::not_seen("", Outcome::Unknown)]
    fn the_end_is_judged(#[case] expires: &str, #[case] outcome: Outcome) {
        let now = "2026-11-15T00:00:00Z".parse().unwrap();
        let expires = expires.parse().map_err(|_| "refused".to_owned());
        assert_eq!(judge(&expires, now).outcome, outcome);
    }
}
