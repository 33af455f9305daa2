//! Whether the settings for NSX-T are complete. The provider does not refuse them: it starts without.

use super::places::Places;
use super::{CloudConfig, LoadBalancer, Nsxt};
use crate::driver_config::keys::Section;
use crate::findings::{Findings, Rule};

/// Sizes NSX-T has.
const SIZES: [&str; 5] = ["SMALL", "MEDIUM", "LARGE", "XLARGE", "DLB"];
/// The class of services that name none.
const DEFAULT_CLASS: &str = "default";

pub(super) fn check(config: &CloudConfig, findings: &mut Findings, places: &Places<'_>) {
    let mut say =
        |(yaml, ini): (&str, &str), name: Option<&String>, key: (&str, &str), message: String, hint: &str| {
            let (span, path) = places.find(&[yaml, key.0], (ini, name.map(String::as_str), key.1));
            findings.warning_in(Rule::CloudConfigNsxt, span, message).at_path(path).hint(hint);
        };
    let balancers = is_enabled(config);
    // What is missing from a section that does not exist is missing from its classes.
    let class = config.load_balancer.is_blank().then(|| config.load_balancer_classes.keys().next()).flatten();
    let place = match class {
        Some(_) => ("loadBalancerClass", "LoadBalancerClass"),
        None => ("loadBalancer", "LoadBalancer"),
    };
    if let Some((key, missing, hint)) = balancers.then(|| balancer_problem(config)).flatten() {
        let message = format!("{missing}; the driver then silently creates no load balancers");
        say(place, class, key, message, hint);
    }
    if !config.nsxt.is_blank() {
        if let Some((key, missing, hint)) = connection_problem(&config.nsxt) {
            let message = format!("{missing}; the cloud provider then does not connect to NSX-T");
            say(("nsxt", "NSXT"), None, key, message, hint);
        }
    } else if balancers || !config.route.router_path.is_empty() {
        let (place, class) = if balancers { (place, class) } else { (("route", "Route"), None) };
        let message = "there is no connection to NSX-T for this".to_owned();
        let hint = "add `nsxt:` with `host`, `secretName` and `secretNamespace` (INI: [NSXT])";
        say(place, class, ("", ""), message, hint);
    }
}

/// Keys of the other kind, such as profiles, do not switch load balancers on.
fn is_enabled(config: &CloudConfig) -> bool {
    let LoadBalancer { size, lb_service_id, ip_pool_id, ip_pool_name, tier1_gateway_path, .. } =
        &config.load_balancer;
    let any = [size, lb_service_id, ip_pool_id, ip_pool_name, tier1_gateway_path];
    !config.load_balancer_classes.is_empty() || any.iter().any(|text| !text.is_empty())
}

/// Key in YAML and INI, what is wrong, what to do.
type Problem = ((&'static str, &'static str), &'static str, &'static str);

fn balancer_problem(config: &CloudConfig) -> Option<Problem> {
    let balancer = &config.load_balancer;
    let neither = |a: &str, b: &str| a.is_empty() && b.is_empty();
    if neither(&balancer.lb_service_id, &balancer.tier1_gateway_path) {
        return Some((
            ("", ""),
            "neither a load balancer service nor a tier-1 gateway is named",
            "add `tier1GatewayPath` (INI: `tier1-gateway-path`)",
        ));
    }
    if neither(&balancer.tcp_app_profile_name, &balancer.tcp_app_profile_path) {
        return Some((
            ("", ""),
            "there is no profile for TCP",
            "add `tcpAppProfileName` (INI: `tcp-app-profile-name`)",
        ));
    }
    if neither(&balancer.udp_app_profile_name, &balancer.udp_app_profile_path) {
        return Some((
            ("", ""),
            "there is no profile for UDP",
            "add `udpAppProfileName` (INI: `udp-app-profile-name`)",
        ));
    }
    if !SIZES.contains(&balancer.size.as_str()) {
        let key = ("size", "size");
        return Some((key, "NSX-T does not have this size", "write SMALL, MEDIUM, LARGE, XLARGE or DLB"));
    }
    if !balancer.ip_pool_name.is_empty() && !balancer.ip_pool_id.is_empty() {
        let key = ("ipPoolId", "ip-pool-id");
        return Some((key, "the address pool is given by name and by id", "keep one of the two"));
    }
    let class = config.load_balancer_classes.get(DEFAULT_CLASS);
    let own = class.is_some_and(|class| !neither(&class.ip_pool_name, &class.ip_pool_id));
    if neither(&balancer.ip_pool_name, &balancer.ip_pool_id) && !own {
        return Some((
            ("", ""),
            "there is no address pool, neither here nor in the class `default`",
            "add `ipPoolName` (INI: `ip-pool-name`)",
        ));
    }
    None
}

/// The first kind of credentials that is there must be complete.
fn connection_problem(nsxt: &Nsxt) -> Option<Problem> {
    if !nsxt.vmc_access_token.is_empty() {
        if nsxt.vmc_auth_host.is_empty() {
            let key = ("vmcAccessToken", "vmc-access-token");
            return Some((
                key,
                "the token needs a host that checks it",
                "add `vmcAuthHost` (INI: `vmc-auth-host`)",
            ));
        }
    } else if !nsxt.user.is_empty() {
        if nsxt.password.is_empty() {
            return Some((("user", "user"), "the user has no password", "add `password`"));
        }
    } else if nsxt.client_auth_key_file.is_empty() != nsxt.client_auth_cert_file.is_empty() {
        return Some((
            ("", ""),
            "the NSX-T client certificate and its key must be given together",
            "give both `clientAuthCertFile` and `clientAuthKeyFile`",
        ));
    } else if nsxt.client_auth_key_file.is_empty() {
        if nsxt.secret_name.is_empty() != nsxt.secret_namespace.is_empty() {
            return Some((
                ("", ""),
                "name and namespace of the Secret are needed together",
                "give both `secretName` and `secretNamespace`",
            ));
        }
        if nsxt.secret_name.is_empty() {
            return Some((("", ""), "there are no credentials", "add `secretName` and `secretNamespace`"));
        }
    }
    let hint = "add `host`";
    nsxt.host.is_empty().then_some((("", ""), "the manager is not named", hint))
}
