//! The Proxy object.

use std::collections::BTreeSet;

use slipway_api::LocalReference;
use slipway_api::openshift::{Proxy, ProxySpec, ProxyStatus};
use slipway_config::install_config::InstallConfig;
use slipway_config::private_url::PrivateUrl;

use super::trust::trusted_everywhere;
use crate::cluster::Credentials;
use crate::objects::named;
use crate::{Access, Cluster};

pub(super) fn proxy(cluster: &Cluster) -> Proxy {
    let trusted_ca =
        LocalReference::new(if trusted_everywhere(&cluster.config) { "user-ca-bundle" } else { "" });
    let Some(proxy) = &cluster.config.proxy else {
        let spec = ProxySpec { http_proxy: None, https_proxy: None, no_proxy: None, trusted_ca };
        return Proxy { metadata: named("cluster"), spec, status: Some(ProxyStatus::default()) };
    };
    let exposed = |url: &Option<PrivateUrl>| url.as_ref().map(|url| url.expose().to_owned());
    let user = (!proxy.no_proxy.is_empty()).then(|| proxy.no_proxy.join(","));
    Proxy {
        metadata: named("cluster"),
        spec: ProxySpec {
            http_proxy: exposed(&proxy.http),
            https_proxy: exposed(&proxy.https),
            no_proxy: user,
            trusted_ca,
        },
        status: Some(ProxyStatus {
            http_proxy: exposed(&proxy.http),
            https_proxy: exposed(&proxy.https),
            no_proxy: no_proxy(cluster),
        }),
    }
}

/// The Proxy object is private when a password is part of it: the cluster has no other place for one.
pub(super) fn access(config: &InstallConfig) -> Access {
    let mut urls = config.proxy.iter().flat_map(|proxy| proxy.http.iter().chain(&proxy.https));
    if urls.any(PrivateUrl::is_private) { Access::Owner } else { Access::Group }
}

/// Everything that is reached directly: the cluster itself, what the user says, and the servers the platform
/// is driven by, which proxies seldom reach. `None` without a proxy.
pub(crate) fn no_proxy(cluster: &Cluster) -> Option<String> {
    let config = &cluster.config;
    let proxy = config.proxy.as_ref()?;
    if proxy.no_proxy.iter().any(|entry| entry == "*") {
        return Some("*".to_owned());
    }
    let networking = &config.networking;
    let mut entries: BTreeSet<String> =
        ["127.0.0.1", "localhost", ".svc", ".cluster.local"].map(str::to_owned).into();
    entries.insert(format!("api-int.{}", config.cluster_domain()));
    entries.extend(networking.machine.iter().chain(&networking.service).map(ToString::to_string));
    entries.extend(networking.cluster.iter().map(|network| network.cidr.to_string()));
    entries.extend(proxy.no_proxy.iter().cloned());
    entries.extend(platform_servers(cluster));
    Some(entries.into_iter().collect::<Vec<_>>().join(","))
}

/// Names of the vCenters, the engine, or the infrastructure cluster.
fn platform_servers(cluster: &Cluster) -> Vec<String> {
    use slipway_config::install_config::Platform;
    match (&cluster.config.platform, &cluster.credentials) {
        (Platform::VSphere(platform), _) => {
            platform.vcenters.iter().map(|vcenter| vcenter.server.to_string()).collect()
        }
        (_, Credentials::Ovirt(engine)) => host_of(&engine.url).into_iter().collect(),
        (_, Credentials::KubeVirt(infra)) => host_of(&infra.server).into_iter().collect(),
        _ => Vec::new(),
    }
}

/// The host in a URL, without port and brackets.
fn host_of(url: &str) -> Option<String> {
    let (_, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let host_and_port = authority.rsplit('@').next()?;
    let host = match host_and_port.strip_prefix('[') {
        Some(rest) => rest.split(']').next()?,
        None => host_and_port.split(':').next()?,
    };
    (!host.is_empty()).then(|| host.to_owned())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::host_of;

    #[rstest]
    #[case("https://engine.example.com/ovirt-engine/api", Some("engine.example.com"))]
    #[case("https://engine.example.com:8443/ovirt-engine/api", Some("engine.example.com"))]
    #[case("https://[fd00::1]:6443", Some("fd00::1"))]
    #[case("https://user@api.example.com", Some("api.example.com"))]
    #[case("engine.example.com", None)]
    #[case("https://", None)]
    fn hosts_of_urls(#[case] url: &str, #[case] expected: Option<&str>) {
        assert_eq!(host_of(url).as_deref(), expected);
    }
}
