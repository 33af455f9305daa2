//! When certificates are made anew, and when that has to be asked for.

use jiff::SignedDuration;
use slipway_assets::pki::SHORTEST_VALIDITY;

use super::{CONFIG, Directory, fate};
use crate::store::FileResult;

/// No machine has booted from them yet.
#[test]
fn certificates_are_made_anew_before_they_were_handed_out() {
    let directory = Directory::new(CONFIG);
    directory.manifests(false).unwrap();
    let old = directory.get(".slipway/state.json");
    directory.put("install-config.yaml", &CONFIG.replace("example.com", "example.org"));
    let outcome = directory.manifests(false).unwrap();
    assert_eq!(
        outcome.warnings,
        [
            "made new certificates: the domain of the cluster was pontoon.example.com, and is now pontoon.example.org"
        ]
    );
    assert_eq!(directory.get(&format!("{}/state.json", outcome.backup.unwrap())), old);
    assert!(directory.manifests(false).unwrap().backup.is_none());
}

#[test]
fn certificates_that_were_handed_out_are_replaced_by_force_only() {
    let mut directory = Directory::new(CONFIG);
    directory.ignition(false).unwrap();
    let (old, kubeconfig) = (directory.get(".slipway/state.json"), directory.get("auth/kubeconfig"));
    directory.now = directory.now.checked_add(SignedDuration::from_hours(1)).unwrap();
    directory.put("install-config.yaml", &CONFIG.replace("example.com", "example.org"));
    for result in [directory.manifests(false), directory.ignition(false)] {
        let error = result.unwrap_err();
        assert_eq!(
            error.details(),
            ["the domain of the cluster was pontoon.example.com, and is now pontoon.example.org"]
        );
        assert!(error.hint().unwrap().contains("--force"), "{error}");
    }
    assert_eq!(directory.get(".slipway/state.json"), old);
    assert!(!directory.at(".slipway/backup").exists());

    let forced = directory.ignition(true).unwrap();
    assert!(forced.warnings.iter().any(|warning| warning.contains("do not trust")), "{:?}", forced.warnings);
    let backup = forced.backup.unwrap();
    assert_eq!(directory.get(&format!("{backup}/state.json")), old);
    assert_eq!(directory.get(&format!("{backup}/auth/kubeconfig")), kubeconfig);
    assert_ne!(directory.get("auth/kubeconfig"), kubeconfig);
}

#[test]
fn old_certificates_are_not_handed_out() {
    let mut directory = Directory::new(CONFIG);
    directory.ignition(false).unwrap();
    let expires = directory.now.checked_add(SHORTEST_VALIDITY).unwrap();
    let before = |hours| expires.checked_sub(SignedDuration::from_hours(hours)).unwrap();
    directory.now = before(25);
    directory.ignition(false).unwrap();
    directory.now = before(23);
    let error = directory.ignition(false).unwrap_err();
    assert_eq!(error.to_string(), format!("the certificates of this directory expire at {expires:.0}"));
    directory.now = before(-24);
    let error = directory.manifests(false).unwrap_err();
    assert_eq!(error.to_string(), format!("the certificates of this directory expired at {expires:.0}"));
    let renewed = directory.ignition(true).unwrap();
    assert_eq!(fate(&renewed, "bootstrap.ign"), Some(FileResult::Written));
    assert!(directory.at(&renewed.backup.unwrap()).join("state.json").exists());
    assert!(directory.ignition(false).unwrap().files.iter().all(|(_, fate)| *fate == FileResult::Unchanged));
}
