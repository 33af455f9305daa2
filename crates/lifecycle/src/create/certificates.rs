//! When the certificates of a cluster are made, and made anew.

use jiff::SignedDuration;
use slipway_assets::names;
use slipway_config::install_config::{Curve, InstallConfig, SignerKey};

use super::{Error, Generators, Request};
use crate::store::{Digest, State};

/// An installation takes an hour or two, and machines are not always started at once.
const NEEDED: SignedDuration = SignedDuration::from_hours(24);

/// Everything the names in the certificates, and their keys, depend on.
pub(super) fn made_from(config: &InstallConfig) -> Digest {
    let key = match config.signer_key {
        SignerKey::Rsa(bits) => format!("RSA {bits}"),
        SignerKey::Ecdsa(Curve::P256) => "P256".to_owned(),
        SignerKey::Ecdsa(Curve::P384) => "P384".to_owned(),
        SignerKey::Ecdsa(Curve::P521) => "P521".to_owned(),
    };
    let mut lines = vec![config.cluster_domain(), config.platform.name().to_owned(), key];
    lines.extend(config.networking.service.iter().map(ToString::to_string));
    lines.extend(names::vips(config).api.iter().map(ToString::to_string));
    Digest::of(lines.join("\n").as_bytes())
}

/// Replaces certificates that no longer fit the configuration, or are about to expire.
pub(super) fn renew(
    mut state: State,
    config: &InstallConfig,
    request: &Request<'_>,
    generators: &Generators<'_>,
    warnings: &mut Vec<String>,
) -> Result<State, Error> {
    let made_from = made_from(config);
    let expires = state.pki.expires();
    let why = if state.certificates_for != made_from {
        "names or addresses in them changed"
    } else if expires.duration_since(request.now) >= NEEDED {
        return Ok(state);
    } else if request.force {
        "the old ones had expired, or were about to"
    } else {
        return Err(Error::Expired { expires, now: request.now });
    };
    warnings.push(format!("made new certificates: {why}"));
    state.pki = (generators.pki)(config, request.now, request.random)?;
    state.certificates_for = made_from;
    Ok(state)
}
