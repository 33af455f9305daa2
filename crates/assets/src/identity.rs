//! What is drawn once per cluster and never again.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use slipway_config::ids::InfraId;
use slipway_config::names::ClusterName;
use slipway_config::secret::{self, Secret};
use uuid::Uuid;

use crate::random::Random;

/// Cost of the password's hash, as Go's bcrypt has it by default.
const BCRYPT_COST: u32 = 10;

/// Letters and digits that cannot be confused when read aloud or typed.
const PASSWORD_ALPHABET: &[u8] = b"abcdefghijkmnpqrstuvwxyzABCDEFGHIJKLMNPQRSTUVWXYZ23456789";

/// The names and the password of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    pub infra_id: InfraId,
    pub cluster_id: Uuid,
    pub created: Timestamp,
    /// Password of the first administrator.
    #[serde(with = "secret::exposed")]
    pub kubeadmin_password: Secret,
    /// Its bcrypt hash.
    #[serde(with = "secret::exposed")]
    pub kubeadmin_hash: Secret,
}

impl Identity {
    pub fn new(cluster: &ClusterName, now: Timestamp, random: &dyn Random) -> Self {
        let mut bytes = [0; 16];
        random.fill(&mut bytes);
        let cluster_id = uuid::Builder::from_random_bytes(bytes).into_uuid();
        let password = password(random);
        random.fill(&mut bytes);
        // Fails only for costs outside of 4 to 31.
        let hash = bcrypt::hash_with_salt(&password, BCRYPT_COST, bytes)
            .map(|hash| hash.format_for_version(bcrypt::Version::TwoA))
            .unwrap_or_default();
        Identity {
            infra_id: InfraId::new(cluster, |bound| random.below(bound)),
            cluster_id,
            created: now,
            kubeadmin_password: password.as_str().into(),
            kubeadmin_hash: hash.as_str().into(),
        }
    }
}

/// Four groups of five.
fn password(random: &dyn Random) -> String {
    let group = || -> String {
        (0..5).map(|_| char::from(PASSWORD_ALPHABET[random.below(PASSWORD_ALPHABET.len())])).collect()
    };
    [group(), group(), group(), group()].join("-")
}
