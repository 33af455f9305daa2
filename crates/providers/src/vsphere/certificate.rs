//! The certificate a server shows, read before anything is sent to it.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use aws_lc_rs::digest::{SHA256, digest};
use jiff::Timestamp;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer, X509Certificate};

use super::endpoint::Endpoint;
use crate::connector::{judged_by, proxied};

/// What people compare, and what ends some day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Certificate {
    pub subject: String,
    pub issuer: String,
    pub names: Vec<String>,
    /// None if it cannot be read.
    pub validity: Option<Validity>,
    /// In hexadecimal with colons.
    pub sha256: String,
}

/// From when to when a certificate is valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Validity {
    pub not_before: Timestamp,
    pub not_after: Timestamp,
}

impl Certificate {
    /// A certificate in DER; what cannot be read of it is left empty, its fingerprint never is.
    pub fn of(der: &[u8]) -> Self {
        let hash: Vec<String> =
            digest(&SHA256, der).as_ref().iter().map(|byte| format!("{byte:02X}")).collect();
        let mut certificate = Certificate {
            subject: String::new(),
            issuer: String::new(),
            names: Vec::new(),
            validity: None,
            sha256: hash.join(":"),
        };
        let Ok((_, parsed)) = X509Certificate::from_der(der) else { return certificate };
        let validity = parsed.validity();
        let times = [validity.not_before, validity.not_after].map(|time| time.timestamp());
        if let [Ok(not_before), Ok(not_after)] = times.map(Timestamp::from_second) {
            certificate.validity = Some(Validity { not_before, not_after });
        }
        certificate.subject = parsed.subject().to_string();
        certificate.issuer = parsed.issuer().to_string();
        if let Ok(Some(names)) = parsed.subject_alternative_name() {
            certificate.names = names.value.general_names.iter().filter_map(name).collect();
        }
        certificate
    }
}

fn name(name: &GeneralName<'_>) -> Option<String> {
    match name {
        GeneralName::DNSName(name) => Some((*name).to_owned()),
        GeneralName::IPAddress(bytes) => {
            let address = <[u8; 4]>::try_from(*bytes)
                .map(IpAddr::from)
                .or_else(|_| <[u8; 16]>::try_from(*bytes).map(IpAddr::from));
            address.ok().map(|address| address.to_string())
        }
        _ => None,
    }
}

/// The certificate a server shows, whoever signed it. The connection ends in the handshake: nothing is sent on it.
pub async fn fetch(endpoint: &Endpoint, deadline: Duration) -> Result<Certificate, String> {
    // It is noted, and refused whatever it is.
    let seen: Arc<Mutex<Option<Vec<u8>>>> = Arc::default();
    let note = seen.clone();
    let config = judged_by(move |der| {
        *note.lock().unwrap_or_else(PoisonError::into_inner) = Some(der.to_vec());
        false
    })?;
    // The same way to the server as later, proxies included.
    let builder = reqwest::Client::builder()
        .tls_backend_preconfigured(config)
        .connect_timeout(deadline)
        .https_only(true);
    let client = proxied(builder, &endpoint.proxy)?.build().map_err(|error| error.to_string())?;
    let outcome = client.get(endpoint.url()).timeout(deadline).send().await;
    let seen = seen.lock().unwrap_or_else(PoisonError::into_inner).take();
    match (seen, outcome) {
        (Some(der), _) => Ok(Certificate::of(&der)),
        (None, Err(error)) => Err(error.without_url().to_string()),
        (None, Ok(_)) => Err("it shows no certificate".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use rstest::rstest;

    use super::Certificate;

    #[test]
    fn what_is_no_certificate_has_a_fingerprint() {
        let certificate = Certificate::of(b"nonsense");
        assert!(certificate.sha256.starts_with("99:9A:AA:86:45:BB:"), "{}", certificate.sha256);
        assert_eq!(certificate.sha256.len(), 32 * 3 - 1);
        assert_eq!(certificate.validity, None);
    }

    /// The format has years of two and of four digits.
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
        let read = Certificate::of(der);
        assert_eq!(read.validity.unwrap().not_after, expected);
        assert_eq!(read.names, ["vc.example.com"]);
        for end in 0..der.len() {
            // What is cut off is never taken for another time.
            let cut = Certificate::of(&der[..end]);
            assert!(cut.validity.is_none_or(|validity| validity.not_after == expected));
        }
    }
}
