//! The real controllers make machines of the seed's `cluster-api/` folder. Needs root.

mod estate;
mod seed;

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use slipway_testkit::cluster_api;
use slipway_testkit::control_plane::{ControlPlane, Network, Options};
use slipway_testkit::kubectl::Kubectl;
use slipway_testkit::network::Hosts;
use slipway_testkit::process::eventually;
use slipway_testkit::vcenter::VCenter;

use self::estate::{DATASTORE, Estate, NETWORK, estates};

const NAMESPACE: &str = "openshift-cluster-api-guests";
const HTTPS: u16 = 443;

/// As another reader of YAML understands the files.
fn objects(kubectl: &Kubectl, folder: &str) -> Vec<Value> {
    let arguments = ["create", "--dry-run=client", "--output=json", "--recursive", "--filename", folder];
    let text = kubectl.run(&arguments).unwrap();
    serde_json::Deserializer::from_str(&text).into_iter().map(Result::unwrap).collect()
}

fn of_kind<'a>(objects: &'a [Value], kind: &'a str) -> impl Iterator<Item = &'a Value> {
    objects.iter().filter(move |object| object["kind"] == kind)
}

/// A vCenter in which the logins and the templates are those that the files name.
fn start(estate: &Estate, index: usize, infra_id: &str, objects: &[Value], plane: &ControlPlane) -> VCenter {
    let name = format!("vsphere-creds-{index}");
    let login = of_kind(objects, "Secret").find(|secret| secret["metadata"]["name"] == *name).unwrap();
    let value = |key: &str| {
        let encoded = login["data"][key].as_str().unwrap();
        String::from_utf8(STANDARD.decode(encoded).unwrap()).unwrap()
    };
    let mut templates: Vec<&str> = of_kind(objects, "VSphereMachine")
        .filter(|machine| machine["spec"]["server"] == estate.server)
        .map(|machine| machine["spec"]["template"].as_str().unwrap())
        .collect();
    templates.dedup();
    let [template] = templates[..] else { panic!("one failure domain, one template: {templates:?}") };
    let inventory = estate.inventory(infra_id, template, &value("username"), &value("password"));
    VCenter::start_named(&inventory, plane, estate.server, HTTPS).unwrap()
}

/// What machines of a role boot from. It is as good as any: nothing here reads it.
fn ignition(role: &str) -> String {
    json!({"ignition": {"version": "3.2.0"}, "passwd": {"users": [{"name": role}]}}).to_string()
}

fn machines(vcenter: &VCenter) -> Vec<Value> {
    let mut objects = vcenter.objects().unwrap();
    objects.retain(|object| object["type"] == "VirtualMachine" && object["props"]["template"] == false);
    objects
}

fn is_on(machine: &Value) -> bool {
    machine["props"]["powerState"] == "poweredOn"
}

fn assert_as_asked(machine: &Value, name: &str, domain: &str, estate: &Estate, vcenter: &VCenter) {
    let props = &machine["props"];
    assert_eq!(props["numCPU"], 8, "{name}");
    assert_eq!(props["memoryMB"], 16384, "{name}");
    assert_eq!(props["disksKB"], json!([100 * 1024 * 1024]), "{name}");

    let moref = |rest: &str| vcenter.object(&estate.path_of(rest)).unwrap().unwrap()["moref"].take();
    let pool = moref(&format!("host/{}/Resources", estate.compute_cluster));
    assert_eq!(props["resourcePool"], pool, "{name}");
    assert_eq!(props["datastore"], json!([moref(&format!("datastore/{DATASTORE}"))]), "{name}");
    assert_eq!(props["network"], json!([moref(&format!("network/{NETWORK}"))]), "{name}");

    let extra = &props["extraConfig"];
    assert_eq!(extra["guestinfo.hostname"], name);
    assert_eq!(extra["guestinfo.domain"], domain, "{name}");
    assert_eq!(extra["stealclock.enable"], "TRUE", "{name}");
    let role = if name.ends_with("-bootstrap") { "bootstrap" } else { "master" };
    assert_eq!(extra["guestinfo.ignition.config.data.encoding"], "base64", "{name}");
    let data = extra["guestinfo.ignition.config.data"].as_str().unwrap();
    assert_eq!(String::from_utf8(STANDARD.decode(data).unwrap()).unwrap(), ignition(role), "{name}");
}

#[test]
fn the_seed_becomes_machines_on_two_vcenters() {
    let cluster = seed::cluster();
    let infra_id = cluster.identity.infra_id.as_str();
    let estates = estates();
    let hosts: Hosts = estates.iter().map(|estate| (estate.server.to_owned(), estate.address)).collect();
    let options = Options { network: Network::Private(hosts), ..Options::default() };
    let mut plane = ControlPlane::start(options).unwrap();
    cluster_api::start(&mut plane).unwrap();
    let kubectl = plane.kubectl();

    let count = seed::write_cluster_api(&cluster, plane.scratch().path());
    let folder = plane.scratch().join("cluster-api");
    let folder = folder.to_str().unwrap();
    let objects = objects(kubectl, folder);
    assert_eq!(objects.len(), count, "one object per file");
    let vcenters: Vec<VCenter> = estates
        .iter()
        .enumerate()
        .map(|(index, estate)| start(estate, index, infra_id, &objects, &plane))
        .collect();

    // From here on everything is up to the controllers.
    kubectl
        .run(&["apply", "--server-side", "--validate=strict", "--recursive", "--filename", folder])
        .unwrap();
    for role in ["bootstrap", "master"] {
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": {"name": format!("{infra_id}-{role}"), "namespace": NAMESPACE},
            "stringData": {"format": "ignition", "value": ignition(role)},
        });
        kubectl.apply_value(&secret).unwrap();
    }

    let wanted: usize = estates.iter().map(|estate| estate.machines.len()).sum();
    let found = eventually("all machines run", Duration::from_mins(2), || {
        let found: Vec<Vec<Value>> = vcenters.iter().map(machines).collect();
        let running = found.iter().flatten().filter(|machine| is_on(machine)).count();
        Ok((running >= wanted).then_some(found))
    })
    .unwrap();

    let domain = cluster.config.cluster_domain();
    for ((estate, vcenter), found) in estates.iter().zip(&vcenters).zip(found) {
        let name = |machine: &&str| format!("{infra_id}-{machine}");
        let names: Vec<String> = estate.machines.iter().map(name).collect();
        let paths: Vec<String> =
            names.iter().map(|name| estate.path_of(&format!("vm/{infra_id}/{name}"))).collect();
        let seen: Vec<&str> = found.iter().map(|machine| machine["path"].as_str().unwrap()).collect();
        assert_eq!(seen, paths, "on {}", estate.server);
        for (machine, name) in found.iter().zip(&names) {
            assert_as_asked(machine, name, &domain, estate, vcenter);
        }
    }
}
