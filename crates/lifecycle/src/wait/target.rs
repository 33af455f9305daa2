//! Whom to ask, and how.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use kube::Client;
use kube::config::Kubeconfig;
use secrecy::{ExposeSecret, SecretString};
use slipway_assets::kubernetes::RECORD_PATH;
use slipway_assets::kubernetes::record::Record;
use slipway_assets::names::{Role, vips};
use slipway_assets::pki::machine_config_token;
use slipway_config::install_config::PayloadType;
use slipway_providers::cluster::{AccessError, Cause, call_within, client_of, config_of};
use tokio::time::timeout;

use super::Error;
use super::cause::of_connection;
use crate::create::Request;
use crate::store;
use crate::text::chain;
use crate::workspace::Workspace;

const API_PORT: u16 = 6443;
const MACHINE_CONFIG_PORT: u16 = 22623;
/// For each call.
const CALL_TIMEOUT: Duration = Duration::from_secs(20);

/// A cluster that is being made.
#[derive(Debug)]
pub struct WaitTarget {
    pub cluster: String,
    pub infra_id: String,
    pub payload: PayloadType,
    pub control_plane: usize,
    pub compute: usize,
    /// Where the administrator's kubeconfig is.
    pub kubeconfig: PathBuf,
    pub(super) vips: Vec<IpAddr>,
    pub(super) ingress_vips: Vec<IpAddr>,
    domain: String,
    /// Of the machine-config server.
    authority: String,
    token: SecretString,
}

impl WaitTarget {
    /// Reads what is in the directory; asks for no password, and needs no lock.
    pub fn open(request: &Request<'_>) -> Result<Self, Error> {
        Self::in_workspace(&Workspace::open(request)?)
    }

    /// [`Self::open`] as a step of a command that has the directory open.
    pub fn in_workspace(workspace: &Workspace<'_>) -> Result<Self, Error> {
        let (request, config) = (workspace.request(), workspace.config());
        let state = store::peek(request.directory)?.ok_or_else(|| no_files(request.directory))?;
        let kubeconfig = request.directory.join("auth/kubeconfig");
        if !kubeconfig.exists() {
            return Err(no_files(request.directory));
        }
        let all = vips(config);
        Ok(WaitTarget {
            cluster: config.name.to_string(),
            infra_id: state.identity.infra_id.to_string(),
            payload: config.payload.kind(),
            control_plane: config.pools.control_plane.replicas as usize,
            compute: config.pools.compute.replicas as usize,
            kubeconfig,
            vips: all.api,
            ingress_vips: all.ingress,
            domain: config.cluster_domain(),
            authority: state.pki.pem("root-ca.crt").to_owned(),
            token: state.pki.pem(&machine_config_token(Role::Master)).into(),
        })
    }

    /// A cluster of which only the kubeconfig is known.
    pub fn of_kubeconfig(kubeconfig: &Path, payload: PayloadType, control_plane: usize) -> Self {
        WaitTarget {
            cluster: String::new(),
            infra_id: String::new(),
            payload,
            control_plane,
            compute: 0,
            kubeconfig: kubeconfig.to_owned(),
            vips: Vec::new(),
            ingress_vips: Vec::new(),
            domain: String::new(),
            authority: String::new(),
            token: SecretString::default(),
        }
    }

    /// Compute machines are not waited for.
    #[must_use]
    pub fn without_compute(self, without: bool) -> Self {
        if without { WaitTarget { compute: 0, ..self } } else { self }
    }

    /// The virtual addresses of the API; none where a load balancer of the user's has them.
    pub fn api_vips(&self) -> Vec<IpAddr> {
        self.vips.clone()
    }

    /// The API as people know it.
    pub fn api(&self) -> String {
        format!("api.{}:{API_PORT}", self.domain)
    }

    /// Access as the administrator: by the name in the kubeconfig, or straight to the virtual address where the name
    /// cannot be resolved from here.
    pub async fn client(&self) -> Result<Client, AccessError> {
        let file = "auth/kubeconfig";
        let mut config = config_of(Kubeconfig::read_from(&self.kubeconfig), file).await?;
        if let Some(vip) = self.vips.first()
            && let Some(host) = config.cluster_url.host().map(ToOwned::to_owned)
            && !resolves(&host).await
        {
            let url = format!("https://{}/", SocketAddr::new(*vip, API_PORT));
            config.cluster_url = url.parse().map_err(|error| AccessError::Kubeconfig {
                file: file.to_owned(),
                problem: format!("`{url}`: {error}"),
            })?;
            config.tls_server_name = Some(host);
        }
        config.read_timeout = Some(CALL_TIMEOUT);
        client_of(config)
    }

    /// A call to the API with a deadline.
    pub(crate) async fn call<T>(
        &self,
        doing: &str,
        call: impl Future<Output = kube::Result<T>>,
    ) -> Result<T, AccessError> {
        call_within(CALL_TIMEOUT, doing, call).await
    }

    /// Why the API could not be asked, in words that say what to look at.
    pub(crate) fn explain(&self, error: &AccessError) -> String {
        match error.cause() {
            Cause::Unusable => chain(error),
            cause => of_connection(&self.api(), &cause, error),
        }
    }

    /// What the agent of the bootstrap machine says about itself, from the machine-config server at an address.
    pub async fn ask_agent(&self, address: IpAddr) -> Result<Record, String> {
        let name = format!("api-int.{}", self.domain);
        let server = SocketAddr::new(address, MACHINE_CONFIG_PORT);
        let explain = |error: reqwest::Error| of_connection(&server.to_string(), &Cause::of(&error), &error);
        let authority = reqwest::Certificate::from_pem(self.authority.as_bytes()).map_err(explain)?;
        let client = reqwest::Client::builder()
            .tls_certs_only([authority])
            .resolve(&name, server)
            .no_proxy()
            .timeout(CALL_TIMEOUT)
            .build()
            .map_err(explain)?;
        let url = format!("https://{name}:{MACHINE_CONFIG_PORT}{RECORD_PATH}");
        let answer = client.get(url).bearer_auth(self.token.expose_secret()).send().await.map_err(explain)?;
        answer.error_for_status().map_err(explain)?.json().await.map_err(explain)
    }
}

fn no_files(directory: &Path) -> Error {
    Error::Directory(format!("`{}` has no files of a cluster yet", directory.display()))
}

async fn resolves(host: &str) -> bool {
    let host = host.trim_matches(['[', ']']);
    let found = timeout(CALL_TIMEOUT, tokio::net::lookup_host((host, API_PORT))).await;
    found.is_ok_and(|found| found.is_ok_and(|found| found.count() > 0))
}
