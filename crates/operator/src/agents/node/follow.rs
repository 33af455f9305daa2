//! The loop on a machine of the cluster: follows the nodes there are.

use std::time::Duration;

use k8s_openapi::api::core::v1::Node;
use kube::{Api, Client, ResourceExt};
use slipway_assets::kubernetes::ClusterFacts;
use slipway_assets::onprem::{BALANCER_HEALTH_PORT, CONFIG_FOLDER, Machine, Part, Settings, redirect_rules};
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

use super::nodes::{addresses, machines, part};
use super::{LocalNetwork, MachineFiles, OnpremError};
use crate::runtime::host::{Files, Programs};
use crate::runtime::stop::stopped;
use crate::runtime::trigger::{Controller, Trigger};
use crate::runtime::watches::{Mirror, Watches, short};

/// How often to look at the balancer.
const LOOK_INTERVAL: Duration = Duration::from_secs(5);
/// For a program.
const PROGRAM_TIMEOUT: Duration = Duration::from_secs(30);
const RULES: &str = "api.nft";

/// Keeps the files of the machine `name` up to date until it is told to end.
pub async fn follow<P: Programs>(
    client: Client,
    facts: ClusterFacts,
    name: &str,
    files: Files,
    programs: P,
    mut stop: watch::Receiver<bool>,
) {
    let Some(onprem) = facts.onprem.clone() else {
        tracing::info!("load balancers and DNS are the user's; there is nothing to keep up to date");
        stopped(&mut stop).await;
        return;
    };
    let trigger = Trigger::new(Duration::ZERO);
    let watches = Watches::new(client.clone());
    let nodes = watches.keep_some(Api::all(client), short(), &trigger);
    let machine_files = MachineFiles::new(files.clone());
    let redirect = RedirectRules { files: files.clone(), programs, loaded: None };
    let mut keeper =
        NodeFiles { facts, onprem, name: name.to_owned(), nodes, files, machine_files, redirect };
    trigger.run(stop, &mut keeper).await;
}

/// Keeps the files of a machine.
struct NodeFiles<P> {
    facts: ClusterFacts,
    onprem: slipway_assets::onprem::NetworkFacts,
    name: String,
    nodes: Mirror<Node>,
    files: Files,
    machine_files: MachineFiles,
    redirect: RedirectRules<P>,
}

impl<P: Programs> Controller for NodeFiles<P> {
    async fn pass(&mut self) -> Instant {
        // The writer lives as long as the watch does.
        let _ = self.nodes.wait_until_ready().await;
        let nodes = self.nodes.state();
        match make(&self.facts, &self.onprem, &self.name, nodes.iter().map(AsRef::as_ref), &self.files) {
            Ok(Some((settings, part))) => {
                match self.machine_files.put(&settings, part) {
                    Ok(programs) => programs.into_iter().for_each(|program| self.machine_files.tell(program)),
                    Err(error) => tracing::error!(%error, "the files of this machine cannot be written"),
                }
                if part == Part::ControlPlane {
                    self.redirect.update(&settings).await;
                }
            }
            Ok(None) => tracing::debug!("this machine has no node yet"),
            Err(error) => tracing::error!(%error, "the files of this machine cannot be generated"),
        }
        Instant::now() + LOOK_INTERVAL
    }
}

/// What the files of a machine are made from; nothing as long as it has no node.
pub(crate) fn make<'a>(
    facts: &ClusterFacts,
    onprem: &slipway_assets::onprem::NetworkFacts,
    name: &str,
    nodes: impl Iterator<Item = &'a Node> + Clone,
    files: &Files,
) -> Result<Option<(Settings, Part)>, OnpremError> {
    let bootstrap = facts.bootstrap_name();
    let Some(own) = nodes.clone().find(|node| node.name_any() == name) else { return Ok(None) };
    let part = part(own, &bootstrap);
    let vips: Vec<_> = onprem.api_vips.iter().chain(&onprem.ingress_vips).copied().collect();
    let LocalNetwork { interface, addresses, upstreams } = LocalNetwork::look(files, &vips, &addresses(own))?;
    let this = Machine::new(name, part, addresses)?;
    let settings = Settings::new(onprem.clone(), this, machines(nodes, &bootstrap), &interface, upstreams)?;
    Ok(Some((settings, part)))
}

/// The rules that lead the API's address into the balancer, as long as it works.
struct RedirectRules<P> {
    files: Files,
    programs: P,
    loaded: Option<String>,
}

impl<P: Programs> RedirectRules<P> {
    async fn update(&mut self, settings: &Settings) {
        let rules = redirect_rules(settings);
        let works = answers(BALANCER_HEALTH_PORT).await;
        if works == (self.loaded.as_deref() == Some(&rules)) && (works || self.loaded.is_none()) {
            return;
        }
        let result = if works {
            let path = format!("{CONFIG_FOLDER}/{RULES}");
            if let Err(error) = self.files.write(&path, 0o644, &rules) {
                tracing::error!(%error, "the rules of the balancer cannot be written");
                return;
            }
            let path = self.files.at(&path);
            self.programs.run("nft", &["--file", &path.to_string_lossy()], PROGRAM_TIMEOUT).await
        } else {
            self.programs.run("nft", &["delete", "table", "inet", "slipway_api"], PROGRAM_TIMEOUT).await
        };
        match result {
            Ok(()) => self.loaded = works.then_some(rules),
            // Without them the API server of the machine answers alone.
            Err(error) => tracing::warn!(%error, "the rules of the balancer were not changed"),
        }
    }
}

/// Whether the balancer says that it works.
async fn answers(port: u16) -> bool {
    let ask = async {
        let client = reqwest::Client::builder().no_proxy().build()?;
        client.get(format!("http://127.0.0.1:{port}/haproxy_ready")).send().await?.error_for_status()
    };
    timeout(Duration::from_secs(3), ask).await.is_ok_and(|answer| answer.is_ok())
}
