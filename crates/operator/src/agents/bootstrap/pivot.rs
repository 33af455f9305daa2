//! How this machine leaves the cluster: first the virtual address, then its vote, then its node.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{DeleteParams, ListParams};
use kube::{Api, Client, ResourceExt};
use reqwest::Certificate;
use slipway_assets::kubernetes::ClusterFacts;
use slipway_assets::kubernetes::rights::SYSTEM;
use slipway_assets::onprem::API_PORT;
use slipway_providers::cluster::{AccessError, call};
use tokio::time::Instant;

use super::StageError;
use super::etcd::{self, Etcd};
use super::observe::is_ready;
use crate::agents::node::MachineFiles;
use crate::agents::node::local_network::is_here;
use crate::agents::node::machine_files::MANIFESTS;
use crate::agents::node::nodes::{CONTROL_PLANE_LABEL, addresses};
use crate::runtime::host::{Files, Programs};

const RETRY_INTERVAL: Duration = Duration::from_secs(1);
/// Until another machine has the address and answers on it.
const TAKE_OVER_TIMEOUT: Duration = Duration::from_secs(90);
/// Until the pods of this machine have ended.
const END_TIMEOUT: Duration = Duration::from_mins(3);
/// For systemctl.
const SYSTEMCTL_TIMEOUT: Duration = Duration::from_mins(2);
/// What must run on a machine before it can take over.
const NEEDED: [&str; 3] = ["slipway-keepalived", "slipway-haproxy", "slipway-coredns"];

/// The machines of the control plane but this one.
async fn others(client: &Client, facts: &ClusterFacts) -> Result<Vec<Node>, AccessError> {
    let nodes: Api<Node> = Api::all(client.clone());
    let marked = ListParams::default().labels(CONTROL_PLANE_LABEL);
    let mut nodes = call("listing the control plane", nodes.list(&marked)).await?.items;
    nodes.retain(|node| node.name_any() != facts.bootstrap_name());
    Ok(nodes)
}

/// Waits until all others could hold the address, lets it go, and waits until one of them has it. If none takes it, it
/// comes back here.
pub async fn hand_over(
    client: &Client,
    files: &Files,
    facts: &ClusterFacts,
    say: impl Fn(&str),
) -> Result<(), StageError> {
    let Some(onprem) = &facts.onprem else { return Ok(()) };
    loop {
        let missing = missing(client, facts).await?;
        if missing.is_empty() {
            break;
        }
        say(&format!("not ready to take over: {}", missing.join(", ")));
        tokio::time::sleep(RETRY_INTERVAL * 2).await;
    }
    let machine_files = MachineFiles::new(files.clone());
    machine_files.let_go()?;
    let since = Instant::now();
    for vip in &onprem.api_vips {
        while is_here(*vip) || !answers(files, *vip).await? {
            if since.elapsed() > TAKE_OVER_TIMEOUT {
                machine_files.put_pods()?;
                return Err(StageError::Other(format!(
                    "no control-plane machine answers on the virtual address {vip}: it stays here for now; look at keepalived on \
                     the control-plane machines"
                )));
            }
            say(&format!("waiting for a control-plane machine to answer on {vip}"));
            tokio::time::sleep(RETRY_INTERVAL).await;
        }
    }
    Ok(())
}

/// Pods that must run on the control plane and do not, as `<pod>`.
async fn missing(client: &Client, facts: &ClusterFacts) -> Result<Vec<String>, AccessError> {
    let pods: Api<Pod> = Api::namespaced(client.clone(), SYSTEM);
    let ours = ListParams::default().labels("app.kubernetes.io/part-of=slipway");
    let pods = call("listing our own pods", pods.list(&ours)).await?.items;
    let ready = |name: &str| pods.iter().any(|pod| pod.name_any() == name && is_ready(pod));
    let nodes = others(client, facts).await?;
    let wanted = nodes.iter().flat_map(|node| NEEDED.iter().map(|pod| format!("{pod}-{}", node.name_any())));
    Ok(wanted.filter(|name| !ready(name)).collect())
}

/// Whether an API server of this cluster answers on an address that it is ready.
pub(crate) async fn answers(files: &Files, address: IpAddr) -> Result<bool, StageError> {
    let authority = files.read("/etc/kubernetes/pki/ca.crt")?;
    let unusable = |error: reqwest::Error| StageError::Other(format!("/etc/kubernetes/pki/ca.crt: {error}"));
    let authority = Certificate::from_pem(authority.as_bytes()).map_err(unusable)?;
    let client = reqwest::Client::builder()
        .tls_certs_only([authority])
        .no_proxy()
        .timeout(Duration::from_secs(5))
        .build()
        .map_err(unusable)?;
    let url = format!("https://{}/readyz", std::net::SocketAddr::new(address, API_PORT));
    Ok(client.get(url).send().await.is_ok_and(|answer| answer.status().is_success()))
}

/// Stops what runs here and takes this machine's vote away, if the others are all well.
pub async fn leave_etcd(
    client: &Client,
    files: &Files,
    facts: &ClusterFacts,
    say: impl Fn(&str),
) -> Result<(), StageError> {
    let nodes = others(client, facts).await?;
    let own = facts.bootstrap_name();
    let mut voters = Vec::new();
    for node in &nodes {
        let address = addresses(node).into_iter().next();
        let address =
            address.ok_or_else(|| StageError::Other(format!("node `{}` has no address", node.name_any())))?;
        voters.push((node.name_any(), Etcd::new(files, address)?));
    }
    let Some((_, first)) = voters.first() else {
        return Err(StageError::Other("there is no other control-plane machine".to_owned()));
    };
    let members = first.members().await?;
    if let Some(member) = members.iter().find(|member| member.name == own) {
        for (name, etcd) in &voters {
            let votes = members.iter().any(|member| member.name == *name && !member.learner);
            if !votes || !etcd.is_healthy().await {
                say(&format!("etcd on {name} is not healthy"));
                return Err(StageError::Other(format!(
                    "etcd on {name} is not a healthy member, and must not lose another one"
                )));
            }
        }
        // The API server here would be left without etcd.
        for pod in ["kube-apiserver", "kube-controller-manager", "kube-scheduler"] {
            files.remove(format!("{MANIFESTS}/{pod}.yaml"))?;
        }
        first.remove(&member.id).await?;
    }
    for pod in ["kube-apiserver", "kube-controller-manager", "kube-scheduler", "etcd"] {
        files.remove(format!("{MANIFESTS}/{pod}.yaml"))?;
    }
    Ok(())
}

/// Waits for this machine's control plane to end, stops its kubelet, and removes its node.
pub async fn leave(
    client: &Client,
    programs: &impl Programs,
    facts: &ClusterFacts,
    say: impl Fn(&str),
) -> Result<(), StageError> {
    let since = Instant::now();
    while (listens(API_PORT).await || listens(etcd::PORT).await) && since.elapsed() < END_TIMEOUT {
        say("waiting for the API server and etcd of the bootstrap machine to stop");
        tokio::time::sleep(RETRY_INTERVAL).await;
    }
    // A kubelet that runs would bring the node back.
    programs.run("systemctl", &["disable", "--now", "kubelet.service"], SYSTEMCTL_TIMEOUT).await?;
    let nodes: Api<Node> = Api::all(client.clone());
    let name = facts.bootstrap_name();
    match call(&format!("removing the node `{name}`"), nodes.delete(&name, &DeleteParams::default())).await {
        Err(error) if error.is_absent() => Ok(()),
        other => Ok(other.map(|_| ())?),
    }
}

async fn listens(port: u16) -> bool {
    let connect = tokio::net::TcpStream::connect((Ipv4Addr::LOCALHOST, port));
    tokio::time::timeout(Duration::from_secs(2), connect).await.is_ok_and(|stream| stream.is_ok())
}
