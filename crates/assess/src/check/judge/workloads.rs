//! Pods whose volumes cannot be attached where the pods are, or may come to be.

use std::collections::{BTreeMap, BTreeSet};

use super::super::catalog::Check;
use super::super::cluster::{Cluster, Node, NodeKind, Pod, Selector, bears_all};
use super::super::report::{Finding, Verdicts};
use crate::text::{count, listed};

impl Pod {
    /// Who wrote it, as people know it.
    fn workload(&self) -> String {
        format!("{}/{}", self.namespace, self.owner.as_deref().unwrap_or(&self.name))
    }

    /// Whether the scheduler may send it there, volumes included.
    fn may_run_on(&self, node: &Node, volumes: &BTreeMap<&str, Option<&Selector>>) -> bool {
        let selected = self
            .node_selector
            .iter()
            .all(|(key, value)| node.labels.get(key).is_some_and(|found| found == value));
        let wanted = self.affinity.as_ref().is_none_or(|selector| selector.fits(node));
        let attachable = self.claims.iter().all(|(_, volume)| {
            let places = volume.as_deref().and_then(|name| volumes.get(name).copied().flatten());
            places.is_none_or(|places| places.fits(node))
        });
        selected && wanted && attachable && bears_all(&self.tolerations, node)
    }
}

pub(in crate::check) fn judge(cluster: &Cluster) -> Verdicts {
    let mut verdicts = Verdicts::default();
    let metal: Vec<&Node> =
        cluster.nodes.iter().filter(|node| matches!(node.kind(), NodeKind::Other { .. })).collect();
    if metal.is_empty() {
        return verdicts;
    }
    let names: BTreeSet<&str> = metal.iter().map(|node| node.name.as_str()).collect();
    let volumes: BTreeMap<&str, Option<&Selector>> =
        cluster.volumes.iter().map(|volume| (volume.name.as_str(), volume.places.as_ref())).collect();
    // What several pods of one workload have in common is said once.
    let mut stuck: BTreeMap<String, (BTreeSet<&str>, BTreeSet<&str>)> = BTreeMap::new();
    let mut free: BTreeMap<String, (BTreeSet<&str>, BTreeSet<&str>)> = BTreeMap::new();
    for pod in &cluster.pods {
        verdicts.add(Check::Workloads, None);
        let claims = pod.claims.iter().map(|(claim, _)| claim.as_str());
        let on_metal = pod.node.as_deref().filter(|node| names.contains(node));
        let (list, nodes): (_, Vec<&str>) = match on_metal {
            Some(node) if !pod.running => (&mut stuck, vec![node]),
            _ => {
                let may = metal.iter().filter(|node| pod.may_run_on(node, &volumes));
                (&mut free, may.map(|node| node.name.as_str()).collect())
            }
        };
        if !nodes.is_empty() {
            let entry = list.entry(pod.workload()).or_default();
            entry.0.extend(claims);
            entry.1.extend(nodes);
        }
    }
    for (workload, (claims, nodes)) in &stuck {
        let claims: Vec<&str> = claims.iter().copied().collect();
        let nodes: Vec<&str> = nodes.iter().copied().collect();
        let message = format!(
            "`{workload}` hangs on {}, where the vSphere volumes of {} cannot be attached",
            listed(&nodes),
            listed(&claims)
        );
        let finding = Finding::failure(Check::Workloads, workload, message);
        verdicts.findings.push(finding.remedy(remedy()));
    }
    for (workload, (claims, nodes)) in free.iter().filter(|(workload, _)| !stuck.contains_key(*workload)) {
        let claims: Vec<&str> = claims.iter().copied().collect();
        let message = format!(
            "`{workload}` may be scheduled to {} without vSphere, where the volumes of {} cannot be attached",
            count(nodes.len(), "node"),
            listed(&claims)
        );
        let finding = Finding::warning(Check::Workloads, workload, message);
        let nodes: Vec<&str> = nodes.iter().copied().collect();
        verdicts.findings.push(finding.details([format!("nodes: {}", listed(&nodes))]).remedy(remedy()));
    }
    verdicts
}

fn remedy() -> &'static str {
    "give it a node affinity to nodes with the label node.kubernetes.io/instance-type, or taint the nodes without vSphere"
}
