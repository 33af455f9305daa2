//! The failure domain of a machine: what fails together with it.

use std::fmt;

use serde_json::Value;
use slipway_api::openshift::Machine;

use super::names::{REGION_LABEL, ZONE_LABEL, label};

/// Where a machine is, as far as it says so.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FailureDomain {
    /// The endpoint it lives on: a vCenter.
    pub server: Option<String>,
    /// Region and zone by the machine's labels, or else datacenter and compute cluster.
    pub place: Option<String>,
}

impl FailureDomain {
    pub fn of(machine: &Machine) -> Self {
        let text = |path: &str| {
            let value = machine.spec.provider_spec.value.pointer(path).and_then(Value::as_str);
            value.filter(|text| !text.is_empty()).map(str::to_owned)
        };
        let labels = [REGION_LABEL, ZONE_LABEL].map(|name| label(&machine.metadata, name));
        let place = match labels {
            [Some(region), Some(zone)] => Some(format!("{region}/{zone}")),
            [_, Some(zone)] => Some(zone.to_owned()),
            _ => place(text("/workspace/datacenter"), text("/workspace/resourcePool").as_deref()),
        };
        FailureDomain { server: text("/workspace/server"), place }
    }

    /// Whether nothing is known about it.
    pub fn is_unknown(&self) -> bool {
        *self == FailureDomain::default()
    }
}

/// A pool is `/dc1/host/cluster1/Resources`, perhaps with more behind.
fn place(datacenter: Option<String>, pool: Option<&str>) -> Option<String> {
    let mut parts = pool.unwrap_or_default().split('/').skip_while(|part| *part != "host");
    match (datacenter, parts.nth(1)) {
        (Some(datacenter), Some(cluster)) => Some(format!("{datacenter}/{cluster}")),
        (datacenter, _) => datacenter,
    }
}

impl fmt::Display for FailureDomain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.place, &self.server) {
            (Some(place), Some(server)) => write!(f, "{place} on {server}"),
            (Some(one), None) | (None, Some(one)) => f.write_str(one),
            (None, None) => f.write_str("unknown"),
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::FailureDomain;

    #[rstest]
    #[case::labels(
        json!({"machine.openshift.io/region": "east", "machine.openshift.io/zone": "a"}),
        json!({"server": "vc1", "datacenter": "dc1"}),
        "east/a on vc1"
    )]
    #[case::workspace(
        json!({}),
        json!({"server": "vc1", "datacenter": "dc1", "resourcePool": "/dc1/host/cluster1/Resources/pool"}),
        "dc1/cluster1 on vc1"
    )]
    #[case::datacenter(json!({}), json!({"server": "vc1", "datacenter": "dc1"}), "dc1 on vc1")]
    #[case::zone_alone(json!({"machine.openshift.io/zone": "a"}), json!({}), "a")]
    #[case::nothing(json!({}), json!({}), "unknown")]
    fn labels_come_first(#[case] labels: Value, #[case] workspace: Value, #[case] expected: &str) {
        let machine = serde_json::from_value(json!({
            "apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine", "metadata": {"labels": labels},
            "spec": {"providerSpec": {"value": {"workspace": workspace}}},
        }));
        assert_eq!(FailureDomain::of(&machine.unwrap()).to_string(), expected);
    }
}
