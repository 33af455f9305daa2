//! Machines of the running cluster: control plane, compute sets, and addresses for those that have static ones.

mod addresses;
mod kubevirt;
mod ovirt;
mod vsphere;

pub(crate) use self::kubevirt::spec as kubevirt_spec;
pub(crate) use self::ovirt::spec as ovirt_spec;
pub(crate) use self::vsphere::hosts_of;

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use serde::Serialize;
use slipway_api::openshift::{
    Machine, MachineSet, MachineSetSpec, MachineSpec, MachineTemplate, ObjectLabels, ProviderSpec,
};
use slipway_config::install_config::Platform;

use crate::names::{MACHINE_ROLE as ROLE, MACHINES_NAMESPACE as NAMESPACE, OBJECT_MARK, Role};
use crate::objects::{map, within};
use crate::{Access, Cluster, Error, Tree};

const CLUSTER: &str = "machine.openshift.io/cluster-api-cluster";
const TYPE: &str = "machine.openshift.io/cluster-api-machine-type";
const SET: &str = "machine.openshift.io/cluster-api-machineset";

pub(crate) fn add(cluster: &Cluster, tree: &mut Tree) -> Result<(), Error> {
    match &cluster.config.platform {
        Platform::VSphere(platform) => vsphere::add(cluster, platform, tree),
        Platform::Ovirt(platform) => ovirt::add(cluster, platform, tree),
        Platform::KubeVirt(platform) => kubevirt::add(cluster, platform, tree),
        Platform::None => Ok(()),
    }
}

/// A machine; those of the control plane carry the mark by which they are adopted.
fn machine(cluster: &Cluster, role: Role, name: &str, provider_spec: ProviderSpec) -> Machine {
    let mut labels = labels(cluster, role);
    if role == Role::Master {
        labels.insert(OBJECT_MARK.to_owned(), cluster.identity.object_id(name).to_string());
    }
    Machine {
        metadata: ObjectMeta { labels: Some(labels), ..within(NAMESPACE, name) },
        spec: MachineSpec { provider_spec, ..MachineSpec::default() },
        status: None,
    }
}

/// A set of compute machines.
fn machine_set(cluster: &Cluster, name: &str, replicas: usize, provider_spec: ProviderSpec) -> MachineSet {
    let infra_id = cluster.identity.infra_id.as_str();
    let mut template_labels = labels(cluster, Role::Worker);
    template_labels.insert(SET.to_owned(), name.to_owned());
    MachineSet {
        metadata: ObjectMeta { labels: Some(map([(CLUSTER, infra_id)])), ..within(NAMESPACE, name) },
        spec: MachineSetSpec {
            replicas: u32::try_from(replicas).unwrap_or(u32::MAX),
            selector: LabelSelector {
                match_labels: Some(map([(CLUSTER, infra_id), (SET, name)])),
                ..LabelSelector::default()
            },
            template: MachineTemplate {
                metadata: ObjectLabels { labels: template_labels, ..ObjectLabels::default() },
                spec: MachineSpec { provider_spec, ..MachineSpec::default() },
            },
            ..MachineSetSpec::default()
        },
        status: None,
    }
}

fn labels(cluster: &Cluster, role: Role) -> BTreeMap<String, String> {
    map([(CLUSTER, cluster.identity.infra_id.as_str()), (ROLE, role.as_str()), (TYPE, role.as_str())])
}

/// What a machine says about its platform, as the Machine carries it.
fn provider_spec(spec: &impl Serialize) -> Result<ProviderSpec, Error> {
    let value = serde_json::to_value(spec)
        .map_err(|source| Error::Unwritable { path: "a provider spec".to_owned(), source })?;
    Ok(ProviderSpec { value })
}

/// Files in the order of their numbers, whatever sorts them.
fn numbered(stem: &str, index: usize, count: usize) -> String {
    let width = count.saturating_sub(1).to_string().len();
    format!("openshift/99_openshift-cluster-api_{stem}-{index:0width$}.yaml")
}

/// The control plane on platforms without failure domains.
fn add_masters(
    cluster: &Cluster,
    tree: &mut Tree,
    spec: impl Fn(&str) -> Result<ProviderSpec, Error>,
) -> Result<(), Error> {
    let count = cluster.replicas(Role::Master);
    for index in 0..count {
        let name = cluster.machine_name(Role::Master, index);
        let machine = machine(cluster, Role::Master, &name, spec(&name)?);
        tree.yaml(numbered("master-machines", index, count), &machine, Access::Group)?;
    }
    Ok(())
}

/// The compute machines on platforms without failure domains: one set.
fn add_workers(cluster: &Cluster, tree: &mut Tree, spec: ProviderSpec) -> Result<(), Error> {
    let name = format!("{}-worker", cluster.identity.infra_id);
    let set = machine_set(cluster, &name, cluster.replicas(Role::Worker), spec);
    tree.yaml(numbered("worker-machineset", 0, 1), &set, Access::Group)
}
