//! From Kubernetes' objects to what the rules look at.

use std::collections::BTreeMap;

use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use k8s_openapi::api::core::v1 as core;
use k8s_openapi::api::storage::v1 as storage;
use slipway_api::well_known::{DRIVER_LABEL, KUBELET_SIGNERS};

use super::super::{
    ControlPlaneCertificate, DRIVER, Driver, Node, PendingRequest, Pod, Requirement, Selector, StorageClass,
    Taint, Term, Toleration, Volume,
};

/// What OpenShift's storage operator writes on the driver it owns.
const RELEASE_ANNOTATION: &str = "csi.openshift.io/managed";

pub(super) fn node(object: &core::Node) -> Node {
    let spec = object.spec.clone().unwrap_or_default();
    let status = object.status.clone().unwrap_or_default();
    let ready = |condition: &core::NodeCondition| condition.type_ == "Ready" && condition.status == "True";
    Node {
        name: object.metadata.name.clone().unwrap_or_default(),
        provider_id: spec.provider_id.filter(|id| !id.is_empty()),
        system_uuid: status.node_info.map(|info| info.system_uuid).unwrap_or_default(),
        labels: object.metadata.labels.clone().unwrap_or_default(),
        taints: spec
            .taints
            .into_iter()
            .flatten()
            .map(|taint| Taint {
                key: taint.key,
                value: taint.value.unwrap_or_default(),
                effect: taint.effect,
            })
            .collect(),
        addresses: status.addresses.into_iter().flatten().map(|address| address.address).collect(),
        ready: status.conditions.iter().flatten().any(ready),
        created: object.metadata.creation_timestamp.as_ref().map(|time| time.0),
    }
}

/// What the machines of the control plane say about their certificates, one entry for each.
pub(super) fn certificates(object: &core::ConfigMap) -> Vec<ControlPlaneCertificate> {
    #[derive(serde::Deserialize)]
    struct Entry {
        certificate: String,
        until: jiff::Timestamp,
    }
    let read = |(node, text): (&String, &String)| {
        let Entry { certificate, until } = serde_json::from_str(text).ok()?;
        Some(ControlPlaneCertificate { node: node.clone(), file: certificate, until })
    };
    object.data.iter().flatten().filter_map(read).collect()
}

/// `None` for those that are approved or denied, or not for kubelets.
pub(super) fn request(object: &CertificateSigningRequest) -> Option<PendingRequest> {
    let conditions = object.status.as_ref().and_then(|status| status.conditions.as_ref());
    let is_decided = conditions.is_some_and(|conditions| !conditions.is_empty());
    let is_of_kubelet = KUBELET_SIGNERS.contains(&object.spec.signer_name.as_str());
    let (name, since) = (object.metadata.name.clone()?, object.metadata.creation_timestamp.as_ref()?.0);
    (is_of_kubelet && !is_decided).then_some(PendingRequest { name, since })
}

pub(super) fn class(object: &storage::StorageClass) -> StorageClass {
    StorageClass {
        name: object.metadata.name.clone().unwrap_or_default(),
        provisioner: object.provisioner.clone(),
        parameters: object.parameters.clone().unwrap_or_default(),
    }
}

/// None for volumes of other drivers.
pub(super) fn volume(object: &core::PersistentVolume) -> Option<Volume> {
    let spec = object.spec.as_ref()?;
    let source = spec.csi.as_ref().filter(|source| source.driver == DRIVER)?;
    let places = spec.node_affinity.as_ref().and_then(|affinity| affinity.required.as_ref());
    let modes = spec.access_modes.iter().flatten();
    Some(Volume {
        name: object.metadata.name.clone().unwrap_or_default(),
        handle: source.volume_handle.clone(),
        shared: modes.into_iter().any(|mode| mode == "ReadWriteMany"),
        places: places.map(selector),
    })
}

fn selector(object: &core::NodeSelector) -> Selector {
    let requirement = |wanted: &core::NodeSelectorRequirement| Requirement {
        key: wanted.key.clone(),
        operator: wanted.operator.clone(),
        values: wanted.values.clone().unwrap_or_default(),
    };
    let term = |term: &core::NodeSelectorTerm| Term {
        labels: term.match_expressions.iter().flatten().map(requirement).collect(),
        fields: term.match_fields.iter().flatten().map(requirement).collect(),
    };
    Selector { terms: object.node_selector_terms.iter().map(term).collect() }
}

/// A pod that needs one of the claims; none else.
pub(super) fn pod(object: &core::Pod, claims: &BTreeMap<String, Option<String>>) -> Option<Pod> {
    let spec = object.spec.as_ref()?;
    let used = spec.volumes.iter().flatten().filter_map(|volume| {
        let name = &volume.persistent_volume_claim.as_ref()?.claim_name;
        Some((name.clone(), claims.get(name)?.clone()))
    });
    let used: Vec<(String, Option<String>)> = used.collect();
    if used.is_empty() {
        return None;
    }
    let affinity = spec.affinity.as_ref().and_then(|affinity| affinity.node_affinity.as_ref());
    let affinity =
        affinity.and_then(|nodes| nodes.required_during_scheduling_ignored_during_execution.as_ref());
    let owner =
        object.metadata.owner_references.iter().flatten().find(|owner| owner.controller == Some(true));
    let phase = object.status.as_ref().and_then(|status| status.phase.as_deref());
    Some(Pod {
        namespace: object.metadata.namespace.clone().unwrap_or_default(),
        name: object.metadata.name.clone().unwrap_or_default(),
        owner: owner.map(|owner| format!("{}/{}", owner.kind, owner.name)),
        node: spec.node_name.clone().filter(|name| !name.is_empty()),
        running: phase == Some("Running"),
        node_selector: spec.node_selector.clone().unwrap_or_default(),
        affinity: affinity.map(selector),
        tolerations: spec.tolerations.iter().flatten().map(toleration).collect(),
        claims: used,
    })
}

fn toleration(object: &core::Toleration) -> Toleration {
    Toleration {
        key: object.key.clone().unwrap_or_default(),
        operator: object.operator.clone().unwrap_or_default(),
        value: object.value.clone().unwrap_or_default(),
        effect: object.effect.clone().unwrap_or_default(),
    }
}

/// Whose driver it is.
pub(super) fn owner(object: &storage::CSIDriver) -> Driver {
    let metadata = &object.metadata;
    if metadata.labels.iter().flatten().any(|(key, _)| key == DRIVER_LABEL) {
        Driver::Ours
    } else if metadata.annotations.iter().flatten().any(|(key, _)| key == RELEASE_ANNOTATION) {
        Driver::OfRelease
    } else {
        Driver::Foreign(format!("a CSIDriver `{DRIVER}`"))
    }
}
