//! How the bootstrap machine reaches the outside.

use slipway_config::private_url::PrivateUrl;

use crate::{Cluster, Error, Tree};

use super::env::quoted;
use super::overrides;

/// The Proxy object among the manifests, whose `status.noProxy` covers the cluster's own networks.
const PROXY: &str = "manifests/cluster-proxy-01-config.yaml";

/// The variables, by name; empty without a proxy. What the user has edited in the manifest is used.
pub(crate) fn variables(cluster: &Cluster, manifests: &Tree) -> Result<Vec<(&'static str, String)>, Error> {
    let Some(proxy) = &cluster.config.proxy else { return Ok(Vec::new()) };
    let object = manifests.get(PROXY).map(|file| overrides::read(PROXY, file)).transpose()?.flatten();
    let status = |key: &str| {
        let text = object.as_ref()?.get("status")?.get(key)?.as_str()?;
        Some(text.to_owned())
    };
    let given = |url: &Option<PrivateUrl>| url.as_ref().map(|url| url.expose().to_owned());
    let own = (!proxy.no_proxy.is_empty()).then(|| proxy.no_proxy.join(","));
    let variables = [
        ("HTTP_PROXY", status("httpProxy").or_else(|| given(&proxy.http))),
        ("HTTPS_PROXY", status("httpsProxy").or_else(|| given(&proxy.https))),
        ("NO_PROXY", status("noProxy").or(own)),
    ];
    Ok(variables.into_iter().filter_map(|(name, value)| Some((name, value?))).collect())
}

/// Whether they hold a login, which only root may read then.
pub(crate) fn are_private(variables: &[(&str, String)]) -> bool {
    variables.iter().any(|(_, value)| PrivateUrl::from(value.as_str()).is_private())
}

/// For all services.
pub(crate) fn systemd(variables: &[(&str, String)]) -> String {
    let lines = variables.iter().map(|(name, value)| {
        // A percent sign starts a specifier; a proxy's password may well hold one.
        let value = value.replace('\\', r"\\").replace('"', "\\\"").replace('%', "%%");
        format!("DefaultEnvironment=\"{name}={value}\"\n")
    });
    std::iter::once("[Manager]\n".to_owned()).chain(lines).collect()
}

/// For people who log in.
pub(crate) fn profile(variables: &[(&str, String)]) -> String {
    variables.iter().map(|(name, value)| format!("export {name}={}\n", quoted(value))).collect()
}

#[cfg(test)]
mod tests {
    use super::{profile, systemd};

    #[test]
    fn awkward_passwords_survive() {
        let variables = [("HTTP_PROXY", "http://user:p%20\"w'@proxy:3128".to_owned())];
        insta::assert_snapshot!(systemd(&variables), @r#"
        [Manager]
        DefaultEnvironment="HTTP_PROXY=http://user:p%%20\"w'@proxy:3128"
        "#);
        insta::assert_snapshot!(profile(&variables), @r#"export HTTP_PROXY='http://user:p%20"w'\''@proxy:3128'"#);
    }
}
