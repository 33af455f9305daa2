//! For which vCenter the login in a Secret is.

use thiserror::Error;

use crate::well_known::OPERATOR_NAMESPACE;

/// The key of a Secret that says for which vCenter its login is; several are separated by spaces or commas.
pub const SERVER_KEY: &str = "server";

/// A login that is sent to no server: a user who may write connections, and may not read Secrets, must not have it sent to a server
/// of their own.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Unbound {
    #[error(
        "the Secret `{secret}` does not say that its login is for `{server}`: it has no key `{SERVER_KEY}`"
    )]
    Unsaid { secret: String, server: String },
    #[error("the login in the Secret `{secret}` is for another vCenter than `{server}`")]
    Another { secret: String, server: String },
}

impl Unbound {
    /// What to do about it.
    pub fn remedy(&self) -> String {
        match self {
            Unbound::Unsaid { secret, server } => format!(
                "if it is, add the key: kubectl --namespace {OPERATOR_NAMESPACE} patch secret {secret} --patch \
                 '{{\"stringData\":{{\"{SERVER_KEY}\":\"{server}\"}}}}'"
            ),
            Unbound::Another { .. } => {
                "give the connection a Secret with a login for its own vCenter; `slipway drivers configure` creates one"
                    .to_owned()
            }
        }
    }
}

/// Whether a login may be sent to a server, by what the Secret has under [`SERVER_KEY`].
pub fn bound(secret: &str, said: Option<&str>, server: &str) -> Result<(), Unbound> {
    let (secret, owned) = (secret.to_owned(), server.to_owned());
    let mut servers =
        said.unwrap_or_default().split([' ', ',', '\r', '\n', '\t']).filter(|one| !one.is_empty()).peekable();
    if servers.peek().is_none() {
        return Err(Unbound::Unsaid { secret, server: owned });
    }
    if servers.any(|one| one.eq_ignore_ascii_case(server)) {
        return Ok(());
    }
    Err(Unbound::Another { secret, server: owned })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::{Unbound, bound};

    #[rstest]
    #[case::its_own(Some("vc.example.com\n"), Ok(()))]
    #[case::one_of_several(Some("vc2.example.com, VC.example.com"), Ok(()))]
    #[case::another(Some("vc.example.com.attacker.test"), Err("another"))]
    #[case::prefix(Some("vc.example"), Err("another"))]
    #[case::empty(Some(" \n"), Err("unsaid"))]
    #[case::old(None, Err("unsaid"))]
    fn a_login_goes_to_its_own_vcenter(#[case] said: Option<&str>, #[case] expected: Result<(), &str>) {
        let judged = bound("login", said, "vc.example.com").map_err(|problem| match problem {
            Unbound::Unsaid { .. } => "unsaid",
            Unbound::Another { .. } => "another",
        });
        assert_eq!(judged, expected);
    }
}
