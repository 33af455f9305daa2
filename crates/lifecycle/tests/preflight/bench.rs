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
use slipway_testkit::vcenter::{ADMINISTRATOR, VCenter};

/// The addresses of vCenters; all of 127.0.0.0/8 is this machine.
pub(crate) const SERVERS: [&str; 3] = ["127.0.0.1", "127.0.0.2", "127.0.0.3"];

/// What fits `config`.
pub(crate) fn inventory(position: usize) -> Value {
    json!({
        "datacenters": [{
            "name": "dc1",
            "folders": {"vm": ["templates"], "host": ["racks"]},
            "clusters": [{
                "name": "compute", "drs": {"enabled": true}, "hosts": [{"name": "esx", "count": 3}],
                "groups": [{"name": "rack", "hosts": ["esx-0", "esx-1"]}],
            }],
            "datastores": [{"name": "fast", "capacity_gb": 4000, "free_gb": 3000}],
            "networks": [{"name": "net"}],
            "vms": [{
                "name": "rhcos", "template": true, "folder": "templates", "cluster": "compute", "datastore": "fast",
                "disks_gb": [16], "networks": ["net"], "hardware_version": "vmx-15",
                "product": {"name": "coreos", "vendor": "x", "version": "418.94.202501010000-0"},
            }],
        }],
        "categories": [
            {"name": "openshift-region", "cardinality": "SINGLE", "tags": [{"name": "europe", "attach": ["/dc1"]}]},
            {"name": "openshift-zone", "cardinality": "SINGLE",
             "tags": [{"name": format!("zone-{position}"), "attach": ["/dc1/host/compute"]}]},
            {"name": "other", "cardinality": "MULTIPLE", "tags": [{"name": "europe"}]},
        ],
    })
}

pub(crate) fn start(server: &str, inventory: &Value, arguments: &[&str]) -> VCenter {
    VCenter::start_at(server.parse().unwrap(), inventory, arguments).unwrap()
}

pub(crate) fn start_all(count: usize) -> Vec<VCenter> {
    let servers = SERVERS.iter().take(count).enumerate();
    servers.map(|(position, server)| start(server, &inventory(position), &[])).collect()
}

/// An install-config with one failure domain on each vCenter.
pub(crate) fn config(vcenters: &[VCenter]) -> String {
    let mut text = r#"apiVersion: v1
baseDomain: example.com
metadata: {name: harbour}
controlPlane: {name: master, replicas: 3}
compute: [{name: worker, replicas: 2}]
pullSecret: '{"auths":{"registry.example.com":{"auth":"dXNlcjpwYXNzd29yZA=="}}}'
payload: {releaseImage: "quay.io/release:4.18.3-x86_64"}
platform:
  vsphere:
    apiVIPs: [10.0.0.10]
    ingressVIPs: [10.0.0.11]
    vcenters:
"#
    .to_owned();
    for vcenter in vcenters {
        text.push_str(&format!(
            "    - {{server: {}, port: {}, user: {}, password: {}, datacenters: [dc1], tls: {{thumbprint: '{}'}}}}\n",
            vcenter.host(),
            vcenter.port(),
            ADMINISTRATOR.0,
            ADMINISTRATOR.1,
            vcenter.thumbprint_sha256(),
        ));
    }
    text.push_str("    failureDomains:\n");
    for (position, vcenter) in vcenters.iter().enumerate() {
        text.push_str(&domain(position, vcenter.host()));
    }
    text
}

/// A failure domain.
pub(crate) fn domain(position: usize, server: &str) -> String {
    format!(
        "    - name: fd-{position}
      region: europe
      zone: zone-{position}
      server: {server}
      topology:
        datacenter: dc1
        computeCluster: /dc1/host/compute
        datastore: /dc1/datastore/fast
        networks: [net]
        template: /dc1/vm/templates/rhcos
"
    )
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
    text: &str,
    login: (&str, &str),
    identity: Option<Identity>,
    options: Options,
) -> Report {
    let nobody = std::future::pending();
    run_until(text, login, identity, options, nobody).await.unwrap()
}

pub(crate) async fn run_until(
    text: &str,
    (user, password): (&str, &str),
    identity: Option<Identity>,
    options: Options,
    cancelled: impl Future<Output = ()>,
) -> Option<Report> {
    let loaded = load(text);
    let config = loaded.config.unwrap_or_else(|| panic!("{:?}", loaded.report));
    let login = Login { user: user.to_owned(), password: password.into() };
    let logins = vec![login; SERVERS.len()];
    let named = match identity {
        Some(identity) => Named { config, identity },
        None => Named::undrawn(config),
    };
    examine(Expectations::new(text.into(), named).request(&logins), options, Silence, cancelled).await
}

pub(crate) async fn run(text: &str) -> Report {
    run_as(text, ADMINISTRATOR, None, options()).await
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
