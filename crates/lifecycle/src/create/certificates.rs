//! When the certificates of a cluster are made, and made anew.

use jiff::{SignedDuration, Timestamp};
use slipway_assets::random::Random;
use slipway_assets::{Identity, Pki};
use slipway_config::install_config::{Curve, InstallConfig, Platform, SignerKey, Vips, kubevirt};

use super::{Error, Generators, Request};
use crate::store::{Digest, State};

/// An installation takes an hour or two, and machines are not always started at once.
const NEEDED: SignedDuration = SignedDuration::from_hours(24);

/// The keys and certificates of a new cluster.
#[expect(clippy::unnecessary_wraps, reason = "making keys can fail; the generator is not there yet")]
pub(super) fn generate(
    _config: &InstallConfig,
    _identity: &Identity,
    _now: Timestamp,
    _random: &dyn Random,
) -> Result<Pki, slipway_assets::Error> {
    Ok(Pki::default())
}

/// When the first of them expires.
pub(super) fn expires(_pki: &Pki) -> Option<Timestamp> {
    None
}

/// Everything the names in the certificates, and their keys, depend on.
pub(super) fn made_from(config: &InstallConfig) -> Digest {
    let none = Vips::default();
    let vips = match &config.platform {
        Platform::VSphere(platform) => &platform.vips,
        Platform::Ovirt(platform) => &platform.vips,
        Platform::KubeVirt(platform) => match &platform.network {
            kubevirt::Network::Attachment { vips, .. } => vips,
            kubevirt::Network::Pods => &none,
        },
        Platform::None => &none,
    };
    let key = match config.signer_key {
        SignerKey::Rsa(bits) => format!("RSA {bits}"),
        SignerKey::Ecdsa(Curve::P256) => "P256".to_owned(),
        SignerKey::Ecdsa(Curve::P384) => "P384".to_owned(),
        SignerKey::Ecdsa(Curve::P521) => "P521".to_owned(),
    };
    let mut lines = vec![config.cluster_domain(), config.platform.name().to_owned(), key];
    lines.extend(config.networking.service.iter().map(ToString::to_string));
    lines.extend(vips.api.iter().chain(&vips.ingress).map(ToString::to_string));
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
    let expires = (generators.expires)(&state.pki);
    let expired = expires.filter(|expires| expires.duration_since(request.now) < NEEDED);
    let why = match expired {
        _ if state.certificates_for != made_from => "names or addresses in them changed",
        Some(_) if request.force => "the old ones had expired, or were about to",
        Some(expires) => return Err(Error::Expired { expires, now: request.now }),
        None => return Ok(state),
    };
    warnings.push(format!("made new certificates: {why}"));
    state.pki = (generators.pki)(config, &state.identity, request.now, request.random)?;
    state.certificates_for = made_from;
    Ok(state)
}
