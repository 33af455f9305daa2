//! `keepalived.conf`: who holds the virtual addresses.

use std::fmt::Write;
use std::net::IpAddr;

use slipway_config::net::Family;

use super::{API_PORT, BALANCER_HEALTH_PORT, HEADER, Machine, Part, Settings, router_ids};

/// What a working service adds to the priority of a machine. It outweighs everything else: an address never stays
/// where no service answers on it.
const WORKING: u8 = 100;
/// What a working balancer adds.
const BALANCING: u8 = 20;

/// Addresses for documentation (RFC 5737, RFC 3849), which no host has. keepalived falls back to multicast when it is
/// given no peers, and then it hears routers of other clusters.
const NOBODY_V4: &str = "192.0.2.1";
const NOBODY_V6: &str = "2001:db8::1";

/// A virtual address and who may hold it.
struct Instance<'a> {
    name: String,
    vip: IpAddr,
    router_id: u8,
    priority: u8,
    scripts: &'a [&'a str],
    serves: fn(Part) -> bool,
}

/// The configuration of keepalived.
pub fn keepalived_conf(settings: &Settings) -> String {
    let mut text = HEADER.to_owned();
    let part = settings.this.part;
    // A message to a stranger's router of the same number is dropped: the source must be one of the peers.
    let _ = write!(
        text,
        "global_defs {{\n    router_id {}\n    script_user root\n    enable_script_security\n    \
         vrrp_check_unicast_src\n    vrrp_garp_master_refresh 60\n}}\n",
        settings.this.name
    );
    if part.serves_api() {
        let url = format!("https://localhost:{API_PORT}/readyz");
        // Only whether it answers is asked here; nothing is sent that a wrong server could misuse.
        text.push_str(&script("api", &format!("--fail --insecure {url}"), WORKING));
    }
    if part == Part::ControlPlane {
        let url = format!("http://localhost:{BALANCER_HEALTH_PORT}/haproxy_ready");
        text.push_str(&script("balancer", &format!("--fail {url}"), BALANCING));
    }
    if part.serves_ingress() {
        text.push_str(&script("ingress", &settings.facts.ingress_probe, WORKING));
    }
    for instance in instances(settings) {
        text.push_str(&show(settings, &instance).unwrap_or_default());
    }
    text
}

fn script(name: &str, what: &str, weight: u8) -> String {
    format!(
        "\nvrrp_script {name} {{\n    script \"/usr/bin/curl --silent --max-time 2 --output /dev/null {what}\"\n    \
         interval 2\n    timeout 3\n    rise 2\n    fall 2\n    weight {weight}\n}}\n"
    )
}

fn instances(settings: &Settings) -> Vec<Instance<'static>> {
    let facts = &settings.facts;
    let part = settings.this.part;
    let all: Vec<IpAddr> = facts.api_vips.iter().chain(&facts.ingress_vips).copied().collect();
    let ids = router_ids(&all);
    let (api, ingress) = ids.split_at(facts.api_vips.len());
    let family = |vip: IpAddr| if vip.is_ipv4() { "v4" } else { "v6" };
    let mut instances = Vec::new();
    if part.serves_api() {
        // While both work, the bootstrap machine keeps the address: it knows when the control plane can do without it.
        let (priority, scripts): (u8, &[&str]) = match part {
            Part::Bootstrap => (100, &["api"]),
            _ => (50, &["api", "balancer"]),
        };
        instances.extend(facts.api_vips.iter().zip(api).map(|(&vip, &router_id)| Instance {
            name: format!("api_{}", family(vip)),
            vip,
            router_id,
            priority,
            scripts,
            serves: Part::serves_api,
        }));
    }
    if part.serves_ingress() {
        instances.extend(facts.ingress_vips.iter().zip(ingress).map(|(&vip, &router_id)| Instance {
            name: format!("ingress_{}", family(vip)),
            vip,
            router_id,
            priority: 50,
            scripts: &["ingress"],
            serves: Part::serves_ingress,
        }));
    }
    instances
}

/// `None` on a machine without an address of the family.
fn show(settings: &Settings, instance: &Instance<'_>) -> Option<String> {
    let Instance { name, vip, router_id, priority, scripts, serves } = instance;
    let family = Family::of(*vip);
    let source = settings.this.address(family)?;
    let is_peer = |machine: &&Machine| serves(machine.part);
    let mut peers: Vec<String> = settings
        .others
        .iter()
        .filter(is_peer)
        .filter_map(|machine| machine.address(family))
        .map(|address| address.to_string())
        .collect();
    if peers.is_empty() {
        let nobody = match family {
            Family::V4 => NOBODY_V4,
            Family::V6 => NOBODY_V6,
        };
        peers.push(nobody.to_owned());
    }
    let length = match family {
        Family::V4 => 32,
        Family::V6 => 128,
    };
    // One per line: of several on a line keepalived takes the first and says nothing.
    let lines =
        |entries: &[String]| -> String { entries.iter().map(|entry| format!("        {entry}\n")).collect() };
    let scripts: Vec<String> = scripts.iter().map(|&script| script.to_owned()).collect();
    Some(format!(
        "\nvrrp_instance {name} {{\n    state BACKUP\n    interface {}\n    virtual_router_id {router_id}\n    \
         priority {priority}\n    advert_int 1\n    unicast_src_ip {source}\n    unicast_peer {{\n{}    }}\n    \
         virtual_ipaddress {{\n        {vip}/{length}\n    }}\n    track_script {{\n{}    }}\n}}\n",
        settings.interface,
        lines(&peers),
        lines(&scripts),
    ))
}
