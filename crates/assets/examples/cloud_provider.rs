//! Prints the objects of the vSphere cloud provider as the operator makes them, as a list in JSON: what the demo that boots
//! adds to a cluster's manifests. How to reach the vCenters is read from standard input.

use std::io;

use anyhow::Context;
use serde::Deserialize;
use serde_json::Value;
use slipway_api::slipway::vdo_config::{CloudProvider, CloudTopology};
use slipway_assets::drivers::{Connection, DriverSettings, cloud};
use slipway_config::install_config::vsphere::Tls;
use slipway_config::matrix::{Driver, embedded};

#[derive(Deserialize)]
struct Wish {
    version: String,
    control_plane_nodes: u32,
    vcenters: Vec<VCenter>,
}

#[derive(Deserialize)]
struct VCenter {
    /// Also of its one datacenter.
    name: String,
    server: String,
    thumbprint: String,
    user: String,
    password: String,
}

fn main() -> anyhow::Result<()> {
    let Wish { version, control_plane_nodes, vcenters } = serde_json::from_reader(io::stdin())?;
    let matrix = embedded().matrix.context("the matrix of versions")?;
    let row = matrix.row(Driver::CloudProvider, &version.parse()?);
    let connections: Vec<Connection> = vcenters.into_iter().map(connection).collect::<anyhow::Result<_>>()?;
    let settings = DriverSettings {
        row: row.with_context(|| format!("no version {version}"))?,
        connections: &connections,
        registry: None,
        pull_secrets: &[],
        control_plane_nodes,
        hash_key: &"lab".into(),
    };
    let topology = CloudTopology {
        region_category: "openshift-region".to_owned(),
        zone_category: "openshift-zone".to_owned(),
    };
    let spec = CloudProvider { topology: Some(topology), ..CloudProvider::default() };
    let objects = cloud::objects(&settings, &spec)?;
    let objects: Vec<Value> = objects.into_iter().map(|object| object.value).collect();
    Ok(serde_json::to_writer(io::stdout(), &objects)?)
}

fn connection(vcenter: VCenter) -> anyhow::Result<Connection> {
    let VCenter { name, server, thumbprint, user, password } = vcenter;
    let bytes = thumbprint.split(':').map(|byte| u8::from_str_radix(byte, 16));
    Ok(Connection {
        datacenters: vec![name.clone()],
        name,
        server,
        port: 443,
        tls: Tls::Thumbprint(bytes.collect::<Result<_, _>>()?),
        user,
        password: password.as_str().into(),
    })
}
