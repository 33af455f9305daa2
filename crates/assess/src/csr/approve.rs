//! Reading from a cluster and writing to it.

use std::collections::BTreeSet;
use std::net::IpAddr;

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use k8s_openapi::api::core::v1::{ConfigMap, Node};
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, ListParams};
use kube::core::{DeserializeGuard, PartialObjectMeta};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};
use slipway_assets::kubernetes::rights::SYSTEM;
use slipway_assets::kubernetes::{APPROVER, BARE_METAL_HOSTS, NAMESPACE};
use slipway_assets::names::{MACHINE_ROLE, MACHINES_NAMESPACE, Role};
use slipway_providers::cluster::{AccessError, call, merge_part, or_absent};

use super::cluster::{Bootstrapper, Cluster, Machine};
use super::host::Host;
use super::hosts;
use super::judge::{Decision, judge};
use super::keys::{self, Keys};
use super::pkcs10::Content;
use super::request::{Csr, Signer};
use super::roster::Roster;

/// The reason of the condition in an approved request.
const REASON: &str = "SlipwayApproved";

pub type GuardedMachine = DeserializeGuard<slipway_api::openshift::Machine>;
pub type NodeName = PartialObjectMeta<Node>;

/// Who asks for the first certificates of machines here: whom the cluster's own approver knows, where it is Slipway's.
pub async fn bootstrappers_of(client: &Client) -> Result<Vec<Bootstrapper>, AccessError> {
    let approvers: Api<DaemonSet> = Api::namespaced(client.clone(), SYSTEM);
    let approver = or_absent(call("looking for the approver", approvers.get_opt(APPROVER)).await)?;
    let pods = approver.and_then(|approver| approver.spec).and_then(|spec| spec.template.spec);
    let containers = pods.map(|pods| pods.containers).unwrap_or_default();
    let words = containers.iter().flat_map(|one| one.command.iter().chain(&one.args)).flatten();
    let named: Vec<Bootstrapper> =
        words.filter_map(|word| Bootstrapper::of(word.strip_prefix("--bootstrapper=")?)).collect();
    Ok(if named.is_empty() { vec![Bootstrapper::openshift()] } else { named })
}

/// A pending request and what is to be done about it.
#[derive(Debug)]
pub struct Judged {
    pub object: CertificateSigningRequest,
    pub csr: Csr,
    pub verdict: Decision,
    /// The object of the machine that it is about, if there is one.
    machine: Option<String>,
}

impl Judged {
    pub(super) fn new(object: CertificateSigningRequest, csr: Csr, cluster: &Cluster) -> Self {
        let machine = csr.node().and_then(|node| cluster.machine_for(node)?.uid.clone());
        let verdict = judge(&csr, cluster);
        Judged { object, csr, verdict, machine }
    }

    /// Writes down what an administrator has confirmed by approving it, so that the cluster itself approves what follows from
    /// it: the key that a machine comes with, and a node that has no machine. `host` is what is known of the latter, if it
    /// is more than what the request says.
    pub async fn remember(
        &self,
        client: &Client,
        namespace: &str,
        host: Option<&Host>,
    ) -> Result<(), AccessError> {
        let (Some(node), Ok(content)) = (self.csr.node(), &self.csr.content) else { return Ok(()) };
        let by_itself = self.csr.username == content.common_name;
        if self.csr.signer == Signer::Client && !by_itself {
            let keys = keys::Store::new(client.clone(), namespace);
            keys.confirm(node, self.machine.as_deref(), &content.fingerprint).await?;
        }
        if self.machine.is_some() {
            return Ok(());
        }
        match (host, self.csr.signer) {
            (Some(host), _) => hosts::remember(client, namespace, host).await,
            (None, Signer::Client) => hosts::remember_name(client, namespace, node).await,
            (None, Signer::Serving) => {
                let Content { names, addresses, .. } = content.clone();
                hosts::remember(client, namespace, &Host { name: node.to_owned(), names, addresses }).await
            }
        }
    }
}

/// Reads everything once, and judges all pending requests, the oldest first.
pub async fn survey(
    client: &Client,
    bootstrappers: Vec<Bootstrapper>,
    vips: &[IpAddr],
    roster: &Roster,
) -> Result<Vec<Judged>, AccessError> {
    let seen = see(client, roster).await?;
    let cluster = seen.cluster(bootstrappers, vips, None);
    let judged = seen.pending.into_iter().map(|(object, csr)| Judged::new(object, csr, &cluster));
    Ok(judged.collect())
}

/// Everything a verdict depends on, read once.
pub(super) struct ClusterSnapshot {
    /// The oldest first.
    pub(super) pending: Vec<(CertificateSigningRequest, Csr)>,
    pub(super) nodes: BTreeSet<String>,
    machines: Vec<Machine>,
    vips: Vec<IpAddr>,
    keys: Keys,
}

impl ClusterSnapshot {
    /// With a machine that Kubernetes does not know.
    pub(super) fn cluster(
        &self,
        bootstrappers: Vec<Bootstrapper>,
        vips: &[IpAddr],
        further: Option<Machine>,
    ) -> Cluster {
        Cluster::new(bootstrappers, vips.iter().chain(&self.vips).copied())
            .with_machines(self.machines.iter().cloned().chain(further))
            .with_nodes(self.nodes.iter().cloned())
            .with_keys(self.keys.clone())
            .with_requests(self.pending.iter().map(|(_, csr)| csr), Timestamp::now())
    }
}

pub(super) async fn see(client: &Client, roster: &Roster) -> Result<ClusterSnapshot, AccessError> {
    let all = ListParams::default();
    let requests: Api<CertificateSigningRequest> = Api::all(client.clone());
    let nodes: Api<NodeName> = Api::all(client.clone());
    let machines: Api<GuardedMachine> = Api::namespaced(client.clone(), MACHINES_NAMESPACE);
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), NAMESPACE);
    let requests = call("listing certificate signing requests", requests.list(&all)).await?.items;
    let nodes = call("listing nodes", nodes.list(&all)).await?.items;
    let machines = call("listing machines", async { machines.list(&all).await.map(|list| list.items) }).await;
    let machines = or_absent(machines)?;
    let vips = published_vips(client).await?;
    let keys = keys::Store::new(client.clone(), NAMESPACE).read().await?;
    let confirmed = call("reading the confirmed hosts", maps.get_opt(BARE_METAL_HOSTS)).await?;
    let mut roster = roster.clone();
    roster.hosts.extend(confirmed.iter().flat_map(hosts::read));
    let mut pending: Vec<(CertificateSigningRequest, Csr)> =
        requests.into_iter().filter_map(|object| Csr::read(&object).map(|csr| (object, csr))).collect();
    pending.retain(|(_, csr)| csr.is_pending());
    pending.sort_by(|(_, one), (_, other)| (one.created, &one.name).cmp(&(other.created, &other.name)));
    let nodes: BTreeSet<String> = nodes.iter().map(ResourceExt::name_any).collect();
    let machines = roster.complete(machines.iter().filter_map(machine), &nodes);
    Ok(ClusterSnapshot { pending, nodes, machines, vips, keys })
}

/// What a Machine says about itself; nothing if it is malformed.
pub fn machine(object: &GuardedMachine) -> Option<Machine> {
    let object = object.0.as_ref().ok()?;
    let status = object.status.clone().unwrap_or_default();
    let of = |kinds: &[&str]| {
        let found = status.addresses.iter().filter(|address| kinds.contains(&address.type_.as_str()));
        found.map(|address| address.address.clone()).collect::<BTreeSet<String>>()
    };
    let addresses = of(&["InternalIP", "ExternalIP"]);
    Some(Machine {
        name: object.name_any(),
        uid: object.uid(),
        made: Some(object.creation_timestamp()?.0),
        role: object.labels().get(MACHINE_ROLE).and_then(|role| Role::named(role)),
        internal_names: of(&["InternalDNS"]),
        names: of(&["InternalDNS", "ExternalDNS", "Hostname"]),
        addresses: addresses
            .iter()
            .filter_map(|address| Some(address.parse::<IpAddr>().ok()?.to_canonical()))
            .collect(),
        node: status.node_ref.and_then(|node| node.name).filter(|name| !name.is_empty()),
        leaving: object.metadata.deletion_timestamp.is_some(),
        held: None,
    })
}

/// The virtual addresses that an OpenShift cluster says it has. Other clusters do not know the kind, and an API server answers
/// a client without the right in the same way whether it is there or not. So the list of groups, which every client may
/// read, is asked first.
pub async fn published_vips(client: &Client) -> Result<Vec<IpAddr>, AccessError> {
    const GROUP: &str = "config.openshift.io";
    let groups = call("asking which kinds there are", client.list_api_groups()).await?.groups;
    if !groups.iter().any(|group| group.name == GROUP) {
        return Ok(Vec::new());
    }
    let kind = GroupVersionKind::gvk(GROUP, "v1", "Infrastructure");
    let resource = ApiResource::from_gvk_with_plural(&kind, "infrastructures");
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
    let found = or_absent(call("reading the virtual addresses", api.get_opt("cluster")).await)?;
    Ok(found.map(|found| vips_of(&found.data)).unwrap_or_default())
}

/// All addresses for API and ingress below `status.platformStatus`, whichever platform it is.
fn vips_of(infrastructure: &Value) -> Vec<IpAddr> {
    const KEYS: &[&str] = &["apiServerInternalIP", "apiServerInternalIPs", "ingressIP", "ingressIPs"];
    let platforms = infrastructure.pointer("/status/platformStatus").and_then(Value::as_object);
    let platforms = platforms.into_iter().flat_map(|platforms| platforms.values());
    let values = platforms.flat_map(|platform| KEYS.iter().filter_map(|key| platform.get(key)));
    let texts = values.flat_map(|value| match value {
        Value::Array(items) => items.iter().collect(),
        other => vec![other],
    });
    texts.filter_map(Value::as_str).filter_map(|text| text.parse().ok()).collect()
}

/// Approves a request as it was read: if another client has decided in the meantime, the server says so.
pub async fn approve(
    client: &Client,
    object: &CertificateSigningRequest,
    message: &str,
    now: Timestamp,
) -> Result<(), AccessError> {
    let name = object.name_any();
    let conditions = object.status.as_ref().and_then(|status| status.conditions.clone()).unwrap_or_default();
    let mut conditions = json!(conditions);
    if let Some(list) = conditions.as_array_mut() {
        list.push(json!({
            "type": "Approved", "status": "True", "reason": REASON, "message": message,
            "lastUpdateTime": now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        }));
    }
    let patch = json!({
        "metadata": {"resourceVersion": object.resource_version(), "uid": object.uid()},
        "status": {"conditions": conditions},
    });
    let api: Api<CertificateSigningRequest> = Api::all(client.clone());
    merge_part(&api, "approval", &name, &format!("approving `{name}`"), &patch).await
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use serde_json::json;

    use super::vips_of;

    #[test]
    fn virtual_addresses_of_any_platform() {
        let infrastructure = json!({"status": {"platformStatus": {"type": "VSphere", "vsphere": {
            "apiServerInternalIP": "10.0.0.2", "apiServerInternalIPs": ["10.0.0.2", "fd00::2"],
            "ingressIPs": ["10.0.0.3"], "machineNetworks": ["10.0.0.0/24"],
        }}}});
        let expected: Vec<IpAddr> =
            ["10.0.0.2", "10.0.0.2", "fd00::2", "10.0.0.3"].map(|ip| ip.parse().unwrap()).into();
        assert_eq!(vips_of(&infrastructure), expected);
        assert!(vips_of(&json!({})).is_empty());
    }
}
