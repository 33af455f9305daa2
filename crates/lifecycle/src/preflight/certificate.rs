//! How long a vCenter's certificate is valid, whoever signed it.

use std::time::Duration;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use slipway_providers::vsphere::{Endpoint, Proxy};

use super::report::{Check, Finding};

/// Administrators need some time to replace a certificate.
const SOON_DAYS: i64 = 30;

/// The end of the validity of the certificate a server shows. Nothing is sent that it could misuse.
pub(super) async fn expiry(endpoint: &Endpoint, limit: Duration) -> Result<Timestamp, String> {
    let mut builder = reqwest::Client::builder()
        .tls_danger_accept_invalid_certs(true)
        .tls_info(true)
        .https_only(true)
        .redirect(reqwest::redirect::Policy::none())
        .timeout(limit);
    builder = match &endpoint.proxy {
        Proxy::FromEnvironment => builder,
        Proxy::None => builder.no_proxy(),
        Proxy::Url(url) => {
            builder.proxy(reqwest::Proxy::https(url).map_err(|error| error.without_url().to_string())?)
        }
    };
    let client = builder.build().map_err(|error| error.to_string())?;
    let server = &endpoint.server;
    let host = if server.contains(':') { format!("[{server}]") } else { server.to_string() };
    let response = client.head(format!("https://{host}:{}/", endpoint.port)).send().await;
    let response = response.map_err(|error| error.without_url().to_string())?;
    let shown = response.extensions().get::<reqwest::tls::TlsInfo>();
    let der = shown.and_then(|info| info.peer_certificate()).ok_or("it shows no certificate")?;
    not_after(der).ok_or_else(|| "its certificate cannot be read".to_owned())
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

/// The end of the validity in a certificate.
fn not_after(der: &[u8]) -> Option<Timestamp> {
    const SEQUENCE: u8 = 0x30;
    const VERSION: u8 = 0xa0;
    let (SEQUENCE, certificate, _) = value(der)? else { return None };
    let (SEQUENCE, mut fields, _) = value(certificate)? else { return None };
    if let (VERSION, _, rest) = value(fields)? {
        fields = rest;
    }
    // Serial number, algorithm, issuer.
    for _ in 0..3 {
        (_, _, fields) = value(fields)?;
    }
    let (SEQUENCE, validity, _) = value(fields)? else { return None };
    let (_, _, validity) = value(validity)?;
    let (kind, time, _) = value(validity)?;
    let text = std::str::from_utf8(time).ok()?;
    // Years of two digits are those of 1950 to 2049 (RFC 5280).
    let text = match kind {
        0x17 if text.get(..2)? < "50" => format!("20{text}"),
        0x17 => format!("19{text}"),
        0x18 => text.to_owned(),
        _ => return None,
    };
    let time = DateTime::strptime("%Y%m%d%H%M%SZ", text).ok()?;
    Some(time.to_zoned(TimeZone::UTC).ok()?.timestamp())
}

/// The first value in DER: its tag, its content, and what follows it.
fn value(der: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&tag, rest) = der.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = if first < 0x80 {
        (usize::from(first), rest)
    } else {
        let (digits, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
        if digits.len() > 4 {
            return None;
        }
        (digits.iter().fold(0, |length, digit| length << 8 | usize::from(*digit)), rest)
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((tag, content, rest))
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use rstest::rstest;

    use super::super::report::Outcome;
    use super::{judge, not_after};

    #[rstest]
    #[case::two_digits(2031)]
    #[case::four_digits(2061)]
    fn the_end_is_found(#[case] year: i32) {
        let mut parameters = rcgen::CertificateParams::new(vec!["vc.example.com".to_owned()]).unwrap();
        parameters.not_after = rcgen::date_time_ymd(year, 5, 4);
        let key = rcgen::KeyPair::generate().unwrap();
        let certificate = parameters.self_signed(&key).unwrap();
        let expected: Timestamp = format!("{year}-05-04T00:00:00Z").parse().unwrap();
        let der = certificate.der();
        assert_eq!(not_after(der), Some(expected));
        for end in 0..der.len() {
            // What is cut off is never taken for another time.
            assert!(not_after(&der[..end]).is_none_or(|time| time == expected));
        }
    }

    #[rstest]
    #[case::long("2027-01-01T00:00:00Z", Outcome::Pass)]
    #[case::soon("2026-11-30T00:00:00Z", Outcome::Warning)]
    #[case::over("2026-11-14T23:59:59Z", Outcome::Failure)]
    fn the_end_is_judged(#[case] expires: Timestamp, #[case] outcome: Outcome) {
        let now = "2026-11-15T00:00:00Z".parse().unwrap();
        assert_eq!(judge(expires, now).outcome, outcome);
    }
}
