//! `haproxy.cfg`: the balancer of the API, and how traffic gets into it.

use std::fmt::Write;
use std::net::IpAddr;

use super::{API_PORT, BALANCER_HEALTH_PORT, BALANCER_PORT, HEADER, Settings, bracketed};

/// The configuration of haproxy: all API servers of the control plane, by the first family they have. A machine that allows
/// fewer open files than it asks for has fewer connections, rather than none.
pub fn haproxy_cfg(settings: &Settings) -> String {
    let families = settings.families();
    let mut servers = String::new();
    for machine in settings.machines().into_iter().filter(|machine| machine.part.serves_api()) {
        let Some(address) = families.iter().find_map(|family| machine.address(*family)) else { continue };
        // The check only asks whether an API server is ready. Clients speak TLS with the API server itself.
        let _ = writeln!(
            servers,
            "    server {} {}:{API_PORT} check check-ssl verify none inter 1s fall 2 rise 3",
            machine.name,
            bracketed(address)
        );
    }
    let bind = if settings.facts.api_vips.iter().any(IpAddr::is_ipv6) { "[::]" } else { "0.0.0.0" };
    let both = if bind == "[::]" { " v4v6" } else { "" };
    format!(
        "{HEADER}global
    maxconn 20000
    no strict-limits
    log stdout format raw local0 notice

defaults
    mode tcp
    log global
    timeout connect 5s
    timeout client 1h
    timeout server 1h
    timeout check 3s

frontend api
    bind {bind}:{BALANCER_PORT}{both}
    default_backend api

backend api
    balance roundrobin
    option httpchk GET /readyz
    http-check expect status 200
{servers}
frontend health
    bind 127.0.0.1:{BALANCER_HEALTH_PORT}
    mode http
    timeout client 5s
    monitor-uri /haproxy_ready
    monitor fail if {{ nbsrv(api) lt 1 }}
"
    )
}

/// Rules of nftables that lead what is sent to the virtual address of the API into the balancer. The API servers have
/// the port itself on all addresses. To be loaded while the balancer works: without it the rules would lead nowhere,
/// and without the rules the API server of the machine answers alone.
pub fn redirect_rules(settings: &Settings) -> String {
    let rules = |condition: &str| -> String {
        let rule = |vip: &IpAddr| {
            let protocol = if vip.is_ipv4() { "ip" } else { "ip6" };
            format!(
                "        {protocol} daddr {vip} {condition}tcp dport {API_PORT} redirect to :{BALANCER_PORT}\n"
            )
        };
        settings.facts.api_vips.iter().map(rule).collect()
    };
    // The first two lines make loading it again the same as loading it once.
    format!(
        "{HEADER}table inet slipway_api {{}}
delete table inet slipway_api
table inet slipway_api {{
    chain prerouting {{
        type nat hook prerouting priority dstnat; policy accept;
{}    }}
    chain output {{
        type nat hook output priority dstnat; policy accept;
{}    }}
}}
",
        rules(""),
        // What this machine sends to an address that another one holds goes there.
        rules("fib daddr type local "),
    )
}
