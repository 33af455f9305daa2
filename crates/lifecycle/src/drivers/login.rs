//! Logins to a vCenter: the administrator's, for as long as a command runs, and a try of those that drivers get.

use secrecy::SecretString;
use slipway_assets::drivers::Connection;
use slipway_config::install_config::vsphere::Tls;
use slipway_providers::vsphere::{Client, Endpoint, Error, Login};

use super::users::{self, Made, Request, User, UserError};

/// A vCenter, as its administrator.
#[derive(Debug)]
pub struct Administrator {
    client: Client,
}

impl Administrator {
    pub fn new(
        server: &str,
        port: u16,
        tls: &Tls,
        user: &str,
        password: SecretString,
    ) -> Result<Self, Error> {
        let login = Login { user: user.to_owned(), password };
        Ok(Administrator { client: Client::new(Endpoint::new(server, port, tls), login)? })
    }

    /// What would be made and changed for users of the drivers.
    pub async fn plan(&self, request: &Request) -> Result<Vec<User>, UserError> {
        users::plan(&self.client, request).await
    }

    /// Makes users, roles and permissions, and sets passwords.
    pub async fn create(&self, users: &[User], told: impl Fn(&str)) -> Result<Vec<Made>, UserError> {
        users::create(&self.client, users, told).await
    }

    pub async fn log_out(&self) -> Result<(), Error> {
        self.client.logout().await
    }
}

/// Logs in and out again: what does not work must not take the place of what does.
pub async fn try_out(connection: &Connection) -> Result<(), Error> {
    let endpoint = Endpoint::new(&connection.server, connection.port, &connection.tls);
    let login = Login { user: connection.user.clone(), password: connection.password.expose().into() };
    let client = Client::new(endpoint, login)?;
    let known = client.user().await;
    // The session ends by itself after a while.
    let _ = client.logout().await;
    known.map(drop)
}
