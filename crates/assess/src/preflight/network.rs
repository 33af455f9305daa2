//! DNS and virtual IPs, as this machine sees them.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use slipway_config::net::Cidr;
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;

use super::report::{Check, Finding};

const API_PORT: u16 = 6443;
const INGRESS_PORT: u16 = 443;

const RESOLVE_TIMEOUT: Duration = Duration::from_secs(30);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// What the network around the machines must be like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpectedNetwork {
    /// `<cluster>.<base domain>`.
    pub domain: String,
    pub api: Vec<IpAddr>,
    pub ingress: Vec<IpAddr>,
    /// Whether the addresses are ours to answer on, rather than those of the user's load balancer.
    pub managed: bool,
    pub machine_networks: Vec<Cidr>,
    /// Whether the cluster is reached through DNS and load balancers that the administrator set up.
    pub by_name: bool,
    /// Whether machines of the cluster run already.
    pub begun: bool,
}

/// How names and addresses are tried. Tests have their own.
pub trait Probe: Send + Sync + 'static {
    /// The addresses of a name, or why there are none.
    fn resolve(&self, name: &str) -> impl Future<Output = Result<Vec<IpAddr>, String>> + Send;

    /// Whether a server accepts connections there.
    fn answers(&self, address: SocketAddr) -> impl Future<Output = bool> + Send;
}

/// The network of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct ThisMachine;

impl Probe for ThisMachine {
    async fn resolve(&self, name: &str) -> Result<Vec<IpAddr>, String> {
        match timeout(RESOLVE_TIMEOUT, lookup_host((name, API_PORT))).await {
            Ok(Ok(addresses)) => Ok(addresses.map(|address| address.ip()).collect()),
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err(format!("no answer within {RESOLVE_TIMEOUT:?}")),
        }
    }

    async fn answers(&self, address: SocketAddr) -> bool {
        matches!(timeout(CONNECT_TIMEOUT, TcpStream::connect(address)).await, Ok(Ok(_)))
    }
}

/// All of it at once: an address that swallows packets does not delay the others.
pub(super) async fn examine<P: Probe>(wanted: ExpectedNetwork, probe: Arc<P>) -> Vec<Finding> {
    if wanted.by_name {
        return by_name(&wanted.domain, &*probe).await;
    }
    // Whether the addresses of the user's own load balancer answer is the user's business.
    if !wanted.managed {
        return Vec::new();
    }
    let mut findings = inside(&wanted);
    let mut tasks = tokio::task::JoinSet::new();
    let api = wanted.api.iter().map(|vip| ("API", SocketAddr::new(*vip, API_PORT)));
    let ingress = wanted.ingress.iter().map(|vip| ("ingress", SocketAddr::new(*vip, INGRESS_PORT)));
    for (what, address) in api.chain(ingress) {
        let (probe, begun) = (probe.clone(), wanted.begun);
        tasks.spawn(async move { free(what, address, probe.answers(address).await, begun) });
    }
    while let Some(done) = tasks.join_next().await {
        findings.extend(done.ok());
    }
    findings
}

/// Without virtual IPs, names lead to load balancers that must be there before the cluster is.
async fn by_name(domain: &str, probe: &impl Probe) -> Vec<Finding> {
    let (api, internal) = (format!("api.{domain}"), format!("api-int.{domain}"));
    let (addresses, inside) = tokio::join!(probe.resolve(&api), probe.resolve(&internal));
    let mut findings = vec![resolves(&api, &addresses), resolves(&internal, &inside)];
    if let Ok(Some(first)) = addresses.map(|addresses| addresses.first().copied()) {
        let target = SocketAddr::new(first, API_PORT);
        findings.push(if probe.answers(target).await {
            Finding::pass(Check::LoadBalancer, &api, format!("{target} accepts connections"))
        } else {
            let message = format!("`{api}` resolves to {target}, which refuses connections");
            Finding::warning(Check::LoadBalancer, &api, message).remedy(
                "have the load balancer listen there before the cluster is created; fine if it only does so with \
                 machines behind it",
            )
        });
    }
    findings
}

fn resolves(name: &str, addresses: &Result<Vec<IpAddr>, String>) -> Finding {
    match addresses {
        Ok(addresses) if !addresses.is_empty() => {
            let addresses: Vec<String> = addresses.iter().map(ToString::to_string).collect();
            Finding::pass(Check::Dns, name, format!("`{name}` is {}", addresses.join(", ")))
        }
        nothing => {
            let reason = match nothing {
                Ok(_) => String::new(),
                Err(reason) => format!(": {reason}"),
            };
            let message = format!("`{name}` has no address{reason}");
            Finding::failure(Check::Dns, name, message)
                .remedy("add a DNS record that leads to the load balancer of the API, or set `apiVIPs` and `ingressVIPs`")
        }
    }
}

fn free(what: &str, address: SocketAddr, answers: bool, begun: bool) -> Finding {
    let object = address.ip().to_string();
    if answers && begun {
        // Whether it is the cluster's own API is seen when it is waited for, by its certificate.
        let message = format!("{address} accepts connections: machines of this cluster run already");
        return Finding::pass(Check::VipFree, object, message);
    }
    if answers {
        let message =
            format!("{address}, the virtual IP of the {what}, is already in use: it accepts connections");
        return Finding::failure(Check::VipFree, object, message)
            .remedy("find the machine that has the address, or choose a free one");
    }
    Finding::pass(Check::VipFree, object, format!("{address} is free"))
}

fn inside(wanted: &ExpectedNetwork) -> Vec<Finding> {
    let judge = |vip: &IpAddr| {
        let network = wanted.machine_networks.iter().find(|network| network.contains(*vip));
        if let Some(network) = network {
            return Finding::pass(
                Check::VipNetwork,
                vip.to_string(),
                format!("in the machine network {network}"),
            );
        }
        let message = format!("the virtual IP {vip} is in no machine network");
        Finding::warning(Check::VipNetwork, vip.to_string(), message).remedy(
            "add its network to `networking.machineNetwork`, or choose an address the machines can answer on",
        )
    };
    wanted.api.iter().chain(&wanted.ingress).map(judge).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::net::{IpAddr, SocketAddr};
    use std::sync::Arc;

    use ipnet::IpNet;
    use rstest::rstest;

    use super::{ExpectedNetwork, Probe, ThisMachine, examine};

    /// A network of our making.
    #[derive(Default)]
    struct Fake {
        names: BTreeMap<&'static str, &'static str>,
        answering: Vec<&'static str>,
    }

    impl Probe for Fake {
        async fn resolve(&self, name: &str) -> Result<Vec<IpAddr>, String> {
            let known = self.names.get(name).ok_or("no such name")?;
            Ok(known.split_whitespace().map(|address| address.parse().unwrap()).collect())
        }

        async fn answers(&self, address: SocketAddr) -> bool {
            self.answering.contains(&address.to_string().as_str())
        }
    }

    fn with_vips() -> ExpectedNetwork {
        ExpectedNetwork {
            domain: "harbour.example.com".to_owned(),
            api: vec!["10.20.0.10".parse().unwrap()],
            ingress: vec!["10.20.0.11".parse().unwrap()],
            managed: true,
            machine_networks: vec!["10.20.0.0/16".parse::<IpNet>().unwrap().into()],
            by_name: false,
            begun: false,
        }
    }

    fn without_vips() -> ExpectedNetwork {
        ExpectedNetwork { api: Vec::new(), ingress: Vec::new(), by_name: true, ..with_vips() }
    }

    fn names() -> BTreeMap<&'static str, &'static str> {
        BTreeMap::from([("api.harbour.example.com", "10.0.0.1"), ("api-int.harbour.example.com", "10.0.0.2")])
    }

    /// What is not fine.
    async fn problems(wanted: ExpectedNetwork, probe: Fake) -> Vec<String> {
        let findings = examine(wanted, Arc::new(probe)).await;
        let bad =
            findings.into_iter().filter(|finding| finding.outcome != super::super::report::Outcome::Pass);
        bad.map(|finding| {
            assert!(finding.remedy.is_some(), "{finding:?}");
            format!("{:?} {} {}", finding.outcome, finding.check.code(), finding.object)
        })
        .collect()
    }

    #[tokio::test]
    async fn a_good_network_has_no_problems() {
        assert!(problems(with_vips(), Fake::default()).await.is_empty());
        let answering = vec!["10.0.0.1:6443"];
        assert!(problems(without_vips(), Fake { names: names(), answering }).await.is_empty());
    }

    #[rstest]
    #[case::api("10.20.0.10:6443", "Failure vip-free 10.20.0.10")]
    #[case::ingress("10.20.0.11:443", "Failure vip-free 10.20.0.11")]
    #[tokio::test]
    async fn an_address_that_answers_is_taken(#[case] answering: &'static str, #[case] expected: &str) {
        let probe = Fake { answering: vec![answering], ..Fake::default() };
        assert_eq!(problems(with_vips(), probe).await, [expected]);
        let own = ExpectedNetwork { managed: false, ..with_vips() };
        let probe = Fake { answering: vec![answering], ..Fake::default() };
        assert!(problems(own, probe).await.is_empty(), "a load balancer of the user answers");
        let again = ExpectedNetwork { begun: true, ..with_vips() };
        let probe = Fake { answering: vec![answering], ..Fake::default() };
        assert!(problems(again, probe).await.is_empty(), "a run that was cut off is gone on with");
    }

    #[tokio::test]
    async fn an_address_outside_is_told() {
        let ingress = vec!["192.168.9.9".parse().unwrap()];
        let found = problems(ExpectedNetwork { ingress, ..with_vips() }, Fake::default()).await;
        assert_eq!(found, ["Warning vip-network 192.168.9.9"]);
    }

    #[rstest]
    #[case::api("api.harbour.example.com")]
    #[case::internal("api-int.harbour.example.com")]
    #[tokio::test]
    async fn names_must_lead_somewhere(#[case] missing: &'static str) {
        let mut names = names();
        names.remove(missing);
        let probe = Fake { names, answering: vec!["10.0.0.1:6443"] };
        assert_eq!(problems(without_vips(), probe).await, [format!("Failure dns {missing}")]);
    }

    #[tokio::test]
    async fn a_load_balancer_should_answer() {
        let found = problems(without_vips(), Fake { names: names(), answering: Vec::new() }).await;
        assert_eq!(found, ["Warning load-balancer api.harbour.example.com"]);
    }

    #[tokio::test]
    async fn this_machine_can_be_asked() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        assert!(ThisMachine.answers(listener.local_addr().unwrap()).await);
        // Bound, so that no other process listens there.
        let silent = tokio::net::TcpSocket::new_v4().unwrap();
        silent.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        assert!(!ThisMachine.answers(silent.local_addr().unwrap()).await);
        assert!(ThisMachine.resolve("localhost").await.unwrap().iter().all(IpAddr::is_loopback));
    }
}
