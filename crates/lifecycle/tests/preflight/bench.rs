//! vCenters that fit a configuration, and ways to break them.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use serde_json::{Value, json};
use slipway_assets::{Identity, Login, Named};
use slipway_config::install_config::load;
use slipway_lifecycle::platform::vsphere::preflight::Expectations;
use slipway_lifecycle::preflight::network::Probe;
use slipway_lifecycle::preflight::report::{Outcome, Report};
use slipway_lifecycle::preflight::{Options, examine};
use slipway_providers::vsphere::Proxy;
use slipway_testkit::estate::{self, REGION, Server, Site};
use slipway_testkit::vcenter::{ADMINISTRATOR, VCenter};

/// The addresses of vCenters; all of 127.0.0.0/8 is this machine.
pub(crate) const SERVERS: [&str; 3] = ["127.0.0.1", "127.0.0.2", "127.0.0.3"];

fn site(position: usize) -> Site {
    Site {
        zone: format!("zone-{position}"),
        datastore: "fast".to_owned(),
        network: "net".to_owned(),
        template: "templates/rhcos".to_owned(),
        ..Site::new("dc1")
    }
}

/// What fits `config`.
pub(crate) fn inventory(position: usize) -> Value {
    let mut inventory = site(position).inventory();
    let datacenter = &mut inventory["datacenters"][0];
    datacenter["folders"] = json!({"vm": ["templates"], "host": ["racks"]});
    datacenter["clusters"][0]["drs"] = json!({"enabled": true});
    datacenter["clusters"][0]["groups"] = json!([{"name": "rack", "hosts": ["esx-0", "esx-1"]}]);
    datacenter["datastores"] = json!([{"name": "fast", "capacity_gb": 4000, "free_gb": 3000}]);
    let template = &mut datacenter["vms"][0];
    (template["name"], template["folder"]) = (json!("rhcos"), json!("templates"));
    template["hardware_version"] = json!("vmx-15");
    template["product"] = json!({"name": "coreos", "vendor": "x", "version": "418.94.202501010000-0"});
    let other = json!({"name": "other", "cardinality": "MULTIPLE", "tags": [{"name": REGION}]});
    inventory["categories"].as_array_mut().unwrap().push(other);
    inventory
}

pub(crate) fn start(server: &str, inventory: &Value, arguments: &[&str]) -> VCenter {
    VCenter::start_at(server.parse().unwrap(), inventory, arguments).unwrap()
}

pub(crate) fn start_all(count: usize) -> Vec<VCenter> {
    let servers = SERVERS.iter().take(count).enumerate();
    servers.map(|(position, server)| start(server, &inventory(position), &[])).collect()
}

/// An install-config with one failure domain on each vCenter.
pub(crate) fn config(vcenters: &[VCenter]) -> Value {
    let sites: Vec<Site> = (0..vcenters.len()).map(site).collect();
    let mut config = estate::install_config("harbour", sites.iter().zip(vcenters.iter().map(Server::of)));
    config["payload"]["releaseImage"] = json!("quay.io/release:4.18.3-x86_64");
    config
}

/// The topology of a failure domain.
pub(crate) fn topology(config: &mut Value, position: usize) -> &mut Value {
    &mut config["platform"]["vsphere"]["failureDomains"][position]["topology"]
}

/// Removes a field.
pub(crate) fn remove(object: &mut Value, key: &str) {
    assert!(object.as_object_mut().unwrap().remove(key).is_some(), "no {key}");
}

/// No address answers, and no name is known.
#[derive(Debug)]
pub(crate) struct Silence;

impl Probe for Silence {
    async fn resolve(&self, _: &str) -> Result<Vec<IpAddr>, String> {
        Ok(vec![Ipv4Addr::LOCALHOST.into()])
    }

    async fn answers(&self, _: SocketAddr) -> bool {
        false
    }
}

pub(crate) fn options() -> Options {
    Options { proxy: Proxy::None, logout: Duration::from_mins(1), ..Options::default() }
}

/// Logs in everywhere as one user.
pub(crate) async fn run_as(
    config: &Value,
    login: (&str, &str),
    identity: Option<Identity>,
    options: Options,
) -> Report {
    let nobody = std::future::pending();
    run_until(config, login, identity, options, nobody).await.unwrap()
}

pub(crate) async fn run_until(
    config: &Value,
    (user, password): (&str, &str),
    identity: Option<Identity>,
    options: Options,
    cancelled: impl Future<Output = ()>,
) -> Option<Report> {
    let text = config.to_string();
    let loaded = load(&text);
    let config = loaded.config.unwrap_or_else(|| panic!("{:?}", loaded.report));
    let login = Login { user: user.to_owned(), password: password.into() };
    let logins = vec![login; SERVERS.len()];
    let named = match identity {
        Some(identity) => Named { config, identity },
        None => Named::undrawn(config),
    };
    examine(Expectations::new(text.into(), named).request(&logins), options, Silence, cancelled).await
}

pub(crate) async fn run(config: &Value) -> Report {
    run_as(config, ADMINISTRATOR, None, options()).await
}

/// What is not fine.
pub(crate) fn problems(report: &Report) -> Vec<String> {
    let bad = report.findings.iter().filter(|finding| finding.outcome != Outcome::Pass);
    bad.map(|finding| {
        // Ports are drawn.
        let place = finding.place().split(':').next().unwrap_or_default();
        format!("{place}: {:?} {} {}", finding.outcome, finding.check.code(), finding.object)
    })
    .collect()
}

/// Open sessions, by SOAP and by REST.
pub(crate) fn sessions(vcenter: &VCenter) -> (u64, u64) {
    let stats = vcenter.control("GET", "/stats", &Value::Null).unwrap();
    (stats["soap_sessions"].as_u64().unwrap(), stats["rest_sessions"].as_u64().unwrap())
}
