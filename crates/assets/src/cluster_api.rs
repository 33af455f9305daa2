//! `cluster-api/`: one Cluster API cluster per vCenter that hosts bootstrap or control plane, and those machines.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use secrecy::ExposeSecret;
use slipway_api::cluster_api::{
    Bootstrap, Cluster as CapiCluster, ClusterNetwork, ClusterSpec, ClusterStatus, Endpoint, Machine,
    MachineSpec, ObjectReference,
};
use slipway_api::vsphere_machines::{
    FailureDomainPart, FailureDomainTopology, HostPlacement, Identity, Network, NetworkDevice,
    PlacementConstraint, Selector, VSphereCluster, VSphereClusterSpec, VSphereClusterStatus,
    VSphereDeploymentZone, VSphereDeploymentZoneSpec, VSphereFailureDomain, VSphereFailureDomainSpec,
    VSphereMachine, VSphereMachineSpec, VSphereMachineStatus,
};
use slipway_config::install_config::Platform as AnyPlatform;
use slipway_config::install_config::vsphere::{Host, HostRole, Platform, VCenter, ZoneKind};
use slipway_config::net::Family;

use crate::drivers::thumbprint;
use crate::machines::hosts_of;
use crate::names::Role;
use crate::objects::{map, named, namespace, secret, within};
use crate::vsphere::{DomainSite, REGION_CATEGORY, ZONE_CATEGORY, data_disk};
use crate::{Access, Cluster, Credentials, Error, Named, Tree, ignition};

const NAMESPACE: &str = "openshift-cluster-api-guests";
const API_PORT: u16 = 6443;
const INFRASTRUCTURE: &str = "infrastructure.cluster.x-k8s.io/v1beta1";

/// A machine that is there before the cluster is.
struct Planned<'a> {
    name: String,
    /// What it boots from.
    secret: String,
    site: DomainSite<'a>,
    host: Option<&'a Host>,
    has_data_disks: bool,
}

pub(crate) fn add(cluster: &Cluster, tree: &mut Tree) -> Result<(), Error> {
    let AnyPlatform::VSphere(platform) = &cluster.config.platform else { return Ok(()) };
    let machines = planned(cluster, platform);
    let vcenters: BTreeSet<usize> = machines.iter().map(|machine| machine.site.domain.vcenter).collect();
    tree.yaml("cluster-api/000_capi-namespace.yaml", &namespace(NAMESPACE, BTreeMap::new()), Access::Group)?;
    for index in vcenters {
        if let Some(vcenter) = platform.vcenters.get(index) {
            add_vcenter(cluster, platform, index, vcenter, tree)?;
        }
    }
    for MachineObjects { name, machine, infra } in self::machines(cluster) {
        let path = |kind: &str| format!("cluster-api/machines/10_{kind}_{name}.yaml");
        tree.yaml(path("inframachine"), &infra, Access::Group)?;
        tree.yaml(path("machine"), &machine, Access::Group)?;
    }
    Ok(())
}

/// A machine that is there before the cluster is, as Cluster API describes it.
#[derive(Debug, Clone)]
pub struct MachineObjects {
    pub name: String,
    pub machine: Machine,
    pub infra: VSphereMachine,
}

/// The bootstrap machine and the control plane on vSphere, as they are before the user edits their files.
pub fn machines(named: &Named) -> Vec<MachineObjects> {
    let AnyPlatform::VSphere(platform) = &named.config.platform else { return Vec::new() };
    let objects = |machine: Planned<'_>| MachineObjects {
        machine: capi_machine(named, &machine),
        infra: infra_machine(named, platform, &machine),
        name: machine.name,
    };
    planned(named, platform).into_iter().map(objects).collect()
}

/// The failure domains that are groups of hosts, of vCenters that have machines, as they are before the user edits
/// their files.
pub fn failure_domains(named: &Named) -> Vec<VSphereFailureDomain> {
    let AnyPlatform::VSphere(platform) = &named.config.platform else { return Vec::new() };
    let vcenters: BTreeSet<usize> =
        planned(named, platform).iter().map(|machine| machine.site.domain.vcenter).collect();
    let sites = (0..platform.failure_domains.len()).filter_map(|position| named.site(platform, position));
    sites
        .filter(|site| vcenters.contains(&site.domain.vcenter))
        .filter_map(|site| host_group(&site))
        .collect()
}

/// The bootstrap machine and the control plane, each where placement put it.
fn planned<'a>(cluster: &Named, platform: &'a Platform) -> Vec<Planned<'a>> {
    let placement = cluster.config.placement();
    let infra_id = &cluster.identity.infra_id;
    let hosts = hosts_of(platform, HostRole::ControlPlane);
    let bootstrap = cluster.site(platform, placement.bootstrap).map(|site| Planned {
        name: cluster.bootstrap_name(),
        secret: format!("{infra_id}-bootstrap"),
        site,
        host: hosts_of(platform, HostRole::Bootstrap).first().copied(),
        has_data_disks: false,
    });
    let masters = placement.control_plane.iter().enumerate().filter_map(|(index, position)| {
        Some(Planned {
            name: cluster.machine_name(Role::Master, index),
            secret: format!("{infra_id}-master"),
            site: cluster.site(platform, *position)?,
            host: hosts.get(index).copied(),
            has_data_disks: true,
        })
    });
    bootstrap.into_iter().chain(masters).collect()
}

/// Clusters are numbered by the position of their vCenter.
fn cluster_name(cluster: &Named, vcenter: usize) -> String {
    format!("{}-{vcenter}", cluster.identity.infra_id)
}

fn add_vcenter(
    cluster: &Cluster,
    platform: &Platform,
    index: usize,
    vcenter: &VCenter,
    tree: &mut Tree,
) -> Result<(), Error> {
    let name = cluster_name(cluster, index);
    let path = |stem: &str| format!("cluster-api/01_{stem}-{index}.yaml");
    let capi = CapiCluster {
        metadata: within(NAMESPACE, &name),
        spec: ClusterSpec {
            cluster_network: ClusterNetwork { api_server_port: API_PORT },
            control_plane_endpoint: Endpoint::default(),
            infrastructure_ref: reference("VSphereCluster", &name),
        },
        status: Some(ClusterStatus::default()),
    };
    tree.yaml(path("capi-cluster"), &capi, Access::Group)?;

    let host_groups =
        platform.failure_domains.iter().enumerate().filter(|(_, domain)| {
            domain.vcenter == index && matches!(domain.zone_kind, ZoneKind::HostGroup(_))
        });
    let host_groups: Vec<usize> = host_groups.map(|(position, _)| position).collect();
    let credentials = format!("vsphere-creds-{index}");
    let fingerprint = thumbprint(&vcenter.tls);
    let infra = VSphereCluster {
        metadata: within(NAMESPACE, &name),
        spec: VSphereClusterSpec {
            control_plane_endpoint: Endpoint {
                host: format!("api.{}", cluster.config.cluster_domain()),
                port: API_PORT,
            },
            identity_ref: Identity { kind: "Secret".to_owned(), name: credentials.clone() },
            server: format!("https://{}", server(vcenter)),
            thumbprint: (!fingerprint.is_empty()).then_some(fingerprint),
            failure_domain_selector: (!host_groups.is_empty()).then(Selector::default),
        },
        status: Some(VSphereClusterStatus::default()),
    };
    tree.yaml(path("vsphere-cluster"), &infra, Access::Group)?;

    if let Credentials::VSphere(logins) = &cluster.credentials
        && let Some(login) = logins.get(index)
    {
        let data = map([("username", login.user.as_str()), ("password", login.password.expose_secret())]);
        let login = secret(within(NAMESPACE, credentials), "Opaque", data);
        tree.yaml(path("vsphere-creds"), &login, Access::Owner)?;
    }
    for position in host_groups {
        if let Some(site) = cluster.site(platform, position) {
            add_host_group(&site, tree)?;
        }
    }
    Ok(())
}

/// A zone that is a group of hosts: its machines join a group of machines that a rule binds to them.
fn host_group(site: &DomainSite<'_>) -> Option<VSphereFailureDomain> {
    let domain = site.domain;
    let ZoneKind::HostGroup(hosts) = &domain.zone_kind else { return None };
    let (group, compute_cluster) = (site.vm_group.clone()?, domain.topology.compute_cluster.as_ref()?);
    let part = |name: &str, kind: &str, category: &str| FailureDomainPart {
        name: name.to_owned(),
        kind: kind.to_owned(),
        tag_category: category.to_owned(),
    };
    Some(VSphereFailureDomain {
        metadata: named(domain.name.as_str()),
        spec: VSphereFailureDomainSpec {
            region: part(&domain.region, domain.region_kind.as_str(), REGION_CATEGORY),
            zone: part(&domain.zone, "HostGroup", ZONE_CATEGORY),
            topology: FailureDomainTopology {
                datacenter: domain.topology.datacenter.clone(),
                compute_cluster: compute_cluster.to_string(),
                datastore: domain.topology.datastore.to_string(),
                hosts: Some(HostPlacement { host_group_name: hosts.clone(), vm_group_name: group }),
                networks: site.network_paths(),
            },
        },
    })
}

fn add_host_group(site: &DomainSite<'_>, tree: &mut Tree) -> Result<(), Error> {
    let Some(failure_domain) = host_group(site) else { return Ok(()) };
    let name = site.domain.name.as_str();
    let path = format!("cluster-api/01_vsphere-failuredomain-{name}.yaml");
    tree.yaml(path, &failure_domain, Access::Group)?;
    let zone = VSphereDeploymentZone {
        metadata: named(name),
        spec: VSphereDeploymentZoneSpec {
            control_plane: Some(true),
            failure_domain: name.to_owned(),
            placement_constraint: PlacementConstraint {
                folder: site.folder.to_string(),
                resource_pool: site.resource_pool.to_string(),
            },
            server: server(site.vcenter),
        },
    };
    tree.yaml(format!("cluster-api/01_vsphere-deploymentzone-{name}.yaml"), &zone, Access::Group)
}

fn control_plane_labels(name: &str) -> ObjectMeta {
    let labels = map([("cluster.x-k8s.io/control-plane", "")]);
    ObjectMeta { labels: Some(labels), ..within(NAMESPACE, name) }
}

fn capi_machine(cluster: &Named, machine: &Planned<'_>) -> Machine {
    Machine {
        metadata: control_plane_labels(&machine.name),
        spec: MachineSpec {
            bootstrap: Bootstrap { data_secret_name: machine.secret.clone() },
            cluster_name: cluster_name(cluster, machine.site.domain.vcenter),
            failure_domain: None,
            infrastructure_ref: reference("VSphereMachine", &machine.name),
        },
    }
}

fn infra_machine(cluster: &Named, platform: &Platform, machine: &Planned<'_>) -> VSphereMachine {
    let Planned { name, site, .. } = machine;
    let size = &platform.machines.control_plane;
    let topology = &site.domain.topology;
    let data_disks = size.data_disks.iter().filter(|_| machine.has_data_disks).map(data_disk);
    let stack = cluster.config.networking.stack;
    let dhcp = |family: Family| (stack.is_dual() || stack.primary() == family).then_some(true);
    let devices = site.network_paths().into_iter().map(|network_name| NetworkDevice {
        dhcp4: dhcp(Family::V4),
        dhcp6: dhcp(Family::V6),
        network_name,
    });
    VSphereMachine {
        metadata: control_plane_labels(name),
        spec: VSphereMachineSpec {
            clone_mode: "fullClone".to_owned(),
            custom_vmx_keys: vmx_keys(cluster, machine),
            datacenter: topology.datacenter.clone(),
            datastore: topology.datastore.to_string(),
            disk_gib: size.os_disk_gib,
            data_disks: data_disks.collect(),
            failure_domain: site.vm_group.as_ref().map(|_| site.domain.name.to_string()),
            folder: site.folder.to_string(),
            memory_mib: size.memory_mib,
            network: Network { devices: devices.collect() },
            num_cpus: size.cpus,
            num_cores_per_socket: Some(size.cores_per_socket),
            resource_pool: site.resource_pool.to_string(),
            server: server(site.vcenter),
            tag_ids: topology.tag_ids.iter().map(ToString::to_string).collect(),
            template: site.template.clone(),
            thumbprint: None,
        },
        status: Some(VSphereMachineStatus::default()),
    }
}

/// What the machine can read about itself before it has a network.
fn vmx_keys(cluster: &Named, machine: &Planned<'_>) -> BTreeMap<String, String> {
    let mut keys = map([
        ("guestinfo.domain", cluster.config.cluster_domain().as_str()),
        ("guestinfo.hostname", &machine.name),
        ("stealclock.enable", "TRUE"),
    ]);
    if let Some(host) = machine.host {
        let arguments = ignition::network_kargs(host, "");
        keys.insert(ignition::NETWORK_KARGS.to_owned(), arguments);
    }
    keys
}

fn reference(kind: &str, name: &str) -> ObjectReference {
    ObjectReference {
        api_version: INFRASTRUCTURE.to_owned(),
        kind: kind.to_owned(),
        name: name.to_owned(),
        namespace: Some(NAMESPACE.to_owned()),
    }
}

/// The server, with its port where that is not the usual one.
fn server(vcenter: &VCenter) -> String {
    match vcenter.port.get() {
        443 => vcenter.server.to_string(),
        port => format!("{}:{port}", vcenter.server),
    }
}
