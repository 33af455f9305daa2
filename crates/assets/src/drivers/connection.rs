//! A vCenter as the drivers use it, and the objects that say so.

use serde_json::Value;
use slipway_api::slipway::VSphereConnection;
use slipway_api::slipway::connection::{self, ConfigMapKey, SecretName, VSphereConnectionSpec};
pub use slipway_api::slipway::login::{SERVER_KEY, Unbound, bound};
use slipway_config::install_config::vsphere::Tls;
use slipway_config::secret::Secret;

use super::settings::DriverError;
use super::{operator, thumbprint};
use crate::objects::{config_map, map, secret, within};

/// A vCenter as the drivers use it.
#[derive(Debug, Clone)]
pub struct Connection {
    /// Name of the VSphereConnection.
    pub name: String,
    pub server: String,
    pub port: u16,
    pub datacenters: Vec<String>,
    pub tls: Tls,
    pub user: String,
    pub password: Secret,
}

/// The key of authorities in the ConfigMap of a connection.
const CA_KEY: &str = "ca.crt";
impl Connection {
    /// From what a VSphereConnection says, and what was read from the objects it names.
    pub fn new(
        name: &str,
        spec: &VSphereConnectionSpec,
        authorities: Option<String>,
        user: &str,
        password: &Secret,
    ) -> Result<Self, DriverError> {
        let bad = |problem: &'static str| DriverError::Connection { name: name.to_owned(), problem };
        let tls = match &spec.tls {
            None => Tls::System,
            Some(tls) if tls.insecure == Some(true) => Tls::Insecure,
            Some(connection::Tls { thumbprint: Some(text), .. }) => {
                Tls::by_thumbprint(text).ok_or_else(|| bad("its thumbprint is not 20 or 32 bytes"))?
            }
            // Whatever cannot be understood must not mean that anything is trusted.
            Some(_) => Tls::CaBundle(authorities.ok_or_else(|| bad("its authorities have not been read"))?),
        };
        Ok(Connection {
            name: name.to_owned(),
            server: spec.server.clone(),
            port: spec.port,
            datacenters: spec.datacenters.clone(),
            tls,
            // Tools that make Secrets from files leave a line break at the end.
            user: user.trim_end_matches(['\r', '\n']).to_owned(),
            password: password.expose().trim_end_matches(['\r', '\n']).into(),
        })
    }

    /// What the connection to a server is called unless the user names it.
    pub fn name_for(server: &str) -> String {
        server.to_lowercase().replace(':', "-").trim_matches('-').to_owned()
    }

    /// Its VSphereConnection in the operator's namespace, after what that names: authorities, and the Secret.
    pub fn objects(&self) -> Result<Vec<Value>, DriverError> {
        let metadata = || within(operator::NAMESPACE, self.name.clone());
        let mut objects = Vec::new();
        let mut tls = connection::Tls::default();
        match &self.tls {
            Tls::System => {}
            Tls::CaBundle(pem) => {
                objects.push(operator::value(&config_map(metadata(), map([(CA_KEY, pem.as_str())])))?);
                tls.ca_bundle = Some(ConfigMapKey { name: self.name.clone(), key: CA_KEY.to_owned() });
            }
            Tls::Thumbprint(_) => tls.thumbprint = Some(thumbprint(&self.tls)),
            Tls::Insecure => tls.insecure = Some(true),
        }
        let server = self.server.to_lowercase();
        let login = map([
            (SERVER_KEY, server.as_str()),
            ("username", self.user.as_str()),
            ("password", self.password.expose()),
        ]);
        objects.push(operator::value(&secret(metadata(), "kubernetes.io/basic-auth", login))?);
        let spec = VSphereConnectionSpec {
            server,
            port: self.port,
            datacenters: self.datacenters.clone(),
            resources: Vec::new(),
            credentials_secret: SecretName { name: self.name.clone() },
            tls: (self.tls != Tls::System).then_some(tls),
        };
        let connection = VSphereConnection { metadata: metadata(), spec, status: None };
        objects.push(serde_json::to_value(connection)?);
        Ok(objects)
    }

    /// The key of its authorities in a ConfigMap or Secret, and the name of the file they are in.
    pub(super) fn ca_key(&self) -> Option<(String, &str)> {
        match &self.tls {
            Tls::CaBundle(pem) => Some((format!("ca-{}.crt", self.name), pem)),
            Tls::System | Tls::Thumbprint(_) | Tls::Insecure => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};
    use slipway_config::install_config::vsphere::Tls;

    use super::Connection;

    fn read(tls: &Value, authorities: Option<&str>) -> Result<Connection, String> {
        let spec = json!({"server": "vc.example.com", "credentialsSecret": {"name": "login"}, "tls": tls});
        let spec = serde_json::from_value(spec).unwrap();
        Connection::new(
            "north",
            &spec,
            authorities.map(str::to_owned),
            "me@vsphere.local\n",
            &"hunter2\r\n".into(),
        )
        .map_err(|error| error.to_string())
    }

    #[rstest]
    #[case(Value::Null, Tls::System)]
    #[case(json!({"insecure": true}), Tls::Insecure)]
    #[case(json!({"caBundle": {"name": "ca"}}), Tls::CaBundle("PEM".to_owned()))]
    #[case(json!({"thumbprint": (["aB"; 20].join(":"))}), Tls::Thumbprint(vec![0xab; 20]))]
    #[case(json!({"thumbprint": (["01"; 32].join(":"))}), Tls::Thumbprint(vec![1; 32]))]
    fn connections_say_what_is_trusted(#[case] tls: Value, #[case] expected: Tls) {
        let connection = read(&tls, Some("PEM")).unwrap();
        assert_eq!((connection.tls, connection.port), (expected, 443));
        assert_eq!((&*connection.user, connection.password.expose()), ("me@vsphere.local", "hunter2"));
    }

    #[rstest]
    #[case(json!({}))]
    #[case(json!({"insecure": false}))]
    #[case(json!({"caBundle": {"name": "ca"}}))]
    #[case(json!({"thumbprint": "AB:CD"}))]
    fn what_is_unclear_is_not_trusted(#[case] tls: Value) {
        let error = read(&tls, None).unwrap_err();
        assert!(error.starts_with("the connection `north` cannot be used"), "{error}");
    }

    /// What is written is what is read.
    #[rstest]
    #[case(Tls::System)]
    #[case(Tls::Insecure)]
    #[case(Tls::CaBundle("PEM".to_owned()))]
    #[case(Tls::Thumbprint(vec![0xab; 32]))]
    fn objects_say_the_same(#[case] tls: Tls) {
        let connection = Connection {
            name: Connection::name_for("FD00::1"),
            server: "fd00::1".to_owned(),
            port: 8443,
            datacenters: vec!["dc1".to_owned()],
            tls: tls.clone(),
            user: "me@vsphere.local".to_owned(),
            password: "hunter2".into(),
        };
        let objects = connection.objects().unwrap();
        let spec = serde_json::from_value(objects.last().unwrap()["spec"].clone()).unwrap();
        let authorities =
            objects.iter().find_map(|object| object["data"]["ca.crt"].as_str()).map(str::to_owned);
        let read =
            Connection::new("fd00--1", &spec, authorities, "me@vsphere.local", &"hunter2".into()).unwrap();
        assert_eq!((read.tls, read.name, read.port), (tls, connection.name, 8443));
        assert_eq!(read.datacenters, connection.datacenters);
    }
}
