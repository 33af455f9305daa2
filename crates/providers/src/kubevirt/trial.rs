//! Asking the infrastructure cluster whether it would take an object: its real admission judges, and nothing is made.

use futures_util::future::try_join_all;

use super::error::is_silence;
use super::infra::Infra;
use super::kinds::Desired;
use crate::cluster::{AccessError, call};
use crate::text::chain;

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trial {
    /// It would be made.
    Accepted,
    /// It is there, and of this cluster.
    Made,
    /// There is something else by its name.
    Taken,
    /// The cluster would refuse it, and why.
    Refused(String),
}

impl Infra {
    /// What would come of each; of what has no manifest, nothing.
    pub async fn try_all(&self, desired: &[Desired]) -> Result<Vec<Option<Trial>>, AccessError> {
        try_join_all(desired.iter().map(|one| self.try_create(one))).await
    }

    async fn try_create(&self, desired: &Desired) -> Result<Option<Trial>, AccessError> {
        let Some(manifest) = &desired.manifest else { return Ok(None) };
        let Err(error) = self.post(desired, manifest, true).await else {
            return Ok(Some(Trial::Accepted));
        };
        if error.is_conflict() {
            let api = self.objects(&desired.kind.resource()).await?;
            let doing = format!("reading {} {}", desired.kind, desired.name);
            let there = call(&doing, api.get_metadata(&desired.name)).await?;
            let is_ours = desired.is(&there.metadata.labels.unwrap_or_default());
            return Ok(Some(if is_ours { Trial::Made } else { Trial::Taken }));
        }
        if is_silence(&error.cause()) { Err(error) } else { Ok(Some(Trial::Refused(chain(&error)))) }
    }
}
