//! Whether the whole control plane is well: only then may a machine stop its part of it for a moment.

use std::net::{IpAddr, Ipv4Addr};

use crate::bootstrap::etcd::Etcd;
use crate::bootstrap::pivot::answers;
use crate::host::Files;

/// The control plane as a machine of it sees it. Tests have their own.
pub trait Neighbours: Send + Sync + 'static {
    /// What is not well, if anything; for the machine itself or for all of them.
    fn trouble(&self, whose: Whose) -> impl Future<Output = Option<String>> + Send;
}

/// Whose health is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    Own,
    All,
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
    async fn trouble(&self, whose: Whose) -> Option<String> {
        let own: IpAddr = Ipv4Addr::LOCALHOST.into();
        if let Some(trouble) = self.trouble_at("this machine", own).await {
            return Some(trouble);
        }
        if whose == Whose::Own {
            return None;
        }
        let members = match Etcd::new(&self.files, own) {
            Ok(etcd) => etcd.members().await,
            Err(error) => Err(error),
        };
        let members = match members {
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
}
