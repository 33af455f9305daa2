//! A server's certificate, told to people.

use jiff::Timestamp;
use slipway_lifecycle::platform::vsphere::survey::Certificate;

/// The lines that are shown.
pub(crate) fn lines(certificate: &Certificate, now: Timestamp) -> Vec<String> {
    let Certificate { subject, issuer, names, validity, sha256 } = certificate;
    let day = |time: Timestamp| time.strftime("%Y-%m-%d").to_string();
    let valid = validity.map_or_else(
        || "unknown: it cannot be read".to_owned(),
        |validity| {
            let note = if now > validity.not_after {
                ", EXPIRED"
            } else if now < validity.not_before {
                ", NOT YET VALID"
            } else {
                ""
            };
            format!("{} to {}{note}", day(validity.not_before), day(validity.not_after))
        },
    );
    vec![
        format!("  subject      {subject}"),
        format!("  names        {}", names.join(", ")),
        format!("  issuer       {issuer}"),
        format!("  valid        {valid}"),
        format!("  SHA-256      {sha256}"),
    ]
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use slipway_lifecycle::platform::vsphere::survey::{Certificate, Validity};

    use super::lines;

    #[test]
    fn an_expired_one_says_so() {
        let time = |text: &str| text.parse::<Timestamp>().expect("a time");
        let certificate = Certificate {
            subject: "CN=vcenter.example.com".to_owned(),
            issuer: "CN=CA".to_owned(),
            names: vec!["vcenter.example.com".to_owned(), "::1".to_owned()],
            validity: Some(Validity {
                not_before: time("2025-01-01T00:00:00Z"),
                not_after: time("2026-01-01T00:00:00Z"),
            }),
            sha256: "AB:CD".to_owned(),
        };
        let lines = |now: &str| lines(&certificate, time(now)).join("\n");
        insta::assert_snapshot!(lines("2025-06-01T00:00:00Z"), @r"
          subject      CN=vcenter.example.com
          names        vcenter.example.com, ::1
          issuer       CN=CA
          valid        2025-01-01 to 2026-01-01
          SHA-256      AB:CD
        ");
        assert!(lines("2026-06-01T00:00:00Z").contains("2026-01-01, EXPIRED"));
        assert!(lines("2024-06-01T00:00:00Z").contains("2026-01-01, NOT YET VALID"));
    }
}
