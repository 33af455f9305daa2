//! Why a server does not answer, in words that say what to look at.

use std::error::Error;

use slipway_providers::cluster::Cause;
use slipway_providers::trust_error::TrustError;

use crate::text::chain;

/// What a failed call to a server means.
pub fn of_connection(server: &str, cause: &Cause, error: &(dyn Error + 'static)) -> String {
    match cause {
        Cause::Unresolved => format!("`{server}` cannot be resolved from here: check DNS"),
        Cause::Untrusted(TrustError::NotYet) => format!(
            "the certificate of {server} is not valid yet by this machine's clock: compare the clocks of this machine and the \
             cluster's"
        ),
        Cause::Untrusted(TrustError::Expired) => format!(
            "the certificate of {server} has expired by this machine's clock: compare the clocks; if they agree, the files of \
             the cluster are too old, and must be created again"
        ),
        Cause::Untrusted(TrustError::Issuer | TrustError::Signature) => format!(
            "the certificate of {server} was not signed by this cluster: another server answers there, or the files are those \
             of another cluster"
        ),
        Cause::Untrusted(TrustError::Name) => {
            format!("the certificate of {server} is for another name: another server answers there")
        }
        Cause::Untrusted(other) => format!("the certificate of {server} is not trusted: {other}"),
        Cause::Refused => format!("nothing listens at {server} yet"),
        Cause::NoRoute => format!(
            "there is no way to {server} from here: check the network, and whether a machine has the address"
        ),
        Cause::Timeout => {
            format!("{server} does not answer: check firewalls, and whether a machine has the address")
        }
        Cause::Unauthorized => format!(
            "{server} does not accept the administrator's certificate: compare the clocks, and auth/kubeconfig"
        ),
        Cause::Broken
        | Cause::Forbidden
        | Cause::Absent
        | Cause::Conflict
        | Cause::Busy(_)
        | Cause::Rejected
        | Cause::Unusable
        | Cause::Other => format!("{server}: {}", chain(error)),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use slipway_providers::cluster::Cause;
    use slipway_providers::trust_error::TrustError;

    use super::of_connection;

    #[rstest]
    #[case(Cause::Unresolved, "check DNS")]
    #[case(Cause::Untrusted(TrustError::NotYet), "compare the clocks")]
    #[case(Cause::Untrusted(TrustError::Expired), "has expired")]
    #[case(Cause::Untrusted(TrustError::Issuer), "was not signed by this cluster")]
    #[case(Cause::Untrusted(TrustError::Signature), "was not signed by this cluster")]
    #[case(Cause::Untrusted(TrustError::Name), "is for another name")]
    #[case(Cause::Untrusted(TrustError::Authority), "which no server may show")]
    #[case(Cause::Refused, "nothing listens")]
    #[case(Cause::NoRoute, "no way to")]
    #[case(Cause::Timeout, "does not answer")]
    #[case(Cause::Unauthorized, "administrator's certificate")]
    #[case(Cause::Other, "something new")]
    fn errors_are_explained(#[case] cause: Cause, #[case] says: &str) {
        let error = std::io::Error::other("something new");
        let text = of_connection("api.harbour.example.com:6443", &cause, &error);
        assert!(text.contains(says), "{text}");
        assert!(text.contains("api.harbour.example.com:6443"), "{text}");
    }
}
