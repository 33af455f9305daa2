//! How a vCenter is reached, and as whom: by the VSphereConnection of its server, or, where there is none, by what OpenShift's own
//! controller would use.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client};
use slipway_api::slipway::{VDOConfigSpec, VSphereConnection};
use slipway_config::install_config::vsphere::Tls;
use slipway_engine::Reason;
use slipway_providers::cluster::call;

use super::cloud::{Cloud, Trust};
use super::problem::Problem;
use crate::controllers::connections::Insecure;
use crate::controllers::connections::read::{Read, read};
use crate::controllers::objects::{Objects, Versions};
use crate::runtime::sessions::Access;

/// What an answer depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Stamp {
    uid: Option<String>,
    generation: Option<i64>,
    versions: Versions,
}

/// Where logins come from.
pub(super) struct Logins {
    client: Client,
    /// Where the operator and its connections are.
    namespace: String,
    insecure: Insecure,
    objects: Objects,
    cloud: Cloud,
    known: Mutex<BTreeMap<String, (Stamp, Access)>>,
}

impl Logins {
    pub(super) fn new(client: Client, namespace: &str, insecure: Insecure, objects: Objects) -> Self {
        let cloud = Cloud::new(client.clone());
        let namespace = namespace.to_owned();
        Logins { client, namespace, insecure, objects, cloud, known: Mutex::default() }
    }

    pub(super) fn cloud(&self) -> &Cloud {
        &self.cloud
    }

    /// What a login to a server depends on: when it changes, what was refused is tried again.
    pub(super) fn version(&self, server: &str) -> Option<(Option<i64>, Versions)> {
        let connection = self.connection(server)?;
        Some((connection.metadata.generation, self.objects.versions(&connection.spec)))
    }

    fn connection(&self, server: &str) -> Option<VSphereConnection> {
        let mut connections = self.objects.connections();
        connections.retain(|connection| connection.spec.server.eq_ignore_ascii_case(server));
        of_machines(connections, self.objects.config().as_ref().map(|config| &config.spec))
    }

    /// The login of a server. It is read once, and again when something of it has changed.
    pub(super) async fn of(&self, server: &str, namespace: &str, secret: &str) -> Result<Access, Problem> {
        self.objects.ready().await;
        let Some(connection) = self.connection(server) else {
            return self.of_secret(server, namespace, secret).await;
        };
        let stamp = Stamp {
            uid: connection.metadata.uid.clone(),
            generation: connection.metadata.generation,
            versions: self.objects.versions(&connection.spec),
        };
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner).get(server).cloned();
        if let Some((_, access)) = known.filter(|(known, _)| *known == stamp) {
            return Ok(access);
        }
        let name = connection.metadata.name.clone().unwrap_or_default();
        let found = read(&self.client, &self.namespace, &name, &connection.spec, self.insecure).await?;
        let refused = |problem: crate::controllers::connections::problem::Problem| {
            let message = format!("the VSphereConnection `{name}`: {problem}. {}", problem.remedy());
            Problem::blind(Reason::new(problem.reason()), message)
        };
        let Read { connection, login, .. } = found.map_err(refused)?;
        login.map_err(refused)?;
        let access = Access { server: server.to_owned(), ..Access::of(&connection) };
        let mut all = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(server.to_owned(), (stamp, access.clone()));
        Ok(access)
    }

    /// As OpenShift has it: a Secret beside the Machine with a user and a password for each server.
    async fn of_secret(&self, server: &str, namespace: &str, name: &str) -> Result<Access, Problem> {
        let missing = |what: String| {
            Problem::blind(
                Reason::new("CredentialsMissing"),
                format!("there is neither a VSphereConnection with `server: {server}` nor {what}"),
            )
        };
        let secrets: Api<Secret> = Api::namespaced(self.client.clone(), namespace);
        let found = call(&format!("reading the Secret `{name}`"), secrets.get_opt(name)).await?;
        let data = found.and_then(|secret| secret.data);
        let data = data.ok_or_else(|| missing(format!("a Secret `{name}` in {namespace}")))?;
        let value = |end: &str| {
            let found = entry(&data, &format!("{server}.{end}"));
            found.ok_or_else(|| missing(format!("a key `{server}.{end}` in the Secret `{name}`")))
        };
        let (user, password) = (value("username")?, value("password")?);
        let Trust { port, thumbprint, insecure } = self.cloud.trust(server).await?;
        let tls = match thumbprint.as_deref().map(Tls::by_thumbprint) {
            Some(Some(tls)) => tls,
            Some(None) => {
                let message =
                    format!("the thumbprint of `{server}` in the cloud config is not 20 or 32 bytes");
                return Err(Problem::blind(Reason::new("BadSettings"), message));
            }
            None if insecure && self.insecure == Insecure::Allowed => Tls::Insecure,
            None => Tls::System,
        };
        Ok(Access { server: server.to_owned(), port, tls, user, password: password.into() })
    }
}

/// Of several connections to a vCenter, one that no driver names: its user is made for machines. Otherwise the first.
fn of_machines(
    connections: Vec<VSphereConnection>,
    config: Option<&VDOConfigSpec>,
) -> Option<VSphereConnection> {
    let cloud = config.and_then(|config| config.cloud_provider.as_ref()?.connections.as_ref());
    let storage = config.and_then(|config| config.storage_provider.as_ref()?.connections.as_ref());
    let named: Vec<&String> = cloud.into_iter().chain(storage).flatten().collect();
    let is_own = |connection: &VSphereConnection| {
        !connection.metadata.name.as_ref().is_some_and(|name| named.contains(&name))
    };
    let own = connections.iter().find(|connection| is_own(connection)).cloned();
    own.or_else(|| connections.into_iter().next())
}

/// The text under a key; servers are written in either case.
fn entry(data: &BTreeMap<String, ByteString>, key: &str) -> Option<String> {
    let (_, value) = data.iter().find(|(known, _)| known.eq_ignore_ascii_case(key))?;
    let text = std::str::from_utf8(&value.0).ok()?.trim_end_matches(['\r', '\n']);
    (!text.is_empty()).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};
    use slipway_api::slipway::VSphereConnection;

    use super::of_machines;

    #[rstest]
    #[case::one_for_all(&["vc"], json!({"cloudProvider": {}}), "vc")]
    #[case::one_that_drivers_name(&["vc"], json!({"cloudProvider": {"connections": ["vc"]}}), "vc")]
    #[case::own(
        &["vc-cpi", "vc-csi", "vc-machines"],
        json!({"cloudProvider": {"connections": ["vc-cpi"]}, "storageProvider": {"connections": ["vc-csi"]}}), "vc-machines"
    )]
    fn machines_have_the_connection_that_no_driver_has(
        #[case] names: &[&str],
        #[case] config: Value,
        #[case] expected: &str,
    ) {
        let connection = |name: &&str| -> VSphereConnection {
            serde_json::from_value(json!({
                "apiVersion": "slipway.dev/v1alpha1", "kind": "VSphereConnection", "metadata": {"name": name},
                "spec": {"server": "vc", "credentialsSecret": {"name": name}},
            }))
            .unwrap()
        };
        let config = serde_json::from_value(config).unwrap();
        let chosen = of_machines(names.iter().map(connection).collect(), Some(&config)).unwrap();
        assert_eq!(chosen.metadata.name.as_deref(), Some(expected));
    }
}
