//! What the provider would refuse, what it would fail with later, and what an administrator would want to know.

use std::net::IpAddr;

use super::places::{IniKey, Places};
use super::{CloudConfig, Credentials, nsxt};
use crate::findings::{Findings, Rule};
use crate::yaml::{FieldPath, Span};

pub(super) fn check(config: &CloudConfig, findings: &mut Findings, places: &Places<'_>) {
    // What is written but could not be read, or twice, has been reported; it is not missing.
    let unreadable = places.is_written(&["global", "server"], ("Global", None, "server"))
        || findings.has_error_of(Rule::DuplicateKey);
    if !unreadable && config.vcenters.is_empty() && config.global.server.is_empty() {
        let (span, _) = places.find(&["vcenter"], ("VirtualCenter", None, ""));
        findings
            .error_in(Rule::CloudConfigVCenters, span, "the configuration names no vCenter")
            .hint("add `vcenter:` with a `server` (YAML), or [VirtualCenter \"server\"] (INI)");
    }
    credentials(config, findings, places);
    families(config, findings, places);
    networks(config, findings, places);
    passwords(config, findings, places);
    if config.labels.zone.is_empty() != config.labels.region.is_empty() {
        let (span, path) = places.find(&["labels"], ("Labels", None, ""));
        findings
            .warning_in(
                Rule::CloudConfigLabels,
                span,
                "zones are only used when both `zone` and `region` are given",
            )
            .at_path(path)
            .hint("give both or neither");
    }
    nsxt::check(config, findings, places);
}

fn credentials(config: &CloudConfig, findings: &mut Findings, places: &Places<'_>) {
    let global =
        |yaml: &'static str, ini: &'static str| places.find(&["global", yaml], ("Global", None, ini));
    let secret = !config.global.secret_name.is_empty() || !config.global.secret_namespace.is_empty();
    let directory = !config.global.secrets_directory.is_empty();
    // What is written but could not be read has been reported; it is not missing.
    let lost_key = |section: &[&str], ini: (&str, Option<&str>), (value, yaml, key): (&str, &str, &str)| {
        let path: Vec<&str> = section.iter().copied().chain([yaml]).collect();
        value.is_empty() && places.is_written(&path, (ini.0, ini.1, key))
    };
    let own = &config.global;
    let secret_keys = [
        (own.secret_name.as_str(), "secretName", "secret-name"),
        (own.secret_namespace.as_str(), "secretNamespace", "secret-namespace"),
    ];
    let lost_secret = findings.has_error_of(Rule::DuplicateKey)
        || secret_keys.into_iter().any(|key| lost_key(&["global"], ("Global", None), key));
    let global_keys = [
        (own.user.as_str(), "user", "user"),
        (own.password.expose(), "password", "password"),
        (own.secrets_directory.as_str(), "secretsDirectory", "secrets-directory"),
    ];
    let lost_global =
        lost_secret || global_keys.into_iter().any(|key| lost_key(&["global"], ("Global", None), key));
    let lost = |name: &str| {
        let own = config.vcenters.get(name).map(|own| {
            [
                (own.user.as_str(), "user", "user"),
                (own.password.expose(), "password", "password"),
                (own.secret_name.as_str(), "secretName", "secret-name"),
                (own.secret_namespace.as_str(), "secretNamespace", "secret-namespace"),
            ]
        });
        let section = ("VirtualCenter", Some(name));
        lost_global || own.into_iter().flatten().any(|key| lost_key(&["vcenter", name], section, key))
    };
    if secret && directory {
        let (span, path) = global("secretsDirectory", "secrets-directory");
        findings
            .error_in(
                Rule::CloudConfigCredentials,
                span,
                "a Secret and a directory with credentials are both given; the driver then uses neither",
            )
            .at_path(path)
            .hint("keep one of the two");
    } else if secret
        && !lost_secret
        && (config.global.secret_name.is_empty() || config.global.secret_namespace.is_empty())
    {
        let (span, path) = global("secretName", "secret-name");
        findings
            .error_in(
                Rule::CloudConfigCredentials,
                span,
                "name and namespace of the Secret are needed together",
            )
            .at_path(path)
            .hint("give both `secretName` and `secretNamespace` (INI: `secret-name`, `secret-namespace`)");
    }
    for vcenter in config.effective() {
        let name = vcenter.name.as_str();
        let own = config.vcenters.get(name);
        if vcenter.credentials == Credentials::Missing && !lost(name) && !secret && !directory {
            let (span, path) = places.find(&["vcenter", name], ("VirtualCenter", Some(name), ""));
            findings
                .error_in(
                    Rule::CloudConfigCredentials,
                    span,
                    format!("there are no credentials for `{name}`"),
                )
                .at_path(path)
                .hint("name a Secret in the global section");
        }
        if own.is_some_and(|own| !own.secret_ref.is_empty() && own.secret_ref == vcenter.secret_ref)
            && matches!(vcenter.credentials, Credentials::Inline { .. })
        {
            let (span, path) =
                places.find(&["vcenter", name, "secretref"], ("VirtualCenter", Some(name), "secretref"));
            let message = "the driver sets `secretref` itself; after a failed login it would look for \
                           other credentials under this name";
            findings
                .warning_in(Rule::CloudConfigCredentials, span, message)
                .at_path(path)
                .hint("remove it, or name a Secret with `secretName` and `secretNamespace`");
        }
    }
}

/// The provider compares address families letter by letter when it looks for a node's addresses.
fn families(config: &CloudConfig, findings: &mut Findings, places: &Places<'_>) {
    let mut judge = |yaml: &[&str], ini: IniKey<'_>| {
        let entries = places.entries(yaml, ini);
        let known = |entry: &str| matches!(entry, "ipv4" | "ipv6");
        let Some(wrong) = entries.iter().find(|entry| !known(entry)) else { return entries.len() > 1 };
        let (span, path) = places.find(yaml, ini);
        let meant = wrong.trim().to_ascii_lowercase();
        let (message, hint) = if meant.is_empty() {
            (
                "an empty entry, at which the driver crashes or finds no address".to_owned(),
                "remove it".to_owned(),
            )
        } else if known(&meant) {
            let message = format!(
                "the driver does not take `{wrong}` for `{meant}`, and finds no address for any node"
            );
            (message, format!("write {meant}, in lower case and without spaces"))
        } else {
            (format!("`{wrong}` is not an address family"), "write ipv4 or ipv6".to_owned())
        };
        findings.error_in(Rule::CloudConfigIpFamily, span, message).at_path(path).hint(hint);
        false
    };
    let mut several: Vec<(Span, FieldPath)> = Vec::new();
    let (yaml, ini) = (["global", "ipFamily"], ("Global", None, "ip-family"));
    let global = judge(&yaml, ini);
    let mut inherited = config.vcenters.is_empty();
    for (name, vcenter) in &config.vcenters {
        let (yaml, ini) =
            (["vcenter", name, "ipFamily"], ("VirtualCenter", Some(name.as_str()), "ip-family"));
        inherited |= vcenter.ip_family.is_empty();
        if judge(&yaml, ini) {
            several.push(places.find(&yaml, ini));
        }
    }
    if global && inherited {
        several.push(places.find(&yaml, ini));
    }
    for (span, path) in several {
        findings
            .warning_in(
                Rule::CloudConfigIpFamily,
                span,
                "the driver starts with two address families only as an experiment",
            )
            .at_path(path)
            .hint("set ENABLE_ALPHA_DUAL_STACK in the driver's environment, or give one family");
    }
}

/// The provider reads these when the first node comes, and then fails for every node.
fn networks(config: &CloudConfig, findings: &mut Findings, places: &Places<'_>) {
    let nodes = &config.nodes;
    let keys = [
        (&nodes.internal_network_subnet_cidr, "internalNetworkSubnetCidr", "internal-network-subnet-cidr"),
        (&nodes.external_network_subnet_cidr, "externalNetworkSubnetCidr", "external-network-subnet-cidr"),
        (
            &nodes.exclude_internal_network_subnet_cidr,
            "excludeInternalNetworkSubnetCidr",
            "exclude-internal-network-subnet-cidr",
        ),
        (
            &nodes.exclude_external_network_subnet_cidr,
            "excludeExternalNetworkSubnetCidr",
            "exclude-external-network-subnet-cidr",
        ),
    ];
    for (text, yaml, ini) in keys.into_iter().filter(|(text, ..)| !text.is_empty()) {
        let Some(wrong) = text.split(',').find(|entry| !is_network(entry)) else { continue };
        let (span, path) = places.find(&["nodes", yaml], ("Nodes", None, ini));
        let hint = if is_network(wrong.trim()) {
            "write the networks without spaces between them: 10.0.0.0/16,fd00::/64"
        } else {
            "write networks such as 10.0.0.0/16, separated by commas alone"
        };
        findings
            .error_in(
                Rule::CloudConfigNodes,
                span,
                format!("`{wrong}` is not a network; the driver would fail for every node"),
            )
            .at_path(path)
            .hint(hint);
    }
}

/// As Go reads it: bits behind the prefix do not matter.
fn is_network(text: &str) -> bool {
    let Some((address, prefix)) = text.split_once('/') else { return false };
    let Ok(address) = address.parse::<IpAddr>() else { return false };
    let most = if address.is_ipv4() { 32 } else { 128 };
    let digits = !prefix.is_empty() && prefix.bytes().all(|byte| byte.is_ascii_digit());
    digits && prefix.parse::<u32>().is_ok_and(|prefix| prefix <= most)
}

fn passwords(config: &CloudConfig, findings: &mut Findings, places: &Places<'_>) {
    let global = (!config.global.password.is_empty())
        .then(|| places.find(&["global", "password"], ("Global", None, "password")));
    let own = config.vcenters.iter().filter(|(_, vcenter)| !vcenter.password.is_empty()).map(|(name, _)| {
        places.find(&["vcenter", name, "password"], ("VirtualCenter", Some(name), "password"))
    });
    for (span, path) in global.into_iter().chain(own) {
        findings
            .warning_in(
                Rule::CloudConfigPassword,
                span,
                "a password in clear text, readable by everyone who can read this file",
            )
            .at_path(path)
            .hint("put it into a Secret, and name that with `secretName` and `secretNamespace` (INI: `secret-name` and `secret-namespace`) instead");
    }
}
