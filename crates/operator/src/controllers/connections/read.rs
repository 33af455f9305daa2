//! A connection with what it names: the login, and the authorities.

use k8s_openapi::api::core::v1::{ConfigMap, Secret as KubeSecret};
use kube::{Api, Client};
use slipway_api::slipway::VSphereConnectionSpec;
use slipway_assets::drivers::Connection;
use slipway_assets::drivers::connection::{SERVER_KEY, bound};
use slipway_config::secret::Secret;
use slipway_providers::cluster::{AccessError, call};

use super::problem::Problem;

/// A connection as it was read. Without a login it can still be found out whether the vCenter answers.
#[derive(Debug)]
pub struct Read {
    pub connection: Connection,
    pub login: Result<(), Problem>,
    /// The version of the Secret.
    pub version: Option<String>,
}

/// What is made of connections whose vCenter's certificate is not verified.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Insecure {
    /// Whoever may write a connection does not decide that its login can be read on the way.
    #[default]
    Refused,
    Allowed,
}

/// Reads what a connection names, from its own namespace only.
pub async fn read(
    client: &Client,
    namespace: &str,
    name: &str,
    spec: &VSphereConnectionSpec,
    insecure: Insecure,
) -> Result<Result<Read, Problem>, AccessError> {
    if insecure == Insecure::Refused && spec.tls.as_ref().is_some_and(|tls| tls.insecure == Some(true)) {
        return Ok(Err(Problem::InsecureRefused));
    }
    let authorities = match spec.tls.as_ref().and_then(|tls| tls.ca_bundle.as_ref()) {
        None => None,
        Some(bundle) => {
            let maps: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
            let doing = format!("reading the ConfigMap `{}`", bundle.name);
            let found = call(&doing, maps.get_opt(&bundle.name)).await?;
            let pem = found.and_then(|map| map.data?.remove(&bundle.key));
            if pem.is_none() {
                let (name, key) = (bundle.name.clone(), bundle.key.clone());
                return Ok(Err(Problem::AuthoritiesMissing { name, key }));
            }
            pem
        }
    };
    let secrets: Api<KubeSecret> = Api::namespaced(client.clone(), namespace);
    let secret = &spec.credentials_secret.name;
    let found = call(&format!("reading the Secret `{secret}`"), secrets.get_opt(secret)).await?;
    let version = found.as_ref().and_then(|secret| secret.metadata.resource_version.clone());
    let (user, password, login) = match login(secret, found, &spec.server) {
        Ok((user, password)) => (user, password, Ok(())),
        Err(problem) => (String::new(), Secret::default(), Err(problem)),
    };
    let connection = Connection::new(name, spec, authorities, &user, &password);
    let connection = connection.map_err(|error| Problem::BadSettings(error.to_string()));
    Ok(connection.map(|connection| Read { connection, login, version }))
}

fn login(name: &str, secret: Option<KubeSecret>, server: &str) -> Result<(String, Secret), Problem> {
    let secret = secret.ok_or_else(|| Problem::CredentialsMissing(name.to_owned()))?;
    let data = secret.data.unwrap_or_default();
    let text = |key: &'static str| {
        let bytes = data.get(key).filter(|bytes| !bytes.0.is_empty());
        let text = bytes.and_then(|bytes| std::str::from_utf8(&bytes.0).ok());
        text.ok_or_else(|| Problem::CredentialsIncomplete { secret: name.to_owned(), key })
    };
    bound(name, text(SERVER_KEY).ok(), server).map_err(Problem::from)?;
    let (user, password) = (text("username")?, text("password")?);
    // The storage driver does not start without a domain.
    if !user.contains('@') && !user.contains('\\') {
        return Err(Problem::UserWithoutDomain(name.to_owned()));
    }
    Ok((user.to_owned(), password.into()))
}
