//! What a round depends on. When any of it changes, the next round is due at once.

use slipway_api::slipway::condition::{AUTHENTICATED, READY};
use slipway_api::slipway::{VDOConfig, VSphereConnection};
use slipway_assess::check::target::{CheckTarget, NoLogin};
use slipway_providers::vsphere::Trust;

use crate::controllers::connections::Insecure;
use crate::controllers::connections::problem::Problem;
use crate::controllers::drivers::ADOPT;
use crate::runtime::conditions::find;
use crate::runtime::nodes::All;

/// What a round depends on, in short.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Input {
    pub config: ConfigInput,
    pub connections: Vec<ConnectionInput>,
    /// Versions of whatever else is read.
    pub versions: Vec<Option<String>>,
    /// All nodes in one number.
    pub nodes: u64,
}

/// Of the VDOConfig.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConfigInput {
    uid: Option<String>,
    generation: Option<i64>,
    adopt: bool,
    /// What findings mean depends on whether the storage driver is there.
    deployed: Option<String>,
}

impl ConfigInput {
    pub fn of(config: &VDOConfig) -> Self {
        let status = config.status.as_ref().and_then(|status| status.storage_provider.as_ref());
        ConfigInput {
            uid: config.metadata.uid.clone(),
            generation: config.metadata.generation,
            adopt: adopts(config),
            deployed: status.and_then(|status| status.deployed_version.clone()),
        }
    }
}

/// Drivers of others may be taken over, so they are no obstacle.
pub fn adopts(config: &VDOConfig) -> bool {
    config.metadata.annotations.as_ref().is_some_and(|all| all.contains_key(ADOPT))
}

/// Of a connection. That it works again is a reason to look again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConnectionInput {
    name: Option<String>,
    generation: Option<i64>,
    ready: Option<(String, String)>,
}

impl ConnectionInput {
    pub fn of(connection: &VSphereConnection) -> Self {
        let conditions = connection.status.as_ref().map(|status| &*status.conditions).unwrap_or_default();
        ConnectionInput {
            name: connection.metadata.name.clone(),
            generation: connection.metadata.generation,
            ready: find(conditions, READY).map(|ready| (ready.status.clone(), ready.reason.clone())),
        }
    }
}

/// What the checks see of all nodes, in one number.
pub fn nodes(nodes: &All) -> u64 {
    nodes.values().fold(0, |sum, node| sum.wrapping_add(node.seen))
}

/// Logins that were refused a moment ago are not tried again here: vCenters lock accounts, and whoever validates the
/// connection tries in its own time. Nothing is sent where a connection does without verifying, unless that is allowed.
pub fn skip_refused_logins(subject: &mut CheckTarget, connections: &[VSphereConnection], insecure: Insecure) {
    for vcenter in &mut subject.vcenters {
        let server = vcenter.server.clone();
        let mut leading = connections.iter().filter(|connection| connection.spec.server == server);
        // Of several connections to one vCenter the first is used.
        let used = leading.clone().next();
        let is_insecure =
            |one: &VSphereConnection| one.spec.tls.as_ref().is_some_and(|tls| tls.insecure == Some(true));
        if insecure == Insecure::Refused && vcenter.trust == Trust::Anything && leading.any(is_insecure) {
            vcenter.login = Err(NoLogin::Refused(Problem::InsecureRefused.to_string()));
            continue;
        }
        let Some((connection, status)) = used.and_then(|used| Some((used, used.status.as_ref()?))) else {
            continue;
        };
        let Some(found) = find(&status.conditions, AUTHENTICATED) else { continue };
        let counted = matches!(found.reason.as_str(), "InvalidLogin" | "LoginRefused");
        if counted && status.observed_generation == connection.metadata.generation {
            vcenter.login = Err(NoLogin::Refused(found.message.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use slipway_assess::check::target::{CheckTarget, NoLogin, VCenter};
    use slipway_providers::vsphere::Trust;

    use super::skip_refused_logins;
    use crate::controllers::connections::Insecure;

    #[test]
    fn a_refused_login_is_not_tried_again() {
        let login = slipway_providers::vsphere::Login { user: "a@b".to_owned(), password: "c".into() };
        let vcenter = |server: &str| VCenter {
            server: server.to_owned(),
            port: 443,
            trust: Trust::System,
            login: Ok(login.clone()),
            resources: Vec::new(),
        };
        let mut subject =
            CheckTarget { vcenters: vec![vcenter("north"), vcenter("south")], ..CheckTarget::default() };
        let connection = json!({
            "apiVersion": "slipway.dev/v1alpha1", "kind": "VSphereConnection",
            "metadata": {"name": "south", "generation": 2},
            "spec": {"server": "south", "credentialsSecret": {"name": "south"}},
            "status": {"observedGeneration": 2, "conditions": [{
                "type": "Authenticated", "status": "False", "reason": "InvalidLogin", "message": "wrong",
                "lastTransitionTime": "2026-11-16T00:00:00Z",
            }]},
        });
        let insecure = json!({
            "metadata": {"name": "east"},
            "spec": {"server": "east", "credentialsSecret": {"name": "east"}, "tls": {"insecure": true}},
        });
        let connections = [connection, insecure].map(|one| serde_json::from_value(one).unwrap());
        subject.vcenters.push(VCenter { trust: Trust::Anything, ..vcenter("east") });
        // As OpenShift's own configuration has it.
        subject.vcenters.push(VCenter { trust: Trust::Anything, ..vcenter("west") });
        skip_refused_logins(&mut subject, &connections, Insecure::Allowed);
        assert!(subject.vcenters[2].login.is_ok());
        skip_refused_logins(&mut subject, &connections, Insecure::Refused);
        assert!(subject.vcenters[2].login.is_err() && subject.vcenters[3].login.is_ok());
        assert!(subject.vcenters[0].login.is_ok());
        let refused = subject.vcenters[1].login.as_ref().err();
        assert_eq!(refused, Some(&NoLogin::Refused("wrong".to_owned())));
    }
}
