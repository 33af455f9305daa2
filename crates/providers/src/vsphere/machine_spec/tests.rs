//! What becomes of a providerSpec.

use rstest::rstest;
use serde_json::{Value, json};
use slipway_config::ids::InfraId;
use slipway_engine::{Endpoint, Goal, Resource};
use uuid::Uuid;

use super::{Claimed, Defaults, Identity, MachineSpec, Shutdown};
use crate::vsphere::kinds::{Desired, Kind, Machine, Shape};

fn provider_spec(change: &Value) -> Value {
    let mut spec = json!({
        "apiVersion": "machine.openshift.io/v1beta1", "kind": "VSphereMachineProviderSpec",
        "template": "rhcos", "numCPUs": 4, "numCoresPerSocket": 2, "memoryMiB": 16384, "diskGiB": 120,
        "userDataSecret": {"name": "worker-user-data"}, "credentialsSecret": {"name": "vsphere-cloud-credentials"},
        "workspace": {
            "server": "VC.example.com", "datacenter": "dc1", "datastore": "/dc1/datastore/fast",
            "folder": "/dc1/vm/eu/harbour-x7k2p", "resourcePool": "/dc1/host/compute/Resources",
        },
        "network": {"devices": [{"networkName": "net"}]},
    });
    merge(&mut spec, change);
    spec
}

fn merge(value: &mut Value, change: &Value) {
    match (value, change) {
        (Value::Object(value), Value::Object(change)) => {
            for (key, change) in change {
                merge(value.entry(key.clone()).or_insert(Value::Null), change);
            }
        }
        (value, change) => *value = change.clone(),
    }
}

fn read(change: &Value) -> MachineSpec {
    MachineSpec::read(&provider_spec(change), &Defaults::default()).unwrap()
}

fn infra_id() -> InfraId {
    InfraId::try_from("harbour-x7k2p".to_owned()).unwrap()
}

fn present(spec: &MachineSpec, claimed: &[Claimed]) -> [Resource<Desired>; 2] {
    let (endpoint, infra_id) = (Endpoint::from("vc.example.com"), infra_id());
    let identity = Identity { endpoint: &endpoint, name: "worker-a", uuid: Uuid::nil(), infra_id: &infra_id };
    spec.present(&identity, None, claimed)
}

fn machine(resource: &Resource<Desired>) -> &Machine {
    match &resource.desired {
        Desired::Machine(machine) => machine,
        other => panic!("{other:?}"),
    }
}

fn shape(spec: &MachineSpec, claimed: &[Claimed]) -> Shape {
    machine(&present(spec, claimed)[0]).shape.clone().unwrap()
}

#[test]
fn a_machine_is_two_resources_that_need_its_site() {
    let spec = read(&json!({"tagIDs": ["urn:vmomi:InventoryServiceTag:a:GLOBAL"], "dataDisks": [
        {"name": "logs", "sizeGiB": 20, "provisioningMode": "Thick"},
    ]}));
    let endpoint = Endpoint::from("vc.example.com");
    let site = spec.site(&endpoint, &infra_id());
    let ids: Vec<String> = site.resources.iter().map(|resource| resource.id.to_string()).collect();
    assert_eq!(
        ids,
        [
            "tag `harbour-x7k2p` on vc.example.com",
            "folder `/dc1/vm/eu` on vc.example.com",
            "folder `/dc1/vm/eu/harbour-x7k2p` on vc.example.com",
            "template `/dc1/rhcos` on vc.example.com",
        ]
    );
    let [vm, power] = present(&spec, &[]);
    let given = |id: &slipway_engine::Id| site.resources.iter().any(|resource| resource.id == *id);
    assert!(vm.depends_on.iter().all(given), "{:?}", vm.depends_on);
    assert_eq!(power.depends_on, [Kind::Machine.id(&endpoint, "worker-a")]);
    let Machine { folder, compute_cluster, zone, .. } = machine(&vm);
    assert_eq!(
        (folder.as_str(), compute_cluster.as_str()),
        ("/dc1/vm/eu/harbour-x7k2p", "/dc1/host/compute")
    );
    assert_eq!(zone, &None);
    let shape = shape(&spec, &[]);
    assert_eq!(shape.networks, ["/dc1/host/compute/net"]);
    assert_eq!(
        (shape.cpus, shape.cores_per_socket, shape.memory_mib, shape.disk_gib),
        (4, Some(2), 16384, 120)
    );
    assert_eq!((shape.data_disks.len(), shape.tags.len()), (1, 1));
    assert_eq!(shape.vmx["guestinfo.hostname"], "worker-a");
    assert!(!shape.vmx.contains_key(super::NETWORK_KARGS), "DHCP");
}

#[rstest]
#[case::names(
    json!({"datacenter": "dc1", "datastore": "fast", "folder": "", "resourcePool": "compute"}),
    ["/dc1", "/dc1/datastore/fast", "/dc1/vm", "/dc1/host/compute/Resources"]
)]
#[case::relative(
    json!({"datacenter": "/dc1/", "datastore": "pod/fast", "folder": "a/b", "resourcePool": "compute/Resources/gold"}),
    ["/dc1", "/dc1/datastore/pod/fast", "/dc1/vm/a/b", "/dc1/host/compute/Resources/gold"]
)]
#[case::nested(
    json!({"datacenter": "eu/dc1", "folder": "/eu/dc1/vm/x/", "resourcePool": "/eu/dc1/host/compute"}),
    ["/eu/dc1", "/dc1/datastore/fast", "/eu/dc1/vm/x", "/eu/dc1/host/compute/Resources"]
)]
fn names_become_paths(#[case] workspace: Value, #[case] expected: [&str; 4]) {
    let spec = read(&json!({"workspace": workspace}));
    assert_eq!([&spec.datacenter, &spec.datastore, &spec.folder, &spec.pool], expected);
}

#[test]
fn the_cloud_config_says_what_an_old_machine_leaves_out() {
    let mut value = provider_spec(&json!({}));
    value.as_object_mut().unwrap().remove("workspace");
    let error = MachineSpec::read(&value, &Defaults::default()).unwrap_err();
    let fields: Vec<&str> = error.problems.iter().map(|problem| &*problem.field).collect();
    assert_eq!(
        fields,
        ["workspace.server", "workspace.datacenter", "workspace.datastore", "workspace.resourcePool"]
    );
    let defaults = Defaults {
        server: "vc".to_owned(),
        datacenter: "dc1".to_owned(),
        datastore: "fast".to_owned(),
        folder: "/dc1/vm/old".to_owned(),
        resource_pool: "/dc1/host/compute/Resources".to_owned(),
    };
    let spec = MachineSpec::read(&value, &defaults).unwrap();
    assert_eq!((spec.server.as_str(), spec.folder.as_str()), ("vc", "/dc1/vm/old"));
}

#[rstest]
#[case::template(json!({"template": ""}), "template")]
#[case::no_network(json!({"network": {"devices": []}}), "network.devices")]
#[case::unnamed_network(json!({"network": {"devices": [{}]}}), "network.devices[0].networkName")]
#[case::address(json!({"network": {"devices": [{"networkName": "n", "ipAddrs": ["10.0.0.5"]}]}}), "network.devices[0].ipAddrs")]
#[case::gateway(json!({"network": {"devices": [{"networkName": "n", "gateway": "gw"}]}}), "network.devices[0].gateway")]
#[case::mode(json!({"cloneMode": "instantClone"}), "cloneMode")]
#[case::disk(json!({"dataDisks": [{"name": "a", "sizeGiB": 0}]}), "dataDisks[0].sizeGiB")]
#[case::provisioning(json!({"dataDisks": [{"name": "a", "sizeGiB": 1, "provisioningMode": "Fat"}]}), "dataDisks[0].provisioningMode")]
#[case::types(json!({"numCPUs": "four"}), "providerSpec.value")]
#[case::tags(json!({"tagIDs": vec!["t"; 11]}), "tagIDs")]
fn what_no_vcenter_could_make_is_named_by_its_field(#[case] change: Value, #[case] field: &str) {
    let error = MachineSpec::read(&provider_spec(&change), &Defaults::default()).unwrap_err();
    let fields: Vec<&str> = error.problems.iter().map(|problem| &*problem.field).collect();
    assert_eq!(fields, [field], "{error}");
}

#[test]
fn what_is_left_out_has_openshifts_defaults() {
    let spec = read(
        &json!({"numCPUs": 0, "numCoresPerSocket": 0, "memoryMiB": 0, "diskGiB": 0, "userDataSecret": null}),
    );
    assert_eq!((spec.cpus, spec.cores_per_socket, spec.memory_mib, spec.disk_gib), (2, None, 2048, 0));
    assert_eq!(
        (spec.user_data_secret.as_str(), spec.server.as_str()),
        ("worker-user-data", "vc.example.com")
    );
}

#[rstest]
#[case::both(
    json!([{"networkName": "n", "ipAddrs": ["10.0.0.5/24", "fd00::5/64"], "gateway": "10.0.0.1", "nameservers": ["10.0.0.2"]}]),
    &[],
    "ip=10.0.0.5::10.0.0.1:255.255.255.0:::none ip=[fd00::5]:::64:::none nameserver=10.0.0.2"
)]
#[case::claimed(
    json!([{"networkName": "m"}, {"networkName": "n", "nameservers": ["fd00::2"]}]),
    &[(1, "10.0.0.7/25", Some("10.0.0.1"))],
    "ip=10.0.0.7::10.0.0.1:255.255.255.128:::none nameserver=[fd00::2]"
)]
fn static_addresses_are_kernel_arguments(
    #[case] devices: Value,
    #[case] claimed: &[(usize, &str, Option<&str>)],
    #[case] expected: &str,
) {
    let claimed: Vec<Claimed> = claimed
        .iter()
        .map(|(device, address, gateway)| Claimed {
            device: *device,
            address: address.parse().unwrap(),
            gateway: gateway.map(|gateway| gateway.parse().unwrap()),
        })
        .collect();
    let spec = read(&json!({"network": {"devices": devices}}));
    assert_eq!(shape(&spec, &claimed).vmx[super::NETWORK_KARGS], expected);
}

#[rstest]
#[case::name("rhcos", "template `/dc1/rhcos` on vc", "/dc1/vm/rhcos")]
#[case::path("/dc1/vm/images/rhcos", "template `/dc1/vm/images/rhcos` on vc", "/dc1/vm/images/rhcos")]
fn a_template_has_a_name_or_a_path(#[case] template: &str, #[case] id: &str, #[case] path: &str) {
    let spec = read(&json!({"template": template}));
    let site = spec.site(&Endpoint::from("vc"), &infra_id());
    assert_eq!(site.resources.last().unwrap().id.to_string(), id);
    assert_eq!(shape(&spec, &[]).template, path);
}

#[test]
fn a_network_may_have_a_slash_in_its_name() {
    let spec = read(
        &json!({"network": {"devices": [{"networkName": "team/blue"}, {"networkName": "/dc1/network/n"}]}}),
    );
    assert_eq!(shape(&spec, &[]).networks, ["/dc1/host/compute/team%2fblue", "/dc1/network/n"]);
}

#[test]
fn what_is_adopted_or_goes_has_no_shape() {
    let (endpoint, infra_id) = (Endpoint::from("vc"), infra_id());
    let identity = Identity { endpoint: &endpoint, name: "m", uuid: Uuid::nil(), infra_id: &infra_id };
    let spec = read(&json!({"workspace": {"vmGroup": "harbour-x7k2p-a"}}));
    assert_eq!(machine(&spec.present(&identity, None, &[])[0]).zone.as_deref(), Some("harbour-x7k2p-a"));
    let adopted = spec.adopted(&identity);
    assert!(machine(&adopted).shape.is_none() && machine(&adopted).zone.is_none());
    let [vm, power] = spec.absent(&identity, Shutdown::Guest(std::time::Duration::from_secs(9)));
    assert_eq!((vm.goal, power.goal), (Goal::Absent, Goal::Absent));
    assert!(matches!(&power.desired, Desired::Power(power) if power.shutdown.is_some()));
}
