//! Help that belongs to no single command.

pub(super) const EXIT_CODES: &str = "exit-codes";
const ENVIRONMENT: &str = "environment";

/// The text of a help topic.
pub fn topic(name: &str) -> Option<&'static str> {
    match name {
        EXIT_CODES => Some(CODES),
        ENVIRONMENT => Some(VARIABLES),
        _ => None,
    }
}

const CODES: &str = "\
Exit codes of all commands. 3 to 8 are those of openshift-install.

CODE  MEANING
   0  success
   1  other failure
   2  wrong usage
   3  the install-config is missing, invalid, or lacks what machines need
   4  the infrastructure is not ready, a step on it failed, or it is out of sync
   5  bootstrap did not complete
   6  the installation did not complete
   7  the cluster operators did not become stable
   8  interrupted; run the command again to continue
   9  not checked: nothing failed, but the platform was not asked

COMMAND                      0                        4
preflight                    ready                    failure or unknown
plan                         the plan can be applied  something blocks it
create cluster               installed                a step failed
status                       in sync                  out of sync or unknown
destroy cluster              everything is removed    left over or not visible
check                        healthy                  failure or unknown
machine list                 all machines run         some do not
drivers status               healthy                  degraded or progressing
drivers deploy               healthy                  not healthy in time
drivers configure            applied                  login failed; not applied
drivers upgrade              healthy                  not healthy, rolled back
drivers remove               removed                  volumes are attached
drivers users verify         least privileges         missing or excess ones
drivers matrix pin           all digests found        a registry did not answer
destroy bootstrap            removed                  left over (5: needed)
";

const VARIABLES: &str = "\
Environment variables that slipway reads.

VARIABLE                   MEANING
KUBECONFIG                 the cluster of check, node and drivers, as for kubectl;
                           on KubeVirt the infrastructure cluster
OVIRT_CONFIG               oVirt credentials (default ~/.ovirt/ovirt-config.yaml)
REGISTRY_AUTH_FILE         registry credentials of `drivers matrix pin`
HTTPS_PROXY, HTTP_PROXY,   proxies, as for curl
NO_PROXY
NO_COLOR                   no colours, as --color never
passwordEnv's variable     the password of a vCenter, named in the install-config
";
