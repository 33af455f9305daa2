//! How much memory the process needs: `cargo xtask bench operator`.

use std::fmt::Write as _;

use serde_json::{Value, json};
use slipway_testkit::control_plane::{ControlPlane, Options};
use slipway_testkit::process::eventually;
use slipway_testkit::vcenter::{ADMINISTRATOR, VCenter};

use super::estate::{NAMESPACE, TIMEOUT, install};
use super::process::Copy;

const VCENTERS: usize = 3;
const NODES: usize = 2000;

fn uuid(number: usize) -> String {
    format!("42166f45-6f10-6d46-4b2d-{number:012x}")
}

fn inventory(place: usize) -> Value {
    let of_place = (0..NODES).filter(|number| number % VCENTERS == place);
    let vms: Vec<Value> = of_place
        .map(|number| {
            json!({"name": format!("node-{number}"), "cluster": "compute", "datastore": "fast", "uuid": uuid(number),
                   "networks": ["net"], "hardware_version": "vmx-19", "extra_config": {"disk.EnableUUID": "TRUE"}})
        })
        .collect();
    json!({"datacenters": [{
        "name": "dc", "clusters": [{"name": "compute", "hosts": [{"name": "esx", "count": 4}]}],
        "datastores": [{"name": "fast"}], "networks": [{"name": "net"}], "vms": vms,
    }]})
}

/// A node as large as real ones are: images, addresses, conditions, annotations.
fn node(number: usize) -> Value {
    let name = format!("node-{number}");
    let images: Vec<Value> = (0..50)
        .map(|image| json!({"names": [format!("registry.example.com/a/long/name/of/an/image-{image}@sha256:{:064x}", image)], "sizeBytes": 1}))
        .collect();
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/os": "linux", "kubernetes.io/hostname": name,
                                              "node.kubernetes.io/instance-type": "vsphere-vm"}},
        "spec": {"providerID": format!("vsphere://{}", uuid(number))},
        "status": {
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "x"}],
            "addresses": [{"type": "InternalIP", "address": "10.0.0.5"}], "images": images,
            "nodeInfo": {
                "systemUUID": uuid(number), "machineID": "", "bootID": "", "kernelVersion": "", "osImage": "",
                "containerRuntimeVersion": "", "kubeletVersion": "v1.34.4", "kubeProxyVersion": "",
                "operatingSystem": "linux", "architecture": "amd64",
            },
        },
    })
}

#[test]
#[ignore = "takes minutes: cargo xtask bench operator"]
fn bench() {
    let plane = ControlPlane::start(Options::default()).unwrap();
    install(&plane);
    let vcenters: Vec<VCenter> = (0..VCENTERS)
        .map(|place| {
            VCenter::start_at(format!("127.0.0.{}", place + 1).parse().unwrap(), &inventory(place), &[])
                .unwrap()
        })
        .collect();
    for (place, vcenter) in vcenters.iter().enumerate() {
        let name = format!("vc-{place}");
        let (username, password) = ADMINISTRATOR;
        for object in [
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": NAMESPACE},
                   "stringData": {"server": vcenter.host(), "username": username, "password": password}}),
            json!({"apiVersion": "slipway.dev/v1alpha1", "kind": "VSphereConnection",
                   "metadata": {"name": name, "namespace": NAMESPACE},
                   "spec": {"server": vcenter.host(), "port": vcenter.port(), "datacenters": ["dc"],
                            "credentialsSecret": {"name": name}, "tls": {"thumbprint": vcenter.thumbprint_sha256()}}}),
        ] {
            plane.kubectl().apply_value(&object).unwrap();
        }
    }
    let mut text = String::new();
    for number in 0..NODES {
        writeln!(text, "---\n{}", node(number)).unwrap();
    }
    let file = plane.scratch().write("nodes.yaml", &text).unwrap();
    plane.kubectl().run(&["create", "--filename", file.to_str().unwrap()]).unwrap();
    let config = "apiVersion: slipway.dev/v1alpha1\nkind: VDOConfig\nmetadata: {name: cluster}\nspec: {cloudProvider: {}}\n";
    plane.kubectl().apply(config).unwrap();
    let copy = Copy::start(&plane, "measured");
    let checked = || {
        let config = plane.kubectl().json(&["get", "vdo", "cluster"])?;
        Ok((config["status"]["checks"]["passed"].as_u64() > Some(1000)).then_some(config))
    };
    let config = eventually("a round of checks", 3 * TIMEOUT, checked).unwrap();
    let nodes = &config["status"]["nodes"]["ready"];
    let status = fs_err::read_to_string(format!("/proc/{}/status", copy.id())).unwrap();
    let megabytes = |key: &str| {
        let line = status.lines().find(|line| line.starts_with(key)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap() / 1024.0
    };
    println!("connections: {VCENTERS}, nodes: {NODES} ({nodes} ready), goal: under 40 MB");
    let [now, most, own] = ["VmRSS", "VmHWM", "RssAnon"].map(megabytes);
    println!(
        "resident memory: {now:.1} MB now, of which {own:.1} MB are not the program's file; {most:.1} MB at most"
    );
}
