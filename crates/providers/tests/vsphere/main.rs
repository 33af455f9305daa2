//! The client against a simulated vCenter.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod import;
mod inventory;
mod machines;
mod placement;
mod proxy;
mod recorded;
mod secrets;
mod services;
mod sessions;
mod tags;
mod tasks;
mod trust;

use std::time::Duration;

use serde_json::{Value, json};
use slipway_providers::vsphere::properties::PropertySpec;
use slipway_providers::vsphere::{Client, Endpoint, Login, MoRef, Proxy, Trust};
use slipway_testkit::vcenter::{ADMINISTRATOR, VCenter};

/// A vCenter with one datacenter and some machines.
fn estate(machines: usize) -> Value {
    json!({
        "datacenters": [{
            "name": "dc1",
            "clusters": [{"name": "compute", "hosts": [{"name": "esx", "count": 2}]}],
            "datastores": [{"name": "fast", "capacity_gb": 1000, "free_gb": 400}],
            "networks": [{"name": "net"}],
            "vms": [{
                "name": "vm", "count": machines, "cluster": "compute", "datastore": "fast", "networks": ["net"],
                "power": "on",
            }],
        }],
        "categories": [{
            "name": "openshift-zone", "cardinality": "SINGLE",
            "tags": [{"name": "a & <b>", "attach": ["/dc1/host/compute"]}],
        }],
    })
}

fn endpoint(vcenter: &VCenter, trust: Trust) -> Endpoint {
    Endpoint {
        server: vcenter.host().into(),
        port: vcenter.port(),
        trust,
        proxy: Proxy::None,
        timeout: Duration::from_secs(20),
    }
}

fn login(user: &str, password: &str) -> Login {
    Login { user: user.to_owned(), password: password.into() }
}

fn authorities(vcenter: &VCenter) -> Trust {
    Trust::Authorities(std::fs::read_to_string(vcenter.ca_file()).unwrap())
}

fn client(vcenter: &VCenter) -> Client {
    Client::new(endpoint(vcenter, authorities(vcenter)), login(ADMINISTRATOR.0, ADMINISTRATOR.1)).unwrap()
}

/// How often a method was called.
fn calls(vcenter: &VCenter, method: &str) -> u64 {
    vcenter.calls().unwrap()[method].as_u64().unwrap_or_default()
}

/// All machines, in the order of their names.
async fn machines(client: &Client) -> Vec<MoRef> {
    let root = client.manager("rootFolder").await.unwrap();
    let specs = [PropertySpec { kind: "VirtualMachine", properties: &["name"] }];
    let mut machines = client.retrieve_below(&root, &specs).await.unwrap();
    machines.sort_by_key(|machine| machine.text("name").to_owned());
    machines.into_iter().map(|machine| machine.moref).collect()
}
