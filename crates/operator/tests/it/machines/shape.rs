//! What a providerSpec can say beside the usual, and what a Machine of old leaves out.

use serde_json::{Value, json};
use slipway_providers::vsphere::placement::{Edit, Group, Members};
use slipway_providers::vsphere::{MoRef, Reference};

use super::life::client;
use super::world::{INFRA_ID, MACHINES, TIMEOUT, World, virtual_machines};

const CLUSTER: &str = "/north/host/compute";
const GROUP: &str = "harbour-x7k2p-rack-a";

/// Data disks, tags of the user's, and a group of machines that a rule binds to hosts.
pub(super) fn has_disks_tags_and_a_group(world: &World) {
    let tag = world.runtime.block_on(async {
        let client = client(&world.north);
        let category = client.create_category("cost", "", &["VirtualMachine"]).await.unwrap();
        let tag = client.create_tag(&category, "42", "").await.unwrap();
        let cluster = client.find(CLUSTER).await.unwrap().unwrap();
        let group = Group { name: GROUP.to_owned(), members: Members::Machines(Vec::new()) };
        let task = client.change_placement(&cluster, &[Edit::AddGroup(group)]).await.unwrap();
        client.finish(&task, TIMEOUT).await.unwrap();
        client.logout().await.unwrap();
        tag
    });
    let workspace = json!({
        "server": "127.0.0.1", "datacenter": "north", "datastore": "/north/datastore/vsan",
        "folder": format!("/north/vm/{INFRA_ID}"), "resourcePool": "/north/host/compute/Resources", "vmGroup": GROUP,
    });
    let disks = json!([
        {"name": "logs", "sizeGiB": 20, "provisioningMode": "Thick"}, {"name": "images", "sizeGiB": 40},
    ]);
    world.machine_with(
        "s",
        "127.0.0.1",
        "north",
        &json!({"workspace": workspace, "dataDisks": disks, "tagIDs": [tag]}),
    );
    world.wait_until_made("s");
    let found = virtual_machines(&world.north, "north");
    let (_, machine) = found.iter().find(|(name, _)| name == "s").unwrap();
    let moref = machine["moref"].as_str().unwrap().to_owned();
    let (sizes, tags, is_member) = world.runtime.block_on(async {
        let client = client(&world.north);
        let (kind, id) = moref.split_once(':').unwrap_or(("VirtualMachine", &moref));
        let machine = client.moref(Reference::new(kind, id));
        let hardware =
            client.hardware(std::slice::from_ref(&machine)).await.unwrap().remove(&machine).unwrap();
        let sizes: Vec<u64> = hardware.disks.iter().map(|disk| disk.capacity_kib >> 20).collect();
        let tags = client.named_tags_of(std::slice::from_ref(&machine), &["cost"]).await.unwrap();
        let cluster = client.find(CLUSTER).await.unwrap().unwrap();
        let groups = client.placement(&cluster).await.unwrap().groups;
        client.logout().await.unwrap();
        let members: Vec<MoRef> = groups
            .into_iter()
            .filter(|group| group.name == GROUP)
            .flat_map(|group| match group.members {
                Members::Machines(machines) => machines,
                Members::Hosts(_) => Vec::new(),
            })
            .collect();
        let is_member = members.contains(&machine);
        (sizes, tags.into_values().flatten().collect::<Vec<_>>(), is_member)
    });
    assert_eq!(sizes, [32, 20, 40]);
    assert_eq!(tags, [("cost".to_owned(), "42".to_owned())]);
    assert!(is_member, "it is in the group");
    world.delete("s");
    world.wait_until_gone("s");
}

/// Clusters that were installed long ago say in their cloud config, in INI, what their Machines leave out.
#[test]
fn a_machine_of_old_is_made_as_the_cloud_config_says() {
    let mut world = World::new();
    let ini = format!(
        "[Global]\nsecret-name = \"vsphere-creds\"\nsecret-namespace = \"kube-system\"\n\n[Workspace]\nserver = 127.0.0.1\n\
         datacenter = north\ndefault-datastore = vsan\nfolder = /north/vm/{INFRA_ID}\n\
         resourcepool-path = /north/host/compute/Resources\n\n[VirtualCenter \"127.0.0.1\"]\ndatacenters = north\n"
    );
    let map = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "cloud-provider-config", "namespace": "openshift-config"}, "data": {"config": ini},
    });
    let kubectl = world.plane.kubectl();
    kubectl.run(&["create", "namespace", "openshift-config"]).unwrap();
    kubectl.apply_value(&map).unwrap();
    world.start();
    world.machine_with("old", "127.0.0.1", "north", &json!({"workspace": Value::Null}));
    // Its addresses come with the change stream of the vCenter that it does not name.
    world.wait_until_made("old");
    assert_eq!(virtual_machines(&world.north, "north").len(), 1);
    world.delete("old");
    world.wait_until_gone("old");
    assert_eq!(virtual_machines(&world.north, "north").len(), 0);
    let left =
        world.plane.kubectl().run(&["get", "machines", "--namespace", MACHINES, "--output=name"]).unwrap();
    assert_eq!(left.trim(), "");
    world.stop();
}
