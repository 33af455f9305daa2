//! `proxy`: how the cluster reaches the outside.

use std::net::IpAddr;

use super::{Check, Networking};
use crate::decode::{Field, Located, object};
use crate::findings::Rule;
use crate::names::subdomain;
use crate::private_url::PrivateUrl;
use crate::yaml::printable;

object! {
    /// The proxies of the cluster. At least one of the two is needed.
    WrittenProxy {
        /// URL of the proxy for HTTP, `http://…`.
        http: String as "httpProxy";
        /// URL of the proxy for HTTPS, `http://…` or `https://…`.
        https: String as "httpsProxy";
        /// What is reached directly: addresses, networks and domains, separated by commas, or `*`.
        no_proxy: String as "noProxy";
    }
}

/// The proxies of a cluster.
#[derive(Debug, Clone)]
pub struct Proxy {
    pub http: Option<PrivateUrl>,
    pub https: Option<PrivateUrl>,
    pub no_proxy: Vec<String>,
}

#[expect(clippy::option_option, reason = "absent and unusable are different things")]
pub(super) fn resolve(
    written: &Field<WrittenProxy>,
    networking: Option<&Networking>,
    check: &mut Check<'_>,
) -> Option<Option<Proxy>> {
    let proxy = match written {
        Field::Absent => return Some(None),
        Field::Invalid(_) => return None,
        Field::Set(proxy) => proxy,
    };
    let WrittenProxy { http, https, no_proxy } = &proxy.value;
    if http.is_absent() && https.is_absent() {
        check
            .findings
            .error(Rule::Proxy, proxy.at, "neither `httpProxy` nor `httpsProxy` is given")
            .hint("give at least one of them, or remove `proxy`");
    }
    let mut usable = true;
    for (field, schemes) in [(http, &["http"][..]), (https, &["http", "https"])] {
        if let Some(url) = field.located() {
            usable &= check_url(url, schemes, networking, check);
        }
    }
    let no_proxy = no_proxy.located().map(|list| check_no_proxy(list, check));
    if !usable || http.is_invalid() || https.is_invalid() || (http.is_absent() && https.is_absent()) {
        return None;
    }
    Some(Some(Proxy {
        http: http.get().map(|url| url.as_str().into()),
        https: https.get().map(|url| url.as_str().into()),
        no_proxy: no_proxy.unwrap_or(Some(Vec::new()))?,
    }))
}

fn check_url(
    url: &Located<String>,
    schemes: &[&str],
    networking: Option<&Networking>,
    check: &mut Check<'_>,
) -> bool {
    // The URL may hold a password, so it is never repeated in a message.
    let parsed = url.value.split_once("://").map(|(scheme, rest)| (scheme.to_lowercase(), host(rest)));
    match parsed {
        Some((scheme, Some(host))) if schemes.contains(&scheme.as_str()) => {
            if let (Ok(address), Some(networking)) = (host.parse::<IpAddr>(), networking) {
                let inside = networking.cluster.iter().map(|net| net.cidr);
                let mut inside =
                    inside.chain(networking.service.iter().copied()).chain(networking.internal_join_subnet);
                if let Some(net) = inside.find(|net| net.contains(address)) {
                    check
                        .findings
                        .error(
                            Rule::Proxy,
                            url.at,
                            format!("the proxy {address} lies in the cluster's own network {net}"),
                        )
                        .hint("the cluster's networks must not contain the proxy");
                    return false;
                }
            }
            true
        }
        Some((_, Some(_))) => {
            check
                .findings
                .error(Rule::Proxy, url.at, "this scheme is not supported here")
                .hint(format!("use {}://", schemes.join(":// or ")));
            false
        }
        _ => {
            check
                .findings
                .error(Rule::Proxy, url.at, "not a URL")
                .hint(format!("write {}://proxy.example.com:3128", schemes[0]));
            false
        }
    }
}

/// The host of `user:password@host:port/path`.
fn host(rest: &str) -> Option<&str> {
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit('@').next()?;
    let (host, port) = match host.strip_prefix('[') {
        Some(rest) => rest.split_once(']').map(|(host, port)| (host, port.strip_prefix(':')))?,
        None => host.split_once(':').map_or((host, None), |(host, port)| (host, Some(port))),
    };
    let valid = host.parse::<IpAddr>().is_ok() || subdomain(&host.to_lowercase().replace('_', "-")).is_ok();
    (valid && port.is_none_or(|port| port.parse::<u16>().is_ok_and(|port| port > 0))).then_some(host)
}

fn check_no_proxy(list: &Located<String>, check: &mut Check<'_>) -> Option<Vec<String>> {
    if list.value.contains(char::is_whitespace) {
        check
            .findings
            .error(Rule::NoProxy, list.at, "`noProxy` contains white space")
            .hint("separate the entries by commas only");
        return None;
    }
    if list.value == "*" {
        return Some(vec![list.value.clone()]);
    }
    let entries: Vec<String> = list.value.split(',').map(str::to_owned).collect();
    let bad: Vec<&String> = entries.iter().filter(|entry| !is_exception(entry)).collect();
    for entry in &bad {
        let message = match entry.as_str() {
            "" => "`noProxy` has an empty entry".to_owned(),
            entry => format!("`{}` is not an address, a network or a domain", printable(entry)),
        };
        let hint = no_proxy_hint(entry);
        check.findings.error(Rule::NoProxy, list.at, message).hint(hint);
    }
    bad.is_empty().then_some(entries)
}

/// What the cluster's network operator takes: an address, a network, or a domain with or without a dot before or behind it.
fn is_exception(entry: &str) -> bool {
    let domain = entry.strip_prefix('.').unwrap_or(entry);
    let domain = domain.strip_suffix('.').unwrap_or(domain);
    entry.parse::<IpAddr>().is_ok() || entry.parse::<ipnet::IpNet>().is_ok() || subdomain(domain).is_ok()
}

fn no_proxy_hint(entry: &str) -> String {
    let without_port = entry.rsplit_once(':').filter(|(_, port)| port.parse::<u16>().is_ok());
    if entry.is_empty() {
        "remove the comma that is too many".to_owned()
    } else if entry.contains('*') {
        "write `.example.com` for a domain and everything below it; there are no wildcards".to_owned()
    } else if let Some((host, _)) = without_port.filter(|(host, _)| is_exception(host)) {
        format!("write `{host}`: an exception is for all ports")
    } else if is_exception(&entry.to_lowercase()) {
        format!("write `{}`", entry.to_lowercase())
    } else {
        "write something like 10.0.0.0/8, 10.0.0.5 or .example.com".to_owned()
    }
}
