//! What answers hold, slim. The engine writes numbers and truths as text most of the time, and not always.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde_json::Value;
use slipway_config::ids::{CLUSTER_MARK, InfraId, OBJECT_MARK};
use uuid::Uuid;

/// A text, or a number as text; empty where there is none.
pub fn text(value: &Value, path: &str) -> String {
    match value.pointer(path) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        Some(Value::Bool(truth)) => truth.to_string(),
        _ => String::new(),
    }
}

pub fn number(value: &Value, path: &str) -> Option<u64> {
    text(value, path).parse().ok()
}

pub fn truth(value: &Value, path: &str) -> bool {
    text(value, path) == "true"
}

/// An inner list: `/tags/tag`. Empty ones lack one key or both.
pub fn items<'v>(value: &'v Value, path: &str) -> &'v [Value] {
    value.pointer(path).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

pub fn id(value: &Value) -> String {
    text(value, "/id")
}

pub fn name(value: &Value) -> String {
    text(value, "/name")
}

/// The marks of an object, as the comment or description it carries has them.
pub fn marks(infra_id: &InfraId, mark: Uuid) -> String {
    format!("{CLUSTER_MARK}={infra_id} {OBJECT_MARK}={mark}")
}

/// The marks in a text that people may have added to.
pub fn marks_in(text: &str) -> Option<(InfraId, Uuid)> {
    let found: BTreeMap<&str, &str> =
        text.split_whitespace().filter_map(|word| word.split_once('=')).collect();
    let infra_id = InfraId::try_from((*found.get(CLUSTER_MARK)?).to_owned()).ok()?;
    Some((infra_id, found.get(OBJECT_MARK)?.parse().ok()?))
}

/// Addresses as the guest agent reports them, without those that only the machine itself can use.
pub fn addresses(machine: &Value) -> Vec<IpAddr> {
    let mut addresses: Vec<IpAddr> = Vec::new();
    for device in items(machine, "/reported_devices/reported_device") {
        for ip in items(device, "/ips/ip") {
            let Ok(address) = text(ip, "/address").parse::<IpAddr>() else { continue };
            let is_local = match address {
                IpAddr::V4(address) => address.is_loopback() || address.is_link_local(),
                IpAddr::V6(address) => address.is_loopback() || address.is_unicast_link_local(),
            };
            if !is_local && !addresses.contains(&address) {
                addresses.push(address);
            }
        }
    }
    addresses
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use serde_json::json;
    use slipway_config::ids::InfraId;
    use uuid::Uuid;

    use super::{addresses, items, marks, marks_in, number, truth};

    #[test]
    fn numbers_and_truths_come_as_text() {
        let answer = json!({"memory": "2147483648", "priority": 5, "sparse": "true", "tags": {}});
        assert_eq!((number(&answer, "/memory"), number(&answer, "/priority")), (Some(1 << 31), Some(5)));
        assert!(truth(&answer, "/sparse") && !truth(&answer, "/clone"));
        assert!(items(&answer, "/tags/tag").is_empty());
    }

    #[test]
    fn marks_are_found_beside_what_people_write() {
        let infra_id = InfraId::try_from("barge-x7k2p".to_owned()).unwrap();
        let mark = Uuid::from_u128(7);
        let text = format!("do not touch! {}", marks(&infra_id, mark));
        assert_eq!(marks_in(&text), Some((infra_id, mark)));
        assert_eq!(marks_in("slipway.dev/cluster=barge-x7k2p"), None);
    }

    #[test]
    fn only_addresses_that_others_reach_count() {
        let ips = |addresses: &[&str]| json!({"ips": {"ip": addresses.iter().map(|a| json!({"address": a})).collect::<Vec<_>>()}});
        let machine = json!({"reported_devices": {"reported_device": [
            ips(&["127.0.0.1", "::1"]), ips(&["10.0.0.5", "fe80::1", "fd00::5"]), ips(&["10.0.0.5"]), {},
        ]}});
        let expected: Vec<IpAddr> =
            ["10.0.0.5", "fd00::5"].iter().map(|text| text.parse().unwrap()).collect();
        assert_eq!(addresses(&machine), expected);
    }
}
