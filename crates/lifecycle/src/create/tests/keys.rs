//! Which keys are drawn when, with the real ones.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{CONFIG, Directory, KUBERNETES, fate};
use crate::create::{Error, Generators, Outcome, create_ignition_with, create_manifests_with};
use crate::store::FileResult;

/// Quick to draw.
const ECDSA: &str = "pki: {signerCertificates: {key: {algorithm: ECDSA, ecdsa: {curve: P256}}}}\n";
const RSA: &str = "pki: {signerCertificates: {key: {algorithm: RSA, rsa: {keySize: 2048}}}}\n";

impl Directory {
    fn real_manifests(&self) -> Result<Outcome, Error> {
        create_manifests_with(&self.request(false), &Generators::default())
    }

    fn real_ignition(&self) -> Result<Outcome, Error> {
        create_ignition_with(&self.request(false), &Generators::default())
    }

    fn state(&self) -> Value {
        serde_json::from_str(&self.get(".slipway/state.json")).unwrap()
    }

    fn keys(&self) -> BTreeMap<String, String> {
        serde_json::from_value(self.state()["pki"]["files"].clone()).unwrap()
    }
}

fn openshift() -> String {
    let image = "payload: {releaseImage: 'quay.io/openshift-release-dev/ocp-release:4.20.4-x86_64'}\n";
    let gates = "featureSet: TechPreviewNoUpgrade\n";
    format!("{CONFIG}{ECDSA}{image}{gates}")
}

/// Manifests are made with few keys. Later steps add theirs, and every key that was drawn stays.
#[test]
fn keys_are_drawn_when_a_step_needs_them() {
    for (config, signers) in [(openshift(), 11), (KUBERNETES.to_owned(), 4)] {
        let mut directory = Directory::new(&config);
        directory.put("cni/plugin.yaml", "a: 1\n");
        directory.real_manifests().unwrap();
        let first = directory.keys();
        let drawn = |keys: &BTreeMap<String, String>| {
            keys.keys().filter(|name| name.ends_with("-ca.key") || name.ends_with("-signer.key")).count()
        };
        assert_eq!(drawn(&first), 1, "{:?}", first.keys());
        directory.real_manifests().unwrap();
        assert_eq!(directory.keys(), first);

        directory.now += jiff::SignedDuration::from_hours(1);
        let outcome = directory.real_ignition().unwrap();
        assert_eq!(outcome.warnings.iter().filter(|text| text.contains("drew")).count(), 0);
        let all = directory.keys();
        assert_eq!(drawn(&all), signers, "{:?}", all.keys());
        assert!(first.iter().all(|(name, key)| all[name] == *key), "drawn once");
        assert_eq!(fate(&outcome, "bootstrap.ign"), Some(FileResult::Written));
        let manifests = outcome.files.iter().filter(|(path, _)| path.starts_with("manifests/"));
        assert!(manifests.clone().count() > 0);
        assert!(manifests.clone().all(|(_, fate)| *fate == FileResult::Unchanged));

        directory.real_ignition().unwrap();
        directory.real_manifests().unwrap();
        assert_eq!(directory.keys(), all);
    }
}

/// The signers of the Kubernetes payload were RSA by default in earlier releases. Such a directory goes on with them.
#[test]
fn signers_of_an_earlier_release_stay() {
    let written = |key: &str| format!("{KUBERNETES}{key}");
    let mut directory = Directory::new(&written(RSA));
    directory.put("cni/plugin.yaml", "a: 1\n");
    directory.real_ignition().unwrap();
    let keys = directory.keys();
    directory.put("install-config.yaml", KUBERNETES);
    assert_eq!(directory.real_ignition().unwrap().warnings, [""; 0]);
    assert_eq!(directory.keys(), keys);
    assert_eq!(directory.state()["namedInCertificates"]["the kind of key"], "RSA 2048");

    // A key that is written counts.
    directory.put("install-config.yaml", &written(ECDSA));
    let error = directory.real_ignition().unwrap_err();
    assert_eq!(error.details(), ["the kind of key was RSA 2048, and is now P256"]);

    // New ones are of the kind that is the default now.
    directory.put("install-config.yaml", KUBERNETES);
    directory.now += slipway_assets::pki::SHORTEST_VALIDITY;
    create_ignition_with(&directory.request(true), &Generators::default()).unwrap();
    assert_ne!(directory.keys(), keys);
    assert_eq!(directory.state()["namedInCertificates"]["the kind of key"], "P256");
    directory.put("install-config.yaml", &written(ECDSA));
    directory.real_ignition().unwrap();
}
