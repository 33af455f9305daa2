//! Machines: from a template to removal.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use slipway_providers::vsphere::machines::{
    CloneSpec, ConfigSpec, DeviceError, Devices, DiskMove, DiskSpec, Network, Provisioning,
};
use slipway_providers::vsphere::properties::{Object, PropertySpec};
use slipway_providers::vsphere::{Client, FaultKind, MoRef};
use slipway_testkit::vcenter::VCenter;

use crate::{calls, client};

const TIMEOUT: Duration = Duration::from_secs(30);
const UUID: &str = "50123456-0000-4000-8000-000000000001";

fn estate() -> Value {
    json!({
        "datacenters": [{
            "name": "dc1",
            "clusters": [{"name": "compute", "hosts": [{"name": "esx", "count": 2}], "pools": [{"name": "pool"}]}],
            "datastores": [{"name": "fast", "capacity_gb": 1000}],
            "switches": [{"name": "dvs"}],
            "networks": [
                {"name": "net"}, {"name": "pg", "type": "distributed", "switch": "dvs"},
                {"name": "nsx", "type": "opaque", "switch": "dvs"},
            ],
            "vms": [{
                "name": "rhcos", "template": true, "cluster": "compute", "datastore": "fast",
                "networks": ["net", "net"], "disks_gb": [16], "hardware_version": "vmx-15",
            }],
        }],
    })
}

async fn at(client: &Client, path: &str) -> MoRef {
    client.find(path).await.unwrap().unwrap_or_else(|| panic!("nothing at {path}"))
}

async fn networks(client: &Client) -> Vec<Network> {
    let mut morefs = Vec::new();
    for name in ["net", "pg", "nsx"] {
        morefs.push(at(client, &format!("/dc1/network/{name}")).await);
    }
    let networks = client.networks(&morefs).await.unwrap();
    morefs.iter().map(|moref| networks[moref].clone()).collect()
}

async fn clone_spec(client: &Client, name: &str, config: ConfigSpec) -> CloneSpec {
    CloneSpec {
        name: name.to_owned(),
        folder: at(client, "/dc1/vm").await,
        pool: Some(at(client, "/dc1/host/compute/Resources/pool").await),
        datastore: Some(at(client, "/dc1/datastore/fast").await),
        host: None,
        disks: DiskMove::Full,
        template: false,
        config,
    }
}

async fn read(client: &Client, machine: &MoRef, properties: &[&str]) -> Object {
    let specs = [PropertySpec { kind: "VirtualMachine", properties }];
    client.retrieve(std::slice::from_ref(machine), &specs).await.unwrap().remove(0)
}

#[tokio::test]
async fn a_clone_gets_what_was_asked_for() {
    let vcenter = VCenter::start(&estate()).unwrap();
    let files = vcenter.files("/dc1/datastore/fast").unwrap();
    assert!(files.contains("rhcos/rhcos.vmdk"), "{files:?}");
    let client = client(&vcenter);
    let template = at(&client, "/dc1/vm/rhcos").await;
    let hardware = client.hardware(std::slice::from_ref(&template)).await.unwrap().remove(&template).unwrap();
    assert_eq!((hardware.nics.len(), hardware.disks.len(), hardware.version), (2, 1, Some(15)));
    let networks = networks(&client).await;
    assert!(
        matches!(
            &networks[..],
            [Network::Standard { .. }, Network::Distributed { .. }, Network::Opaque { .. }]
        ),
        "{networks:?}"
    );
    let data = |provisioning| DiskSpec { size_gib: 3, provisioning };
    let devices = Devices {
        networks: networks[..2].to_vec(),
        disk_gib: Some(120),
        data_disks: [Provisioning::Thin, Provisioning::Thick, Provisioning::EagerlyZeroed]
            .into_iter()
            .cycle()
            .take(8)
            .map(data)
            .collect(),
    };
    let secret = "e30K & <ignition>";
    let config = ConfigSpec {
        instance_uuid: Some(UUID.to_owned()),
        annotation: Some("of a & b".to_owned()),
        disk_uuids: Some(true),
        cpus: Some(6),
        cores_per_socket: Some(3),
        memory_mib: Some(3072),
        devices: hardware.changes(&devices).unwrap(),
        extra_config: BTreeMap::from([
            ("guestinfo.ignition.config.data".to_owned(), secret.to_owned()),
            ("stealclock.enable".to_owned(), "TRUE".to_owned()),
        ]),
    };
    let spec = clone_spec(&client, "node/0", config).await;
    assert!(!format!("{spec:?}").contains("e30K"), "values are not for logs");
    let task = client.clone_machine(&template, &spec).await.unwrap();
    let machine = client.finish(&task, TIMEOUT).await.unwrap().unwrap();
    let properties = [
        "name",
        "config.instanceUuid",
        "config.annotation",
        "config.flags.diskUuidEnabled",
        "config.hardware.numCPU",
        "config.hardware.numCoresPerSocket",
        "config.hardware.memoryMB",
        "config.extraConfig",
        "runtime.powerState",
        "resourcePool",
        "config.template",
    ];
    let read = read(&client, &machine, &properties).await;
    let texts = properties[..7].iter().map(|name| read.text(name)).collect::<Vec<_>>();
    assert_eq!(texts, ["node%2f0", UUID, "of a & b", "true", "6", "3", "3072"]);
    assert_eq!((read.text("runtime.powerState"), read.text("config.template")), ("poweredOff", "false"));
    assert_eq!(read.reference("resourcePool"), spec.pool);
    let extra = &read.properties["config.extraConfig"];
    let stored = extra.children.iter().find(|option| option.text_of("key").contains("ignition")).unwrap();
    assert_eq!(stored.text_of("value"), secret);
    let made = client.hardware(std::slice::from_ref(&machine)).await.unwrap().remove(&machine).unwrap();
    assert_eq!(made.nics.len(), 2);
    assert_ne!(made.nics[0].mac, hardware.nics[0].mac);
    let sizes: Vec<u64> = made.disks.iter().map(|disk| disk.capacity_kib >> 20).collect();
    assert_eq!(sizes, [120, 3, 3, 3, 3, 3, 3, 3, 3]);
    let units: Vec<i32> = made.disks.iter().map(|disk| disk.unit).collect();
    assert_eq!(units, [0, 1, 2, 3, 4, 5, 6, 8, 9], "the seventh is the controller's own");

    let marks =
        client.marks(&[machine.clone(), template.clone()], &["stealclock.enable", "none"]).await.unwrap();
    assert_eq!(marks[&machine], BTreeMap::from([("stealclock.enable", "TRUE".to_owned())]));
    assert_eq!(marks[&template], BTreeMap::new());

    // Its disks are its own: they lie beside it, and go with it alone.
    let home = crate::machines::read(&client, &machine, &["config.files.vmPathName"]).await;
    let (folder, _) = home.text("config.files.vmPathName").rsplit_once('/').unwrap();
    assert!(made.disks.iter().all(|disk| disk.file.starts_with(&format!("{folder}/"))), "{made:?}");
    assert!(vcenter.files("/dc1/datastore/fast").unwrap().is_superset(&files));
    client.finish(&client.destroy(&machine).await.unwrap(), TIMEOUT).await.unwrap();
    assert_eq!(vcenter.files("/dc1/datastore/fast").unwrap(), files);
}

#[tokio::test]
async fn devices_that_cannot_be_had_are_refused_before_the_call() {
    let vcenter = VCenter::start(&estate()).unwrap();
    let client = client(&vcenter);
    let template = at(&client, "/dc1/vm/rhcos").await;
    let hardware = client.hardware(std::slice::from_ref(&template)).await.unwrap().remove(&template).unwrap();
    let shrink = Devices { disk_gib: Some(8), ..Devices::default() };
    assert!(matches!(hardware.changes(&shrink), Err(DeviceError::Shrink { wanted_gib: 8, .. })));
    let data_disks = vec![DiskSpec { size_gib: 1, provisioning: Provisioning::Thin }; 29];
    let full = Devices { data_disks, ..Devices::default() };
    assert_eq!(hardware.changes(&full), Err(DeviceError::Full(29)));
    let same = Devices { disk_gib: Some(16), ..Devices::default() };
    assert_eq!(hardware.changes(&same).unwrap().len(), 2, "only the cards go");
}

#[tokio::test]
async fn a_machine_lives_and_dies() {
    let vcenter = VCenter::start(&estate()).unwrap();
    let client = client(&vcenter);
    let template = at(&client, "/dc1/vm/rhcos").await;
    let parent = at(&client, "/dc1/vm").await;
    let folder = client.create_folder(&parent, "team/blue").await.unwrap();
    let again = client.create_folder(&parent, "team/blue").await.unwrap_err();
    assert!(matches!(again.fault().unwrap().kind, FaultKind::DuplicateName { .. }), "{again:?}");
    assert_eq!(client.paths(std::slice::from_ref(&folder)).await.unwrap(), ["/dc1/vm/team%2fblue"]);
    let hardware = client.hardware(std::slice::from_ref(&template)).await.unwrap().remove(&template).unwrap();
    let devices = Devices {
        data_disks: vec![DiskSpec { size_gib: 1, provisioning: Provisioning::Thin }],
        ..Devices::default()
    };
    let config = ConfigSpec { devices: hardware.changes(&devices).unwrap(), ..ConfigSpec::default() };
    let task = client.clone_machine(&template, &clone_spec(&client, "m", config).await).await.unwrap();
    let machine = client.finish(&task, TIMEOUT).await.unwrap().unwrap();
    let done = async |task: Result<_, _>| client.finish(&task.unwrap(), TIMEOUT).await.unwrap();
    done(client.move_into(&folder, std::slice::from_ref(&machine)).await).await;
    done(client.rename(&machine, "renamed").await).await;
    assert_eq!(client.paths(std::slice::from_ref(&machine)).await.unwrap(), ["/dc1/vm/team%2fblue/renamed"]);
    let disks =
        client.hardware(std::slice::from_ref(&machine)).await.unwrap().remove(&machine).unwrap().disks;
    let change = ConfigSpec {
        cpus: Some(8),
        memory_mib: Some(4096),
        annotation: Some("changed".to_owned()),
        devices: vec![disks[1].detach()],
        extra_config: BTreeMap::from([("guestinfo.x".to_owned(), "1".to_owned())]),
        ..ConfigSpec::default()
    };
    done(client.reconfigure(&machine, &change).await).await;
    let after = client.hardware(std::slice::from_ref(&machine)).await.unwrap().remove(&machine).unwrap();
    assert_eq!(after.disks.len(), 1);
    let state = read(&client, &machine, &["config.hardware.numCPU", "config.annotation"]).await;
    assert_eq!((state.text("config.hardware.numCPU"), state.text("config.annotation")), ("8", "changed"));
    done(client.power_on(&machine).await).await;
    client.shut_down(&machine).await.unwrap();
    let error = client.power_off(&machine).await;
    let _ = client.finish(&error.unwrap(), TIMEOUT).await;
    client.mark_as_template(&machine).await.unwrap();
    assert_eq!(read(&client, &machine, &["config.template"]).await.text("config.template"), "true");
    done(client.destroy(&machine).await).await;
    assert!(client.find("/dc1/vm/team%2fblue/renamed").await.unwrap().is_none());
    done(client.destroy(&folder).await).await;
    assert!(client.find("/dc1/vm/team%2fblue").await.unwrap().is_none());
}

#[tokio::test]
async fn machines_are_powered_on_together() {
    let vcenter = VCenter::start(&estate()).unwrap();
    let client = client(&vcenter);
    let template = at(&client, "/dc1/vm/rhcos").await;
    let mut tasks = Vec::new();
    for name in ["a", "b", "c"] {
        let spec = clone_spec(&client, name, ConfigSpec::default()).await;
        tasks.push(client.clone_machine(&template, &spec).await.unwrap());
    }
    let mut machines: Vec<MoRef> = Vec::new();
    for outcome in client.finish_all(&tasks, TIMEOUT).await.into_values() {
        machines.push(outcome.unwrap().unwrap());
    }
    let on = client.power_on(&machines[0]).await.unwrap();
    client.finish(&on, TIMEOUT).await.unwrap();
    let datacenter = at(&client, "/dc1").await;
    let outcomes = client.power_on_all(&datacenter, &machines, TIMEOUT).await.unwrap();
    let failed: Vec<_> = outcomes.iter().filter(|(_, outcome)| outcome.is_err()).collect();
    let [(machine, Err(error))] = failed[..] else { panic!("{outcomes:?}") };
    assert_eq!(*machine, machines[0]);
    assert_eq!(error.fault().unwrap().kind, FaultKind::InvalidPowerState);
    assert_eq!(calls(&vcenter, "PowerOnMultiVM_Task"), 1);
    assert_eq!(
        read(&client, &machines[2], &["runtime.powerState"]).await.text("runtime.powerState"),
        "poweredOn"
    );
}

/// A linked clone is made from a snapshot.
#[tokio::test]
async fn a_clone_can_be_a_child_of_a_snapshot() {
    let vcenter = VCenter::start(&estate()).unwrap();
    let client = client(&vcenter);
    let template = at(&client, "/dc1/vm/rhcos").await;
    let source = clone_spec(&client, "source", ConfigSpec::default()).await;
    let source = client.clone_machine(&template, &source).await.unwrap();
    let source = client.finish(&source, TIMEOUT).await.unwrap().unwrap();
    let body = slipway_providers::vsphere::soap::Body::new()
        .text("name", "base")
        .text("memory", false)
        .text("quiesce", false);
    client.run(&source, "CreateSnapshot_Task", &body, TIMEOUT).await.unwrap();
    let hardware = client.hardware(std::slice::from_ref(&source)).await.unwrap().remove(&source).unwrap();
    assert_eq!(hardware.snapshots[0].name, "base");
    assert_eq!(hardware.current_snapshot.as_ref(), Some(&hardware.snapshots[0].moref));
    let mut spec = clone_spec(&client, "child", ConfigSpec::default()).await;
    spec.disks = DiskMove::Linked { snapshot: hardware.snapshots[0].moref.clone() };
    let task = client.clone_machine(&source, &spec).await.unwrap();
    client.finish(&task, TIMEOUT).await.unwrap().unwrap();
}
