//! The members of etcd, as a machine of the control plane sees them.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::timeout;

use super::decide::Member;
use crate::agents::bootstrap::etcd::{Etcd as Client, EtcdError, Member as Listed};
use crate::runtime::host::Files;

const OWN: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
/// One that does not answer within this time is not healthy.
const HEALTH_TIMEOUT: Duration = Duration::from_secs(5);

/// etcd. Tests have their own.
pub trait Etcd: Send + Sync + 'static {
    fn members(&self) -> impl Future<Output = Result<Vec<Member>, EtcdError>> + Send;

    /// Removes a member, through another one.
    fn remove(&self, members: &[Member], id: &str) -> impl Future<Output = Result<(), EtcdError>> + Send;
}

/// The etcd that this machine is a member of.
#[derive(Debug, Clone)]
pub struct LocalEtcd {
    files: Files,
}

impl LocalEtcd {
    pub fn new(files: Files) -> Self {
        LocalEtcd { files }
    }

    async fn member(&self, listed: Listed) -> Member {
        let client = listed.address().and_then(|address| Client::new(&self.files, address).ok());
        let is_healthy = match client {
            Some(client) if !listed.name.is_empty() => {
                timeout(HEALTH_TIMEOUT, client.is_healthy()).await.unwrap_or_default()
            }
            _ => false,
        };
        let addresses = listed.address().iter().map(ToString::to_string).collect();
        let Listed { id, name, learner, .. } = listed;
        Member { id, name, addresses, is_learner: learner, is_healthy }
    }
}

impl Etcd for LocalEtcd {
    async fn members(&self) -> Result<Vec<Member>, EtcdError> {
        let listed = Client::new(&self.files, OWN)?.members().await?;
        Ok(join_all(listed.into_iter().map(|listed| self.member(listed))).await)
    }

    async fn remove(&self, members: &[Member], id: &str) -> Result<(), EtcdError> {
        // One that leaves cannot answer any more when it has left.
        let other =
            members.iter().filter(|member| member.id != id && member.is_healthy && !member.is_learner);
        let other = other.flat_map(|member| &member.addresses).find_map(|address| address.parse().ok());
        Client::new(&self.files, other.unwrap_or(OWN))?.remove(id).await
    }
}
