//! What the health checks mean for a driver. Pure.

use slipway_api::slipway::VDOConfig;
use slipway_api::slipway::condition::{DEGRADED, INSTALLABLE, UPGRADEABLE};
use slipway_api::slipway::vdo_status::Failure;
use slipway_config::matrix::Driver;

use super::choose::{Hold, failure};
use super::status::known_reason;
use crate::runtime::conditions::{ConditionStatus, find};

/// What the checks say.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// What degrades the driver, and keeps it from being upgraded.
    pub failures: Vec<Failure>,
    /// Why it is not to be upgraded, though nothing is wrong with it.
    pub upgrade: Option<Hold>,
    /// Why it is not to be installed where it is not yet.
    pub install: Option<Hold>,
}

/// The checks are about the storage driver; the cloud provider needs only its connections. `made` says whether there is
/// somebody who makes them.
pub fn checked(driver: Driver, config: &VDOConfig, made: bool) -> Checked {
    let enabled = config.spec.checks.clone().unwrap_or_default().enabled;
    if driver != Driver::StorageProvider || !made || !enabled {
        return Checked::default();
    }
    let Some(checks) = config.status.as_ref().and_then(|status| status.checks.as_ref()) else {
        let message = "the first round of checks is not over yet".to_owned();
        let install = Hold { holds: ConditionStatus::Unknown, reason: "Checking", message };
        return Checked { install: Some(install), ..Checked::default() };
    };
    let held = |about: &str, holds: ConditionStatus| {
        let found = find(&checks.conditions, about).filter(|one| one.status == holds.as_str())?;
        let (reason, message) = (known_reason(&found.reason), found.message.clone());
        Some(Hold { holds, reason, message })
    };
    let degraded = held(DEGRADED, ConditionStatus::Yes).map(|held| {
        let remedy = "`slipway check` shows every finding, and what to do about it";
        failure("checks", held.reason, &held.message, Some(remedy))
    });
    Checked {
        failures: degraded.into_iter().collect(),
        upgrade: held(UPGRADEABLE, ConditionStatus::No)
            .or_else(|| held(UPGRADEABLE, ConditionStatus::Unknown)),
        install: held(INSTALLABLE, ConditionStatus::No),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};
    use slipway_config::matrix::Driver;

    use super::{Checked, checked};

    fn of(checks: &Value, spec: &Value, made: bool, driver: Driver) -> Checked {
        let config = json!({
            "apiVersion": "slipway.dev/v1alpha1", "kind": "VDOConfig", "metadata": {"name": "cluster"},
            "spec": {"storageProvider": {}, "checks": spec}, "status": {"checks": checks},
        });
        checked(driver, &serde_json::from_value(config).unwrap(), made)
    }

    fn status(degraded: &str, upgradeable: &str, installable: &str) -> Value {
        let condition = |about: &str, status: &str| {
            json!({
                "type": about, "status": status, "reason": "check_deprecated_vcenter", "message": "old",
                "lastTransitionTime": "2026-11-16T00:00:00Z",
            })
        };
        json!({"conditions": [
            condition("Degraded", degraded), condition("Upgradeable", upgradeable), condition("Installable", installable),
        ]})
    }

    #[rstest]
    #[case::well(["False", "True", "True"], [false, false, false])]
    #[case::degraded(["True", "False", "False"], [true, true, true])]
    #[case::no_upgrade(["False", "False", "True"], [false, true, false])]
    #[case::nobody_knows(["False", "Unknown", "False"], [false, true, true])]
    #[case::not_read(["False", "Unknown", "Unknown"], [false, true, false])]
    fn what_findings_lead_to(#[case] conditions: [&str; 3], #[case] expected: [bool; 3]) {
        let [degraded, upgradeable, installable] = conditions;
        let checks = status(degraded, upgradeable, installable);
        let found = of(&checks, &json!({}), true, Driver::StorageProvider);
        let is = [!found.failures.is_empty(), found.upgrade.is_some(), found.install.is_some()];
        assert_eq!(is, expected, "{found:?}");
        if let Some(held) = &found.upgrade {
            assert_eq!((held.reason, held.message.as_str()), ("check_deprecated_vcenter", "old"));
        }
        let nothing = Checked::default();
        assert_eq!(of(&checks, &json!({}), false, Driver::StorageProvider), nothing, "nobody makes checks");
        assert_eq!(of(&checks, &json!({"enabled": false}), true, Driver::StorageProvider), nothing);
        assert_eq!(of(&checks, &json!({}), true, Driver::CloudProvider), nothing);
    }

    #[test]
    fn nothing_is_installed_before_the_first_round() {
        let found = of(&Value::Null, &json!({}), true, Driver::StorageProvider);
        assert_eq!(found.install.map(|held| held.reason), Some("Checking"));
        assert!(found.failures.is_empty() && found.upgrade.is_none());
    }
}
