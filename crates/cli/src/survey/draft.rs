//! What has been answered so far, and which question comes next.

use std::sync::Arc;

use secrecy::SecretString;
use slipway_lifecycle::install_config::{
    Answers, FailureDomainAnswers, PasswordAt, PlatformKind, VCenterAnswers, VSphereAnswers, VSphereTopology,
};

use super::estate::{Lists, Target};

/// More vCenters are not allowed in one cluster.
pub(crate) const MAX_VCENTERS: usize = 3;

/// A question. vCenters and the failure domains on them are counted from zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Question {
    SshKey,
    Platform,
    Server(usize),
    User(usize),
    Password(usize),
    Datacenter(usize, usize),
    Cluster(usize, usize),
    Datastore(usize, usize),
    Network(usize, usize),
    AnotherDomain(usize),
    AnotherVCenter,
    DomainName(usize, usize),
    Region(usize, usize),
    Zone(usize, usize),
    MachineNetwork,
    ApiVip,
    IngressVip,
    BaseDomain,
    Name,
    PullSecret,
}

/// The answers so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct Draft {
    /// Whether the question was settled; the key may be none all the same.
    pub(crate) ssh_key_settled: bool,
    pub(crate) ssh_key: Option<String>,
    pub(crate) platform: Option<PlatformKind>,
    /// Flags told of all vCenters and failure domains.
    pub(crate) topology_given: bool,
    pub(crate) vcenters: Vec<VCenter>,
    pub(crate) all_vcenters: bool,
    pub(crate) machine_networks: Vec<String>,
    pub(crate) api_vips: Vec<String>,
    pub(crate) ingress_vips: Vec<String>,
    pub(crate) base_domain: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) pull_secret: Option<SecretString>,
}

/// A vCenter and the failure domains on it.
#[derive(Debug, Clone, Default)]
pub(crate) struct VCenter {
    pub(crate) server: Option<String>,
    pub(crate) port: Option<u16>,
    /// The certificate the user trusts, where the system does not.
    pub(crate) thumbprint: Option<String>,
    pub(crate) user: Option<String>,
    pub(crate) password: Option<Password>,
    /// Read with the password: both are there or neither is.
    pub(crate) inventory: Option<Arc<Lists>>,
    pub(crate) domains: Vec<Domain>,
    pub(crate) all_domains: bool,
}

/// A password that was tried, and how the install-config tells of it.
#[derive(Debug, Clone)]
pub(crate) struct Password {
    pub(crate) secret: SecretString,
    pub(crate) at: PasswordAt,
}

/// A failure domain.
#[derive(Debug, Clone, Default)]
pub(crate) struct Domain {
    pub(crate) datacenter: Option<String>,
    pub(crate) cluster: Option<String>,
    pub(crate) datastore: Option<String>,
    pub(crate) network: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) region: Option<String>,
    pub(crate) zone: Option<String>,
}

impl VCenter {
    /// As it is written in messages.
    pub(crate) fn label(&self) -> String {
        let server = self.server.clone().unwrap_or_else(|| "the vCenter".to_owned());
        Target { server, port: self.port, thumbprint: None, tls: None }.label()
    }
}

impl Draft {
    pub(crate) fn domain_count(&self) -> usize {
        self.vcenters.iter().map(|vcenter| vcenter.domains.len()).sum()
    }

    /// The position of a failure domain among all of them.
    pub(crate) fn domain_position(&self, vcenter: usize, domain: usize) -> usize {
        self.vcenters[..vcenter].iter().map(|vcenter| vcenter.domains.len()).sum::<usize>() + domain
    }

    /// The answers over those that were given as flags.
    pub(crate) fn answers(&self, flags: &Answers) -> Answers {
        let vsphere = if self.platform == Some(PlatformKind::VSphere) && !self.vcenters.is_empty() {
            VSphereAnswers { topology: Some(self.topology()), ..VSphereAnswers::default() }
        } else {
            flags.vsphere.clone()
        };
        let network = flags.network.clone().filter(|_| vsphere.topology.is_none());
        Answers {
            platform: self.platform,
            name: self.name.clone(),
            base_domain: self.base_domain.clone(),
            ssh_key: self.ssh_key.clone(),
            pull_secret: self.pull_secret.clone(),
            machine_networks: self.machine_networks.clone(),
            api_vips: self.api_vips.clone(),
            ingress_vips: self.ingress_vips.clone(),
            network,
            vsphere,
            ..flags.clone()
        }
    }

    /// What has no answer yet is called something that no rule objects to.
    fn topology(&self) -> VSphereTopology {
        let several = self.domain_count() > 1;
        let or = |answer: &Option<String>, other: &str| answer.clone().unwrap_or_else(|| other.to_owned());
        let mut topology = VSphereTopology::default();
        for (position, vcenter) in self.vcenters.iter().enumerate() {
            let server = or(&vcenter.server, &format!("vcenter-{position}.invalid"));
            let domains =
                if vcenter.domains.is_empty() { &[Domain::default()][..] } else { &vcenter.domains };
            let mut datacenters: Vec<String> = Vec::new();
            for domain in domains {
                let datacenter = or(&domain.datacenter, "datacenter");
                if !datacenters.contains(&datacenter) {
                    datacenters.push(datacenter.clone());
                }
                let unnamed = format!("unnamed-{}", topology.failure_domains.len());
                let names = [&domain.name, &domain.region, &domain.zone].map(|name| or(name, &unnamed));
                topology.failure_domains.push(FailureDomainAnswers {
                    names: several.then_some(names),
                    server: server.clone(),
                    cluster: or(&domain.cluster, "cluster"),
                    datastore: or(&domain.datastore, "datastore"),
                    network: or(&domain.network, "network"),
                    datacenter,
                });
            }
            let unknown = || PasswordAt::Env("PASSWORD".to_owned());
            topology.vcenters.push(VCenterAnswers {
                server,
                port: vcenter.port,
                user: or(&vcenter.user, "user@vsphere.local"),
                password: vcenter.password.as_ref().map_or_else(unknown, |password| password.at.clone()),
                thumbprint: vcenter.thumbprint.clone(),
                datacenters,
            });
        }
        topology
    }
}

/// The next question, in the order of OpenShift's installer. `None` when everything is answered.
pub(crate) fn next(draft: &Draft) -> Option<Question> {
    if !draft.ssh_key_settled {
        return Some(Question::SshKey);
    }
    match draft.platform {
        None => return Some(Question::Platform),
        Some(PlatformKind::VSphere) => {
            if let Some(question) = next_of_vsphere(draft) {
                return Some(question);
            }
        }
        Some(_) => {}
    }
    let questions = [
        (draft.base_domain.is_none(), Question::BaseDomain),
        (draft.name.is_none(), Question::Name),
        (draft.pull_secret.is_none(), Question::PullSecret),
    ];
    first(&questions)
}

fn next_of_vsphere(draft: &Draft) -> Option<Question> {
    let question = if draft.topology_given { None } else { next_of_topology(draft) };
    question.or_else(|| {
        first(&[
            (draft.machine_networks.is_empty(), Question::MachineNetwork),
            (draft.api_vips.is_empty(), Question::ApiVip),
            (draft.ingress_vips.is_empty(), Question::IngressVip),
        ])
    })
}

fn next_of_topology(draft: &Draft) -> Option<Question> {
    if draft.vcenters.is_empty() {
        return Some(Question::Server(0));
    }
    for (v, vcenter) in draft.vcenters.iter().enumerate() {
        let mut questions = vec![
            (vcenter.server.is_none(), Question::Server(v)),
            (vcenter.user.is_none(), Question::User(v)),
            (vcenter.inventory.is_none(), Question::Password(v)),
            (vcenter.domains.is_empty(), Question::Datacenter(v, 0)),
        ];
        for (d, domain) in vcenter.domains.iter().enumerate() {
            questions.extend([
                (domain.datacenter.is_none(), Question::Datacenter(v, d)),
                (domain.cluster.is_none(), Question::Cluster(v, d)),
                (domain.datastore.is_none(), Question::Datastore(v, d)),
                (domain.network.is_none(), Question::Network(v, d)),
            ]);
        }
        questions.push((!vcenter.all_domains, Question::AnotherDomain(v)));
        if let Some(question) = first(&questions) {
            return Some(question);
        }
    }
    if !draft.all_vcenters {
        return Some(Question::AnotherVCenter);
    }
    // The only failure domain has the names OpenShift's installer gives it.
    if draft.domain_count() > 1 {
        for (v, vcenter) in draft.vcenters.iter().enumerate() {
            for (d, domain) in vcenter.domains.iter().enumerate() {
                let names = [
                    (domain.name.is_none(), Question::DomainName(v, d)),
                    (domain.region.is_none(), Question::Region(v, d)),
                    (domain.zone.is_none(), Question::Zone(v, d)),
                ];
                if let Some(question) = first(&names) {
                    return Some(question);
                }
            }
        }
    }
    None
}

fn first(questions: &[(bool, Question)]) -> Option<Question> {
    questions.iter().find(|(open, _)| *open).map(|(_, question)| *question)
}
