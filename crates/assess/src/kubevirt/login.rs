//! Until when the login of the kubeconfig is good: the new cluster keeps it for its machines.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use jiff::Timestamp;
use kube::config::Kubeconfig;
use secrecy::ExposeSecret;
use serde_json::Value;
use x509_parser::pem::Pem;

use crate::preflight::report::{Check, Finding};

/// What is good for longer is looked after like every certificate of the cluster.
const LONG_DAYS: i64 = 365;

/// What ends, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LoginEnd {
    what: &'static str,
    at: Timestamp,
}

impl LoginEnd {
    /// Of the one user of a kubeconfig. None where it says nothing of an end: a password, or a token that is no JWT.
    pub(super) fn of(kubeconfig: &Kubeconfig) -> Option<Self> {
        let user = kubeconfig.auth_infos.first()?.auth_info.as_ref()?;
        let token = user.token.as_ref().and_then(|token| end_of_token(token.expose_secret()));
        let token = token.map(|at| LoginEnd { what: "token", at });
        token.or_else(|| {
            let at = end_of_certificate(user.client_certificate_data.as_ref()?)?;
            Some(LoginEnd { what: "client certificate", at })
        })
    }

    pub(super) fn judge(&self, namespace: &str, now: Timestamp) -> Option<Finding> {
        let LoginEnd { what, at } = self;
        let remedy = "use a kubeconfig with the token of a ServiceAccount's Secret (type \
                      kubernetes.io/service-account-token), which does not end";
        if *at <= now {
            let message = format!("the {what} of the kubeconfig ended at {at:.0}");
            return Some(Finding::failure(Check::Connection, namespace, message).remedy(remedy));
        }
        let hours = at.duration_since(now).as_hours();
        if hours / 24 >= LONG_DAYS {
            return None;
        }
        let left = if hours < 48 { format!("{hours} h") } else { format!("{} days", hours / 24) };
        let message = format!(
            "the {what} of the kubeconfig ends at {at:.0}, in {left}: the new cluster keeps it for its machines, and can change \
             none of them after that"
        );
        Some(Finding::warning(Check::Connection, namespace, message).remedy(remedy))
    }
}

/// The claim `exp` of a JWT, which ServiceAccounts and most identity providers hand out.
fn end_of_token(token: &str) -> Option<Timestamp> {
    let claims = URL_SAFE_NO_PAD.decode(token.split('.').nth(1)?).ok()?;
    let claims: Value = serde_json::from_slice(&claims).ok()?;
    Timestamp::from_second(claims["exp"].as_i64()?).ok()
}

fn end_of_certificate(data: &str) -> Option<Timestamp> {
    let data = STANDARD.decode(data.trim()).ok()?;
    let pem = Pem::iter_from_buffer(&data).next()?.ok()?;
    let certificate = pem.parse_x509().ok()?;
    Timestamp::from_second(certificate.validity().not_after.timestamp()).ok()
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
    use jiff::Timestamp;
    use kube::config::Kubeconfig;
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::LoginEnd;
    use crate::finding::Outcome;

    fn judged(user: &Value) -> Option<(Outcome, String)> {
        let config = json!({"users": [{"name": "tenant", "user": user}]});
        let config = Kubeconfig::from_yaml(&config.to_string()).unwrap();
        let now: Timestamp = "2026-11-15T00:00:00Z".parse().unwrap();
        let finding = LoginEnd::of(&config)?.judge("tenant", now)?;
        Some((finding.outcome, finding.message))
    }

    fn token(claims: &Value) -> Value {
        json!({"token": format!("e30.{}.c2ln", URL_SAFE_NO_PAD.encode(claims.to_string()))})
    }

    fn certificate(year: i32) -> Value {
        let key = rcgen::KeyPair::generate().unwrap();
        let mut parameters = rcgen::CertificateParams::new(Vec::<String>::new()).unwrap();
        parameters.not_after = rcgen::date_time_ymd(year, 1, 1);
        let pem = parameters.self_signed(&key).unwrap().pem();
        json!({"client-certificate-data": STANDARD.encode(pem)})
    }

    #[rstest]
    #[case::an_hour(token(&json!({"exp": 1_794_704_400})), Some((Outcome::Warning, "in 1 h")))]
    #[case::over(token(&json!({"exp": 1_794_000_000})), Some((Outcome::Failure, "ended at")))]
    #[case::without_end(token(&json!({"sub": "tenant"})), None)]
    #[case::opaque(json!({"token": "sha256~abc"}), None)]
    #[case::password(json!({"username": "a", "password": "b"}), None)]
    #[case::certificate_of_a_year(certificate(2027), Some((Outcome::Warning, "client certificate")))]
    #[case::certificate_of_years(certificate(2036), None)]
    #[case::no_certificate(json!({"client-certificate-data": "Q0VSVA=="}), None)]
    fn logins_that_end_are_told(#[case] user: Value, #[case] expected: Option<(Outcome, &str)>) {
        let judged = judged(&user);
        assert_eq!(
            judged.as_ref().map(|(outcome, _)| *outcome),
            expected.map(|(outcome, _)| outcome),
            "{judged:?}"
        );
        if let (Some((_, message)), Some((_, words))) = (judged, expected) {
            assert!(message.contains(words), "{message}");
        }
    }
}
