//! Whether the whole control plane is well: only then may a machine stop its part of it for a moment.

use std::net::{IpAddr, Ipv4Addr};

use crate::agents::bootstrap::etcd::{Etcd, EtcdError, Member};
use crate::agents::bootstrap::pivot::answers;
use crate::runtime::host::Files;

const OWN: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// The control plane as a machine of it sees it. Tests have their own.
pub trait Neighbours: Send + Sync + 'static {
    /// What is not well, if anything; for the machine itself or for all of them.
    fn trouble(&self, scope: HealthScope) -> impl Future<Output = Option<String>> + Send;
}

/// The machines whose health is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HealthScope {
    Own,
    All,
    /// More than half of etcd: a machine that is lost, and was never taken out, is no reason for the others to end with it.
    Majority,
}

/// Members of etcd, and the API server beside each.
#[derive(Debug, Clone)]
pub struct ControlPlane {
    files: Files,
}

impl ControlPlane {
    pub fn new(files: Files) -> Self {
        ControlPlane { files }
    }

    async fn trouble_at(&self, name: &str, address: IpAddr) -> Option<String> {
        let etcd = match Etcd::new(&self.files, address) {
            Ok(etcd) => etcd,
            Err(error) => return Some(error.to_string()),
        };
        if !etcd.is_healthy().await {
            return Some(format!("etcd on {name} is not healthy"));
        }
        match answers(&self.files, address).await {
            Ok(true) => None,
            Ok(false) => Some(format!("the API server on {name} is not ready")),
            Err(error) => Some(error.to_string()),
        }
    }
}

impl Neighbours for ControlPlane {
    async fn trouble(&self, scope: HealthScope) -> Option<String> {
        match scope {
            HealthScope::Own => self.trouble_at("this machine", OWN).await,
            HealthScope::All => self.trouble_of_all().await,
            HealthScope::Majority => self.trouble_of_most().await,
        }
    }
}

impl ControlPlane {
    async fn members(&self) -> Result<Vec<Member>, EtcdError> {
        Etcd::new(&self.files, OWN)?.members().await
    }

    async fn trouble_of_all(&self) -> Option<String> {
        if let Some(trouble) = self.trouble_at("this machine", OWN).await {
            return Some(trouble);
        }
        let members = match self.members().await {
            Ok(members) => members,
            Err(error) => return Some(error.to_string()),
        };
        for member in members {
            let Some(address) = member.address() else {
                return Some(format!("the member `{}` of etcd has no address", member.name));
            };
            if member.learner {
                return Some(format!("etcd on {} has no vote yet", member.name));
            }
            if let Some(trouble) = self.trouble_at(&member.name, address).await {
                return Some(trouble);
            }
        }
        None
    }

    async fn trouble_of_most(&self) -> Option<String> {
        let mut members = match self.members().await {
            Ok(members) => members,
            Err(error) => return Some(error.to_string()),
        };
        members.retain(|member| !member.learner);
        let mut well = 0;
        for member in &members {
            let etcd = member.address().and_then(|address| Etcd::new(&self.files, address).ok());
            if let Some(etcd) = etcd
                && etcd.is_healthy().await
            {
                well += 1;
            }
        }
        let most = well > members.len() / 2;
        (!most).then(|| format!("{well} of {} members of etcd are healthy", members.len()))
    }
}
