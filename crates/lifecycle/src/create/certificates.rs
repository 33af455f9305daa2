//! When the certificates of a cluster are made, and made anew.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use slipway_assets::{Pki, names};
use slipway_config::install_config::{Curve, InstallConfig, PayloadType, SignerKey};

use super::{Error, Request};
use crate::store::{Digest, State, Step, Store};

/// An installation takes an hour or two, and machines are not always started at once.
const NEEDED: SignedDuration = SignedDuration::from_hours(24);

/// The kind of key that the signers of a state should have. Where the install-config leaves it open, earlier releases drew RSA keys for
/// every payload, and these are as good.
fn signer_key(state: &State, config: &InstallConfig) -> SignerKey {
    const EARLIER: SignerKey = SignerKey::Rsa(2048);
    let earlier = config.signer_key.is_none() && state.certificates_for == made_from(config, EARLIER);
    if earlier { EARLIER } else { config.signer_key() }
}

/// Everything the names in the certificates, and their keys, depend on: by what people call it.
pub(super) fn named(config: &InstallConfig, key: SignerKey) -> BTreeMap<String, String> {
    let key = match key {
        SignerKey::Rsa(bits) => format!("RSA {bits}"),
        SignerKey::Ecdsa(Curve::P256) => "P256".to_owned(),
        SignerKey::Ecdsa(Curve::P384) => "P384".to_owned(),
        SignerKey::Ecdsa(Curve::P521) => "P521".to_owned(),
    };
    let list = |items: Vec<String>| if items.is_empty() { "none".to_owned() } else { items.join(", ") };
    let service = config.networking.service.iter().map(ToString::to_string).collect();
    let vips = names::vips(config).api.iter().map(ToString::to_string).collect();
    let named = [
        ("the domain of the cluster", config.cluster_domain()),
        ("the payload", config.payload.kind().to_string()),
        ("the platform", config.platform.name().to_owned()),
        ("the kind of key", key),
        ("the service network", list(service)),
        ("the virtual address of the API", list(vips)),
    ];
    named.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Tells whether certificates were made from the same.
pub(super) fn made_from(config: &InstallConfig, key: SignerKey) -> Digest {
    let named = named(config, key);
    let lines = ["the domain of the cluster", "the platform", "the kind of key"];
    let mut lines: Vec<String> = lines.iter().filter_map(|name| named.get(*name).cloned()).collect();
    lines.extend(config.networking.service.iter().map(ToString::to_string));
    lines.extend(names::vips(config).api.iter().map(ToString::to_string));
    // Clusters of old were all OpenShift's.
    if config.payload.kind() == PayloadType::Kubernetes {
        lines.push("Kubernetes".to_owned());
    }
    Digest::of(lines.join("\n").as_bytes())
}

/// What is in the certificates of a state and is not what it should be, in words.
fn changes(state: &State, now: &BTreeMap<String, String>) -> Vec<String> {
    let changed = state.named_in_certificates.iter().filter_map(|(name, old)| {
        let new = now.get(name)?;
        (new != old).then(|| format!("{name} was {old}, and is now {new}"))
    });
    let changed: Vec<String> = changed.collect();
    // A state of old does not say.
    if changed.is_empty() { vec!["names or addresses in them changed".to_owned()] } else { changed }
}

/// Replaces certificates that no longer fit the configuration, or are about to expire. Once there are files that
/// machines may have booted from, only by force. The old ones are kept in the backup.
pub(super) fn renew(
    mut state: State,
    config: &InstallConfig,
    request: &Request<'_>,
    store: &mut Store,
    warnings: &mut Vec<String>,
) -> Result<State, Error> {
    let key = signer_key(&state, config);
    let (made_from, named) = (made_from(config, key), named(config, key));
    let expires = state.pki.expires();
    let handed_out = state.steps.get(&Step::IgnitionConfigs).is_some_and(|step| !step.files.is_empty());
    let why = if state.certificates_for != made_from {
        let changed = changes(&state, &named);
        if handed_out && !request.force {
            return Err(Error::Renewal { changed });
        }
        changed.join("; ")
    } else if expires.duration_since(request.now) >= NEEDED {
        state.named_in_certificates = named;
        // The state of an earlier release.
        let drawn = state.pki.draw_missing_secrets(config.payload.kind(), request.random);
        if !drawn.is_empty() {
            let machines = if handed_out {
                "; machines that booted from Ignition configurations of that release do not join with these: start them \
                 again from new ones"
            } else {
                ""
            };
            let drawn = drawn.join(", ");
            warnings.push(format!("drew what an earlier release of slipway did without: {drawn}{machines}"));
        }
        return Ok(state);
    } else if request.force {
        "the old ones had expired, or were about to".to_owned()
    } else {
        return Err(Error::Expired { expires, now: request.now });
    };
    store.replaces_keys(&state);
    warnings.push(format!("made new certificates: {why}"));
    if handed_out {
        warnings.push(
            "machines that booted from the old Ignition configurations do not trust the new certificates, nor does \
             the old auth/kubeconfig: start them again from new ones"
                .to_owned(),
        );
    }
    state.pki = Pki::new(request.now);
    state.certificates_for = self::made_from(config, config.signer_key());
    state.named_in_certificates = self::named(config, config.signer_key());
    Ok(state)
}
