//! What each stage does.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client};
use secrecy::SecretString;
use serde_json::json;
use slipway_assess::csr::{self as rules, Bootstrapper, Roster};
use slipway_assets::kubernetes::record::Stage;
use slipway_assets::kubernetes::rights::SYSTEM;
use slipway_assets::kubernetes::{
    COMPLETION_NAME, ClusterFacts, JOIN_TOKEN_FILE, MACHINE_CONFIG_KEY, MACHINE_CONFIG_NAMESPACE,
    MACHINE_CONFIG_SECRET, MACHINE_CONFIG_TLS_SECRET, NAMESPACE, TOKENS_KEY,
};
use slipway_assets::names::Role;
use slipway_assets::onprem::{Machine, Part, Settings};
use slipway_providers::cluster::call;
use slipway_providers::text::chain;
use tokio::sync::{OnceCell, watch};
use tokio::task::JoinSet;

use super::access::{Server, client};
use super::apply::{Manifest, apply, read};
use super::etcd::Etcd;
use super::observe::{CertificateRequests, observe};
use super::{Ledger, StageError, Steps, admission, kubeadm, pivot, publish};
use crate::agents::node::local_network::used_towards;
use crate::agents::node::{LocalNetwork, MachineFiles, follow};
use crate::controllers::csr::{self, controller};
use crate::runtime::host::{Files, Programs};
use crate::runtime::watches::Watches;
use crate::server::machine_config;
use crate::server::machine_config::joining::{Joining, Renewal};
use crate::server::machine_config::rotate;

const RETRY_INTERVAL: Duration = Duration::from_secs(2);

/// The agent of the bootstrap machine.
pub struct Agent<P> {
    /// Where the cluster's files are: `/etc/slipway`.
    folder: PathBuf,
    files: Files,
    programs: Arc<P>,
    facts: ClusterFacts,
    ledger: Arc<Ledger>,
    own: OnceCell<Client>,
    /// What the approver of certificates knows.
    roster: watch::Sender<Roster>,
    /// Whom it refuses, and why.
    refused: watch::Sender<BTreeMap<String, String>>,
    metrics: csr::metrics::Metrics,
    /// What the machine-config server sees of machines.
    requests: machine_config::metrics::Metrics,
    /// What runs beside the stages.
    beside: tokio::sync::Mutex<JoinSet<()>>,
    stop: watch::Sender<bool>,
}

impl<P> std::fmt::Debug for Agent<P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Agent")
            .field("folder", &self.folder)
            .field("facts", &self.facts)
            .finish_non_exhaustive()
    }
}

impl<P: Programs> Agent<P> {
    pub fn new(
        folder: impl Into<PathBuf>,
        files: Files,
        programs: P,
        facts: ClusterFacts,
        ledger: Arc<Ledger>,
        metrics: csr::metrics::Metrics,
    ) -> Self {
        Agent {
            folder: folder.into(),
            files,
            programs: Arc::new(programs),
            facts,
            ledger,
            own: OnceCell::new(),
            roster: watch::Sender::new(Roster::default()),
            refused: watch::Sender::new(BTreeMap::new()),
            metrics,
            requests: machine_config::metrics::Metrics::default(),
            beside: tokio::sync::Mutex::default(),
            stop: watch::Sender::new(false),
        }
    }

    /// With access that is there already.
    #[must_use]
    pub fn with_client(mut self, client: Client) -> Self {
        self.own = OnceCell::new_with(Some(client));
        self
    }

    /// Beside a machine-config server, whose view of machines helps to say what they lack.
    #[must_use]
    pub fn beside_server(mut self, requests: machine_config::metrics::Metrics) -> Self {
        self.requests = requests;
        self
    }

    fn at(&self, name: &str) -> String {
        self.folder.join(name).to_string_lossy().into_owned()
    }

    /// The API server of this machine.
    async fn client(&self) -> Result<&Client, StageError> {
        self.own.get_or_try_init(|| client(&self.files, Server::Own)).await
    }

    fn vips(&self) -> Vec<IpAddr> {
        let onprem = self.facts.onprem.iter();
        onprem.flat_map(|onprem| onprem.api_vips.iter().chain(&onprem.ingress_vips)).copied().collect()
    }

    /// Files for this machine alone: the others are not known yet.
    fn network(&self) -> Result<(), StageError> {
        let Some(onprem) = &self.facts.onprem else { return Ok(()) };
        let LocalNetwork { interface, addresses, upstreams } =
            LocalNetwork::look(&self.files, &self.vips(), &[])?;
        let invalid = |error| StageError::Onprem(crate::agents::node::OnpremError::Invalid(error));
        let this = Machine::new(&self.facts.bootstrap_name(), Part::Bootstrap, addresses).map_err(invalid)?;
        let settings =
            Settings::new(onprem.clone(), this, Vec::new(), &interface, upstreams).map_err(invalid)?;
        MachineFiles::new(self.files.clone()).put(&settings, Part::Bootstrap)?;
        Ok(())
    }

    async fn api(&self) -> Result<(), StageError> {
        let ready = async {
            let client = self.client().await?;
            let request = axum::http::Request::get("/readyz").body(Vec::new());
            let request = request.map_err(|error| StageError::Other(error.to_string()))?;
            Ok::<_, StageError>(
                call("asking the API server of this machine", client.request_text(request)).await?,
            )
        };
        ready.await?;
        Ok(csr::bindings::remove(self.client().await?, self.facts.unwanted_bindings()).await?)
    }

    async fn manifests(&self) -> Result<(), StageError> {
        let mut manifests = read(&self.files, &[&self.at("manifests"), &self.at("openshift")])?;
        manifests.extend(self.secrets()?);
        apply(self.client().await?, manifests, |message| self.ledger.say(Stage::Manifests, message)).await?;
        Ok(())
    }

    /// What the machine-config server of the control plane hands out.
    fn secrets(&self) -> Result<Vec<Manifest>, StageError> {
        let secret = |name: &str, kind: &str, data: &[(&str, String)]| {
            let data: serde_json::Map<String, serde_json::Value> = data
                .iter()
                .map(|(key, path)| {
                    Ok(((*key).to_owned(), json!(STANDARD.encode(self.files.read(self.at(path))?))))
                })
                .collect::<std::io::Result<_>>()?;
            let object = json!({
                "apiVersion": "v1", "kind": "Secret", "type": kind,
                "metadata": {"name": name, "namespace": MACHINE_CONFIG_NAMESPACE, "labels": {"app.kubernetes.io/part-of": "slipway"}},
                "data": data,
            });
            Manifest::new("the machine-config server", object).map_err(StageError::Other)
        };
        let mut secrets = Vec::new();
        for role in Role::ALL.map(Role::as_str) {
            let data = [
                (MACHINE_CONFIG_KEY, format!("machine-config/{role}.ign")),
                (TOKENS_KEY, format!("machine-config/{role}.tokens")),
            ];
            secrets.push(secret(&format!("{MACHINE_CONFIG_SECRET}-{role}"), "Opaque", &data)?);
        }
        let data = [
            ("tls.crt", "tls/machine-config-server.crt".to_owned()),
            ("tls.key", "tls/machine-config-server.key".to_owned()),
        ];
        secrets.push(secret(MACHINE_CONFIG_TLS_SECRET, "kubernetes.io/tls", &data)?);
        Ok(secrets)
    }

    async fn machines(&self) -> Result<(), StageError> {
        let client = self.client().await?.clone();
        self.start_beside(&client).await?;
        let certificates: Api<Secret> = Api::namespaced(client.clone(), SYSTEM);
        let etcd = Etcd::new(&self.files, Ipv4Addr::LOCALHOST.into())?;
        let joining = Joining::new(client.clone(), "bootstrap", Renewal::Same);
        let tokens = self.join_tokens()?;
        let mut wishes = CertificateRequests::new(self.facts.bootstrapper(Role::Master));
        loop {
            let observed = observe(&client, etcd.members().await?, &mut wishes).await?;
            let now = Timestamp::now();
            // The configurations that are handed out from here have it, however long the machines take to come.
            for token in &tokens {
                joining.token(token, now).await?;
            }
            let mut candidates = observed.candidates(&self.facts);
            admission::note_refused(&mut candidates, &self.refused.borrow());
            self.roster.send_if_modified(|roster| {
                let new = self.roster(&candidates, now);
                let changed = *roster != new;
                *roster = new;
                changed
            });
            if candidates.iter().all(admission::Candidate::is_complete) {
                return Ok(());
            }
            observed.forget_silent(&client, &candidates, now).await?;
            let mut message = admission::describe(&candidates, now);
            message.extend(admission::distrust(&self.requests.distrusting()));
            self.ledger.say(Stage::Machines, &message);
            let secret = certificates.get_metadata_opt(kubeadm::CERTIFICATES_SECRET);
            if call("looking for the signers' keys", secret).await?.is_none() {
                kubeadm::upload_certificates(&*self.programs, &self.at("kubeadm-init.yaml")).await?;
            }
            tokio::time::sleep(RETRY_INTERVAL).await;
        }
    }

    /// All machines of the control plane are there: what their pointers know is of no use to anybody after a while.
    async fn end_tokens(&self) -> Result<(), StageError> {
        let role = Role::Master.as_str().parse().map_err(|error| StageError::Other(format!("{error}")))?;
        let last = Timestamp::now() + rotate::MASTER_TOKEN_LIFETIME;
        let ended = rotate::end(self.client().await?, &role, last).await;
        ended.map_err(|error| StageError::Other(chain(&error)))
    }

    /// The tokens in what this machine hands out, one for each role.
    fn join_tokens(&self) -> Result<Vec<SecretString>, StageError> {
        let mut tokens = Vec::new();
        for role in Role::ALL {
            let path = self.at(&format!("machine-config/{}.ign", role.as_str()));
            let config = machine_config::spec::Config::parse(self.files.read(&path)?.as_bytes())
                .map_err(|error| StageError::Other(format!("{path}: {error}")))?;
            tokens.extend(config.text(JOIN_TOKEN_FILE).map(|token| SecretString::from(token.trim())));
        }
        Ok(tokens)
    }

    /// The machines that were made with the cluster, and who of them has to wait.
    fn roster(&self, candidates: &[admission::Candidate], now: Timestamp) -> Roster {
        let machine = |name: String, addresses: BTreeSet<IpAddr>| rules::Machine {
            names: [name.clone()].into(),
            name,
            // They are let in however late they come: their names are known, and their turn is decided here.
            made: None,
            role: Some(Role::Master),
            addresses,
            ..rules::Machine::default()
        };
        let names = self.facts.control_plane_names().unwrap_or_default();
        let mut expected: Vec<rules::Machine> = names
            .into_iter()
            .map(|name| rules::Machine {
                internal_names: [name.clone()].into(),
                ..machine(name, BTreeSet::new())
            })
            .collect();
        let vips = self.vips();
        let targets = [IpAddr::from([192, 0, 2, 1]), IpAddr::from([0x2001, 0xdb8, 0, 0, 0, 0, 0, 1])];
        let own =
            targets.into_iter().filter_map(used_towards).filter(|address| !vips.contains(address)).collect();
        // It has its client certificate from kubeadm, so nobody may ask for a first one.
        expected.push(machine(self.facts.bootstrap_name(), own));
        Roster { named_alike: true, expected, held: admission::held(candidates, now), ..Roster::default() }
    }

    /// Starts what runs beside the stages from now on: the approver of certificates, and the files that follow the machines.
    async fn start_beside(&self, client: &Client) -> Result<(), StageError> {
        let mut beside = self.beside.lock().await;
        if !beside.is_empty() {
            return Ok(());
        }
        let bootstrappers = Role::ALL
            .into_iter()
            .map(|role| {
                let name = format!("{}={}", role.as_str(), self.facts.bootstrapper(role));
                Bootstrapper::of(&name)
                    .ok_or_else(|| StageError::Other(format!("`{name}` is not a bootstrapper")))
            })
            .collect::<Result<_, _>>()?;
        // Until the first look everybody waits.
        self.roster.send_replace(self.roster(&self.unseen(), Timestamp::now()));
        let settings = controller::Settings {
            bootstrappers,
            namespace: NAMESPACE.to_owned(),
            vips: self.vips(),
            roster: self.roster.subscribe(),
            refused: self.refused.clone(),
        };
        let watches = Watches::new(client.clone());
        beside.spawn(controller::run(watches, settings, self.metrics.clone(), self.stop.subscribe()));
        if self.facts.onprem.is_some() {
            let (client, facts, files) = (client.clone(), self.facts.clone(), self.files.clone());
            let (programs, stop) = (Arc::clone(&self.programs), self.stop.subscribe());
            beside.spawn(async move {
                let name = facts.bootstrap_name();
                follow(client, facts, &name, files, programs, stop).await;
            });
        }
        Ok(())
    }

    fn unseen(&self) -> Vec<admission::Candidate> {
        let names = self.facts.control_plane_names().unwrap_or_default();
        let unseen =
            |name| admission::Candidate { name, asked: None, entered: None, lacks: Some(String::new()) };
        names.into_iter().map(unseen).collect()
    }

    /// Ends what runs beside the stages.
    pub async fn end_beside(&self) {
        self.stop.send_replace(true);
        let mut beside = self.beside.lock().await;
        while beside.join_next().await.is_some() {}
        self.stop.send_replace(false);
    }

    /// The API of the cluster, which is no longer that of this machine.
    async fn cluster(&self) -> Result<Client, StageError> {
        client(&self.files, Server::Cluster).await
    }
}

impl<P: Programs> Steps for Agent<P> {
    async fn perform(&self, stage: Stage) -> Result<(), StageError> {
        let say = |message: &str| self.ledger.say(stage, message);
        match stage {
            Stage::Network => self.network(),
            Stage::ControlPlane => {
                Ok(kubeadm::init(&self.files, &*self.programs, &self.at("kubeadm-init.yaml")).await?)
            }
            Stage::Api => self.api().await,
            Stage::NetworkPlugin => {
                let manifests = read(&self.files, &[&self.at("network")])?;
                Ok(apply(self.client().await?, manifests, say).await?)
            }
            Stage::Manifests => self.manifests().await,
            Stage::Machines => self.machines().await,
            Stage::Complete => {
                self.end_tokens().await?;
                Ok(publish::put(self.client().await?, COMPLETION_NAME, json!({"status": "complete"})).await?)
            }
            Stage::HandOver => {
                // Nothing may put the pod back that is about to go.
                self.end_beside().await;
                pivot::hand_over(self.client().await?, &self.files, &self.facts, say).await
            }
            Stage::LeaveEtcd => {
                pivot::leave_etcd(&self.cluster().await?, &self.files, &self.facts, say).await
            }
            Stage::Leave => pivot::leave(&self.cluster().await?, &*self.programs, &self.facts, say).await,
        }
    }
}
