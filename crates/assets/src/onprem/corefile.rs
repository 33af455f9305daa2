//! `Corefile`: names of the cluster and of its machines.

use std::fmt::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use slipway_config::net::Family;

use super::{DNS_HEALTH_PORT, HEADER, Settings};

/// How long answers may be kept, in seconds. Those of others are cut to it as well.
const LIFE: u32 = 30;

/// The configuration of CoreDNS: `api`, `api-int` and everything in `apps` are the virtual addresses, machines are known by
/// name with and without the domain, and all else is asked of the network's own servers.
pub fn corefile(settings: &Settings) -> String {
    let facts = &settings.facts;
    let domain = &facts.domain;
    // Only on the machine's own addresses: others, systemd's resolver for one, may have the port on theirs.
    let mut own: Vec<IpAddr> = vec![Ipv4Addr::LOCALHOST.into()];
    if settings.families().contains(&Family::V6) {
        own.push(Ipv6Addr::LOCALHOST.into());
    }
    own.extend(&settings.this.addresses);
    let own: Vec<String> = own.iter().map(IpAddr::to_string).collect();
    let mut text = format!(
        "{HEADER}. {{
    bind {}
    errors
    health 127.0.0.1:{DNS_HEALTH_PORT}
    reload 10s 5s
",
        own.join(" ")
    );
    let escaped = domain.replace('.', r"\.");
    let api = format!(r"^api(-int)?\.{escaped}\.$");
    text.push_str(&answers(domain, &api, &facts.api_vips));
    let apps = format!(r"\.apps\.{escaped}\.$");
    text.push_str(&answers(&format!("apps.{domain}"), &apps, &facts.ingress_vips));
    text.push_str("    hosts {\n");
    for machine in settings.machines() {
        for address in &machine.addresses {
            let _ = writeln!(text, "        {address} {0}.{domain} {0}", machine.name);
        }
    }
    let _ = write!(text, "        ttl {LIFE}\n        fallthrough\n    }}\n");
    if !settings.upstreams.is_empty() {
        let servers: Vec<String> = settings.upstreams.iter().map(IpAddr::to_string).collect();
        let _ = write!(
            text,
            "    forward . {} {{\n        policy sequential\n    }}\n    cache {LIFE}\n",
            servers.join(" ")
        );
    }
    text.push_str("}\n");
    text
}

/// Answers for one pattern in both families. Where there is no address of a family that is said, too: a server that is asked
/// further would deny the name itself.
fn answers(zone: &str, pattern: &str, vips: &[IpAddr]) -> String {
    let mut text = String::new();
    for (kind, family) in [("A", Family::V4), ("AAAA", Family::V6)] {
        let _ = writeln!(text, "    template IN {kind} {zone} {{\n        match {pattern}");
        let mut found = false;
        for vip in vips.iter().filter(|vip| Family::of(**vip) == family) {
            let _ = writeln!(text, "        answer \"{{{{ .Name }}}} {LIFE} IN {kind} {vip}\"");
            found = true;
        }
        if !found {
            text.push_str("        rcode NOERROR\n");
        }
        text.push_str("        fallthrough\n    }\n");
    }
    text
}
