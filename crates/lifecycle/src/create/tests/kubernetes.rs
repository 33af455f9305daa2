//! Directories of the Kubernetes payload.

use slipway_assets::Pki;
use slipway_assets::pki::Extent;
use slipway_assets::random::Random;
use slipway_config::install_config::InstallConfig;

use super::{CONFIG, Directory, GENERATORS, KUBERNETES, put_keys};
use crate::create::{Error, Generators, create_manifests_with};

/// Many objects in a file are fine here, and a change is noticed.
#[test]
fn the_network_plugin_is_carried_as_it_is() {
    let directory = Directory::new(KUBERNETES);
    let error = directory.ignition(false).unwrap_err();
    assert!(matches!(error, Error::NetworkManifests(_)), "{error}");
    assert!(error.details()[0].contains("cni"), "{:?}", error.details());
    directory.put("cni/README", "no manifest");
    let error = directory.ignition(false).unwrap_err();
    assert_eq!(error.details(), [format!("`{}` holds no manifests", directory.at("cni").display())]);
    directory.put("cni/plugin.yaml", "a: 1\n---\nb: 2\n");
    directory.put("cni/more.json", "{}");
    directory.ignition(false).unwrap();
    let bootstrap = directory.get("bootstrap.ign");
    assert!(
        bootstrap.contains("network/plugin.yaml") && bootstrap.contains("network/more.json"),
        "{bootstrap}"
    );
    assert!(!bootstrap.contains("README"));
    directory.put("cni/plugin.yaml", &"#".repeat((4 << 20) + 1));
    let error = directory.ignition(false).unwrap_err();
    assert!(error.details()[0].ends_with("is larger than 4 MiB"), "{:?}", error.details());
}

/// The payloads have other signers.
#[test]
fn another_payload_needs_other_certificates() {
    let directory = Directory::new(KUBERNETES);
    directory.put("cni/plugin.yaml", "a: 1\n");
    directory.ignition(false).unwrap();
    directory.put("install-config.yaml", CONFIG);
    let error = directory.ignition(false).unwrap_err();
    assert!(matches!(error, Error::Renewal { .. }), "{error}");
    assert_eq!(
        error.details(),
        ["the kind of key was P256, and is now RSA 2048", "the payload was Kubernetes, and is now OpenShift",]
    );
}

/// A directory of the release that had one token for all machines.
#[test]
fn what_an_earlier_release_did_without_is_drawn() {
    let directory = Directory::new(KUBERNETES);
    directory.put("cni/plugin.yaml", "a: 1\n");
    let old = |pki: &mut Pki, _: &InstallConfig, _: Extent, _: &dyn Random| {
        let files = serde_json::json!({
            "root-ca.crt": "a", "certificate-key": "b", "bootstrap-token": "c",
            "machine-config-token-master": "d", "machine-config-token-worker": "e",
        });
        put_keys(pki, &files);
        Ok(())
    };
    let generators = Generators { keys: &old, ..GENERATORS };
    create_manifests_with(&directory.request(false), &generators).unwrap();
    let said =
        "drew what an earlier release of slipway did without: bootstrap-token-master, bootstrap-token-worker";
    assert_eq!(directory.ignition(false).unwrap().warnings, [said]);
    let state = directory.get(".slipway/state.json");
    for (name, kept) in [("certificate-key", "b"), ("machine-config-token-worker", "e")] {
        assert!(state.contains(&format!("\"{name}\": \"{kept}\"")), "{name}");
    }
    assert_eq!(directory.ignition(false).unwrap().warnings, [""; 0]);
    assert_eq!(directory.get(".slipway/state.json"), state, "drawn once");
}
