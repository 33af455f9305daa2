//! How far the control-plane machines are.

use std::collections::{BTreeMap, HashMap};

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{DeleteParams, ListParams, Preconditions};
use kube::{Api, Client, ResourceExt};
use slipway_assess::csr::{Csr, Signer};
use slipway_assets::kubernetes::ClusterFacts;
use slipway_assets::kubernetes::rights::SYSTEM;
use slipway_providers::cluster::{AccessError, call};

use super::StageError;
use super::admission::Candidate;
use super::etcd::Member;
use crate::agents::node::nodes::CONTROL_PLANE_LABEL;

/// A kubelet says every ten seconds that it lives.
const SILENT: SignedDuration = SignedDuration::from_mins(1);

/// Everything that tells how far the machines are.
#[derive(Debug, Clone, Default)]
pub struct Observed {
    pub nodes: Vec<Node>,
    /// What was asked for each machine.
    pub wishes: BTreeMap<String, RequestTimes>,
    /// Static pods of the control plane.
    pub pods: Vec<Pod>,
    pub members: Vec<Member>,
}

/// When first certificates of a machine were asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RequestTimes {
    /// The oldest that is undecided.
    asked: Option<Timestamp>,
    /// The newest that was decided.
    decided: Option<Timestamp>,
}

/// Reads what machines of the control plane ask for. Anybody with a token can ask for much, so each request is read once.
#[derive(Debug)]
pub struct CertificateRequests {
    bootstrapper: String,
    /// The node of each request, by the request's id.
    read: HashMap<String, Option<String>>,
}

impl CertificateRequests {
    /// `bootstrapper` asks for the machines that count.
    pub fn new(bootstrapper: String) -> Self {
        CertificateRequests { bootstrapper, read: HashMap::new() }
    }

    fn of(&mut self, requests: &[CertificateSigningRequest]) -> BTreeMap<String, RequestTimes> {
        let mut wishes: BTreeMap<String, RequestTimes> = BTreeMap::new();
        let mut before = std::mem::take(&mut self.read);
        for object in requests {
            let ours = object.spec.username.as_ref() == Some(&self.bootstrapper)
                && Signer::of(&object.spec.signer_name) == Some(Signer::Client);
            let Some(uid) = object.metadata.uid.clone().filter(|_| ours) else { continue };
            let node = before
                .remove(&uid)
                .unwrap_or_else(|| Csr::read(object).and_then(|csr| csr.node().map(ToOwned::to_owned)));
            if let (Some(node), Some(created)) = (&node, object.creation_timestamp()) {
                let wish = wishes.entry(node.clone()).or_default();
                if Csr::is_undecided(object) {
                    wish.asked = Some(wish.asked.map_or(created.0, |other| other.min(created.0)));
                } else {
                    wish.decided = wish.decided.max(Some(created.0));
                }
            }
            self.read.insert(uid, node);
        }
        wishes
    }
}

/// Reads all of it but the members of etcd.
pub async fn observe(
    client: &Client,
    members: Vec<Member>,
    wishes: &mut CertificateRequests,
) -> Result<Observed, AccessError> {
    let all = ListParams::default();
    let nodes: Api<Node> = Api::all(client.clone());
    let requests: Api<CertificateSigningRequest> = Api::all(client.clone());
    let pods: Api<Pod> = Api::namespaced(client.clone(), SYSTEM);
    let static_pods = ListParams::default().labels("tier=control-plane");
    let requests = call("listing certificate signing requests", requests.list(&all)).await?.items;
    Ok(Observed {
        nodes: call("listing nodes", nodes.list(&all)).await?.items,
        wishes: wishes.of(&requests),
        pods: call("listing the pods of the control plane", pods.list(&static_pods)).await?.items,
        members,
    })
}

/// Whether a pod says that it is ready.
pub fn is_ready(pod: &Pod) -> bool {
    let conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions.into_iter().any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

/// Machines whose node is older than their wish for a first certificate.
type Again = BTreeMap<String, Timestamp>;

impl Observed {
    /// The control-plane machines there must be, and how far each is.
    pub fn candidates(&self, facts: &ClusterFacts) -> Vec<Candidate> {
        let names = facts.control_plane_names().unwrap_or_else(|| self.unnamed(facts));
        let mut candidates: Vec<Candidate> = names.iter().map(|name| self.candidate(name)).collect();
        let wanted = facts.control_plane_replicas as usize;
        while candidates.len() < wanted {
            let number = candidates.len() + 1;
            candidates.push(Candidate {
                name: format!("machine {number}"),
                asked: None,
                entered: None,
                lacks: Some("has not joined".to_owned()),
            });
        }
        candidates
    }

    /// Where the user names machines, they are known once they are there.
    fn unnamed(&self, facts: &ClusterFacts) -> Vec<String> {
        let bootstrap = facts.bootstrap_name();
        let marked =
            |node: &&Node| node.labels().contains_key(CONTROL_PLANE_LABEL) && node.name_any() != bootstrap;
        self.nodes.iter().filter(marked).map(ResourceExt::name_any).collect()
    }

    fn candidate(&self, name: &str) -> Candidate {
        let node = self.nodes.iter().find(|node| node.name_any() == name);
        let RequestTimes { asked, decided: approved } = self.wishes.get(name).copied().unwrap_or_default();
        let member = self.members.iter().find(|member| member.name == name);
        let api_server = format!("kube-apiserver-{name}");
        let serves = self.pods.iter().any(|pod| pod.name_any() == api_server && is_ready(pod));
        let lacks = match (node, member) {
            (None, _) if asked.is_some() => Some("asks for its certificate"),
            (None, _) if approved.is_some() => {
                Some("has a certificate, but is not a node of the cluster yet")
            }
            (None, _) => Some(
                "has not asked for a certificate: it does not run, or does not reach the machine-config server or the API",
            ),
            (Some(_), None) => Some("is not a member of etcd yet"),
            (Some(_), Some(member)) if member.learner => Some("is a member of etcd without a vote"),
            _ if !serves => Some("has no API server that is ready"),
            (Some(node), _) if !node.labels().contains_key(CONTROL_PLANE_LABEL) => {
                Some("is not marked as control plane yet")
            }
            _ => None,
        };
        let entered = node.and_then(ResourceExt::creation_timestamp).map(|time| time.0).or(approved);
        Candidate { name: name.to_owned(), asked, entered, lacks: lacks.map(ToOwned::to_owned) }
    }

    /// Machines that were cut off on their way in and begin anew: they have a node, and ask for a first certificate.
    fn again(&self, candidates: &[Candidate]) -> Again {
        let begun = |candidate: &Candidate| {
            let asked = candidate.asked.filter(|_| !candidate.is_complete())?;
            let node = self.nodes.iter().find(|node| node.name_any() == candidate.name)?;
            (asked > node.creation_timestamp()?.0).then(|| (candidate.name.clone(), asked))
        };
        candidates.iter().filter_map(begun).collect()
    }

    /// Removes the nodes of those whose kubelet has fallen silent, so that they may come in again.
    pub async fn forget_silent(
        &self,
        client: &Client,
        candidates: &[Candidate],
        now: Timestamp,
    ) -> Result<(), StageError> {
        let leases: Api<Lease> = Api::namespaced(client.clone(), "kube-node-lease");
        let nodes: Api<Node> = Api::all(client.clone());
        for name in self.again(candidates).into_keys() {
            let lease = call(&format!("reading the lease of `{name}`"), leases.get_opt(&name)).await?;
            let renewed =
                lease.and_then(|lease| lease.spec).and_then(|spec| spec.renew_time).map(|time| time.0);
            if renewed.is_some_and(|renewed| now.duration_since(renewed) < SILENT) {
                continue;
            }
            let uid = self.nodes.iter().find(|node| node.name_any() == name).and_then(ResourceExt::uid);
            let exactly =
                DeleteParams::default().preconditions(Preconditions { uid, resource_version: None });
            call(&format!("removing the node `{name}`"), nodes.delete(&name, &exactly)).await?;
            tracing::info!(node = name, "a machine that was cut off begins anew; its old node is removed");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::{Node, Pod};
    use rstest::rstest;
    use serde_json::json;
    use slipway_assets::kubernetes::ClusterFacts;

    use super::Observed;
    use crate::agents::bootstrap::etcd::Member;

    fn facts(platform: &str) -> ClusterFacts {
        serde_json::from_value(json!({
            "name": "a", "infraId": "a-x", "domain": "a.example.com", "platform": platform, "version": "v1.34.4",
            "controlPlaneReplicas": 1, "computeReplicas": 0, "bootstrapTokens": {"master": "abcdef", "worker": "ghijkl"},
        }))
        .unwrap()
    }

    fn node(name: &str, marked: bool) -> Node {
        let labels = if marked { json!({"node-role.kubernetes.io/control-plane": ""}) } else { json!({}) };
        serde_json::from_value(json!({"metadata": {
            "name": name, "labels": labels, "creationTimestamp": "2026-11-16T12:00:00Z"
        }}))
        .unwrap()
    }

    fn pod(name: &str, ready: &str) -> Pod {
        serde_json::from_value(json!({
            "metadata": {"name": name}, "status": {"conditions": [{"type": "Ready", "status": ready}]}
        }))
        .unwrap()
    }

    #[rstest]
    #[case::nothing(
        None,
        None,
        "False",
        Some(
            "has not asked for a certificate: it does not run, or does not reach the machine-config server or the API"
        )
    )]
    #[case::node(Some(false), None, "False", Some("is not a member of etcd yet"))]
    #[case::learner(Some(false), Some(true), "True", Some("is a member of etcd without a vote"))]
    #[case::voter(Some(false), Some(false), "False", Some("has no API server that is ready"))]
    #[case::unmarked(Some(false), Some(false), "True", Some("is not marked as control plane yet"))]
    #[case::complete(Some(true), Some(false), "True", None)]
    fn how_far(
        #[case] marked: Option<bool>,
        #[case] learner: Option<bool>,
        #[case] ready: &str,
        #[case] lacks: Option<&str>,
    ) {
        let observed = Observed {
            nodes: marked.map(|marked| node("a-x-master-0", marked)).into_iter().collect(),
            members: learner
                .map(|learner| Member { name: "a-x-master-0".to_owned(), learner, ..Member::default() })
                .into_iter()
                .collect(),
            pods: vec![pod("kube-apiserver-a-x-master-0", ready)],
            ..Observed::default()
        };
        let candidates = observed.candidates(&facts("vsphere"));
        assert_eq!(candidates.len(), 1);
        assert_eq!(candidates[0].lacks.as_deref(), lacks);
    }

    /// Where the user names machines, all that are marked count, and the bootstrap machine does not.
    #[test]
    fn machines_with_names_of_the_users() {
        let observed = Observed { nodes: vec![node("a-x-bootstrap", true)], ..Observed::default() };
        assert_eq!(observed.candidates(&facts("none"))[0].name, "machine 1");
        let observed =
            Observed { nodes: vec![node("a-x-bootstrap", true), node("mine", true)], ..Observed::default() };
        assert_eq!(observed.candidates(&facts("none"))[0].name, "mine");
    }
}
