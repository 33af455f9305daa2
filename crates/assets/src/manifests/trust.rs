//! Certificates, pull secret and mirrors: whom the cluster trusts and where its images come from.

use slipway_api::openshift::{ImageDigestMirrorSet, ImageDigestMirrorSetSpec, ImageMirrors};
use slipway_config::install_config::vsphere::Tls;
use slipway_config::install_config::{InstallConfig, Platform, TrustBundlePolicy};

use crate::objects::{config_map, map, named, secret, within};
use crate::{Access, Cluster, Error, Tree};

const MACHINE_CONFIG: &str = "openshift-machine-config-operator";

pub(super) fn add(cluster: &Cluster, tree: &mut Tree) -> Result<(), Error> {
    let pki = &cluster.pki;
    let root = pki.pem("root-ca.crt");
    let root_ca = config_map(within("kube-system", "root-ca"), map([("ca.crt", root)]));
    tree.yaml("manifests/kube-system-configmap-root-ca.yaml", &root_ca, Access::Group)?;

    let bundle =
        config_map(within(MACHINE_CONFIG, "machine-config-server-ca"), map([("ca-bundle.crt", root)]));
    tree.yaml("manifests/machine-config-server-ca-configmap.yaml", &bundle, Access::Group)?;
    let pair = |name: &str, files: &str| {
        let data = map([
            ("tls.crt", pki.pem(&format!("{files}.crt"))),
            ("tls.key", pki.pem(&format!("{files}.key"))),
        ]);
        secret(within(MACHINE_CONFIG, name), "kubernetes.io/tls", data)
    };
    let signer = pair("machine-config-server-ca", "root-ca");
    tree.yaml("manifests/machine-config-server-ca-secret.yaml", &signer, Access::Owner)?;
    let serving = pair("machine-config-server-tls", "machine-config-server");
    tree.yaml("manifests/machine-config-server-tls-secret.yaml", &serving, Access::Owner)?;

    if let Some(pull_secret) = &cluster.config.pull_secret {
        let data = map([(".dockerconfigjson", secrecy::ExposeSecret::expose_secret(pull_secret))]);
        let pull_secret =
            secret(within("openshift-config", "pull-secret"), "kubernetes.io/dockerconfigjson", data);
        tree.yaml("manifests/openshift-config-secret-pull-secret.yaml", &pull_secret, Access::Owner)?;
    }
    if let Some(bundle) = trust_bundle(&cluster.config) {
        let bundle =
            config_map(within("openshift-config", "user-ca-bundle"), map([("ca-bundle.crt", bundle)]));
        tree.yaml("manifests/user-ca-bundle-config.yaml", &bundle, Access::Group)?;
    }
    if let Some(mirrors) = mirrors(&cluster.config) {
        tree.yaml("manifests/image-digest-mirror-set.yaml", &mirrors, Access::Group)?;
    }
    Ok(())
}

/// The user's certificates, and those of the vCenters: the drivers inside of the cluster verify them too.
pub(crate) fn trust_bundle(config: &InstallConfig) -> Option<String> {
    let mut parts: Vec<&str> = config.additional_trust_bundle.as_deref().into_iter().collect();
    parts.extend(vcenter_bundles(config));
    let mut bundle = String::new();
    for part in parts.iter().map(|part| part.trim()) {
        if !bundle.contains(part) {
            bundle.push_str(part);
            bundle.push('\n');
        }
    }
    (!bundle.is_empty()).then_some(bundle)
}

fn vcenter_bundles(config: &InstallConfig) -> Vec<&str> {
    let Platform::VSphere(platform) = &config.platform else { return Vec::new() };
    let bundles = platform.vcenters.iter().filter_map(|vcenter| match &vcenter.tls {
        Tls::CaBundle(pem) => Some(pem.as_str()),
        Tls::System | Tls::Thumbprint(_) | Tls::Insecure => None,
    });
    bundles.collect()
}

/// Whether all components trust the bundle, not only their proxy connections.
pub(super) fn trusted_everywhere(config: &InstallConfig) -> bool {
    trust_bundle(config).is_some()
        && (config.proxy.is_some()
            || config.trust_bundle_policy == TrustBundlePolicy::Always
            || !vcenter_bundles(config).is_empty())
}

fn mirrors(config: &InstallConfig) -> Option<ImageDigestMirrorSet> {
    let mirrors = config.mirrors.iter().map(|mirror| ImageMirrors {
        source: mirror.source.clone(),
        mirrors: mirror.mirrors.clone(),
        mirror_source_policy: mirror.source_policy.map(|policy| policy.to_string()),
    });
    let image_digest_mirrors: Vec<_> = mirrors.collect();
    if image_digest_mirrors.is_empty() {
        return None;
    }
    Some(ImageDigestMirrorSet {
        metadata: named("image-digest-mirror"),
        spec: ImageDigestMirrorSetSpec { image_digest_mirrors },
    })
}
